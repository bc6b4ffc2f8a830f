"""The unit of work of a run: all of it or nothing, in the database and in the run."""

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from mulligan.adapters.db.database_file import open_sqlite
from mulligan.application.runs.commit import Commit, Entry, write_records
from mulligan.application.runs.run import Run
from mulligan.config import Settings
from mulligan.domain.checkpoints.checkpoint import PlanState
from mulligan.domain.history.lines import Line
from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.plans.plan import State
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.json_value import JsonObject
from mulligan.errors import PlanTakenOver
from mulligan.ports import Claim, Unobserved
from mulligan.rows import state_document
from mulligan.rows.database import Database
from mulligan.rows.transaction import Transaction
from tests.unit.examples import NOON, a_group, a_plan

PLAN = PlanId("01K00000000000000000000001")


class Listener(Unobserved):
    """Keeps what was shown."""

    def __init__(self) -> None:
        self.shown: list[Event] = []

    def event(self, event: Event) -> None:
        """Keep it."""
        self.shown.append(event)


class FullDisk(Database):
    """A database that cannot commit."""

    @contextmanager
    def writing_as(self, claim: Claim) -> Generator[Transaction]:
        """As ever, until the end."""
        with super().writing_as(claim) as db:
            yield db
            raise OSError("no space left on device")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "mulligan.db"


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture
def run(file: Path, listener: Listener) -> Iterator[Run]:
    database = Database(partial(open_sqlite, file))
    plan = a_plan()
    with database.writing() as db:
        db.plans.add(plan)
        db.history.start(PLAN, Line(line=1, parent_line=None, fork_seq=0))
        fence = db.plans.raise_fence(PLAN)
    yield Run(
        database=database,
        claim=Claim(plan_id=PLAN, fence=fence),
        plan=plan,
        settings=Settings(entries=()),
        observer=listener,
        sandboxes=(),
        step_index=0,
        outputs={},
        memory={},
        decisions=[],
        merged=[],
        steps=[],
        taken=[],
        latest={},
    )
    database.close()


def note(text: str) -> Entry:
    return Entry(type=EventType.LOG, data={"message": text}, at=NOON)


def logged(file: Path) -> list[tuple[int, object]]:
    """The log as another process sees it."""
    with closing(Database(partial(open_sqlite, file))) as database, database.reading() as db:
        return [(event.seq, event.data["message"]) for event in db.events.list(PLAN)]


def test_what_is_pending_is_written_first_and_shown_once_it_is_committed(
    run: Run, listener: Listener, file: Path
) -> None:
    run.note(note("pending"))
    with run.commit("plan.record") as commit:
        commit.record(note("new"))
        assert (listener.shown, logged(file)) == ([], [])
    assert logged(file) == [(1, "pending"), (2, "new")]
    assert [event.seq for event in listener.shown] == [1, 2]
    assert run.pending == []


def test_numbers_continue_over_commits_and_what_is_no_event_takes_one_too(run: Run, file: Path) -> None:
    run.record(run.plan, note("a"))
    with run.commit("plan.record") as commit:
        assert commit.next_seq() == 2
        commit.record(note("b"))
    with run.database.writing() as db:
        write_records(db, PLAN, note("c"))
    run.record(run.plan, note("d"))
    assert logged(file) == [(1, "a"), (3, "b"), (4, "c"), (5, "d")]


def test_the_plan_is_saved_where_it_changed_and_only_there(run: Run) -> None:
    with run.database.writing() as db:  # what a run whose commit was interrupted does not know of
        db.plans.save(replace(run.plan, state=State.ERRORED))
    run.record(run.plan, note("said"))
    with run.database.reading() as db:
        assert db.plans.get(PLAN).state is State.ERRORED
    with run.commit("plan.record") as commit:
        commit.plan = replace(run.plan, attempt=7)
    assert run.plan.attempt == 7
    with run.database.reading() as db:
        assert db.plans.get(PLAN).attempt == 7


def changed(run: Run, commit: Commit) -> None:
    commit.plan = replace(run.plan, attempt=7)
    commit.record(note("new"))
    commit.afterwards(lambda: run.inform("learned"))


def as_before(run: Run, listener: Listener, file: Path) -> bool:
    with closing(Database(partial(open_sqlite, file))) as database, database.reading() as db:
        unchanged = (db.plans.get(PLAN).attempt, db.plans.counters(PLAN).seq) == (1, 0)
    of_run = (run.plan.attempt, run.pending, run.messages) == (1, [note("pending")], [])
    return unchanged and of_run and listener.shown == [] and logged(file) == []


def test_a_block_that_fails_changes_nothing(run: Run, listener: Listener, file: Path) -> None:
    run.note(note("pending"))

    def interrupted(commit: Commit) -> None:
        changed(run, commit)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), run.commit("plan.record") as commit:
        interrupted(commit)
    assert as_before(run, listener, file)


def test_a_commit_that_fails_changes_nothing(run: Run, listener: Listener, file: Path) -> None:
    run.note(note("pending"))
    with (
        closing(FullDisk(partial(open_sqlite, file))) as run.database,
        pytest.raises(OSError, match="no space"),
        run.commit("plan.record") as commit,
    ):
        changed(run, commit)
    assert as_before(run, listener, file)


def test_a_run_that_lost_its_plan_changes_nothing(run: Run, listener: Listener, file: Path) -> None:
    run.note(note("pending"))
    with run.database.writing() as db:
        db.plans.raise_fence(PLAN)
    with pytest.raises(PlanTakenOver), run.commit("plan.record") as commit:
        changed(run, commit)
    assert as_before(run, listener, file)


def test_what_is_noted_during_a_commit_waits_for_the_next(run: Run, file: Path) -> None:
    with run.commit("plan.record"):
        run.note(note("late"))
    assert (run.pending, logged(file)) == ([note("late")], [])
    run.record(run.plan)
    assert logged(file) == [(1, "late")]


def test_a_group_and_its_plan_spell_their_state_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    spelled: list[PlanState] = []
    to_json = PlanState.to_json

    def counted(state: PlanState) -> JsonObject:
        spelled.append(state)
        return to_json(state)

    monkeypatch.setattr(PlanState, "to_json", counted)
    monkeypatch.setattr(state_document, "_last", None)
    run.step_index = 2
    with run.commit("group.record") as commit:
        commit.plan = run.progressed()
        commit.db.checkpoints.add(replace(a_group(PLAN, "g", 1), state=commit.plan.progress))
    assert len(spelled) == 1
    with run.database.reading() as db:
        assert db.plans.get(PLAN).progress.step_index == 2
