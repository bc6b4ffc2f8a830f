"""What tells this machine from others, for the seal on a record of trust."""

from pathlib import Path

from mulligan.wiring.toolbox_wiring import machine_name


def test_the_first_file_that_can_be_read_names_the_machine(tmp_path: Path) -> None:
    (tmp_path / "odd").write_bytes(b"\xff")
    (tmp_path / "id").write_text("4f1e\n")
    files = (tmp_path / "missing", tmp_path / "odd", tmp_path / "id")
    assert machine_name(files) == "4f1e"
    assert machine_name(files[:2]) == ""
