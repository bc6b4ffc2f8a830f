"""What `checkpoint verify` and `doctor` say of git objects that are gone, and of locks that a killed git left."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.commands.program import ask, data_of
from tests.support.git_world import GIT_ENVIRONMENT, run_git


@pytest.fixture(autouse=True)
def _own_git(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", GIT_ENVIRONMENT["GIT_CONFIG_GLOBAL"])
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A checkout with a branch that nothing else reaches."""
    top = tmp_path / "checkout"
    run_git(tmp_path, "init", "-q", "-b", "main", str(top))
    (top / "file").write_text("one\n")
    run_git(top, "add", "-A")
    run_git(top, "commit", "-q", "-m", "one")
    run_git(top, "switch", "-q", "-c", "side")
    (top / "other").write_text("only on side\n")
    run_git(top, "add", "-A")
    run_git(top, "commit", "-q", "-m", "side")
    run_git(top, "switch", "-q", "main")
    return top


def _execute(top: Path, command: str, **config: str) -> str:
    plan = top.parent / "plan.yaml"
    steps = [{"name": "work", "tool": "shell", "args": {"command": command}}]
    plan.write_text(json.dumps({"name": "p", "config": config, "steps": steps}))
    return data_of(top, "plan", "execute", str(plan))["plan_id"]


def _unpin(top: Path) -> None:
    for ref in run_git(top, "for-each-ref", "--format=%(refname)", "refs/mulligan").splitlines():
        run_git(top, "update-ref", "-d", ref)


def _lose_side(top: Path) -> None:
    """Delete what mulligan pinned, by hand, and prune."""
    _unpin(top)
    run_git(top, "branch", "-D", "side")
    run_git(top, "reflog", "expire", "--expire=now", "--all")
    run_git(top, "gc", "-q", "--prune=now")


def test_objects_that_are_gone_are_named_with_their_checkpoints(top: Path) -> None:
    plan = _execute(top, "git merge -q side")
    assert data_of(top, "checkpoint", "verify")["damaged"] == []
    assert data_of(top, "doctor")["findings"] == []
    blob = run_git(top, "rev-parse", "side:other").strip()
    _unpin(top)
    (top / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    verified = ask(top, "checkpoint", "verify")
    damaged = verified["data"]["damaged"]
    assert verified["exit_code"] == 1
    assert {each["plan_id"] for each in damaged} == {plan}
    assert any(blob in problem for each in damaged for problem in each["problems"]), damaged
    looked = ask(top, "doctor")
    lacking = [f for f in looked["data"]["findings"] if "lacks git objects" in f["what"]]
    assert (looked["exit_code"], len(lacking)) == (1, len(damaged))
    for each in damaged:
        (said,) = (f for f in lacking if each["checkpoint_id"] in f["what"])
        assert f"mulligan checkpoint restore {each['checkpoint_id']} --to DIR" in said["remedy"]


def test_a_missing_commit_is_named_too(top: Path) -> None:
    _execute(top, "true")
    commit = run_git(top, "rev-parse", "side").strip()
    _lose_side(top)
    damaged = ask(top, "checkpoint", "verify")["data"]["damaged"]
    assert any(commit in problem for each in damaged for problem in each["problems"])


def test_in_place_the_commit_that_a_checkpoint_stands_on_is_named(top: Path) -> None:
    run_git(top, "switch", "-q", "side")
    commit = run_git(top, "rev-parse", "HEAD").strip()
    _execute(top, "git switch -q main", **{"sandbox.strategy": "in_place"})
    assert data_of(top, "checkpoint", "verify")["damaged"] == []
    _lose_side(top)
    damaged = ask(top, "checkpoint", "verify")["data"]["damaged"]
    assert damaged
    assert all(commit in problem for each in damaged for problem in each["problems"])
    (top / ".git").rename(top.parent / "gone")
    damaged = ask(top, "checkpoint", "verify")["data"]["damaged"]
    assert any("no .git in it" in problem for each in damaged for problem in each["problems"])


def test_doctor_removes_locks_of_ours_and_names_all_others(top: Path) -> None:
    _execute(top, "echo two > file")
    git_dir = top / ".git"
    long_ago = time.time() - 7200
    for name in ("HEAD.lock", "config.lock", "refs/heads/main.lock"):
        (git_dir / name).touch()
        os.utime(git_dir / name, (long_ago, long_ago))
    note = git_dir / "mulligan-0.locks"
    note.write_text(json.dumps(["HEAD.lock"]))
    os.utime(note, (long_ago - 1, long_ago - 1))
    looked = ask(top, "doctor")
    findings = {f["what"]: f for f in looked["data"]["findings"]}
    assert looked["exit_code"] == 1
    assert not (git_dir / "HEAD.lock").exists()
    assert findings[f"removed {git_dir / 'HEAD.lock'}, which a killed git had left"]["repaired"]
    for name in ("config.lock", "refs/heads/main.lock"):
        found = findings[f"a lock of git is left: {git_dir / name} (made 2 hours ago)"]
        assert f"`rm {git_dir / name}`" in found["remedy"]
        assert (git_dir / name).exists()
    applied = ask(top, "plan", "apply", "--yes", "p")
    assert applied["exit_code"] != 0
    assert f"rm {git_dir / 'refs/heads/main.lock'}" in json.dumps(applied)
    assert (top / "file").read_text() == "one\n"
    for name in ("config.lock", "refs/heads/main.lock"):
        (git_dir / name).unlink()
    data_of(top, "plan", "apply", "--yes", "p")


def test_doctor_leaves_a_lock_alone_that_a_live_git_may_hold(top: Path) -> None:
    _execute(top, "echo two > file")
    with subprocess.Popen(["git", "hash-object", "--stdin"], cwd=top, stdin=subprocess.PIPE) as live:
        lock = top / ".git" / "index.lock"
        lock.touch()
        os.utime(lock, (time.time() + 1, time.time() + 1))
        assert data_of(top, "doctor")["findings"] == []
        assert lock.exists()
        live.communicate()
