"""`plan log` and `plan tree` as people see them: lines, branches, child plans; wide, narrow, plain."""

import re
from contextlib import chdir
from pathlib import Path

import pytest
from msgspec.structs import replace

import mulligan
from mulligan.cli.answers.answer import Answer, Drawing, Format, Row, Span
from mulligan.cli.answers.history_blocks import history_blocks
from mulligan.cli.main import run
from mulligan.cli.short_names import ShortNames
from mulligan.cli.terminal.render import draw_blocks
from mulligan.domain.plans.event import EventType
from tests.commands.program import ask, data_of

PLAN = """
name: tour
steps:
  - {name: write, tool: write_file, args: {path: a.txt, content: "new\\n"}, checkpoint: written}
  - {name: choose, decision: {question: Which?, chosen: this, alternatives: [that]}}
  - name: parts
    subplans:
      plans:
        - {name: docs, steps: [{name: describe, tool: write_file, args: {path: docs, content: d}}]}
  - {name: fail, tool: shell, args: {command: "test -e fixed"}}
"""
DRAWN = """\
· recorded as tour
· workspace: 1 file, BYTES to copy
▪ begun
○ @1 at the start
○ @2 before step 1
● step write write_file TOOK
○ @3 your label 'written'
├─○ @4 before step 2
│ ● step choose TOOK
│ ◆ decision Which? -> this tour/d1
│ ○ @5 after a decision
│ ○ @6 before step 3
│ ● step parts TOOK
│ ▪ child plan tour.docs
│ │ · recorded as docs
│ │ ▪ begun
│ │ ○ tour.docs@1 at the start
│ │ ○ tour.docs@2 before step 1
│ │ ● step describe write_file TOOK
│ │ ○ tour.docs@3 at the end
│ │ ▪ complete
│ │ ▪ cancelled: its parent went back to before it was spawned
│ ▪ merged docs: 1 path
│ ○ @7 after a child plan of step 3
│ ○ @8 before step 4
│ ├─× step fail shell failed
│ │ │ shell: ended with exit status 1
│ │ ○ @9 what step 4 left when it failed
│ ◀─╯ went back to @8, step 4, 0 paths: a step failed
│ ○ @10 before a rollback
◀─╯ went back to @3, step 2, 1 path
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "plan.yaml").write_text(PLAN)
    assert ask(folder, "plan", "execute", "plan.yaml")["exit_code"] == 1
    data_of(folder, "plan", "rollback", "--yes", "tour", "written")
    return folder


@pytest.fixture(autouse=True)
def _utf8(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.delenv("NO_COLOR", raising=False)


def printed(capfd: pytest.CaptureFixture[str], folder: Path, *words: str) -> str:
    with chdir(folder):
        assert run(words) == 0
    return capfd.readouterr().out


def lasting(text: str) -> str:
    text = re.sub(r"\b\d+ bytes", "BYTES", text)
    return re.sub(r"\b[\d.]+ m?s\b", "TOOK", text)


def test_the_log_is_a_line_with_branches(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    title, recorded, day, *rows = printed(capfd, project, "plan", "log", "--format", "plain").splitlines()
    assert title == "tour: ready to go on"
    assert re.fullmatch(r"recorded \d{4}-\S+ \d\d:\d\d:\d\d, last changed \d{4}-\S+ \S+", recorded)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", day)
    assert all(re.match(r"\d\d:\d\d:\d\d ", row) for row in rows)
    assert lasting("".join(f"{row[9:]}\n" for row in rows)) == DRAWN


def test_a_narrow_terminal_breaks_no_word_and_loses_none(
    project: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    drawn = printed(capfd, project, "plan", "log", "--format", "rich")
    assert "\x1b[" in drawn
    rows = re.sub(r"\x1b\[[\d;]*m", "", drawn).splitlines()
    assert rows[1] == "recorded just now, last changed just now" or " s ago" in rows[1]
    assert max(len(row) for row in rows[2:]) <= 60
    row = next(n for n, text in enumerate(rows) if text.endswith("a step"))
    assert rows[row + 1] == "         │ │ failed"
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("FORCE_COLOR")
    assert "\x1b" not in printed(capfd, project, "plan", "log", "--format", "rich")


def test_without_utf8_lines_are_ascii(
    project: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    for format in ("plain", "rich"):
        drawn = printed(capfd, project, "plan", "log", "--format", format)
        assert drawn.isascii()
        assert "|-o @4 before step 2" in drawn
        assert "<-' went back to @3" in drawn
        assert printed(capfd, project, "plan", "tree", "--format", format).isascii()


def test_the_newest_entries_lie_where_they_lie_in_the_whole(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    shown = printed(capfd, project, "plan", "log", "--limit", "4", "--format", "plain").splitlines()
    assert [row[9:14] for row in shown[3:]] == ["├─┬─○", "│ ◀─╯", "│ ○ @", "◀─╯ w"]


def test_the_tree_is_drawn_with_its_branches(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    drawn = printed(capfd, project, "plan", "tree", "--show-superseded", "--format", "plain")
    assert lasting(drawn).startswith(
        "plan tour, ready to go on (tour)\n"
        "├─ checkpoint at the start (tour@1)\n"
        "├─ checkpoint before step 1 (tour@2)\n"
        "├─ checkpoint your label 'written' (tour@3)\n"
        "├─ checkpoint before step 2 (tour@4, left behind)\n"
        "└─ decision in step choose: Which? -> this (tour/d1, left behind)\n"
        "   ├─ checkpoint after a decision (tour@5, left behind)\n"
        "   ├─ checkpoint before step 3 (tour@6, left behind)\n"
        "   ├─ plan docs, cancelled (tour.docs, left behind)\n"
        "   │  ├─ checkpoint at the start (tour.docs@1)\n"
    )


def test_times_are_relative_for_who_looks_and_local_elsewhere(
    project: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    for line in ("plan list", "checkpoint list", "plan status"):
        assert re.search(r" ago\b|just now", printed(capfd, project, *line.split(), "--format", "rich")), line
        plain = printed(capfd, project, *line.split(), "--format", "plain")
        assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", plain), line
        assert " ago" not in plain
    shown = printed(capfd, project, "checkpoint", "show", "written", "--format", "rich")
    assert re.search(r"time: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(\d+ s ago|just now\)", shown)
    shown = printed(capfd, project, "checkpoint", "show", "written")
    assert re.search(r"time: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\n", shown)


def test_a_plan_at_work_says_what_runs_and_that_it_was_gone_on_with(
    project: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a log as a process leaves it that was killed in the second run of its plan."""
    whole = mulligan.open(project).history("tour")
    begun = next(m for m in whole.moments if m.event.type is EventType.PLAN_STATE)
    step = next(m for m in whole.moments if m.event.type is EventType.STEP_STARTED)
    running = replace(step, call=None, end=None, under_way=True)
    left = replace(running, under_way=False)
    shown = replace(whole, attempt=2, moments=(begun, left, replace(begun, again=True), running))
    names = ShortNames(lambda _: {whole.plan_id: "tour"}, show_ids=False)
    draw_blocks(Answer(data=None, blocks=history_blocks(shown, str)), Format.PLAIN, names)
    title, _, _, *rows = capfd.readouterr().out.splitlines()
    assert title == "tour: ready to go on, attempt 2"
    assert [row[9:] for row in rows] == [
        "▪ begun",
        "● step write did not end",
        "▪ went on",
        "▸ step write is running",
    ]
    many = Drawing(tuple(Row(lead=(), words=(Span(f"row {n}", "bold"),), rest="") for n in range(1001)))
    draw_blocks(Answer(data=None, blocks=[many]), Format.RICH, names)
    assert capfd.readouterr().out == "".join(f"row {n}\n" for n in range(1001)), (
        "drawn without waiting for it"
    )
