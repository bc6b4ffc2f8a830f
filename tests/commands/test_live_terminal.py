"""A plan that runs on a real terminal of a fixed size: what stands on it meanwhile, and in the end."""

import os
import re
import termios
from pathlib import Path

import pytest

from tests.support.terminal import Terminal, on_a_terminal

COLUMNS, LINES = 60, 12
PLAN = """
name: tour
steps:
  - {name: build, tool: shell, args: {command: "seq 1 30; sleep 0; echo built"}, checkpoint: built}
  - name: parts
    subplans:
      plans:
        - {name: docs, steps: [{name: describe, tool: shell, args: {command: "echo one; AWAIT both; printf two"}}]}
        - {name: client, steps: [{name: compile, tool: shell, args: {command: "echo three; AWAIT both; echo four"}}]}
  - {name: a name that finds no room on a terminal as narrow as this one is, run: AWAIT third}
"""
AREA = re.compile(r" \d+ s  step \d of \d$")
NARROW = re.compile(r"▸ a name that finds no room on a \w+\.\.  \d+ s  step 3 of 3")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a plan whose steps wait until they were seen: for files beside the folder."""
    made = tmp_path / "project"
    made.mkdir()
    plan = re.sub(r"AWAIT (\w+)", rf"until test -e {tmp_path}/\1; do sleep 0.02; done", PLAN)
    (made / "plan.yaml").write_text(plan)
    return made


@pytest.mark.processes_measured
def test_what_runs_stands_below_what_is_over_and_nothing_is_torn_or_lost(project: Path) -> None:
    areas = list[list[str]]()

    def look(shown: bytes, _: int) -> None:
        screen = Terminal(COLUMNS, LINES).feed(shown).text.split("\n")
        areas.append([line for line in screen if AREA.search(line)])
        if len(areas[-1]) == 3:
            (project.parent / "both").touch()
        if areas[-1] and "step 3" in areas[-1][0]:
            (project.parent / "third").touch()

    code, shown = on_a_terminal(
        project, "plan", "execute", "plan.yaml", columns=COLUMNS, lines=LINES, look=look
    )
    assert code == 0
    last = Terminal(COLUMNS, LINES).feed(shown)
    assert last.unknown == []
    over = [_without_times(line) for line in last.text.split("\n")]
    begin, end = over.index("▸ build"), over.index("● 2 parts ok TOOK @4")
    assert over[begin : begin + 34] == [
        "▸ build",
        *(str(number) for number in range(1, 31)),
        "built",
        "● 1 build ok TOOK @2",
        "    ○ @3 your label 'built'",
    ]
    parts = over[begin + 34 : end]
    for name, lines in (
        ("docs", ["▸ describe", "one", "two", "● 1 describe ok TOOK @2"]),
        ("client", ["▸ compile", "three", "four", "● 1 compile ok TOOK @2"]),
    ):
        assert [line for line in parts if line.startswith(f"[{name}]")] == [
            f"[{name}] {line}" for line in lines
        ]
    merged = [line for line in parts if not line.startswith("[")]
    assert merged == ["  merged docs: 0 paths", "  merged client: 0 paths"]
    assert not [line for line in over if AREA.search(line)], "the area is gone"
    assert max(len(area) for area in areas) == 3, "the step and both child plans, each of them once"
    third = [area[0] for area in areas if area and "step 3" in area[0]]
    assert all(NARROW.fullmatch(line) and len(line) == COLUMNS - 3 for line in third), third


def _without_times(line: str) -> str:
    took = re.sub(r" +[\d.]+ m?s(?=  @|$)", " TOOK", line)
    return " ".join(took.split()) if "●" in line else took


@pytest.mark.processes_measured
def test_ctrl_c_leaves_a_clean_terminal(project: Path) -> None:
    plan = project / "plan.yaml"
    plan.write_text(plan.read_text().replace("sleep 0;", "sleep 1000;"))
    settings = list[object]()

    def look(shown: bytes, keyboard: int) -> None:
        screen = Terminal(COLUMNS, LINES).feed(shown).text.split("\n")
        if "30" in screen and not settings and any(AREA.search(line) for line in screen):
            settings.append(termios.tcgetattr(keyboard))
            os.write(keyboard, b"\x03")
        elif b"interrupted" in shown and len(settings) == 1:
            settings.append(termios.tcgetattr(keyboard))

    code, shown = on_a_terminal(
        project, "plan", "execute", "plan.yaml", columns=COLUMNS, lines=LINES, look=look
    )
    assert code == 130
    assert settings[0] == settings[1]
    *over, error, hint = Terminal(COLUMNS, LINES).feed(shown).text.rstrip("\n").split("\n")
    assert over[-31:] == ["▸ build", *(str(number) for number in range(1, 31))]
    assert error == "error: interrupted"
    assert hint == "hint: run on with `mulligan resume tour`"
    assert b"\x1b[?" not in shown, "nothing was switched"
