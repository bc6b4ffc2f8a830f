"""Checkouts worked on in place: what of the git directory goes back, whatever state it was in."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mulligan.domain.plans.plan import State
from mulligan.errors import Interrupted, NextStep, ResourceUnsuitable, RestoreFailed
from tests.faults.projects import project_in
from tests.support.git_world import GIT_ENVIRONMENT, run_git
from tests.support.homes import home_of
from tests.support.raised import raises

PLAN = """name: p
config: {sandbox.strategy: in_place, sandbox.writable: ["%s"]}
steps:
  - {name: work, tool: shell, args: {command: "%s"}}
"""
COMMIT = (
    "echo new > file; git add -A; git -c user.name=x -c user.email=x@x commit -qm plan; git switch -qc other"
)


def _committed(top: Path) -> None:
    run_git(top, "init", "-q", "-b", "main")
    (top / "file").write_text("old\n")
    run_git(top, "add", "file")
    run_git(top, "commit", "-q", "-m", "first")


def _unborn(top: Path) -> None:
    run_git(top, "init", "-q", "-b", "main")
    (top / "file").write_text("old\n")


def _staged_before_any_commit(top: Path) -> None:
    _unborn(top)
    run_git(top, "add", "file")


def _detached(top: Path) -> None:
    _committed(top)
    run_git(top, "checkout", "-q", "--detach")


def _packed(top: Path) -> None:
    _committed(top)
    run_git(top, "pack-refs", "--all")


def _linked(top: Path) -> None:
    main = top.parent / "main checkout"
    main.mkdir()
    _committed(main)
    top.rmdir()
    run_git(main, "worktree", "add", "-q", str(top), "-b", "linked")


CHECKOUTS: dict[str, Callable[[Path], None]] = {
    "committed": _committed,
    "unborn": _unborn,
    "staged before any commit": _staged_before_any_commit,
    "detached": _detached,
    "packed refs": _packed,
    "linked worktree": _linked,
}


def _standing(top: Path) -> tuple[str, ...]:
    return (
        run_git(top, "status", "--porcelain=v2", "--branch"),
        run_git(top, "ls-files", "-s"),
        (top / "file").read_text(),
    )


@pytest.fixture(params=CHECKOUTS)
def top(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    top = tmp_path / "project"
    top.mkdir()
    CHECKOUTS[request.param](top)
    return top


def _execute(top: Path, command: str) -> None:
    file = top.parent / "plan.yaml"
    elsewhere = (
        top.parent / "main checkout" / ".git"
    )  # of a linked worktree, whose refs are not in the project
    file.write_text(PLAN % (elsewhere, command))
    assert project_in(top).execute(file).state is State.APPLIED


def test_it_goes_back_and_forward(top: Path) -> None:
    before = _standing(top)
    _execute(top, COMMIT)
    after = _standing(top)
    assert after != before
    project = project_in(top)
    preview = project.rollback("p", "first", dry_run=True)
    back = project.rollback("p", "first")
    assert back.changes_reverted == preview.changes_reverted
    assert _standing(top) == before
    forward = back.post_rollback_state.pre_rollback_checkpoint
    project_in(top).rollback("p", str(forward))
    assert _standing(top) == after
    project_in(top).remove_plan("p")
    assert run_git(top, "for-each-ref", "refs/mulligan") == ""
    assert _standing(top) == after


@pytest.fixture
def committed(tmp_path: Path) -> Path:
    top = tmp_path / "project"
    top.mkdir()
    _committed(top)
    return top


def test_a_git_command_at_work_stops_a_rollback_with_nothing_changed(committed: Path) -> None:
    _execute(committed, COMMIT)
    after = _standing(committed)
    lock = committed / ".git" / "index.lock"
    lock.touch()
    with pytest.raises((RestoreFailed, ResourceUnsuitable)) as stopped:
        project_in(committed).rollback("p", "first")
    assert "index.lock" in f"{stopped.value.text} {stopped.value.next_step}"
    lock.unlink()
    assert _standing(committed) == after
    project_in(committed).rollback("p", "first")
    assert (committed / "file").read_text() == "old\n"


def test_a_commit_that_is_gone_stops_a_rollback_forward(committed: Path) -> None:
    _execute(committed, COMMIT)
    back = project_in(committed).rollback("p", "first")
    before = _standing(committed)
    run_git(committed, "branch", "-D", "-q", "other")
    for pin in run_git(committed, "for-each-ref", "--format=%(refname)", "refs/mulligan").split():
        run_git(committed, "update-ref", "-d", pin)  # someone tidied up too well
    run_git(committed, "reflog", "expire", "--expire=now", "--all")
    run_git(committed, "gc", "-q", "--prune=now")
    with raises(RestoreFailed, path=str(committed / ".git")):
        project_in(committed).rollback("p", str(back.post_rollback_state.pre_rollback_checkpoint))
    assert _standing(committed) == before


def test_a_branch_that_was_left_comes_back_when_the_rollback_is_rolled_back(committed: Path) -> None:
    _execute(committed, COMMIT)  # on main, and then another branch is checked out
    made = run_git(committed, "rev-parse", "main")
    back = project_in(committed).rollback("p", "first")
    assert run_git(committed, "rev-parse", "main") != made
    project_in(committed).rollback("p", str(back.post_rollback_state.pre_rollback_checkpoint))
    assert run_git(committed, "rev-parse", "main") == made
    assert run_git(committed, "branch", "--show-current").strip() == "other"


def test_a_commit_that_a_checkpoint_stands_on_is_not_pruned(committed: Path) -> None:
    _execute(committed, COMMIT)
    after = _standing(committed)
    back = project_in(committed).rollback("p", "first")
    run_git(committed, "reflog", "expire", "--expire=now", "--all")
    run_git(committed, "gc", "-q", "--prune=now")
    project_in(committed).rollback("p", str(back.post_rollback_state.pre_rollback_checkpoint))
    assert _standing(committed) == after


def _gc(top: Path) -> None:
    run_git(top, "reflog", "expire", "--expire=now", "--all")
    run_git(top, "gc", "-q", "--prune=now")


STAGED = {
    "changed": "echo staged > file; git add file; echo unstaged > file",
    "new": "echo staged > 'odd :name'; git add .; rm 'odd :name'",
    "announced": "echo later > later; git add -N later",
    "unmerged": "git checkout -qb b; echo b > file; git -c user.name=x -c user.email=x@x commit -qam b; "
    "git checkout -q main; echo m > file; git -c user.name=x -c user.email=x@x commit -qam m; "
    "git -c user.name=x -c user.email=x@x merge -q b",
}


@pytest.mark.parametrize("how", STAGED)
def test_what_was_only_staged_outlives_a_prune_by_the_user(committed: Path, how: str) -> None:
    subprocess.run(["sh", "-c", STAGED[how]], cwd=committed, check=False, env=GIT_ENVIRONMENT)
    before = (_standing(committed), run_git(committed, "diff", "--cached"))
    _execute(committed, "git read-tree HEAD; rm -f .git/MERGE_*; echo new > file")
    _gc(committed)
    project_in(committed).rollback("p", "first")
    assert (_standing(committed), run_git(committed, "diff", "--cached")) == before
    assert run_git(committed, "fsck", "--connectivity-only") == ""


def test_what_was_staged_before_the_first_commit_outlives_a_prune(tmp_path: Path) -> None:
    top = tmp_path / "project"
    top.mkdir()
    _staged_before_any_commit(top)
    before = (_standing(top), run_git(top, "show", ":file"))
    _execute(top, "git rm -q --cached file; rm file")
    _gc(top)
    project_in(top).rollback("p", "first")
    assert (_standing(top), run_git(top, "show", ":file")) == before


LOSSES = (
    ("rm -rf .git", "true"),
    ("rm .git/HEAD", "exit 1"),
    ("echo '[' > .git/config", "true"),
    ("rm -r .git; echo x > .git", "exit 1"),
)


@pytest.mark.parametrize(("ruin", "ends"), LOSSES)
def test_a_git_directory_that_is_lost_stops_a_rollback_until_it_is_back(
    committed: Path, ruin: str, ends: str
) -> None:
    before = _standing(committed)
    shutil.copytree(committed / ".git", committed.parent / "backup")
    file = committed.parent / "plan.yaml"
    file.write_text(PLAN % ("/nowhere", f"echo new > file; {ruin}; {ends}"))
    status = project_in(committed).execute(file)
    assert status.state is State.ERRORED
    assert status.error is not None
    assert "HEAD, branch and index" in status.error.message
    for dry_run in (True, False):
        with pytest.raises(ResourceUnsuitable) as stopped:
            project_in(committed).rollback("p", "first", dry_run=dry_run)
        assert "put the git directory back" in stopped.value.next_step
        assert "refs/heads/main" in stopped.value.next_step
        assert NextStep("checkpoints.restore", checkpoint=..., to=...) in stopped.value.next_step.steps
    assert (committed / "file").read_text() == "new\n"
    project_in(committed).checkpoints.restore("first", committed.parent / "out")
    assert (committed.parent / "out" / "workspace" / "file").read_text() == "old\n"
    if (committed / ".git").is_dir():
        shutil.rmtree(committed / ".git")
    (committed / ".git").unlink(missing_ok=True)
    shutil.copytree(committed.parent / "backup", committed / ".git")
    project_in(committed).rollback("p", "first")
    assert _standing(committed) == before


def test_a_checkpoint_of_an_index_that_is_broken_can_be_taken_and_left(committed: Path) -> None:
    before = _standing(committed)
    _execute(committed, "echo ruined > .git/index")
    project_in(committed).rollback("p", "first")
    assert _standing(committed) == before


@pytest.mark.parametrize("at", ["pin_head", "Position", "commit_start"])
def test_what_a_killed_making_left_is_swept(
    committed: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(f"mulligan.adapters.sandboxes.git.checkout_in_place.{at}", _killed)
        with pytest.raises(Interrupted):
            _execute(committed, "true")
    (left,) = (home_of(committed) / "git").glob("*/*")
    assert project_in(committed).gc(dry_run=True).sandboxes_removed == (str(left),)
    assert bool(run_git(committed, "for-each-ref", "refs/mulligan")) is (at != "pin_head")
    assert any(str(left) in finding.what for finding in project_in(committed).doctor().findings)
    assert not list((home_of(committed) / "git").iterdir())
    assert run_git(committed, "for-each-ref", "refs/mulligan") == ""
    project = project_in(committed)
    assert project.execute("p").state is State.APPLIED
    assert project.gc().sandboxes_removed == ()
    project.rollback("p", "first")


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_git_directory_that_a_step_replaced_comes_back(committed: Path) -> None:
    file = committed.parent / "plan.yaml"
    for what in ("echo gitdir: ../x > .git", "ln -s ../elsewhere .git"):
        file.write_text(
            f"name: p\nsteps:\n  - {{name: s, tool: shell, args: {{command: 'rm -rf .git; {what}; exit 1'}}}}\n"
        )
        status = project_in(committed).execute(file)
        assert status.state is State.ERRORED
        sandbox = Path(status.sandboxes[0].path)
        assert run_git(sandbox, "status", "--porcelain") == run_git(committed, "status", "--porcelain")
        project_in(committed).cancel(str(status.plan_id))


def test_a_branch_that_the_plan_switched_to_goes_back_after_a_prune(tmp_path: Path) -> None:
    """The branch that HEAD is moved away from goes back too, so its commit must be kept."""
    top = tmp_path / "project"
    top.mkdir()
    _committed(top)
    run_git(top, "switch", "-q", "-c", "topic")
    (top / "file").write_text("on topic\n")
    run_git(top, "commit", "-q", "-am", "topic")
    topic = run_git(top, "rev-parse", "topic")
    run_git(top, "switch", "-q", "main")
    _execute(
        top,
        "git switch -q topic; git update-ref refs/heads/topic main; git read-tree main; rm -f .git/ORIG_HEAD",
    )
    run_git(top, "reflog", "expire", "--expire=now", "--all")
    run_git(top, "gc", "-q", "--prune=now")
    project_in(top).rollback("p", "first")
    assert run_git(top, "rev-parse", "topic") == topic
    assert run_git(top, "show", "topic:file") == "on topic\n"
    assert run_git(top, "symbolic-ref", "HEAD") == "refs/heads/main\n"
