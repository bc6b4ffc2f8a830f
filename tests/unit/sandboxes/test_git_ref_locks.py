"""Locks that git leaves when it is killed together with mulligan are removed; those of others are left alone."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from mulligan.adapters.sandboxes.git.git_command import Git, GitFailed
from mulligan.adapters.sandboxes.git.position.position import Position
from mulligan.adapters.sandboxes.git.repository import ref_locks
from mulligan.adapters.sandboxes.git.repository.bare_repository import BareRepository
from mulligan.adapters.sandboxes.git.repository.pins import pin_head, unpin
from mulligan.adapters.sandboxes.git.repository.ref_locks import clear_locks, locks_in, noting
from mulligan.adapters.sandboxes.git.repository.user_repository import Repository, open_repository
from tests.support.dying_git import DyingGit
from tests.support.git_world import GIT_ENVIRONMENT, PLAN, GitProject, run_git

WORK = """\
import os, shutil, sys
from pathlib import Path
from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.repository.pins import pin_head, unpin
from mulligan.adapters.sandboxes.git.position.position import Position
from mulligan.adapters.sandboxes.git.repository.user_repository import open_repository
from mulligan.domain.text.ids import PlanId

work, top, folder = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
git = Git.within(os.environ, top)
repository = open_repository(git, top)
if work == "go back":
    position = Position(git, repository, PlanId("p"), set())
    here = folder.with_name(f"here-{os.getpid()}")
    here.mkdir()
    position.write_down(here)
    shutil.rmtree(here)
    shutil.copytree(folder, here)
    position.put_back(here)
elif work == "pin":
    pin_head(git, repository, "p/r")
else:
    unpin(git, repository.git_dir, "p/r")
"""


@pytest.fixture(scope="module")
def dying(tmp_path_factory: pytest.TempPathFactory) -> DyingGit:
    return DyingGit(tmp_path_factory.mktemp("dying"))


@pytest.fixture(autouse=True)
def _no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ref_locks, "_AT_REST", 0.01)


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A checkout that is about to go back from the branch `other` to `main`, and `other` with it."""
    top = tmp_path / "checkout"
    run_git(tmp_path, "init", "-q", "-b", "main", str(top))
    (top / "file").write_text("one\n")
    run_git(top, "add", "-A")
    run_git(top, "commit", "-q", "-m", "one")
    run_git(top, "branch", "other")
    run_git(top, "pack-refs", "--all")
    _position(top).write_down(_made(tmp_path / "before"))
    run_git(top, "switch", "-q", "other")
    (top / "file").write_text("two\n")
    run_git(top, "commit", "-q", "-am", "two")
    run_git(top, "update-ref", "refs/heads/main", "other")
    return top


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _repository(top: Path) -> Repository:
    found = open_repository(_git(top), top)
    assert isinstance(found, Repository)
    return found


def _git(top: Path) -> Git:
    return Git.within(GIT_ENVIRONMENT, top)


def _position(top: Path) -> Position:
    return Position(_git(top), _repository(top), PLAN, set())


def _work(dying: DyingGit, work: str, top: Path, *, at: int) -> int:
    command = [sys.executable, "-c", WORK, work, str(top), str(top.parent / "before")]
    ended = dying.run(command, at=at, environment=dict(GIT_ENVIRONMENT))
    assert ended.returncode <= 0, ended.stderr
    return ended.returncode


@pytest.mark.parametrize(
    ("work", "part"),
    [*(("go back", part / 10) for part in (1, 3, 5, 7, 9)), ("pin", 0.5), ("unpin", 0.3), ("unpin", 0.7)],
)
def test_after_git_and_mulligan_died_together_nothing_is_locked(
    dying: DyingGit, top: Path, work: str, part: float, tmp_path: Path
) -> None:
    if work == "unpin":
        pin_head(_git(top), _repository(top), "p/r")
        run_git(top, "pack-refs", "--all")
    before = tmp_path / "undisturbed"
    subprocess.run(["cp", "-a", str(top), str(before)], check=True)
    assert _work(dying, work, before, at=0) == 0
    at = 1 + int(part * dying.touches)
    assert _work(dying, work, top, at=at) == -signal.SIGKILL
    assert dying.touches == at  # it died there
    left = locks_in(top / ".git")
    repository = _repository(top)
    assert [lock for lock in locks_in(top / ".git") if lock.name != "index.lock"] == [], left
    assert list((top / ".git").glob("mulligan-*")) == []
    if work == "go back":
        assert _work(dying, work, top, at=0) == 0
        assert run_git(top, "log", "--format=%s", "--branches", "HEAD") == "one\n"
    elif work == "pin":
        pin_head(_git(top), repository, "p/r")
        assert len(run_git(top, "for-each-ref", "refs/mulligan/p/r/").splitlines()) == 1
    else:
        unpin(_git(top), repository.git_dir, "p/r")
        assert run_git(top, "for-each-ref", "refs/mulligan") == ""
    run_git(top, "commit", "-q", "--allow-empty", "-m", "by the user")


def test_each_kill_was_at_another_lock(dying: DyingGit, top: Path) -> None:
    """At some moment each of the locks that going back takes is left, or the test above tests nothing."""
    assert _work(dying, "go back", top, at=4) == -signal.SIGKILL
    names = {str(lock.relative_to(top / ".git")) for lock in locks_in(top / ".git")}
    assert {"HEAD.lock", "refs/heads/other.lock"} <= names
    assert list((top / ".git").glob("mulligan-*.locks"))


@pytest.fixture
def left(dying: DyingGit, top: Path) -> Path:
    """A checkout in which locks were left."""
    assert _work(dying, "go back", top, at=4) == -signal.SIGKILL
    return top


@pytest.fixture(params=["git", ""], ids=["with its name", "just being started"])
def at_work(left: Path, request: pytest.FixtureRequest) -> Generator[subprocess.Popen[bytes]]:
    """A git process that lives, and may hold the locks. The kernel shows no name for a moment when it starts."""
    words = [request.param, "hash-object", "--stdin"]
    process = subprocess.Popen(words, executable=shutil.which("git"), cwd=left, stdin=subprocess.PIPE)
    old = time.time() + 1
    for lock in locks_in(left / ".git"):
        os.utime(lock, (old, old))
    yield process
    process.communicate()


def test_a_lock_stays_while_a_git_process_may_hold_it(left: Path, at_work: subprocess.Popen[bytes]) -> None:
    before = locks_in(left / ".git")
    assert clear_locks(left / ".git") == ()
    assert locks_in(left / ".git") == before
    at_work.communicate()
    assert set(clear_locks(left / ".git")) == {lock for lock in before if lock.name != "index.lock"}


def test_a_lock_that_was_there_before_is_left_alone(left: Path) -> None:
    (left / ".git" / "refs" / "heads" / "mine.lock").touch()
    (left / ".git" / "packed-refs.lock").touch()
    os.utime(left / ".git" / "packed-refs.lock", (1, 1))
    clear_locks(left / ".git")
    names = {lock.name for lock in locks_in(left / ".git")}
    assert {"mine.lock", "packed-refs.lock"} <= names
    assert "HEAD.lock" not in names


def test_a_note_of_a_live_process_is_left_alone(top: Path) -> None:
    git_dir = top / ".git"
    with noting(_git(top), git_dir, ["HEAD.lock"]):
        (git_dir / "HEAD.lock").touch()
        assert clear_locks(git_dir) == ()
        (git_dir / "HEAD.lock").unlink()
    assert list(git_dir.glob("mulligan-*")) == []


@pytest.mark.parametrize(
    "text", [b"", b'["HEAD', b"{}", b"[1]", b'["../../file.lock", "config", "/etc/x.lock"]']
)
def test_a_note_that_is_cut_off_or_a_strangers_removes_nothing(top: Path, text: bytes) -> None:
    (top / "file.lock").touch()
    note = top / ".git" / "mulligan-0.locks"
    note.write_bytes(text)
    assert clear_locks(top / ".git") == ()
    assert not note.exists()
    assert (top / "file.lock").exists()
    note.symlink_to(top / "file")
    os.mkfifo(top / ".git" / "mulligan-1.locks")
    assert clear_locks(top / ".git") == ()
    assert note.is_symlink()


def test_git_that_is_killed_alone_leaves_nothing(top: Path) -> None:
    git_dir = top / ".git"

    def die() -> None:
        with noting(_git(top), git_dir, ["HEAD.lock"]) as there:
            (git_dir / "HEAD.lock").touch()
            there.run("no-such-command")

    with pytest.raises(GitFailed):
        die()
    assert locks_in(git_dir) == []
    assert list(git_dir.glob("mulligan-*")) == []


def test_commits_of_checkpoints_can_be_retired_after_a_kill(tmp_path: Path, top: Path) -> None:
    project = GitProject(tmp_path, top)
    sandbox, _ = project.create()
    first = project.publish(sandbox, 1, None)
    project.publish(sandbox, 2, first)
    bare = BareRepository(_git(top), Path(str(sandbox.git_dir)))
    lock = bare.path / "refs" / "checkpoints" / f"{first.checkpoint_id}.lock"
    (bare.path / "mulligan-0.locks").write_text(json.dumps(["packed-refs.lock", "refs/checkpoints/"]))
    lock.touch()
    (bare.path / "packed-refs.lock").touch()
    bare.retire([])
    assert run_git(bare.path, "for-each-ref", "refs/checkpoints") == ""
    assert locks_in(bare.path) == []


def test_what_git_could_not_lock_is_named_with_what_to_do(top: Path) -> None:
    lock = top / ".git" / "refs" / "heads" / "main.lock"
    lock.touch()
    with pytest.raises(GitFailed) as caught:
        _git(top).run("update-ref", "refs/heads/main", "HEAD~1")
    assert f"rm {lock}" in caught.value.next_step
