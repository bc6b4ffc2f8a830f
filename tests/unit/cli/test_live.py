"""What people see while an operation goes on."""

import pytest

from mulligan.cli.live import Live
from mulligan.cli.silent import Silent
from mulligan.domain.event import Event, EventType
from mulligan.domain.ids import PlanId
from mulligan.domain.json_value import JsonObject
from tests.unit.examples import NOON


class Terminal:
    """What was written to stderr so far."""

    def __init__(self, capture: pytest.CaptureFixture[bytes]) -> None:
        self._capture = capture
        self._read = b""

    @property
    def shown(self) -> str:
        self._read += self._capture.readouterr().err
        return self._read.decode()


@pytest.fixture
def stderr(capfdbinary: pytest.CaptureFixture[bytes]) -> Terminal:
    return Terminal(capfdbinary)


def event(type: EventType, data: JsonObject) -> Event:
    return Event(plan_id=PlanId("p"), seq=1, type=type, data=data, created_at=NOON)


class Time:
    """A clock that is told how late it is."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_events_are_lines_and_output_comes_as_it_is(stderr: Terminal) -> None:
    live = Live(terminal=False, monotonic=Time())
    live.event(event(EventType.STEP_STARTED, {"index": 0, "step": "build \x1b[31m"}))
    live.output(b"half a line")
    live.event(event(EventType.LOG, {"step": "build", "message": "hello"}))
    live.event(
        event(EventType.STEP_FAILED, {"index": 0, "step": "build", "error": "exit status 1:\nno flag \x07"})
    )
    live.event(event(EventType.PLAN_STATE, {"state": "errored"}))
    live.progress("files copied", 1, 2)
    live.close()
    assert stderr.shown == "> build \\x1b[31m\nhalf a line\n  hello\n! build: exit status 1:\nno flag \\x07\n"


def test_long_work_on_a_terminal_counts_on_one_line_that_goes_away(stderr: Terminal) -> None:
    time = Time()
    live = Live(terminal=True, monotonic=time)
    live.progress("files copied", 1, 200)
    assert stderr.shown == "", "short work needs no line"
    time.now = 0.6
    live.progress("files copied", 100, 200)
    time.now = 0.61
    live.progress("files copied", 110, 200)
    assert stderr.shown == "\r\x1b[K100 of 200 files copied", "not more often than anyone can read"
    live.event(event(EventType.STEP_STARTED, {"index": 0, "step": "build"}))
    live.close()
    assert stderr.shown == "\r\x1b[K100 of 200 files copied\r\x1b[K> build\n"


def test_an_unfinished_line_is_finished_at_the_end(stderr: Terminal) -> None:
    live = Live(terminal=False, monotonic=Time())
    live.output(b"no line break")
    live.close()
    assert stderr.shown == "no line break\n"


def test_a_document_is_accompanied_by_nothing(stderr: Terminal) -> None:
    silent = Silent()
    silent.event(event(EventType.STEP_STARTED, {"step": "build"}))
    silent.output(b"words")
    silent.progress("files", 1, None)
    silent.close()
    assert stderr.shown == ""
