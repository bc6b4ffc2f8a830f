"""`gc` says what it leaves, why, and which command frees it."""

from pathlib import Path

from tests.commands.program import ask, data_of


def test_sandboxes_that_stay_are_named_with_their_sizes(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * 100_000)
    data_of(tmp_path, "run", "--name", "done", "--", "true")
    data_of(tmp_path, "run", "--name", "over", "--", "rm", "large")
    data_of(tmp_path, "plan", "cancel", "over")
    ask(tmp_path, "run", "--name", "failed", "--", "sh", "-c", "exit 3")
    kept = {each["handle"]: each for each in data_of(tmp_path, "gc")["sandboxes_kept"]}
    assert sorted(kept) == ["done", "failed", "over"]
    assert kept["done"]["size_bytes"] >= 100_000 > kept["over"]["size_bytes"]
    assert (kept["done"]["state"], kept["over"]["state"]) == ("complete", "cancelled")
    assert "mulligan apply done" in kept["done"]["remedy"]
    assert "mulligan resume failed" in kept["failed"]["remedy"]
    assert all(f"mulligan rm {handle}" in each["remedy"] for handle, each in kept.items())
    assert all(Path(each["path"]).is_dir() for each in kept.values())


def test_what_would_be_removed_is_not_said_to_stay(tmp_path: Path) -> None:
    data_of(tmp_path, "run", "--name", "over", "--", "true")
    data_of(tmp_path, "plan", "cancel", "over")
    cleaning = ["-c", "sandbox.cleanup=on_terminal", "gc"]
    assert data_of(tmp_path, *cleaning, "--dry-run")["sandboxes_kept"] == []
    assert len(data_of(tmp_path, *cleaning)["sandboxes_removed"]) == 1
    assert data_of(tmp_path, "gc")["sandboxes_kept"] == []


def test_a_plan_in_place_keeps_no_copy(tmp_path: Path) -> None:
    data_of(tmp_path, "run", "--in-place", "--", "true")
    assert data_of(tmp_path, "gc")["sandboxes_kept"] == []
