"""Files of agents and their records, where the system fails: what was there stays, and nothing is left beside it."""

import errno
import fcntl
import os
from pathlib import Path
from typing import NoReturn

import pytest

from mulligan.adapters.agents.agent_files import AgentFile
from mulligan.adapters.agents.install_records import InstallRecords
from mulligan.errors import LockImpossible, SystemFailed


def full(*_: object, **__: object) -> NoReturn:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def file(tmp_path: Path) -> AgentFile:
    path = tmp_path / "agent" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(b"old")
    return AgentFile(path)


def test_a_full_disk_leaves_the_file_as_it_was(file, monkeypatch):
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SystemFailed, match="No space left"):
        file.write(b"new", b"old")
    assert {path.name: path.read_bytes() for path in file.path.parent.iterdir()} == {"settings.json": b"old"}


def test_a_file_that_cannot_be_removed_stays(file, monkeypatch):
    monkeypatch.setattr(Path, "unlink", full)
    with pytest.raises(SystemFailed):
        file.remove(b"old", [file.path.parent])
    assert file.path.read_bytes() == b"old"


def test_a_folder_that_holds_something_else_stays(file):
    other = file.path.with_name("other")
    other.touch()
    file.remove(b"old", [file.path.parent, file.path.parent / "gone"])
    assert [*file.path.parent.iterdir()] == [other]
    other.unlink()
    file.remove(None, [file.path.parent])
    assert not file.path.parent.exists()


def test_a_file_that_may_not_be_read_is_named(file, monkeypatch):
    def denied(*_: object) -> NoReturn:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", denied)
    with pytest.raises(SystemFailed, match="Permission denied"):
        file.read()


def test_the_owner_of_a_file_stays(file, monkeypatch):
    kept: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "getegid", lambda: 4711)
    monkeypatch.setattr(os, "fchown", lambda _, user, group: kept.append((user, group)))
    file.write(b"new", b"old")
    found = file.path.stat()
    assert kept == [(found.st_uid, found.st_gid)]


def test_a_record_is_whole_or_not_there(tmp_path, monkeypatch):
    records = InstallRecords(tmp_path / "records")
    with records.alone():
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(SystemFailed):
            records.keep("codex", tmp_path / "hooks.json", b"old", b"new", [])
    assert [path.name for path in records.root.iterdir()] == ["lock"]
    assert records.of(tmp_path / "hooks.json") is None


def test_records_need_a_folder_and_a_lock(tmp_path, monkeypatch):
    (tmp_path / "taken").touch()
    with pytest.raises(SystemFailed), InstallRecords(tmp_path / "taken" / "records").alone():
        pass
    monkeypatch.setattr(fcntl, "flock", full)
    with pytest.raises(LockImpossible), InstallRecords(tmp_path / "records").alone():
        pass


def test_a_draft_shows_others_no_more_than_the_file(file, monkeypatch):
    file.path.chmod(0o600)
    written: list[int] = []
    flush = os.fchmod

    def look(descriptor: int, mode: int) -> None:
        written.append(os.fstat(descriptor).st_mode & 0o777)
        flush(descriptor, mode)

    monkeypatch.setattr(os, "fchmod", look)
    file.write(b"a key", b"old")
    assert written == [0o600]
    assert file.path.stat().st_mode & 0o777 == 0o600
