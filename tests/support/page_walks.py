"""Pages that are followed from top to bottom, as a reader would: one home folder, one shell.

What is typed (`sh`, `console`) and the files that the page gives (a fence with a `title`) become one script, so that
variables and the current folder last from one fence to the next. Nothing is done behind the reader's back.
"""

import os
import re
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.support.page_examples import ROOT, Example, environment, examples_of

DOCS = ROOT / "docs"
WALKED = [ROOT / "README.md", DOCS / "tutorial.md", *sorted((DOCS / "how-to").glob("*.md"))]
PATIENCE = 60  # seconds
SHOWN_AS = "/home/you"
_MARK = "-- that was one command --"
# What the reader has set: who they are, and what makes the answers the same on every system.
_SETTINGS = '"sandbox.isolate" = "off"\n'
_GIT = "[user]\n\tname = You\n\temail = you@example.org\n[init]\n\tdefaultBranch = main\n"


@dataclass(frozen=True, kw_only=True)
class Typed:
    """One command, or the writing of a file."""

    example: Example
    command: str
    exit_code: int

    def __str__(self) -> str:
        return f"{self.example}: {self.command}"


def walk(page: Path, home: Path) -> list[tuple[Example, str]]:
    """Follow a page in a new home folder; gives each of its sessions with what it should show."""
    typed = [each for example in examples_of(page) if not example.not_run for each in _typed(example)]
    shown: dict[Example, str] = {}
    for each, printed in zip(typed, follow(typed, home), strict=True):
        if each.example.language == "console":
            shown[each.example] = f"{shown.get(each.example, '')}$ {each.command}\n{printed}"
    return list(shown.items())


def _typed(example: Example) -> list[Typed]:
    assert not example.after, f"{example}: the reader of a page that is followed sees no `after`"
    if example.file:
        return [Typed(example=example, command=_write(example.file, example.text), exit_code=0)]
    *before, last = example.commands
    quiet = [Typed(example=example, command=command, exit_code=0) for command in before]
    return [*quiet, Typed(example=example, command=last, exit_code=example.exit_code)]


def _write(file: str, text: str) -> str:
    return f"mkdir -p \"$(dirname '{file}')\"\ncat > '{file}' <<'{_MARK}'\n{text}{_MARK}"


def follow(typed: Sequence[Typed], home: Path) -> list[str]:
    """Type all of it into one shell, in a new home folder; gives what each command printed."""
    settings = home / ".config" / "mulligan" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(_SETTINGS)
    (home / ".gitconfig").write_text(_GIT)
    *printed, rest = re.split(rf"\n{_MARK} (\d+)\n", _in_a_shell(_script(typed), home))
    outputs, codes = printed[::2], [int(code) for code in printed[1::2]]
    for each, code, output in zip(typed, codes, outputs, strict=False):
        assert code == each.exit_code, f"{each}\nended with {code}:\n{output}"
    assert len(codes) == len(typed), f"{typed[len(codes)]}\nfailed:\n{rest}"
    return outputs


def _script(typed: Sequence[Typed]) -> str:
    """The commands, each followed by a mark with its exit code; one that fails unexpectedly is the last."""
    return "".join(
        f"set {'+e' if each.exit_code else '-e'}\n"
        f"{{\n{each.command}\n}} </dev/null\n"
        f"printf '\\n%s %d\\n' '{_MARK}' $?\n"
        for each in typed
    )


def _in_a_shell(script: str, home: Path) -> str:
    """Run a script and end what it left running; gives all that was printed, as if `home` were `SHOWN_AS`."""
    log = home.with_name("printed")
    with log.open("wb") as output:
        shell = subprocess.Popen(
            ["sh", "-c", script],
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
    return log.read_text().replace(str(home), SHOWN_AS)


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
