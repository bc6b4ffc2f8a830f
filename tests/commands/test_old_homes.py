"""Homes of an earlier version that cannot be moved out of their project folder."""

import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.commands.program import ask, data_of
from tests.commands.test_homes import EARLIER
from tests.support.small_disk import PAGE, small_disk


@pytest.fixture(autouse=True)
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MULLIGAN_HOME", str(tmp_path / "all homes"))


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    with tarfile.open(EARLIER) as archive:
        archive.extractall(tmp_path, filter="tar")
    return tmp_path / "earlier"


def files_in(folder: Path) -> dict[str, bytes]:
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    return {
        name: path.read_bytes()
        for name, path in found.items()
        if not name.endswith((".lock", "-shm", "-wal"))
    }


def test_a_home_of_an_earlier_version_stays_as_it_was_while_its_new_disk_is_full(
    earlier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files_in(earlier / ".mulligan")
    with small_disk(tmp_path / "disk", 8_000_000) as disk:
        monkeypatch.setenv("MULLIGAN_HOME", str(disk.path / "homes"))
        for left in (0, 5, 40, 80):
            disk.leave(left * PAGE)
            for words in (("plan", "list"), ("run", "--", "true")):
                error = ask(earlier, *words)["error"]
                assert error["kind"] == "system_failed"
                assert error["path"].startswith(str(disk.path)), error
            assert files_in(earlier / ".mulligan") == before
            names = {path.name for path in (disk.path / "homes").iterdir()} if left else set[str]()
            assert names <= {"by-folder", "moves.lock"}
        disk.make_room()
        assert len(data_of(earlier, "plan", "list")["plans"]) == 3
        data_of(earlier, "plan", "rollback", "--yes", "tree", "first")
        assert sorted(path.name for path in (earlier / ".mulligan").iterdir()) == [".gitignore", "home.json"]


@pytest.mark.parametrize("relative", [True, False])
def test_a_home_of_an_earlier_version_behind_a_symlink_is_refused_and_kept(
    earlier: Path, tmp_path: Path, relative: bool
) -> None:
    small, target = earlier / ".mulligan", tmp_path / "state of it"
    small.rename(target)
    small.symlink_to("../state of it" if relative else target)
    before = files_in(target)
    for words in (("plan", "list"), ("run", "--", "true"), ("init",)):
        error = ask(earlier, *words)["error"]
        assert error["kind"] == "project_unusable"
    assert small.is_symlink()
    assert files_in(target) == before
    command = error["hint"].partition("`")[2].partition("`")[0]
    assert command.startswith("rm "), command
    subprocess.run(["sh", "-c", command], check=True)
    assert len(data_of(earlier, "plan", "list")["plans"]) == 3
