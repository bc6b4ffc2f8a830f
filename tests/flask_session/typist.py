"""Types the session into a real terminal, and compares the screen with `docs/tutorial-flask.md`.

    python -m tests.flask_session.typist FOLDER [--write]

FOLDER has the sdist of flask 3.1.2. pip needs an index, and the system must be able to show sandboxes at the real path.
With `--write` the page gets what the screen shows now. `nox -s flask` fetches the sdist and runs this.
"""

import argparse
import difflib
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.support.page_examples import ROOT, lasting
from tests.support.page_walks import GIT, SHOWN_AS, home_of_readers
from tests.support.tmux import Pane, pane

PAGE = ROOT / "docs" / "tutorial-flask.md"
SCRIPT = Path(__file__).with_name("commands.txt")
SDIST = "flask-3.1.2.tar.gz"
PATIENCE = 300.0  # seconds, for pip
COLUMNS, LINES = 100, 40
_SESSION = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_WAITS = re.compile(r"(\[[^\]\n]+\]|sandbox\$)$")
# The shell of the session says when a command has ended; one that a sandbox has is called so.
_BASHRC = """\
PS1='$ '
if [ -n "$MULLIGAN_PLAN_ID" ]; then PS1='sandbox$ '; else PROMPT_COMMAND='echo $? >> ~/.ended'; fi
"""
_VARIABLES = {
    "PAGER": "cat",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PYTHONDONTWRITEBYTECODE": "",
    "HISTFILE": "/dev/null",
}
# What differs between two machines, or two days, in what others print.
_FLEETING = (
    (re.compile(r"\bpython3\.\d+\b"), "python3.N"),
    (re.compile(r"\bin \d+\.\d+s\b"), "in LASTING"),
    (re.compile(r"\b\d+ cache files\b"), "N cache files"),
    # Where a title is cut depends on the width of the times beside it.
    (re.compile(r"^(\d+ .{40}).*\.\.\.", re.MULTILINE), r"\1..."),
)


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command of the session, with what is typed into it."""

    text: str
    answers: tuple[str, ...] = ()
    exit_status: int = 0


def script() -> list[Command]:
    """Read the script."""
    commands: list[Command] = []
    for line in SCRIPT.read_text(encoding="utf-8").splitlines():
        sign, _, text = line.partition(" ")
        match sign:
            case "$":
                commands.append(Command(text=text))
            case ">":
                commands[-1] = replace(commands[-1], answers=(*commands[-1].answers, text))
            case "=":
                commands[-1] = replace(commands[-1], exit_status=int(text))
            case _:
                assert sign in ("", "#"), line
    return commands


def commands_of(page: str) -> list[str]:
    """Return the commands of a page's sessions, in order."""
    return [
        line.removeprefix("$ ")
        for session in _SESSION.findall(page)
        for line in session.splitlines()
        if line.startswith("$ ")
    ]


def filled(page: str, outputs: Iterable[str]) -> str:
    """Return the page with these outputs, one for each of its commands."""
    rest = iter(outputs)

    def session(found: "re.Match[str]") -> str:
        typed = [line for line in found[1].splitlines() if line.startswith("$ ")]
        return "```console\n" + "".join(f"{line}\n{next(rest)}" for line in typed) + "```"

    return _SESSION.sub(session, page)


def settled(page: str) -> str:
    """Return what of a page is the same in every run."""
    for pattern, word in _FLEETING:
        page = pattern.sub(word, page)
    return lasting(page)


def type_all(commands: Sequence[Command], sdist: Path) -> list[str]:
    """Type the commands into a terminal in a new home folder; return what each showed."""
    with home_of_readers() as home, tempfile.TemporaryDirectory() as programs:
        shutil.copy(sdist, home)
        (home / ".gitconfig").write_text(GIT)
        (home / ".bashrc").write_text(_BASHRC)
        variables = _VARIABLES | {"HOME": str(home)}
        unset = [f"--unset={name}" for name in os.environ if name.startswith(("MULLIGAN_", "XDG_"))]
        shell = ["env", *unset, "bash", "--noprofile", "--rcfile", str(home / ".bashrc")]
        with pane(
            home, Path(programs), columns=COLUMNS, lines=LINES, environ=variables, shell=shell
        ) as terminal:
            typist = Typist(terminal, home / ".ended")
            return [typist.perform(command).replace(str(home), SHOWN_AS) for command in commands]


class Typist:
    """A person at a terminal, who waits for the prompt before the next command."""

    def __init__(self, terminal: Pane, ended: Path) -> None:
        self._terminal = terminal
        self._ended = ended  # a line for each command that has ended
        self._wait_for_prompt(1)

    def perform(self, command: Command) -> str:
        """Type a command and its answers; return what is on the screen then, and what scrolled away."""
        already = len(self._statuses())
        self._terminal.press("C-l")
        self._until(lambda screen: screen == "$", "an empty screen")
        self._terminal.tmux("clear-history", "-t", "w")
        self._terminal.enter(command.text)
        for answer in command.answers:
            self._until(lambda screen: _WAITS.search(screen) is not None, f"a question for {answer!r}")
            self._terminal.type(answer)
            self._until(lambda screen, answer=answer: screen.endswith(answer), f"the answer {answer!r}")
            self._terminal.press("Enter")
        self._wait_for_prompt(already + 1)
        shown = self._terminal.tmux("capture-pane", "-p", "-J", "-S", "-", "-t", "w")
        lines = [line.rstrip() for line in shown.rstrip().splitlines()]
        assert lines[0] == f"$ {command.text}", shown
        assert lines[-1] == "$", shown
        status = self._statuses()[-1]
        assert status == command.exit_status, f"{command} ended with {status}:\n{shown}"
        print(*lines[:-1], sep="\n", flush=True)
        return "".join(f"{line}\n" for line in lines[1:-1])

    def _wait_for_prompt(self, count: int) -> None:
        self._until(lambda screen: len(self._statuses()) >= count and screen.endswith("$"), "the prompt")

    def _until(self, fits: Callable[[str], bool], wanted: str) -> None:
        limit = time.monotonic() + PATIENCE
        while not fits(screen := self._terminal.screen().rstrip()):
            assert time.monotonic() < limit, f"{wanted} is not on the screen:\n{screen}"
            time.sleep(0.05)

    def _statuses(self) -> list[int]:
        return [int(line) for line in self._ended.read_text().split()] if self._ended.exists() else []


def main() -> int:
    """Type the session; compare the page, or write it."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    old = PAGE.read_text(encoding="utf-8")
    new = filled(old, type_all(script(), options.folder / SDIST))
    if options.write:
        PAGE.write_text(new, encoding="utf-8")
        return 0
    differences = difflib.unified_diff(
        settled(old).splitlines(), settled(new).splitlines(), "the page", "the screen", lineterm=""
    )
    sys.stdout.write("".join(f"{line}\n" for line in differences))
    return int(settled(old) != settled(new))


if __name__ == "__main__":
    sys.exit(main())
