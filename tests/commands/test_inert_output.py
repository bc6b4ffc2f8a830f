"""What a step prints cannot speak to the terminal that it is shown on; colours stay, and pipes get every byte."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE
from tests.support.terminal import on_a_terminal

HOSTILE = {
    "clipboard": b"\x1b]52;c;ZXZpbA==\x07",
    "title": b"\x1b]0;owned\x1b\\",
    "device control": b'\x1bP$q"p\x1b\\',
    "application command": b"\x1b_command\x1b\\",
    "privacy message": b"\x1b^message\x1b\\",
    "clear screen": b"\x1b[2J\x1b[H",
    "cursor up": b"\x1b[5A",
    "another screen": b"\x1b[?1049h",
    "reset": b"\x1bc",
    "report": b"\x1b[6n\x05",
    "other letters": b"\x1b(0\x0e",
    "C1 in UTF-8": b"\xc2\x9b2J\xc2\x9d52;c;ZXZpbA==\xc2\x9c",
    "C1 as bytes": b"\x9b2J\x9d52;c;ZXZpbA==\x9c",
    "hidden": b"\x1b[8m",
    "turned around": "\u202egnp.exe\u2066".encode(),
}
FORBIDDEN = (b"\x1b[2J", b"\x1b[H", b"\x1b[5A", b"\x1b[?", b"\x1bc", b"\x05", b"\x0e", b"\x1b(", b"\x1bP",
             b"\x1b_", b"\x1b^", b"\x1b]", b"\x1b[6n", b"\xc2\x9b", b"\xc2\x9d", b"\x9b2J", b"\x1b[8m",
             "\u202e".encode(), "\u2066".encode())  # fmt: skip
PRINTED = b"".join(b"<%b>%b</>\n" % (name.encode(), data) for name, data in HOSTILE.items())
HARMLESS = "\x1b[1;31mred\x1b[0m plain \x1b[38;5;8mgrey\x1b[m\ttab Größe 10 %\r20 %\r\n".encode()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "printed").write_bytes(PRINTED + HARMLESS)
    return tmp_path


@pytest.mark.parametrize("around", [{}, {"TERM": "dumb"}, {"MULLIGAN_CORE_FORMAT": "plain"}])
def test_on_a_terminal_nothing_but_colours_gets_through(project: Path, around: dict[str, str]) -> None:
    # In pieces, so that sequences are cut in the middle.
    prints = "dd if=printed bs=7 status=none; sleep 0.2; printf '\\033]52;c;'; sleep 0.2; printf 'ZXZpbA==\\007end\\n'"
    code, shown = on_a_terminal(project, "run", "--", "sh", "-c", prints, environ=around)
    assert code == 0, shown
    begun = shown.index(b"<clipboard>")
    said = shown[begun : shown.index(b"end\r\n", begun)]
    assert [word for word in FORBIDDEN if word in said] == []
    for sequence in (b"\x1b[1;31m", b"\x1b[38;5;8m"):
        assert sequence in said
    words = [b"red", b"plain", b"grey", b"\ttab", "Größe".encode(), b"\r20 %"]
    for word in [*words, *(b"<%b>" % name.encode() for name in HOSTILE)]:
        assert _shows(said, word), word


def _shows(said: bytes, word: bytes) -> bool:
    """Return whether a word was shown; the line that shows progress may be drawn between any two pieces of it."""
    letters = [re.escape(word[at : at + 1]) for at in range(len(word))]
    return re.search(b".{0,500}?".join(letters), said, re.DOTALL) is not None


def test_output_of_a_child_plan_cannot_write_over_whose_it_is(project: Path) -> None:
    command = "printf 'mine\\r[other] done\\r\\nnext\\033[1A\\bx\\n'; cat printed"
    steps = f'[{{name: s, tool: shell, args: {{command: "{command.replace(chr(92), chr(92) * 2)}"}}}}]'
    plan = f"name: p\nsteps:\n  - subplans: {{plans: [{{name: child, steps: {steps}}}]}}\n"
    (project / "plan.yaml").write_text(plan)
    code, shown = on_a_terminal(project, "plan", "execute", "plan.yaml")
    assert code == 0, shown
    assert b"[child] [other] done\r\n" in shown
    assert b"[child] next" in shown
    assert [word for word in FORBIDDEN if word in shown] == []


def test_a_step_that_fails_cannot_speak_through_its_message(project: Path) -> None:
    code, shown = on_a_terminal(project, "run", "--", "sh", "-c", "cat printed >&2; exit 1")
    assert code == 1
    begun = shown.index(b"<clipboard>")
    assert [word for word in FORBIDDEN if word in shown[begun:]] == []


def test_elsewhere_every_byte_is_passed_on(project: Path) -> None:
    command = [sys.executable, "-m", "mulligan", "run", "--", "cat", "printed"]
    done = subprocess.run(
        command, cwd=project, capture_output=True, check=True, timeout=PATIENCE, env=os.environ
    )
    assert done.stdout == PRINTED + HARMLESS
