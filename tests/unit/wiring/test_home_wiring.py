"""A home that came from elsewhere: what of its settings is taken over."""

from pathlib import Path

from mulligan.wiring.home_wiring import drop_settings


def test_settings_behind_a_symlink_are_not_taken_over(tmp_path: Path) -> None:
    home, other = tmp_path / "home", tmp_path / "other.toml"
    home.mkdir()
    other.write_text('[core]\nformat = "json"\n')
    (home / "config.toml").symlink_to(other)
    (note,) = drop_settings(home, tmp_path)
    assert str(other) in note
    assert list(home.iterdir()) == []
    assert other.read_text() == '[core]\nformat = "json"\n'
