"""What a killed process leaves in the repository of checkpoints, or beside a real index, is in nobody's way."""

import subprocess
import sys
from pathlib import Path

import pytest

from mulligan.adapters.sandboxes.git.position.index_lock import clear_abandoned, replace_index
from mulligan.adapters.sandboxes.git.repository.git_packs import OURS, Objects, write_durably
from mulligan.boundaries import watch
from mulligan.errors import RestoreFailed
from tests.support.git_world import run_git

KILLED_AT = """\
import os, signal, sys
from pathlib import Path
from mulligan.adapters.sandboxes.git.position.index_lock import replace_index
from mulligan.boundaries import watch

watch(lambda when, act: os.kill(os.getpid(), signal.SIGKILL) if f"{when} {act}" == sys.argv[1] else None)
replace_index(Path(sys.argv[2]), b"new")
"""


class Killed(BaseException):
    """What a death is to a test."""


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    run_git(tmp_path, "init", "-q", "--bare", "bare.git")
    return tmp_path / "bare.git"


def test_a_ref_that_did_not_come_to_be_is_no_ref(bare: Path) -> None:
    folder = bare / "refs" / "checkpoints"
    folder.mkdir()

    def die(when: str, act: str) -> None:
        if (when, act) == ("before", "git.name"):
            raise Killed

    watch(die)
    try:
        with pytest.raises(Killed):
            write_durably(bare, [(folder / "one", b"0" * 40)])
    finally:
        watch(None)
    assert run_git(bare, "for-each-ref") == ""
    assert run_git(bare, "rev-list", "--all") == ""
    write_durably(bare, [(bare / "shallow", b"")])
    assert not (bare / "drafts").exists()


def test_a_pack_without_an_index_is_not_joined_and_goes(bare: Path) -> None:
    from mulligan.adapters.sandboxes.git.git_command import Git
    from mulligan.adapters.sandboxes.git.repository.bare_repository import BareRepository

    packs, objects = bare / "objects" / "pack", Objects("sha1")
    for number in range(33):
        objects.add("blob", b"%d" % number)
        objects.write_to(packs)
    next(packs.glob(f"{OURS}*.idx")).unlink()
    BareRepository(Git.within({}, bare), bare).join_packs(objects)
    (joined,) = packs.glob("*.pack")
    assert joined.with_suffix(".idx").exists()
    assert len(run_git(bare, "cat-file", "--batch-all-objects", "--batch-check").splitlines()) == 32


@pytest.mark.parametrize(
    "moment",
    ["before position.sync", "before position.lock", "before position.index", "after position.index"],
)
def test_an_index_whose_lock_died_with_its_process(tmp_path: Path, moment: str) -> None:
    index = tmp_path / "index"
    index.write_bytes(b"old")
    index.chmod(0o640)
    subprocess.run([sys.executable, "-c", KILLED_AT, moment, str(index)], check=False)
    assert index.read_bytes() == (b"new" if moment.startswith("after") else b"old")
    replace_index(index, b"newer")
    assert (index.read_bytes(), index.stat().st_mode & 0o777) == (b"newer", 0o640)
    assert list(tmp_path.iterdir()) == [index]


def test_the_lock_of_a_git_command_is_left_alone(tmp_path: Path) -> None:
    index, lock = tmp_path / "index", tmp_path / "index.lock"
    lock.write_bytes(b"git's")
    with pytest.raises(RestoreFailed, match=r"another git command"):
        replace_index(index, b"new")
    clear_abandoned(index)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("index.lock", b"git's")]


def test_an_index_can_go(tmp_path: Path) -> None:
    index = tmp_path / "index"
    index.write_bytes(b"old")
    replace_index(index, None)
    replace_index(index, None)
    assert list(tmp_path.iterdir()) == []
