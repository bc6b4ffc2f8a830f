"""A return on a real folder that was cut off is finished, but never over what others put there meanwhile."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mulligan.api.project import Project
from mulligan.application.queries.plan_queries import PlanStatus
from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.plans.intent import ReturnWork
from mulligan.domain.plans.plan import State
from mulligan.errors import ChangedMeanwhile, LocationTaken, ProjectCopied, SandboxMissing
from mulligan.rows.transaction import Transaction
from tests.faults.projects import InterruptedAtCommit, Watching, nothing, project_in, services_in
from tests.support.git_world import run_git

PLAN = """name: p
config: {sandbox.strategy: in_place}
resources: {here: {type: fs-directory, location: real}}
steps:
  - {name: edit, tool: shell, args: {command: "echo new > kept; echo new > made; rm gone"}}
"""


@pytest.fixture
def cut_off(tmp_path: Path) -> Path:
    """A project whose rollback was cut off before the first byte of the real folder was touched."""
    real = tmp_path / "real"
    real.mkdir()
    for name in ("kept", "gone", "other"):
        (real / name).write_text("old\n")
    (tmp_path / "plan.yaml").write_text(PLAN)
    project_in(tmp_path).execute(tmp_path / "plan.yaml")
    services = services_in(tmp_path)
    services.adapters.database = InterruptedAtCommit(services.adapters, _is_ready_to_restore)
    with pytest.raises(KeyboardInterrupt):
        Project(services=services, observer=Watching(nothing)).rollback("p", "first")
    return tmp_path


def _is_ready_to_restore(db: Transaction) -> bool:
    intents = db.intents.list(db.plans.resolve("latest").plan_id)
    return any(isinstance(i.work, ReturnWork) and i.work.before is not None for i in intents)


def _old(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in (folder / "real").iterdir()}


def test_it_is_finished_by_whoever_comes_next(cut_off: Path) -> None:
    (cut_off / "real" / "made").unlink()  # as far as it came
    (cut_off / "real" / "kept").write_text("old\n")
    project_in(cut_off).checkpoints.create("p", "after")
    assert _old(cut_off) == {"kept": "old\n", "gone": "old\n", "other": "old\n"}


CHANGES: dict[str, Callable[[Path], object]] = {
    "kept": lambda real: (real / "kept").write_text("by hand"),
    "made": lambda real: (real / "made").write_text("by hand"),
    "other": lambda real: (real / "other").write_text("by hand"),
    "mine": lambda real: (real / "mine").write_text("by hand"),
    "gone": lambda real: (real / "gone").symlink_to("elsewhere"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_it_stops_at_what_others_changed_and_names_it(cut_off: Path, name: str) -> None:
    real = cut_off / "real"
    CHANGES[name](real)
    before = {
        path.name: os.readlink(path) if path.is_symlink() else path.read_bytes() for path in real.iterdir()
    }
    with pytest.raises(ChangedMeanwhile) as stopped:
        project_in(cut_off).rollback("p", "first")
    assert stopped.value.facts["paths"] == str(real / name)
    now = {
        path.name: os.readlink(path) if path.is_symlink() else path.read_bytes() for path in real.iterdir()
    }
    assert now == before, "nothing was touched"
    (real / name).rename(cut_off / "moved away")
    project_in(cut_off).rollback("p", "first")
    assert _old(cut_off) == {"kept": "old\n", "gone": "old\n", "other": "old\n"}


def test_the_plan_can_be_cancelled_instead(cut_off: Path) -> None:
    (cut_off / "real" / "kept").write_text("by hand")
    assert project_in(cut_off).cancel("p").state is State.CANCELLED
    assert (cut_off / "real" / "kept").read_text() == "by hand"
    assert (cut_off / "real" / "made").read_text() == "new\n"


def test_of_two_plans_that_start_at_once_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    other = tmp_path / "other.yaml"
    (tmp_path / "plan.yaml").write_text(PLAN.replace("rm gone", "true"))
    other.write_text(PLAN.replace("name: p", "name: q").replace("rm gone", "false"))

    raced: list[PlanStatus] = []

    def be_faster(event: Event) -> None:
        if "to read" in str(event.data) and not raced:  # it has looked, and has not recorded anything yet
            raced.append(project_in(tmp_path).execute(other))

    status = project_in(tmp_path, be_faster).execute(tmp_path / "plan.yaml")
    assert raced[0].state is State.ERRORED, "it has a step left to run"
    assert status.state is State.ERRORED
    assert status.error is not None
    assert str(raced[0].plan_id) in status.error.message
    with pytest.raises(LocationTaken):
        project_in(tmp_path).execute("p")
    project_in(tmp_path).cancel("q")
    assert project_in(tmp_path).execute("p").state is State.APPLIED


def test_a_dry_run_finishes_nothing(cut_off: Path) -> None:
    before = _old(cut_off)
    preview = project_in(cut_off).rollback("p", "latest", dry_run=True)
    assert any("finished first" in message for message in preview.messages)
    assert _old(cut_off) == before


def test_a_folder_that_became_a_symlink_is_not_followed(cut_off: Path) -> None:
    other = cut_off / "other folder"
    other.mkdir()
    (other / "precious").write_text("mine")
    (cut_off / "real").rename(cut_off / "moved")
    (cut_off / "real").symlink_to(other)
    with pytest.raises(SandboxMissing):
        project_in(cut_off).rollback("p", "first")
    assert [path.name for path in other.iterdir()] == ["precious"]


@pytest.mark.parametrize("strategy", ["in_place", "filesystem_copy"])
def test_a_copied_project_leaves_the_original_alone(tmp_path: Path, strategy: str) -> None:
    original = tmp_path / "original"
    (original / "real").mkdir(parents=True)
    (original / "real" / "gone").write_text("old")
    (original / "plan.yaml").write_text(PLAN.replace("in_place", strategy))
    status = project_in(original).execute(original / "plan.yaml")
    shutil.copytree(original, tmp_path / "copy", symlinks=True)
    sandbox = Path(status.sandboxes[0].path)
    before = sorted(path.name for path in sandbox.iterdir())
    with pytest.raises(ProjectCopied):
        project_in(tmp_path / "copy").rollback("p", "first")
    assert sorted(path.name for path in sandbox.iterdir()) == before


@pytest.mark.parametrize("type_", ["fs-directory", "git-checkout"])
def test_a_project_that_was_moved_and_swept_goes_on_and_can_be_moved_back(tmp_path: Path, type_: str) -> None:
    home, away = tmp_path / "home", tmp_path / "away"
    (home / "real").mkdir(parents=True)
    (home / "real" / "gone").write_text("old")
    run_git(home / "real", "init", "-q")
    (home / "plan.yaml").write_text(PLAN.replace("in_place", "auto").replace("fs-directory", type_))
    project_in(home).execute(home / "plan.yaml")
    home.rename(away)
    assert project_in(away).gc().sandboxes_removed == ()
    assert project_in(away).doctor().healthy, "the plan follows its folder"
    away.rename(home)
    back = project_in(home).rollback("p", "first")
    assert {change.file for change in back.changes_reverted} == {"kept", "made", "gone"}


def test_what_is_saved_while_undos_run_is_not_overwritten(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (real / "gone").write_text("old")
    (tmp_path / "plan.yaml").write_text(PLAN)
    project_in(tmp_path).execute(tmp_path / "plan.yaml")

    def save(event: Event) -> None:
        if event.type is EventType.CHECKPOINT and event.data["checkpoint_type"] == "pre_rollback":
            (real / "saved").write_text("by hand")  # right after what is there was kept

    with pytest.raises(ChangedMeanwhile):
        project_in(tmp_path, save).rollback("p", "first")
    assert (real / "saved").read_text() == "by hand"
    assert (real / "made").read_text() == "new\n"
    project_in(tmp_path).rollback("p", "first")
    assert not (real / "made").exists()
