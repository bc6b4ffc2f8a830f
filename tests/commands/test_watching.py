"""`plan status --watch`: a plan that another process works on, until it ends."""

import os
import re
import signal
import time
from contextlib import chdir
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from mulligan.application.queries.progress_queries import NewCheckpoint, PlanProgress
from mulligan.cli.main import run
from mulligan.cli.terminal.watch_screen import frame
from mulligan.domain.plans.plan import Phase, State
from mulligan.domain.plans.step import StepRecord, StepStatus
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.text.ids import CheckpointId, PlanId
from tests.commands.program import answer_of, ask, data_of, start
from tests.support.homes import home_of
from tests.support.patience import PATIENCE
from tests.support.terminal import Terminal, on_a_terminal
from tests.unit.examples import NOON

PLAN = """
name: slow
steps:
  - {name: quick, tool: write_file, args: {path: a, content: a}}
  - name: parts
    subplans:
      plans:
        - {name: docs, steps: [{name: wait, tool: shell, args: {command: "while ! test -e GO; do sleep 0.05; done"}}]}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    plan = PLAN.replace("GO", str(tmp_path / "go"))
    (tmp_path / "project" / "plan.yaml").write_text(plan)
    return tmp_path / "project"


def running(project: Path):
    """Start the plan in another process, and wait until its child is at work."""
    process = start(project, "plan", "execute", "plan.yaml")
    limit = time.monotonic() + PATIENCE
    while time.monotonic() < limit:
        if (home_of(project) / "mulligan.db").exists():
            answer = ask(project, "plan", "status", "docs")
            if answer["exit_code"] == 0 and answer["data"]["steps"][0]["status"] == "running":
                return process
        time.sleep(0.05)
    raise AssertionError(process.communicate())


def test_a_pipe_gets_a_line_for_each_change_and_then_where_it_stands(
    project: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    process = running(project)
    waited = time.sleep

    def let_go(seconds: float) -> None:
        (project.parent / "go").touch()
        waited(seconds)

    monkeypatch.setattr(time, "sleep", let_go)  # once someone watches
    with chdir(project):
        assert run(["plan", "status", "--watch", "slow", "--format", "plain"]) == 0
    assert answer_of(process)["exit_code"] == 0
    first, *lines = capfd.readouterr().out.splitlines()
    assert first == "slow: running"
    end = next(n for n, line in enumerate(lines) if line.startswith("slow: "))
    told = [re.sub(r"^\d\d:\d\d:\d\d |[\d.]+ m?s$", "", line) for line in lines[:end]]
    assert told == [
        "[docs] step wait done in ",
        "[docs] checkpoint @3, at the end",
        "[docs] complete",
        "merged docs: 0 paths",
        "checkpoint @4, after a child plan of step 2",
        "step parts done in ",
        "checkpoint @5, at the end",
        "complete",
    ]
    assert lines[end] == "slow: complete"


@pytest.mark.processes_measured
def test_a_terminal_shows_it_in_place_until_someone_leaves(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    process = running(project)
    screens = list[str]()

    def look(shown: bytes, keyboard: int) -> None:
        screens.append(Terminal(60, 14).feed(shown).text)
        if re.search(r"docs  wait  \d+ s  0 of 1", screens[-1]) and len(screens) == 1:
            os.write(keyboard, b"\x03")

    code, shown = on_a_terminal(project, "plan", "status", "--watch", columns=60, lines=14, look=look)
    assert code == 130
    assert Terminal(60, 14).feed(shown).unknown == []
    last = Terminal(60, 14).feed(shown).text.split("\n")
    assert last[0] == "slow: running"
    assert last[1].startswith("1 of 2 steps done, last changed ")
    assert last[2].startswith("  ● quick  ")
    assert re.fullmatch(r"  ▸ parts  \d+ s", last[3])
    assert re.fullmatch(r"    ▸ docs  wait  \d+ s  0 of 1", last[4])
    assert [line[:5] for line in last[5:8]] == ["  ○ @"] * 3
    assert last[8:] == ["no longer watched; the plan goes on"]
    refused = ask(project, "plan", "resume", "slow")["error"]
    assert (refused["kind"], refused["since"][-1]) == ("plan_busy", "Z")
    with chdir(project):
        assert run(["plan", "resume", "slow"]) == 3
    assert re.search(r"since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\n", capfd.readouterr().err)
    assert process.poll() is None, "it was left alone"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    over = ask(project, "plan", "status", "--watch", "slow")["data"]
    assert over["error"]["message"] == "the process that worked on this plan is gone"


def test_a_document_is_waited_for_until_ctrl_c(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data_of(project, "plan", "create", "plan.yaml")
    looks = list[float]()

    def wait(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", wait)
    answer = ask(project, "plan", "status", "--watch")
    assert len(looks) == 3, "a plan that nobody has begun is waited for"
    assert (answer["exit_code"], answer["error"]["kind"]) == (130, "interrupted")
    assert answer["error"]["hint"].startswith("nobody works on the plan: `mulligan plan execute slow` ")


# --- what stands on the screen -----------------------------------------------------------------------------


def step(index: int, status: StepStatus) -> StepRecord:
    return StepRecord(
        index=index, name=f"s{index}", status=status, duration_ms=7 if status is StepStatus.DONE else None
    )


def progress(done: int, total: int) -> PlanProgress:
    status = {done: StepStatus.RUNNING}
    return PlanProgress(
        plan_id=PlanId("01P"),
        handle="many",
        name="many",
        phase=Phase.EXECUTE,
        state=State.PROCESSING,
        attempt=2,
        worked_on=True,
        is_over=False,
        steps=tuple(
            step(n, StepStatus.DONE if n < done else status.get(n, StepStatus.PENDING)) for n in range(total)
        ),
        running_since=NOON,
        checkpoints=(
            NewCheckpoint(
                checkpoint_id=CheckpointId("01C"),
                number=7,
                step_index=1,
                checkpoint_type=CheckpointType.MANUAL,
                label="draft",
                created_at=NOON,
            ),
        ),
        children=(),
        updated_at=NOON,
    )


def screen(look: PlanProgress, lines: int) -> list[str]:
    rows = frame(look, NOON + timedelta(seconds=75), lines=lines)
    return ["".join(span.text for span in row) for row in rows]


@pytest.mark.parametrize(
    ("done", "shown"),
    [
        (0, ["▸ s0  1 min 15 s", "○ s1", "○ s2", "○ s3", "196 after"]),
        (99, ["97 before", "● s97  7 ms", "● s98  7 ms", "▸ s99  1 min 15 s", "○ s100", "99 after"]),
        (199, ["196 before", "● s196  7 ms", "● s197  7 ms", "● s198  7 ms", "▸ s199  1 min 15 s"]),
        (200, ["196 before", "● s196  7 ms", "● s197  7 ms", "● s198  7 ms", "● s199  7 ms"]),
    ],
)
def test_of_many_steps_those_around_the_present_one_are_shown(done: int, shown: list[str]) -> None:
    assert screen(progress(done, 200), 10) == [
        "many: running, attempt 2",
        f"{done} of 200 steps done, last changed 1 min ago",
        *(f"  {row}" for row in shown),
        "  ○ @7 your label 'draft'  1 min ago",
        "Ctrl-C leaves the plan running",
    ]


def test_child_plans_stand_below_their_step_whatever_they_do() -> None:
    child = replace(progress(0, 1), name="docs", checkpoints=())
    ended = replace(child, name="done", state=State.COMPLETE, steps=(step(0, StepStatus.DONE),))
    waits = replace(
        child, name="waits", state=State.QUEUED, steps=(step(0, StepStatus.PENDING),), worked_on=False
    )
    parent = replace(child, children=(replace(child, children=(ended,)), waits), worked_on=False)
    assert screen(parent, 20)[1:-1] == [
        "0 of 1 steps done, last changed 1 min ago; nobody works on it yet",
        "  ▸ s0  1 min 15 s",
        "    ▸ docs  s0  1 min 15 s  0 of 1",
        "      ● done  complete  1 of 1",
        "    ○ waits  ready to go on  0 of 1",
    ]
