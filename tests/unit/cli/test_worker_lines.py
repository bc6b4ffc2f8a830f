"""The log of a worker: a line for each event, for programs or for people, whatever becomes of the reader."""

import io
import json
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, cast

import pytest

from mulligan.cli.commands.workers.worker_lines import WorkerLines
from mulligan.domain.plans.plan import Plan


class Spans:
    """What is reported of the work."""

    def __init__(self) -> None:
        self.said: list[str] = []

    @contextmanager
    def run_of(self, plan: Any, host: str) -> Generator[None]:
        self.said.append(f"run of {plan.handle} on {host}")
        yield

    def event(self, event: str, facts: Mapping[str, Any]) -> None:
        self.said.append(event)

    def close(self) -> None:
        self.said.append("closed")


class APlan:
    plan_id, handle = "01JPLAN", "fix"


def work(lines: WorkerLines) -> None:
    lines.say("started", worker="w1", queue="default")
    with lines.run_of(cast("Plan", APlan())):
        lines.say("step begun", plan="01JPLAN", step="one\x1b")
    lines.close()


def test_programs_get_a_document_for_each_event(capsys: pytest.CaptureFixture[str]) -> None:
    spans = Spans()
    lines = WorkerLines(document=True, host="here", spans=spans)
    work(lines)
    started, begun, step = map(json.loads, capsys.readouterr().out.splitlines())
    assert (started["event"], started["worker"], started["host"]) == ("started", "w1", "here")
    assert "handle" not in started
    assert [each["handle"] for each in (begun, step)] == ["fix", "fix"]
    assert step["step"] == "one\x1b"
    assert lines.runs == 1
    assert spans.said == ["started", "run of fix on here", "plan begun", "step begun", "closed"]


def test_people_read_handles_and_nothing_that_controls_their_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    work(WorkerLines(document=False, host="here", spans=Spans()))
    printed = capsys.readouterr()
    assert printed.out == ""
    started, begun, step = (line.partition(" ")[2] for line in printed.err.splitlines())
    assert (started, begun) == ("started queue=default", "plan begun plan=fix")
    assert step.startswith("step begun plan=fix step=one")
    assert "\x1b" not in step


def test_a_reader_that_went_away_ends_no_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = io.StringIO()
    gone.close()
    monkeypatch.setattr(sys, "stdout", gone)
    lines = WorkerLines(document=True, host="here", spans=Spans())
    work(lines)
    assert lines.runs == 1
