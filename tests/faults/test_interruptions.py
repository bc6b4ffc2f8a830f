"""A plan that is interrupted, whenever that is, goes on to the end that it would have had."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from mulligan.adapters.db.connection import SqliteConnection
from mulligan.api.operations.command_words import in_commands
from mulligan.api.project import Project
from mulligan.cli.answers.answer import Line
from mulligan.cli.answers.status_answer import status_answer
from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.plans.plan import State
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.text.ids import PlanId
from mulligan.errors import Advice, Interrupted, NextStep, RollbackDisabled
from mulligan.rows.transaction import Transaction
from tests.faults.projects import InterruptedAtCommit, Watching, nothing, project_in, services_in

TWO_STEPS = """\
name: two steps
steps:
  - {name: one, tool: write_file, args: {path: one, content: "1"}}
  - {name: two, tool: shell, args: {command: echo begun >> two}}
"""


def _plan(folder: Path, text: str) -> Path:
    file = folder / "plan.yaml"
    file.write_text(text)
    return file


def _interrupt_at_commit(folder: Path, text: str, wanted: Callable[[Transaction], bool]) -> None:
    services = services_in(folder)
    database = InterruptedAtCommit(services.adapters, wanted)
    services.adapters.database = database
    with pytest.raises(Interrupted):
        Project(services=services, observer=Watching(nothing)).execute(_plan(folder, text))
    assert database.interrupted


def _only_plan(db: Transaction) -> PlanId:
    return db.plans.resolve("latest").plan_id


def _is_before_step_two(db: Transaction) -> bool:
    groups = db.checkpoints.list(_only_plan(db), superseded=True)
    return any(g.reason.type is CheckpointType.BEFORE_STEP and g.step_index == 1 for g in groups)


def test_a_plan_interrupted_right_after_its_sandboxes_were_made_starts_again(tmp_path: Path) -> None:
    _interrupt_at_commit(tmp_path, TWO_STEPS, lambda db: any(db.sandboxes.list(_only_plan(db))))

    status = project_in(tmp_path).execute("two steps")

    assert status.state is State.COMPLETE
    assert (Path(status.sandboxes[0].path) / "two").read_text() == "begun\n"


def test_a_plan_without_checkpoints_is_not_begun_anew_over_what_it_did(tmp_path: Path) -> None:
    def press(event: Event) -> None:
        if event.type is EventType.STEP_STARTED:
            raise KeyboardInterrupt

    text = TWO_STEPS + "rollback_policy: {enabled: false}\n"
    with pytest.raises(Interrupted):
        project_in(tmp_path, press).execute(_plan(tmp_path, text))
    before = project_in(tmp_path).status("two steps")
    (Path(before.sandboxes[0].path) / "half").write_text("work")

    with pytest.raises(RollbackDisabled):
        project_in(tmp_path).execute("two steps")

    assert (Path(before.sandboxes[0].path) / "half").read_text() == "work"
    stopped = project_in(tmp_path).status("two steps")
    assert (stopped.state, stopped.error and stopped.error.recoverable) == (State.QUEUED, False)


def test_what_was_interrupted_says_so_and_how_to_go_on_until_it_did(tmp_path: Path) -> None:
    def press(event: Event) -> None:
        if event.type is EventType.STEP_STARTED:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        project_in(tmp_path, press).execute(_plan(tmp_path, TWO_STEPS))
    project = project_in(tmp_path)
    stopped = project.status("two steps")

    assert stopped.error is not None
    assert (stopped.error.message, stopped.error.recoverable) == ("interrupted", True)
    assert stopped.error.hint == Advice("run on with ", NextStep("resume", plan=stopped.plan_id))
    shown = [block.text for block in status_answer(stopped, None).blocks if isinstance(block, Line)]
    assert shown[-2:] == ["stopped: interrupted", f"next: {in_commands(stopped.error.hint)}"]
    assert project_in(tmp_path).execute("two steps").error is None


def test_an_interruption_while_a_group_is_committed_forgets_nothing_of_it(tmp_path: Path) -> None:
    text = TWO_STEPS + "config: {max_checkpoints_per_plan: 2}\n"  # the group before is pruned in that commit
    _interrupt_at_commit(tmp_path, text, _is_before_step_two)

    project = project_in(tmp_path)
    stopped = project.status("two steps")

    assert stopped.last_checkpoint_id == project.checkpoints.list("two steps")[-1].checkpoint_id
    assert [step.status.value for step in stopped.steps] == ["done", "pending"]
    assert project_in(tmp_path).execute("two steps").state is State.COMPLETE


class _Impatient(SqliteConnection):
    """A connection whose user presses Ctrl-C while a transaction waits to begin."""

    pressed = False

    def execute(self, statement: str, values: object = ()) -> None:
        assert values == ()
        super().execute(statement)
        if statement.startswith("BEGIN") and not self.pressed:
            self.pressed = True
            raise KeyboardInterrupt


def test_a_transaction_interrupted_as_it_begins_stays_in_nobodys_way(tmp_path: Path) -> None:
    connection = _Impatient(tmp_path / "a.db")

    with pytest.raises(KeyboardInterrupt), connection.transaction(write=True):
        pass

    with connection.transaction(write=True):
        connection.execute("CREATE TABLE t (x)")
    with sqlite3.connect(tmp_path / "a.db") as other:
        assert other.execute("SELECT COUNT(*) FROM t").fetchone() == (0,)


def test_a_checkpoint_taken_by_hand_of_an_interrupted_step_is_no_place_to_go_on_from(tmp_path: Path) -> None:
    def press(event: Event) -> None:
        if event.type is EventType.STEP_STARTED and event.data["step"] == "two":
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        project_in(tmp_path, press).execute(_plan(tmp_path, TWO_STEPS))
    project = project_in(tmp_path)
    sandbox = Path(project.status("two steps").sandboxes[0].path)
    (sandbox / "two").write_text("half done\n")  # as the step may have left it

    project.checkpoints.create("two steps", "to look at later")
    project.checkpoints.create("two steps", "and again")
    status = project_in(tmp_path).execute("two steps")

    assert status.state is State.COMPLETE
    assert (sandbox / "two").read_text() == "begun\n"
