"""A rollback over several resources is done whole or not at all, whatever happens in the middle of it."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mulligan.boundaries import watch
from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.errors import DatabaseUnusable, RestoreIncomplete, SnapshotDamaged
from tests.faults.projects import project_in
from tests.support.homes import home_of

PLAN = """
name: two
resources:
  first: {type: fs-directory, location: first}
  second: {type: fs-directory, location: second}
steps:
  - {name: one, tool: write_file, args: {path: file, content: new}}
  - {name: two, tool: write_file, resource: second, args: {path: file, content: new}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(f"old {name}")
    (tmp_path / "plan.yaml").write_text(PLAN)
    status = project_in(tmp_path).execute(tmp_path / "plan.yaml")
    assert status.state == "complete"
    return tmp_path


def files(folder: Path) -> dict[str, str]:
    sandboxes = project_in(folder).status("two").sandboxes
    return {s.resource: (Path(s.path) / "file").read_text() for s in sandboxes}


class AfterTheWayBackIsKept:
    """Does something once, when the comparison is over and the restore has not begun."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act
        self.done = False

    def __call__(self, event: Event) -> None:
        if event.type is EventType.CHECKPOINT and event.data["checkpoint_type"] == "pre_rollback":
            self.done = True
            self._act()


def test_damage_in_the_second_resource_leaves_the_first_as_it_was(folder: Path) -> None:
    packs = sorted((home_of(folder) / "store" / "packs").iterdir(), key=lambda p: p.stat().st_mtime_ns)

    def lose_what_the_second_sandbox_started_from() -> None:
        packs[1].unlink()

    sabotage = AfterTheWayBackIsKept(lose_what_the_second_sandbox_started_from)
    with pytest.raises(SnapshotDamaged):
        project_in(folder, sabotage).rollback("two", "first")
    assert sabotage.done
    assert files(folder) == {"first": "new", "second": "new"}
    project = project_in(folder)
    status = project.status("two")
    assert (status.state, status.execution.checkpoints) == ("complete", 4)
    kept = project.checkpoints.list("two", superseded=True)[-1]
    assert kept.checkpoint_type is CheckpointType.PRE_ROLLBACK, "left behind, and can be gone to"
    assert status.last_checkpoint_id != kept.checkpoint_id


def test_what_could_neither_be_done_nor_undone_is_completed_by_the_next_command(folder: Path) -> None:
    packs = home_of(folder) / "store" / "packs"
    hidden = folder / "hidden"
    hidden.mkdir()
    _, second_base, *later = sorted(packs.iterdir(), key=lambda p: p.stat().st_mtime_ns)

    def lose_almost_everything() -> None:
        for pack in (second_base, *later):
            shutil.move(pack, hidden)

    sabotage = AfterTheWayBackIsKept(lose_almost_everything)
    with pytest.raises(RestoreIncomplete) as failure:
        project_in(folder, sabotage).rollback("two", "first")
    assert sabotage.done
    assert failure.value.exit_code == 1
    assert files(folder) == {"first": "old first", "second": "new"}
    for pack in hidden.iterdir():
        shutil.move(pack, packs)
    project_in(folder).checkpoints.create("two", "look")
    assert files(folder) == {"first": "old first", "second": "old second"}
    assert project_in(folder).status("two").state == "queued"


@pytest.mark.parametrize("failures", [1, 9])
def test_files_do_not_stay_behind_rows_that_could_not_be_written(folder: Path, failures: int) -> None:
    """All files are as wanted, and then the disk has no room for the rows: once, or for a while."""
    left = failures
    settling = False

    def strike(when: str, act: str) -> None:
        nonlocal left, settling
        settling = settling or act == "return.settle"
        if settling and left and (when, act) == ("before", "rows.commit"):
            left -= 1
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    watch(strike)
    try:
        with pytest.raises(DatabaseUnusable, match="No space left"):
            project_in(folder).rollback("two", "first")
    finally:
        watch(None)
    assert files(folder) == {"first": "new", "second": "new"}
    assert project_in(folder).status("two").state == "complete"
    project_in(folder).rollback("two", "first")
    assert files(folder) == {"first": "old first", "second": "old second"}
