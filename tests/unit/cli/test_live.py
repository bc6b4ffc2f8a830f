"""What people see while an operation goes on."""

import io
import threading

import pytest

from mulligan.cli.terminal.live import AsItIs, Live
from mulligan.cli.terminal.screen import Screen
from mulligan.cli.terminal.silent import Silent
from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.inert_text import Inert
from mulligan.domain.text.json_value import JsonObject
from tests.support.patience import wait_until
from tests.support.terminal import Terminal
from tests.unit.examples import NOON

PLAN = PlanId("p")


def event(type: EventType, whose: str = PLAN, /, **data: object) -> Event:
    facts: JsonObject = data  # pyright: ignore[reportAssignmentType] - any JSON
    return Event(plan_id=PlanId(whose), seq=1, type=type, data=facts, created_at=NOON)


def started(step: str, index: int = 0, whose: str = PLAN) -> Event:
    return event(EventType.STEP_STARTED, whose, index=index, step=step)


def done(step: str, index: int = 0, whose: str = PLAN) -> Event:
    return event(EventType.STEP_DONE, whose, index=index, step=step, duration_ms=1234)


def checkpoint(type: str, label: str | None = None) -> Event:
    return event(
        EventType.CHECKPOINT, checkpoint_id="01C", number=3, checkpoint_type=type, label=label, step_index=1
    )


SPAWNED = event(EventType.SUBPLAN_SPAWNED, plan_id="c", name="docs", again=False)


class Looking:
    """A live view, what it wrote, and the time that it goes by."""

    def __init__(self, *, terminal: bool) -> None:
        self.written = io.BytesIO()
        stream = io.TextIOWrapper(self.written, "utf-8", write_through=True)
        self.now = 0.0
        self.live = Live(
            screen=Screen(stream, terminal=terminal),
            printed=(lambda: Inert("utf-8")) if terminal else AsItIs,
            monotonic=lambda: self.now,
        )
        self._stream = stream

    def at(self, now: float) -> str:
        """Let the time be that, and see what stands on the terminal when its clock has ticked."""
        self.now = now
        self.live.tick()
        return self.shown

    @property
    def shown(self) -> str:
        return Terminal(80, 24).feed(self.written.getvalue().replace(b"\n", b"\r\n")).text


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setattr(threading.Thread, "start", lambda _: None)  # time passes when a test says so
    monkeypatch.setattr(threading.Thread, "join", lambda _: None)
    return Looking(terminal=True)


def test_elsewhere_than_on_a_terminal_events_are_lines_and_output_comes_as_it_is() -> None:
    looking = Looking(terminal=False)
    live = looking.live
    live.event(started("build \x1b[31m"))
    live.output(PLAN, b"half a line")
    live.event(event(EventType.LOG, step="build", message="hello"))
    live.event(checkpoint("manual", "draft"))
    live.event(
        event(EventType.STEP_FAILED, index=0, step="build \x1b[31m", error="exit status 1:\nno flag \x07")
    )
    live.event(event(EventType.PLAN_STATE, state="errored"))
    live.progress("files copied", 1, 2)
    live.close()
    assert looking.written.getvalue().decode() == (
        "> build \\x1b[31m\nhalf a line\n  hello\n    @3 your label 'draft'\n"
        "  1 build \\x1b[31m               failed\nexit status 1:\nno flag \\x07\n"
    )


@pytest.mark.parametrize(("status", "word"), [(0, "ok"), (3, "exit 3"), (-2, "SIGINT"), (-64, "signal 64")])
def test_a_step_that_a_program_ended_says_how(status: int, word: str) -> None:
    looking = Looking(terminal=False)
    called = event(EventType.TOOL_CALLED, exit_status=status)
    for each in (started("edit"), called, done("edit")):
        looking.live.event(each)
    assert f"  {word:<6}  " in looking.shown


def test_lines_of_a_child_say_whose_they_are_and_none_is_torn() -> None:
    looking = Looking(terminal=False)
    live = looking.live
    for each in (started("parts"), SPAWNED, started("write", 0, "c")):
        live.event(each)
    live.output(PlanId("c"), b"one\ntw")
    live.output(PLAN, b"of the parent\n")
    live.output(PlanId("c"), b"o\nthree")
    live.event(done("write", 0, "c"))
    live.event(event(EventType.SUBPLAN_MERGED, plan_id="c", name="docs", paths=2, conflicts=0))
    live.event(event(EventType.TOOL_UNDONE, tool="publish", step="write", status="done"))
    live.event(event(EventType.TOOL_UNDONE, tool="publish", step="write", status="failed"))
    live.output(PlanId("c"), b"last words")
    live.close()
    assert looking.written.getvalue().decode() == (
        "[docs] > write\n[docs] one\n> parts\nof the parent\n[docs] two\n[docs] three\n"
        "[docs]   1 write                     ok       1.2 s\n  merged docs: 2 paths\n"
        "  undone: publish in step 'write'\n[docs] last words\n"
    )


def test_a_terminal_shows_what_runs_below_what_is_over(terminal: Looking) -> None:
    live = terminal.live
    for each in (event(EventType.PLAN_STATE, state="processing", steps=2), started("bump"), done("bump")):
        live.event(each)
    live.event(checkpoint("before_step"))
    live.event(started("parts", 1))
    bump = "●   1 bump                      ok       1.2 s"
    assert terminal.at(0.1) == bump, "short work needs no more"
    for each in (
        SPAWNED,
        event(EventType.PLAN_STATE, "c", state="processing", steps=3),
        started("write", 0, "c"),
    ):
        live.event(each)
    assert terminal.at(61.5) == (
        f"{bump}\n"
        "▸ parts  1 min 1 s  step 2 of 2\n"
        "  ▸ docs: write  1 min 1 s  step 1 of 3\n"
        "  ○ @3 before step 2"
    )
    live.event(checkpoint("manual", "draft"))
    live.event(event(EventType.STEP_FAILED, "c", index=0, step="write", error="exit status 1:\nno room"))
    live.event(event(EventType.DECISION, question="Which?", chosen="this"))
    assert terminal.at(62).startswith(
        f"{bump}\n    ○ @3 your label 'draft'\n[docs] ×   1 write                     failed\n"
        "[docs] exit status 1:\n[docs] no room\n"
        "  decision: Which? this\n▸ parts  1 min 2 s"
    )
    live.event(done("parts", 1))
    live.close()
    assert terminal.shown.endswith(
        "decision: Which? this\n●   2 parts                     ok       1.2 s  @3"
    )


def test_output_stands_below_the_name_of_its_step_and_nothing_of_it_is_lost(terminal: Looking) -> None:
    live = terminal.live
    live.event(started("build"))
    assert terminal.at(1).startswith("▸ build  1 s")
    for number in range(300):
        live.output(PLAN, b"line %d\n" % number)
    live.output(PLAN, b"how far? ")
    lines = [f"line {number}" for number in range(300)]
    assert terminal.at(2).split("\n") == ["▸ build", *lines, "how far?"], "an unfinished line stays as it is"
    live.output(PLAN, b"done\n")
    assert terminal.at(3).split("\n") == ["▸ build", *lines, "how far? done", "▸ build  3 s"]
    live.output(PLAN, b"x" * 70_000)
    assert b"x" * 70_000 in terminal.written.getvalue(), "much is not kept waiting"
    live.close()
    assert terminal.shown.endswith("xxx")


def test_nothing_is_written_while_nothing_changes(terminal: Looking) -> None:
    terminal.live.event(started("build"))
    terminal.at(1.0)
    before = terminal.written.getvalue()
    terminal.at(1.4)
    assert terminal.written.getvalue() == before
    assert len(terminal.at(2.1).split("\n")) == 1


def test_long_work_counts_in_one_row_that_goes_away(terminal: Looking) -> None:
    terminal.live.progress("files copied", 1, 2000)
    assert terminal.at(0.1) == "", "short work needs no row"
    terminal.live.progress("files copied", 1000, 2000)
    assert terminal.at(0.6) == "  1,000 of 2,000 files copied"
    terminal.live.progress("objects looked at", 7, None)
    assert terminal.at(1.2) == "  7 objects looked at"
    terminal.live.progress("waiting for tune", 0, None)
    assert terminal.at(1.8) == "  waiting for tune"
    terminal.live.event(event(EventType.MESSAGE, message="two\nlines"))
    assert terminal.at(1.9) == "  two\nlines"


def test_after_the_end_a_new_beginning_starts_anew(terminal: Looking) -> None:
    terminal.live.event(started("build"))
    terminal.at(1)
    terminal.live.close()
    assert terminal.shown == "", "the terminal is as it was"
    terminal.live.event(started("again"))
    assert terminal.at(1.2) == ""
    assert terminal.at(6).startswith("▸ again  5 s")


def test_a_clock_of_its_own_keeps_the_terminal_in_motion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    looking = Looking(terminal=True)
    looking.now = 0.0
    looking.live.event(started("build"))
    looking.now = 2.0
    wait_until(lambda: "▸ build  2 s" in looking.shown, "two seconds are shown")
    looking.live.close()
    assert looking.shown == ""


def test_a_document_is_accompanied_by_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    silent = Silent()
    silent.event(started("build"))
    silent.output(PLAN, b"words")
    silent.progress("files", 1, None)
    silent.close()
    assert capfd.readouterr() == ("", "")
