"""`plan log` and `plan tree` as people see them: lines, branches, child plans; wide, narrow, plain."""

import re
from contextlib import chdir
from pathlib import Path

import pytest
from msgspec.structs import replace

import mulligan
from mulligan.cli.answers.answer import Answer, Drawing, Format, Row, Span
from mulligan.cli.answers.timeline_blocks import timeline_blocks
from mulligan.cli.main import run
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
○ checkpoint pre_execute ID
○ checkpoint before_step ID
● step write write_file TOOK
○ checkpoint manual 'written' ID
├─○ checkpoint before_step ID
│ ● step choose TOOK
│ ◆ decision Which? -> this ID
│ ○ checkpoint decision ID
│ ○ checkpoint before_step ID
│ ● step parts TOOK
│ ▪ child plan docs ID
│ │ · recorded as docs
│ │ ▪ begun
│ │ ○ checkpoint pre_execute ID
│ │ ○ checkpoint before_step ID
│ │ ● step describe write_file TOOK
│ │ ○ checkpoint post_execute ID
│ │ ▪ complete
│ │ ▪ cancelled: its parent went back to before it was spawned
│ ▪ merged docs: 1 path
│ ○ checkpoint after_subplan ID
│ ○ checkpoint before_step ID
│ ├─× step fail shell failed
│ │ │ shell: ended with exit status 1
│ │ ○ checkpoint on_error ID
│ ◀─╯ went back to ID at step 3, 0 paths: a step failed
│ ○ checkpoint pre_rollback ID
◀─╯ rolled back to ID at step 1, 1 path
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
    text = re.sub(r"\b[0-9A-HJKMNP-TV-Z]{26}\b", "ID", text)
    text = re.sub(r"\b\d+ bytes", "BYTES", text)
    return re.sub(r"\b[\d.]+ m?s\b", "TOOK", text)


def test_the_log_is_a_line_with_branches(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    title, recorded, day, *rows = printed(capfd, project, "plan", "log", "--format", "plain").splitlines()
    assert title.endswith("is execute/queued")
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
    row = next(n for n, text in enumerate(rows) if "manual 'written'" in text)
    assert re.fullmatch(r"         │ [0-9A-Z]{26}", rows[row + 1])
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
        assert "|-o checkpoint before_step" in drawn
        assert "<-' rolled back to" in drawn
        assert printed(capfd, project, "plan", "tree", "--format", format).isascii()


def test_the_newest_entries_lie_where_they_lie_in_the_whole(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    shown = printed(capfd, project, "plan", "log", "--limit", "4", "--format", "plain").splitlines()
    assert [row[9:14] for row in shown[3:]] == ["├─┬─○", "│ ◀─╯", "│ ○ c", "◀─╯ r"]


def test_the_tree_is_drawn_with_its_branches(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    drawn = printed(capfd, project, "plan", "tree", "--show-superseded", "--format", "plain")
    assert lasting(drawn).startswith(
        "plan tour, execute/queued (ID)\n"
        "├─ checkpoint pre_execute at step 0 (ID)\n"
        "├─ checkpoint before_step at step 0 (ID)\n"
        "├─ checkpoint manual 'written' at step 1 (ID)\n"
        "├─ checkpoint before_step at step 1 (ID, superseded)\n"
        "└─ decision in step choose: Which? -> this (ID, superseded)\n"
        "   ├─ checkpoint decision at step 2 (ID, superseded)\n"
        "   ├─ checkpoint before_step at step 2 (ID, superseded)\n"
        "   ├─ plan docs, execute/cancelled (ID, superseded)\n"
        "   │  ├─ checkpoint pre_execute at step 0 (ID)\n"
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
    assert re.search(r"created_at: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(\d+ s ago|just now\)", shown)
    shown = printed(capfd, project, "checkpoint", "show", "written")
    assert re.search(r"created_at: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\n", shown)


def test_a_plan_at_work_says_what_runs_and_that_it_was_gone_on_with(
    project: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a log as a process leaves it that was killed in the second run of its plan."""
    whole = mulligan.open(project).timeline("tour")
    begun = next(m for m in whole.moments if m.event.type is EventType.PLAN_STATE)
    step = next(m for m in whole.moments if m.event.type is EventType.STEP_STARTED)
    running = replace(step, call=None, end=None, under_way=True)
    left = replace(running, under_way=False)
    shown = replace(whole, attempt=2, moments=(begun, left, replace(begun, again=True), running))
    draw_blocks(Answer(data=None, blocks=timeline_blocks(shown, str)), Format.PLAIN)
    title, _, _, *rows = capfd.readouterr().out.splitlines()
    assert title.endswith("is execute/queued, attempt 2")
    assert [row[9:] for row in rows] == [
        "▪ begun",
        "● step write did not end",
        "▪ went on",
        "▸ step write is running",
    ]
    many = Drawing(tuple(Row(lead=(), words=(Span(f"row {n}", "bold"),), rest="") for n in range(1001)))
    draw_blocks(Answer(data=None, blocks=[many]), Format.RICH)
    assert capfd.readouterr().out == "".join(f"row {n}\n" for n in range(1001)), (
        "drawn without waiting for it"
    )
