"""Sandboxes of plans that are over, and their pins in the user's repository: `gc` and `doctor` through the program."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from mulligan.application.sandboxes import ended_sandboxes
from tests.commands.program import ask, data_of
from tests.faults.projects import services_of
from tests.support.git_checkouts import submodules
from tests.support.git_world import GIT_ENVIRONMENT, repository_picture, run_git, unlike
from tests.support.homes import home_of

ON_TERMINAL = ("-c", "sandbox.cleanup=on_terminal")
STRANGER = "01JZZZZZZZZZZZZZZZZZZZZZZZ"


@pytest.fixture(autouse=True)
def _own_git(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", GIT_ENVIRONMENT["GIT_CONFIG_GLOBAL"])
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A project that is a checkout."""
    return _checkout(tmp_path / "user")


def _checkout(folder: Path) -> Path:
    folder.mkdir()
    run_git(folder, "init", "-q", "-b", "main")
    (folder / "file").write_text("old\n")
    run_git(folder, "add", "-A")
    run_git(folder, "commit", "-qm", "first")
    return folder


def _linked(lender: Path) -> Path:
    """A project that is a linked worktree: its refs are outside of it."""
    project = lender.with_name("project")
    run_git(lender, "worktree", "add", "-q", str(project), "-b", "topic")
    return project


def _execute(project: Path, name: str = "p", **more: object) -> str:
    """Run a plan of one step to its end; gives its id."""
    steps = [{"name": "change", "tool": "shell", "args": {"command": "echo new > file"}}]
    file = project.parent / f"{name}.yaml"
    file.write_text(json.dumps({"name": name, "steps": steps, **more}))
    data_of(project, "init")
    return data_of(project, "plan", "execute", str(file))["plan_id"]


def _cancelled(project: Path, name: str = "p", **more: object) -> str:
    plan_id = _execute(project, name, **more)
    data_of(project, "plan", "cancel", plan_id)
    return plan_id


def _pins(repository: Path, plan_id: str = "") -> list[str]:
    return run_git(repository, "for-each-ref", "--format=%(refname)", f"refs/mulligan/{plan_id}").split()


def _folders(project: Path, plan_id: str) -> list[str]:
    """What is left of a plan's sandboxes."""
    home = home_of(project)
    return [str(f.relative_to(home)) for f in sorted(home.glob(f"*/{plan_id}/*"))]


def _repaired(project: Path) -> list[str]:
    """What doctor says that it did; it must have found nothing that it could not mend."""
    findings: list[dict[str, Any]] = data_of(project, "doctor")["findings"]
    return [finding["what"] for finding in findings]


def test_gc_removes_what_cancelled_plans_kept_when_the_setting_says_so(top: Path) -> None:
    before = repository_picture(top, pins=True)
    kept, gone = _execute(top, "goes on"), _cancelled(top, "over")
    assert data_of(top, "gc")["sandboxes_removed"] == []
    assert _pins(top, gone)
    told = data_of(top, *ON_TERMINAL, "gc", "--dry-run")
    assert _pins(top, gone), "a dry run changes nothing"
    assert _folders(top, gone) == [f"git/{gone}/workspace.git", f"sandboxes/{gone}/workspace"]
    done = data_of(top, *ON_TERMINAL, "gc")
    assert {**told, "dry_run": False} == done
    home = home_of(top.resolve())
    assert sorted(done["sandboxes_removed"]) == [
        str(home / "git" / gone / "workspace.git"),
        str(home / "sandboxes" / gone / "workspace"),
    ]
    assert (_folders(top, gone), _pins(top, gone)) == ([], [])
    assert data_of(top, "plan", "status", gone)["sandboxes"] == []
    assert _pins(top) == _pins(top, kept) != []
    assert data_of(top, *ON_TERMINAL, "gc")["bytes_freed"] == 0
    checkpoint = data_of(top, "plan", "status", gone)["last_checkpoint_id"]
    data_of(top, "checkpoint", "restore", checkpoint, "--to", str(top.parent / "restored"))
    assert (top.parent / "restored" / "file").read_text() == "new\n"
    data_of(top, "plan", "apply", "--yes", "--no-commit", kept)
    assert (top / "file").read_text() == "new\n"
    (top / "file").write_text("old\n")
    assert [path for path in unlike(repository_picture(top, pins=True), before) if "mulligan" in path] == []


def test_gc_removes_what_applied_plans_were_told_to_keep(tmp_path: Path) -> None:
    """Folders and databases too, and what was noted of them."""
    folder = tmp_path / "project"
    (folder / "site").mkdir(parents=True)
    config = {"sandbox.cleanup": "manual"}
    site = {"type": "fs-directory", "location": "site"}
    resources = {"site": site, "rows": {"type": "sqlite", "location": "site/r.db", "create": True}}
    plan_id = _execute(folder, config=config, resources=resources)
    data_of(folder, "plan", "apply", "--yes", plan_id)
    assert data_of(folder, "-c", "sandbox.cleanup=on_apply", "gc")["sandboxes_removed"] == []
    assert len(data_of(folder, *ON_TERMINAL, "gc")["sandboxes_removed"]) == 1
    assert list((home_of(folder) / "sandboxes").glob("*/*")) == []
    assert (folder / "site" / "file").read_text() == "new\n"


def test_gc_leaves_a_plan_that_somebody_works_on(top: Path) -> None:
    plan_id = _cancelled(top)
    before = _folders(top, plan_id), _pins(top)
    with services_of(top).adapters.locks.hold(plan_id):
        assert data_of(top, *ON_TERMINAL, "gc")["sandboxes_removed"] == []
        shutil.rmtree(home_of(top) / "sandboxes" / plan_id)
        assert _repaired(top) == []
    assert (_folders(top, plan_id), _pins(top)) == (before[0][:1], before[1])


def test_gc_removes_those_of_child_plans_with_their_parents(top: Path) -> None:
    child = {"name": "c", "steps": [{"name": "s", "tool": "shell", "args": {"command": "echo c > c"}}]}
    parent = _cancelled(top, steps=[{"name": "parts", "subplans": {"plans": [child]}}])
    assert len({pin.split("/")[2] for pin in _pins(top)}) == 2
    assert parent in "".join(_pins(top))
    assert len(data_of(top, *ON_TERMINAL, "gc")["sandboxes_removed"]) == 4
    assert _pins(top) == []


def test_gc_leaves_a_checkout_that_was_worked_on_in_place(top: Path) -> None:
    """What was done in place has ended, and can still be undone."""
    plan_id = _execute(top, config={"sandbox.strategy": "in_place"})
    assert _pins(top)
    data_of(top, *ON_TERMINAL, "gc")
    assert _folders(top, plan_id)
    assert _pins(top)
    data_of(top, "undo", "--yes")
    assert (top / "file").read_text() == "old\n"


def test_of_many_plans_in_place_only_the_newest_keep_what_an_undo_needs(
    top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ended_sandboxes, "_UNDOABLE", 2)
    plans = [_execute(top, f"p{n}", config={"sandbox.strategy": "in_place"}) for n in range(4)]
    assert [bool(_folders(top, plan)) for plan in plans] == [False, True, True, True]
    assert [bool(_pins(top, plan)) for plan in plans] == [False, True, True, True]
    assert ask(top, "undo", "--yes", "p0")["error"]["kind"] == "nothing_to_undo"


def test_gc_in_a_copy_of_a_project_leaves_what_is_the_originals(tmp_path: Path) -> None:
    lender = _checkout(tmp_path / "lender")
    project = _linked(lender)
    plan_id = _cancelled(project)
    copy = tmp_path / "copy"
    shutil.copytree(project, copy, symlinks=True)
    before = _folders(project, plan_id), _pins(lender)
    assert ask(copy, *ON_TERMINAL, "gc")["error"]["kind"] == "project_copied"
    data_of(copy, "init", "--fresh")
    data_of(copy, *ON_TERMINAL, "gc")
    assert _folders(copy, plan_id) == []
    assert data_of(copy, "doctor")["findings"] == []
    assert (_folders(project, plan_id), _pins(lender)) == before
    data_of(project, *ON_TERMINAL, "gc")
    assert (_folders(project, plan_id), _pins(lender)) == ([], [])


@pytest.mark.parametrize("removed", [["sandboxes"], ["sandboxes", "git"]])
def test_doctor_removes_what_a_sandbox_that_was_removed_by_hand_left(top: Path, removed: list[str]) -> None:
    before = repository_picture(top, pins=True)
    kept, gone, live = _cancelled(top, "kept"), _cancelled(top, "gone"), _execute(top, "live")
    for part in removed:
        shutil.rmtree(home_of(top) / part / gone)
    assert _pins(top, gone)
    (what,) = _repaired(top)
    assert f"of plan {gone}" in what
    assert (_folders(top, gone), _pins(top, gone)) == ([], [])
    assert _pins(top) == sorted([*_pins(top, kept), *_pins(top, live)])
    assert _repaired(top) == []
    assert data_of(top, "plan", "status", gone)["sandboxes"] == []
    data_of(top, "plan", "cancel", live)
    data_of(top, *ON_TERMINAL, "gc")
    assert unlike(repository_picture(top, pins=True), before).keys() <= {"."}  # its time: .mulligan came


def test_doctor_finds_pins_in_submodules_and_of_work_in_place(tmp_path: Path) -> None:
    top = submodules(tmp_path / "user")
    gone = _cancelled(top, "copied")
    in_place = _execute(_checkout(tmp_path / "other"), config={"sandbox.strategy": "in_place"})
    for home in (home_of(top) / "sandboxes", home_of(top) / "git"):
        shutil.rmtree(home / gone)
    assert len(_repaired(top)) == 1
    assert list(top.glob(".git/**/refs/mulligan")) == []
    other = tmp_path / "other"
    assert (_repaired(other), len(_pins(other))) == ([], 1)
    shutil.rmtree(home_of(other) / "git" / in_place)
    assert len(_repaired(other)) == 1
    assert (_pins(other), (other / "file").read_text()) == ([], "new\n")


def test_doctor_drops_pins_whose_sandbox_no_row_names_any_more(top: Path) -> None:
    """As a removal leaves them that was cut off, and whose folders someone then removed."""
    over, live = _execute(top, "over"), _execute(top, "live")
    pins = _pins(top, over)
    data_of(top, *ON_TERMINAL, "plan", "cancel", over)
    for pin in pins:
        run_git(top, "update-ref", pin, pin.rpartition("/")[2])
    with services_of(top).adapters.locks.hold(over):
        assert _repaired(top) == []
    assert _pins(top, over) == pins
    (what,) = _repaired(top)
    assert what.startswith(f"removed refs/mulligan/{over}/workspace/ in {top.resolve() / '.git'}")
    assert _pins(top) == _pins(top, live) != []


def test_doctor_leaves_pins_that_another_project_may_need(tmp_path: Path) -> None:
    lender = _checkout(tmp_path / "lender's")
    project = _linked(lender)
    ours = _execute(project)
    (pin,) = _pins(lender)
    commit = pin.rpartition("/")[2]
    data_of(project, *ON_TERMINAL, "plan", "cancel", ours)
    run_git(lender, "update-ref", pin, commit)
    run_git(lender, "update-ref", f"refs/mulligan/{STRANGER}/workspace/{commit}", commit)
    run_git(lender, "update-ref", "refs/mulligan/something", commit)
    before = _pins(lender)
    answer = ask(project, "doctor")
    assert (answer["exit_code"], answer["status"], answer["data"]["findings"]) == (0, "ok", [])
    pins = [text for text in answer["data"]["left_alone"] if "refs/mulligan" in text]
    of_ours, of_stranger = sorted(pins, key=lambda text: STRANGER in text)
    assert f"refs/mulligan/{ours}/workspace/" in of_ours
    assert "a copy of this project" in of_ours
    assert _pins(lender) == before
    for text in (of_ours, of_stranger):  # the words that are told to a user do it
        shell = text.partition("`")[2].partition("`")[0]
        assert os.system(shell) == 0
    assert _pins(lender) == ["refs/mulligan/something"]


def test_doctor_and_gc_know_a_project_that_was_moved(top: Path) -> None:
    """Nothing is taken for gone because of where it stands, and what has ended goes as anywhere."""
    plan_id = _cancelled(top)
    moved = top.rename(top.with_name("moved"))
    assert _repaired(moved) == []
    assert len(_folders(moved, plan_id)) == 2
    assert _pins(moved, plan_id)
    moved.rename(top)
    assert _repaired(top) == []
    top.rename(moved)
    data_of(moved, *ON_TERMINAL, "gc")
    assert _folders(moved, plan_id) == []
    assert _repaired(moved) == []
    assert _pins(moved) == [], "the pins moved with the repository"


@pytest.mark.parametrize("git", [True, False])
def test_an_unapply_makes_the_sandboxes_of_child_plans_again(tmp_path: Path, git: bool) -> None:
    folder = tmp_path / "user"
    if git:
        _checkout(folder)
    else:
        folder.mkdir()
        (folder / "file").write_text("old\n")
    step = {"name": "w", "tool": "shell", "args": {"command": "echo new > file; echo kid > kid"}}
    fan = {"name": "fan", "subplans": {"plans": [{"name": "kid", "steps": [step]}]}}
    (tmp_path / "plan.yaml").write_text(json.dumps({"name": "parent", "steps": [fan]}))
    data_of(folder, "plan", "execute", str(tmp_path / "plan.yaml"))
    data_of(folder, "-c", "sandbox.cleanup=on_apply", "apply", "--yes", "parent")
    assert data_of(folder, "status", "parent.kid")["sandboxes"] == []
    data_of(folder, "unapply", "--yes", "parent")
    (found,) = data_of(folder, "status", "parent.kid")["sandboxes"]
    copy = Path(found["path"])
    assert [(copy / name).read_text() for name in ("file", "kid")] == ["new\n", "kid\n"]
    assert {each["path"] for each in data_of(folder, "diff", "parent.kid")["files"]} == {"file", "kid"}
    data_of(folder, "restore", "--yes", "--sandbox", "parent.kid@1", "file")
    assert (copy / "file").read_text() == "old\n"
    data_of(folder, "undo", "--yes")
    assert (copy / "file").read_text() == "new\n"
    assert data_of(folder, "checkpoint", "verify")["damaged"] == []
    assert data_of(folder, "doctor")["findings"] == []
    data_of(folder, "rm", "--yes", "parent")
    assert not git or run_git(folder, "for-each-ref", "refs/mulligan") == ""
