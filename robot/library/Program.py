"""Keywords that use the installed program from outside, each command in a process of its own."""

import json
import os
import pty
import re
import select
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from robot.api.deco import keyword, library

PROGRAM = str(Path(sys.executable).with_name("mulligan"))
EARLIER = Path(__file__).parents[2] / "tests" / "migrations" / "earlier_project.tar.gz"
PATIENCE = 240  # seconds

# A plan that has some of everything; `tour` ends well, `failing` does not.
PLANS = {
    "tour": """\
name: tour
steps:
  - {name: write, tool: write_file, args: {path: new.txt, content: "new\\n"}, checkpoint: written}
  - {name: choose, decision: {question: Which?, chosen: this, alternatives: [that], rationale: why not}}
  - {name: change, tool: shell, args: {command: "echo changed > a.txt; chmod 600 run.sh; rm -r docs; ln -s a.txt link"}}
  - {name: mark, checkpoint: changed}
""",
    "failing": """\
name: failing
steps:
  - {name: good, tool: write_file, args: {path: good, content: good}}
  - {name: bad, tool: shell, args: {command: "echo mess > mess; echo so bad >&2; exit 9"}}
""",
    "agent": """\
name: agent
steps:
  - {name: commit, tool: shell, args: {command: "git add -A; git commit -q -m agent; git tag made"}}
  - {name: stash, tool: shell, args: {command: "echo more >> a.txt; git stash -q; git branch -f other"}}
""",
    "parts": """\
name: parts
steps:
  - name: parts
    subplans:
      plans:
        - {name: first, steps: [{tool: write_file, args: {path: one, content: "1"}}]}
        - {name: second, steps: [{tool: write_file, args: {path: two, content: "2"}}]}
""",
    "clash": """\
name: clash
steps:
  - {name: begin, tool: write_file, args: {path: words, content: "base\\n"}}
  - name: parts
    subplans:
      plans:
        - {name: first, steps: [{tool: write_file, args: {path: words, content: "mine\\n"}}]}
        - {name: second, steps: [{tool: write_file, args: {path: words, content: "yours\\n"}}]}
""",
    "long": """\
name: long
steps:
  - name: parts
    subplans:
      plans:
        - {name: slow, steps: [{tool: shell, args: {command: "touch started; exec sleep 300"}}]}
        - {name: slower, steps: [{tool: shell, args: {command: "exec sleep 300"}}]}
""",
    "holding": """\
name: holding
steps:
  - {name: hold, tool: shell, args: {command: "touch started; exec sleep 300"}}
""",
}


@dataclass
class Ended:
    """How a command ended and what it printed."""

    code: int
    stdout: str
    stderr: str


def _end_of(process: "subprocess.Popen[bytes]") -> Ended:
    stdout, stderr = process.communicate(timeout=PATIENCE)
    return Ended(process.returncode, stdout.decode(), stderr.decode())


@library(scope="SUITE")
class Program:
    """One project folder, and the program run in it."""

    def __init__(self) -> None:
        """Work nowhere yet."""
        self.root = Path()
        self.folder = Path()
        self.variables: dict[str, str] = {}

    # --- the project ---------------------------------------------------------------------------------------

    @keyword
    def make_project_folder(self) -> str:
        """Make a folder with some files, not yet a project."""
        self.root = Path(tempfile.mkdtemp(prefix="mulligan-robot-"))
        self.folder = self.root / "project"
        self.variables = {}
        for folder in (self.folder / "docs", self.folder / "empty", self.root / "home"):
            folder.mkdir(parents=True)
        for name, text in {"a.txt": "one\n", "run.sh": "echo run\n", "docs/b.txt": "two\n"}.items():
            (self.folder / name).write_text(text)
        (self.folder / "run.sh").chmod(0o755)
        for name, text in PLANS.items():
            self.write_plan(name, text)
        return str(self.folder)

    @keyword
    def unpack_an_earlier_project(self) -> str:
        """Unpack a project that an earlier version made, with its home inside; gives its folder."""
        self.make_project_folder()
        with tarfile.open(EARLIER) as archive:
            archive.extractall(self.root, filter="tar")
        self.folder = self.root / "earlier"
        return str(self.folder)

    @keyword
    def make_git_checkout(self) -> None:
        """Make a project folder that is a git checkout with one commit, and a file that was changed since."""
        self.make_project_folder()
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "User")
        self.git("config", "user.email", "user@example.com")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "first")
        (self.folder / "a.txt").write_text("changed\n")

    @keyword
    def git(self, *words: str) -> str:
        """What git prints in the project folder, as the user who runs the program."""
        command = ["git", "--no-optional-locks", *words]
        done = subprocess.run(
            command, cwd=self.folder, env=self._environment(), capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    @keyword
    def project_folder(self) -> str:
        """Give the path of the project folder."""
        return str(self.folder)

    @keyword
    def project_home(self) -> str:
        """Give the path of the project's home, where earlier versions had it if it has none."""
        link = self.folder / ".mulligan" / "home.json"
        return json.loads(link.read_text())["home"] if link.exists() else str(link.parent)

    @keyword
    def write_home_file(self, name: str, text: str) -> None:
        """Put a file into the home of the project."""
        (Path(self.project_home()) / name).write_text(text)

    @keyword
    def remove_project_folder(self) -> None:
        """Remove all that a suite made; nothing where it did not come so far."""
        if self.root != Path():  # which is the current folder
            shutil.rmtree(self.root)

    @keyword
    def write_plan(self, name: str, text: str) -> str:
        """Write a plan file beside the project folder; gives its path."""
        file = self.root / f"{name}.yaml"
        file.write_text(text)
        return str(file)

    @keyword
    def plan_file(self, name: str) -> str:
        """Give the path of a plan file."""
        return str(self.root / f"{name}.yaml")

    @keyword
    def write_file(self, path: str, content: str) -> None:
        """Write a file of the project folder."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)

    @keyword
    def write_user_file(self, content: str) -> None:
        """Write the user's own file of settings."""
        file = self.root / "home" / ".config" / "mulligan" / "config.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)

    @keyword
    def set_variable_of_environment(self, name: str, value: str | None = None) -> None:
        """Set an environment variable for the commands that follow; without a value, unset it."""
        self.variables.pop(name, None)
        if value is not None:
            self.variables[name] = value

    # --- running it ----------------------------------------------------------------------------------------

    @keyword
    def run(self, *words: str, cwd: str | None = None, text: str = "") -> Ended:
        """Run a command to its end, with its output piped and a text as its input."""
        done = subprocess.run(
            [PROGRAM, *words],
            cwd=cwd or self.folder,
            env=self._environment(),
            input=text.encode(),
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        ended = Ended(done.returncode, done.stdout.decode(), done.stderr.decode())
        if "Traceback" in ended.stderr:
            raise AssertionError(ended.stderr)
        return ended

    @keyword
    def document(self, *words: str, code: int = 0, cwd: str | None = None) -> dict[str, Any]:
        """Run a command with --format json; gives the one document that must be all of stdout."""
        return self._checked(self.run("--format", "json", *words, cwd=cwd), json.loads, code)

    @keyword
    def yaml_document(self, *words: str, code: int = 0) -> dict[str, Any]:
        """Run a command with --format yaml after it; gives the one document that must be all of stdout."""
        return self._checked(self.run(*words, "--format", "yaml"), yaml.safe_load, code)

    @keyword
    def interrupt(self, number: str, *words: str) -> Ended:
        """Start a command, wait until its plan made a file in a sandbox, send a signal, give how it ended."""
        process = self._started(words)
        process.send_signal(signal.Signals[number])
        return _end_of(process)

    @keyword
    def run_while_another_runs(self, other: str, *words: str) -> tuple[Ended, Ended]:
        """Start a command, run another one once its plan made a file in a sandbox, give how both ended."""
        first = self._started(other.split())
        second = self.run(*words)
        return _end_of(first), second

    @keyword
    def answer_on_a_terminal(self, answer: str, *words: str) -> Ended:
        """Run a command on a terminal, type an answer when it asks, give all that the terminal showed."""
        return self.talk_on_a_terminal([("[y/N]", answer)], *words)

    @keyword
    def talk_on_a_terminal(self, lines: list[tuple[str, str]], *words: str) -> Ended:
        """Run a command on a terminal, type each line when its text was shown, give all that the terminal showed."""

        def typing(line: str) -> Callable[[int], object]:
            return lambda terminal: os.write(terminal, line.encode() + b"\n")

        return self._on_a_terminal([(text, typing(line)) for text, line in lines], words)

    @keyword
    def run_behind_another(self, other: str, *words: str) -> tuple[Ended, Ended]:
        """Stop one command while it changes real files; start another on a terminal; let the first go on.

        It goes on as soon as the other says that it waits. Give how both ended, the one that waited last.
        """
        first = subprocess.Popen(
            [PROGRAM, *other.split()],
            cwd=self.folder,
            env=self._environment() | {"MULLIGAN_FAULT": "before:restore.place:1:SIGSTOP"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        os.waitpid(first.pid, os.WUNTRACED)
        try:
            second = self._on_a_terminal(
                [("waiting for", lambda _terminal: first.send_signal(signal.SIGCONT))], words
            )
        finally:
            first.send_signal(signal.SIGCONT)
        return _end_of(first), second

    def _started(self, words: Sequence[str], marker: str = "started") -> "subprocess.Popen[bytes]":
        """Start a command, and wait until its plan made a file in a sandbox."""
        process = subprocess.Popen(
            [PROGRAM, *words],
            cwd=self.folder,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        end = time.monotonic() + PATIENCE
        while not list(Path(self.project_home()).glob(f"sandboxes/*/*/{marker}")):
            assert time.monotonic() < end, "the plan did not start"
            time.sleep(0.02)
        return process

    def _on_a_terminal(self, acts: list[tuple[str, Callable[[int], object]]], words: Sequence[str]) -> Ended:
        """Do each act once its text was shown after that of the act before it."""
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.folder)
            os.execve(PROGRAM, [PROGRAM, *words], {**self._environment(), "TERM": "xterm"})
        shown, seen, left = b"", 0, list(acts)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if not select.select([terminal], [], [], 1)[0]:
                continue
            try:
                read = os.read(terminal, 4096)
            except OSError:
                break  # the other side is closed
            shown += read
            while left and (at := shown.find(left[0][0].encode(), seen)) >= 0:
                text, act = left.pop(0)
                seen = at + len(text)
                act(terminal)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.close(terminal)
        return Ended(code, shown.decode(), "")

    @keyword
    def run_for_a_reader_that_went_away(self, *words: str) -> Ended:
        """Run a command whose stdout nobody reads."""
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run(
            [PROGRAM, *words],
            cwd=self.folder,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=writing,
            stderr=subprocess.PIPE,
            timeout=PATIENCE,
            check=False,
        )
        os.close(writing)
        return Ended(done.returncode, "", done.stderr.decode())

    # --- looking -------------------------------------------------------------------------------------------

    @keyword
    def tree_of(self, folder: str) -> dict[str, str]:
        """Give every path under a folder but the project home: kind, mode, content."""
        root = Path(folder)
        found: dict[str, str] = {}
        for path in sorted(root.rglob("*")):
            if ".mulligan" in path.relative_to(root).parts:
                continue
            mode = path.lstat().st_mode
            content = path.read_text() if stat.S_ISREG(mode) else ""
            target = str(path.readlink()) if stat.S_ISLNK(mode) else ""
            found[str(path.relative_to(root))] = f"{stat.filemode(mode)} {content}{target}"
        return found

    @keyword
    def envelope_should_be_whole(
        self, document: dict[str, Any], command: str, status: str, code: int
    ) -> None:
        """Check the fields that every answer has."""
        wanted = {"command", "status", "exit_code", "data", "timing", "messages"}
        if status == "error":
            wanted.add("error")
            for name in ("kind", "message", "hint"):
                assert isinstance(document["error"][name], str), document
                assert document["error"][name], document
        assert set(document) == wanted, document
        assert (document["command"], document["status"]) == (command, status), document
        assert document["exit_code"] == int(code), document
        assert set(document["timing"]) == {"started", "duration_ms"}, document
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT.*Z", str(document["timing"]["started"])), document
        assert isinstance(document["timing"]["duration_ms"], int), document
        assert isinstance(document["messages"], list), document

    @keyword
    def should_have_fields(self, found: dict[str, Any], *names: str) -> None:
        """Check that a part of an answer has at least these fields."""
        missing = set(names) - set(found)
        assert not missing, f"{missing} missing in {found}"

    @keyword
    def should_have_no_escapes(self, text: str) -> None:
        """Check that a text holds no control character but line breaks."""
        hostile = re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
        assert not hostile, repr(text)

    def _environment(self) -> dict[str, str]:
        around = {name: value for name, value in os.environ.items() if name == "TMPDIR"}  # so do the tests
        own = {"HOME": str(self.root / "home"), "PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}
        return around | own | self.variables

    @staticmethod
    def _checked(ended: Ended, read: Any, code: int) -> dict[str, Any]:
        assert ended.code == int(code), (ended.code, ended.stdout, ended.stderr)
        document = read(ended.stdout)
        assert document["exit_code"] == ended.code
        return document
