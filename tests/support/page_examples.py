"""The examples of the pages, and a project to run those of the reference in.

A fence of `sh` is a script that must succeed, one of `console` a session whose output must be the one shown (ids,
times and sizes apart). What stands behind the language, which no reader sees, tells what an example needs:
`after="COMMAND"` is run before it (the pages are in `$PAGES`), `exit=N` is how it ends, `not-run="REASON"` leaves it
alone. A fence with a `title`, which the site shows above it, is a file of that name: pages that are followed from top
to bottom (`tests/support/page_walks.py`) have some.
"""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.support.forked_program import run_program
from tests.support.keeping import keep, put_back
from tests.support.patience import PATIENCE

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
SHOWN_AS = "/home/you/api"  # where the pages have the project

# What every example finds: a plan that was executed, and the same once more as a file.
PROJECT = {
    "VERSION": "1.0\n",
    "api.txt": "GET /v1/users\n",
    "upgrade.yaml": """\
name: upgrade-api
steps:
  - name: bump
    tool: write_file
    args: {path: VERSION, content: "2.0\\n"}
    checkpoint: draft
  - name: choose a parser
    decision: {question: Which parser?, chosen: lark, alternatives: [ply], rationale: Error messages}
  - name: rewrite
    tool: shell
    args: {command: sed -i s/v1/v2/ api.txt}
  - name: milestone
    checkpoint: before release
""",
}
_FENCE = re.compile(r"^```(?P<language>\w+)(?P<needs>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
# What differs from run to run: only its shape is compared.
_FLEETING = (
    (re.compile(r"\b[0-9A-HJKMNP-TV-Z]{26}\b"), "ID"),
    (re.compile(r"\b([0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{12})\b"), "HASH"),
    (re.compile(r"\b\d{4}-\d\d-\d\d([ T][\d:.]+(\+[\d:]+|Z)?)?"), "TIME"),
    (re.compile(r"\b\d\d:\d\d:\d\d\b"), "TIME"),
    (re.compile(r"\b(just now|\d+ (s|min) ago)"), "TIME"),
    (re.compile(r"\b\d+(\.\d+)? m?s\b"), "LASTING"),
    (re.compile(r"(\.local/state/mulligan/[\w.-]+?)-[0-9a-f]{8}\b"), r"\1-HOME"),
    (re.compile(r"\b[\d,]+(\.\d+)?( bytes\b| [KMG]?B\b)"), r"N\2"),
    (re.compile(r'("duration_ms": |size_bytes: |bytes added: )\d+'), r"\1N"),
    (re.compile(r" +"), " "),
)
# One command of ours, in words that a shell leaves as they are.
_ALONE = re.compile(r"""mulligan (?:[\w ./:=@%+,-]|'[^'\n]*'|"[^"$`\\!\n]*")+\n?""")


@dataclass(frozen=True, kw_only=True)
class Example:
    """A fence of a page that can be run."""

    page: str
    line: int
    language: str
    text: str
    after: tuple[str, ...]
    exit_code: int
    not_run: str | None
    file: str | None  # what is written, not run
    answers: tuple[str, ...] = ()  # what the reader types where commands ask, on a terminal

    @property
    def commands(self) -> list[str]:
        """What is typed: a script as a whole, a session line by line."""
        if self.language == "sh":
            return [self.text]
        typed = re.findall(r"^\$ (.*)\n", self.text, re.MULTILINE)
        assert typed, f"{self}: a session has commands after `$ `; without output it is `sh`"
        return typed

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def examples_of(page: Path) -> list[Example]:
    """All that a page says can be run, and the files that it gives for that, in its order."""
    text = page.read_text(encoding="utf-8")
    fences = (_example(page.name, text, found) for found in _FENCE.finditer(text))
    return [fence for fence in fences if fence.file or fence.language in ("sh", "console")]


def _example(page: str, text: str, found: "re.Match[str]") -> Example:
    needs: dict[str, list[str]] = {}
    for word in shlex.split(found["needs"]):
        name, _, value = word.partition("=")
        needs.setdefault(name, []).append(value)
    unknown = set(needs) - {"after", "answers", "exit", "not-run", "title"}
    assert not unknown, f"{page}: an example needs {unknown}, and nobody knows what that is"
    return Example(
        page=page,
        line=text.count("\n", 0, found.start()) + 1,
        language=found["language"],
        text=found["text"],
        after=tuple(needs.get("after", ())),
        exit_code=int(needs.get("exit", ["0"])[0]),
        not_run=needs["not-run"][0] if "not-run" in needs else None,
        file=needs["title"][0] if "title" in needs else None,
        answers=tuple(" ".join(needs.get("answers", ())).split()),
    )


def environment(home: Path) -> dict[str, str]:
    """The variables of somebody with that home folder, and `mulligan` in the path."""
    return {
        "HOME": str(home),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        "LANG": "C.UTF-8",
        **{name: os.environ[name] for name in os.environ if name.startswith(("COVERAGE_", "PYTHONPATH"))},
    }


class ExampleProject:
    """A project as the examples expect it, and a shell in it."""

    def __init__(self, root: Path) -> None:
        """Make it below `root`, and execute its plan."""
        self._around, self._kept = root / "around", root / "as made"
        self.folder = self._around / "project"
        self.folder.mkdir(parents=True)
        (self._around / "home").mkdir()
        self._environment = environment(self._around / "home") | {
            "MULLIGAN_SANDBOX_ISOLATE": "off",
            "PAGES": str(REFERENCE),
        }
        for name, text in PROJECT.items():
            (self.folder / name).write_text(text)
        self.succeed("mulligan plan execute upgrade.yaml")
        self._made = self._files()
        keep(self._around, self._kept)

    def renew(self) -> None:
        """Let everything be as it was made, for the next example."""
        if self._files() != self._made:
            put_back(self._kept, self._around)
            self._made = self._files()

    def _files(self) -> dict[str, tuple[int, int]]:
        """Size and time of everything but what SQLite keeps beside a database while it is open."""
        around = (path for path in self._around.rglob("*") if not path.name.endswith(("-wal", "-shm")))
        return {str(p): (p.lstat().st_size, p.lstat().st_mtime_ns) for p in around if not p.is_dir()}

    def succeed(self, script: str) -> str:
        """Run a script that must succeed; gives all it printed."""
        code, printed = self.shell(script)
        assert code == 0, f"{script}\nended with {code}:\n{printed}"
        return printed

    def shell(self, script: str) -> tuple[int, str]:
        """Run a script; gives its exit code and all it printed. A command of ours alone needs no shell."""
        if _ALONE.fullmatch(script):
            words = shlex.split(script)[1:]
            done = run_program(words, folder=self.folder, environment=self._environment, together=True)
        else:
            done = subprocess.run(
                ["sh", "-ec", script],
                cwd=self.folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=PATIENCE,
                check=False,
            )
        shown = done.stdout.decode().replace(str(self.folder), SHOWN_AS)
        shown = shown.replace(str(self._around / "home"), str(Path(SHOWN_AS).parent))
        return done.returncode, shown.replace(str(self._around), str(Path(SHOWN_AS).parent))

    def perform(self, example: Example) -> str:
        """Run an example; gives what it should show, if it shows something."""
        for command in example.after:
            self.shell(command)
        if example.language == "sh":
            code, printed = self.shell(example.text)
            assert code == example.exit_code, f"{example} ended with {code}:\n{printed}"
            return example.text
        shown: list[str] = []
        code = 0
        for command in example.commands:
            assert code == 0, f"{example}: the session goes on after exit code {code}"
            code, printed = self.shell(command)
            shown.append(f"$ {command}\n{printed}")
        assert code == example.exit_code, f"{example} ended with {code}:\n{''.join(shown)}"
        return "".join(shown)


_OF_CHILDREN = re.compile(r"(?:^\[[^\]\n]+\] .*\n)+", re.MULTILINE)


def lasting(text: str) -> str:
    """What of an output is the same in every run."""
    for pattern, word in _FLEETING:
        text = pattern.sub(word, text)
    return _OF_CHILDREN.sub(_in_order, text)


def _in_order(lines: re.Match[str]) -> str:
    """Lines of plans that run beside each other come in any order."""
    return "".join(sorted(lines[0].splitlines(keepends=True)))
