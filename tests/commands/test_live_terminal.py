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
        - {name: docs, steps: [{name: describe, tool: shell, args: {command: "echo one; sleep 0.6; printf two"}}]}
        - {name: client, steps: [{name: compile, tool: shell, args: {command: "echo three; sleep 0.7; echo four"}}]}
  - {name: a name that finds no room on a terminal as narrow as this one is, tool: shell, args: {command: "sleep 0.3"}}
"""
AREA = re.compile(r" \d+ s  step \d of \d$")


@pytest.mark.processes_measured
def test_what_runs_stands_below_what_is_over_and_nothing_is_torn_or_lost(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN)
    screens = list[list[str]]()

    def look(shown: bytes, _: int) -> None:
        screens.append(Terminal(COLUMNS, LINES).feed(shown).text.split("\n"))

    code, shown = on_a_terminal(
        tmp_path, "plan", "execute", "plan.yaml", columns=COLUMNS, lines=LINES, look=look
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
    areas = [[line for line in screen if AREA.search(line)] for screen in screens]
    assert max(len(area) for area in areas) == 3, "the step and both child plans, each of them once"
    assert {area[0] for area in areas if area and "step 3" in area[0]} == {
        "▸ a name that finds no room on a term..  0 s  step 3 of 3"
    }


def _without_times(line: str) -> str:
    took = re.sub(r" +[\d.]+ m?s(?=  @|$)", " TOOK", line)
    return " ".join(took.split()) if "●" in line else took


@pytest.mark.processes_measured
def test_ctrl_c_leaves_a_clean_terminal(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN.replace("sleep 0;", "sleep 30;"))
    settings = list[object]()

    def look(shown: bytes, keyboard: int) -> None:
        screen = Terminal(COLUMNS, LINES).feed(shown).text.split("\n")
        if b"  0 s" in shown and "30" in screen and not settings:
            settings.append(termios.tcgetattr(keyboard))
            os.write(keyboard, b"\x03")
        elif b"interrupted" in shown and len(settings) == 1:
            settings.append(termios.tcgetattr(keyboard))

    code, shown = on_a_terminal(
        tmp_path, "plan", "execute", "plan.yaml", columns=COLUMNS, lines=LINES, look=look
    )
    assert code == 130
    assert settings[0] == settings[1]
    *over, error, hint = Terminal(COLUMNS, LINES).feed(shown).text.rstrip("\n").split("\n")
    assert over[-31:] == ["▸ build", *(str(number) for number in range(1, 31))]
    assert error == "error: interrupted"
    assert hint == "hint: run on with `mulligan resume tour`"
    assert b"\x1b[?" not in shown, "nothing was switched"
