"""Pages that are followed from top to bottom, as a reader would: one home folder, one shell.

What is typed (`sh`, `console`) and the files that the page gives (a fence with a `title`) become one script, so that
variables and the current folder last from one fence to the next. Nothing is done behind the reader's back.

A page that says `<!-- on a terminal -->` is followed on one: what it shows is the screen that a person would see.
Where a command asks, `answers="y"` behind the language of the fence is what the reader types.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from shutil import rmtree
from string import ascii_lowercase

from tests.support.page_examples import ROOT, Example, environment, examples_of
from tests.support.patience import PATIENCE
from tests.support.terminal import Terminal

DOCS = ROOT / "docs"
# These need servers, and SDKs: tests/shared and tests/real_agents/sdks.py run them.
_LEFT_OUT = {DOCS / "how-to" / "many-machines.md", DOCS / "how-to" / "agent-sdks.md"}
_HOW_TO = sorted(set((DOCS / "how-to").glob("*.md")) - _LEFT_OUT)
WALKED = [ROOT / "README.md", DOCS / "tutorial.md", *_HOW_TO]
SHOWN_AS = "/home/you"
ON_A_TERMINAL = "<!-- on a terminal -->"
_COLUMNS, _LINES = 100, 40
_QUESTION = re.compile(rb"\[[^\]\n]*\]:? ?$")
_MARK = "-- that was one command --"
# What the reader has set: who they are, and what makes the answers the same on every system.
_SETTINGS = '"sandbox.isolate" = "off"\n'
GIT = "[user]\n\tname = You\n\temail = you@example.org\n[init]\n\tdefaultBranch = main\n"


@dataclass(frozen=True, kw_only=True)
class Typed:
    """One command, or the writing of a file."""

    example: Example
    command: str
    exit_code: int

    def __str__(self) -> str:
        return f"{self.example}: {self.command}"


def walk(page: Path, home: Path) -> list[tuple[Example, str]]:
    """Follow a page in a new home folder, on a terminal in one of its own; return each session with its output."""
    typed = [each for example in examples_of(page) if not example.not_run for each in _typed(example)]
    if ON_A_TERMINAL in page.read_text(encoding="utf-8"):
        with home_of_readers() as short:
            outputs = follow(typed, short, terminal=True)
    else:
        outputs = follow(typed, home)
    shown: dict[Example, str] = {}
    for each, printed in zip(typed, outputs, strict=True):
        if each.example.language == "console":
            shown[each.example] = f"{shown.get(each.example, '')}$ {each.command}\n{printed}"
    return list(shown.items())


@contextmanager
def home_of_readers() -> Generator[Path]:
    """Have a folder whose path is as long as the one that pages show, so that lines wrap as their readers see them."""
    for name in map("".join, permutations(ascii_lowercase, len(SHOWN_AS) - len("/tmp/"))):
        folder = Path("/tmp", name)
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
            break
    else:
        raise AssertionError("no name is free in /tmp")
    try:
        yield folder
    finally:
        rmtree(folder)


def _typed(example: Example) -> list[Typed]:
    assert not example.after, f"{example}: the reader of a page that is followed sees no `after`"
    if example.file:
        return [Typed(example=example, command=_write(example.file, example.text), exit_code=0)]
    *before, last = example.commands
    quiet = [Typed(example=example, command=command, exit_code=0) for command in before]
    return [*quiet, Typed(example=example, command=last, exit_code=example.exit_code)]


def _write(file: str, text: str) -> str:
    return f"mkdir -p \"$(dirname '{file}')\"\ncat > '{file}' <<'{_MARK}'\n{text}{_MARK}"


def follow(typed: Sequence[Typed], home: Path, *, terminal: bool = False) -> list[str]:
    """Type all of it into one shell, in a new home folder; gives what each command printed."""
    settings = home / ".config" / "mulligan" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(_SETTINGS)
    (home / ".gitconfig").write_text(GIT)
    all_printed = _on_a_terminal(typed, home) if terminal else _in_a_shell(typed, home)
    *printed, rest = re.split(rf"\r?\n{_MARK} (\d+)\r?\n", all_printed.replace(str(home), SHOWN_AS))
    outputs, codes = printed[::2], [int(code) for code in printed[1::2]]
    for each, code, output in zip(typed, codes, outputs, strict=False):
        assert code == each.exit_code, f"{each}\nended with {code}:\n{output}"
    assert len(codes) == len(typed), f"{typed[len(codes)]}\nfailed:\n{rest}"
    return [_screen(output) for output in outputs] if terminal else outputs


def _script(typed: Sequence[Typed], stdin: str) -> str:
    """The commands, each followed by a mark with its exit code; one that fails unexpectedly is the last."""
    return "".join(
        f"set {'+e' if each.exit_code else '-e'}\n"
        f"{{\n{each.command}\n}} {stdin}\n"
        f"printf '\\n%s %d\\n' '{_MARK}' $?\n"
        for each in typed
    )


def _in_a_shell(typed: Sequence[Typed], home: Path) -> str:
    """Run the commands and end what they left running; gives all that was printed."""
    log = home.with_name("printed")
    with log.open("wb") as output:
        shell = subprocess.Popen(
            ["sh", "-c", _script(typed, "</dev/null")],
            cwd=home,
            env=environment(home) | _packages(home),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            shell.wait(PATIENCE)
        finally:
            with suppress(ProcessLookupError):  # it left nothing, as it should
                os.killpg(shell.pid, signal.SIGKILL)
            shell.wait()
    return log.read_text()


def _on_a_terminal(typed: Sequence[Typed], home: Path) -> str:
    """Run the commands on a terminal, and type the answers where they ask; gives all that it was sent."""
    answers = [
        answer for example in dict.fromkeys(each.example for each in typed) for answer in example.answers
    ]
    child, terminal = pty.fork()
    if child == 0:  # pragma: no cover - another program in a moment
        os.chdir(home)
        variables = environment(home) | _packages(home) | {"TERM": "xterm", "PAGER": "cat"}
        os.execvpe("sh", ["sh", "-c", _script(typed, "")], variables)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", _LINES, _COLUMNS, 0, 0))
    shown, answered = b"", 0
    while select.select([terminal], [], [], PATIENCE)[0]:
        try:
            shown += os.read(terminal, 65536)
        except OSError:
            break  # the other side is closed
        if answers and _QUESTION.search(shown, answered):
            os.write(terminal, f"{answers.pop(0)}\n".encode())
            answered = len(shown)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(terminal)
    assert not answers, f"nothing asked for {answers}"
    return shown.decode()


def _screen(sent: str) -> str:
    """The lines that a person sees in the end."""
    text = Terminal(_COLUMNS, _LINES).feed(sent.encode()).text
    return f"{text}\n" if text else ""


def _packages(home: Path) -> dict[str, str]:
    """Let `pip install` install below the home folder, from what is here."""
    site = home / ".local" / "lib"
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {
        "PIP_TARGET": str(site),
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip's way of saying yes
        "PIP_QUIET": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHONPATH": path,
    }
