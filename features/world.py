"""The World: a project folder of its own, and the program driven in processes of its own."""

import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from trees import Tree, tree_of

from tests.support.forked_program import run_program
from tests.support.patience import PATIENCE

PROGRAM = str(Path(sys.executable).with_name("mulligan"))

_FILL = (
    "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('INSERT INTO t VALUES (1)'); c.commit()"
)
_COUNT = (
    "import glob, os, sqlite3, sys; d = glob.glob(os.environ['HOME'] + '/.local/state/mulligan/*/mulligan.db')[0]; "
    "t = [t for t, in sqlite3.connect('file:' + d + '?mode=ro', uri=True).execute('SELECT data_json FROM events')]; "
    "sys.exit(sum('on_quiet' in x or 'on_interval' in x for x in t) < int(sys.argv[1]))"
)
# What steps of plans can call besides the usual commands. They write outside the sandbox, so that what they
# tell survives every rollback.
_COMMANDS = {
    "tally": 'echo "$1" >> "$NOTES/tally"',
    "note": 'echo "$@" >> "$NOTES/noted"',
    "fill": f'exec {sys.executable} -c "{_FILL}" "$1"',
    "await-group": f'until {sys.executable} -c "{_COUNT}" "$1"; do sleep 0.05; done',
    "hold": 'echo $$ > "$NOTES/held"; while [ ! -e "$NOTES/released" ]; do sleep 0.02; done',
    "record": f'exec {sys.executable} {Path(__file__).with_name("trees.py")} "$PWD" "$NOTES/tree $1"',
}


class World:
    """One scenario's project, plan files and last answer."""

    def __init__(self, root: Path) -> None:
        """Make everything inside `root`."""
        self.root = root
        self.folder = root / "project"
        self.plans = root / "plans"
        self.notes = root / "notes"
        self.variables: dict[str, str] = {}
        self.options: list[str] = []
        self.under: list[str] = []  # the command under which the program runs, if any
        self.code = 0
        self.answer: dict[str, Any] = {}
        self.plan = ""  # what commands call the plan: its name
        self.running: subprocess.Popen[bytes] | None = None
        self.others: subprocess.Popen[bytes] | None = None  # a program of the user's
        self.kept: dict[str, Any] = {}  # what a scenario remembers by name
        self._read: dict[object, Any] = {}  # what was read since the last command that may have changed it
        for folder in (self.folder, self.plans, self.notes, root / "home", root / "bin"):
            folder.mkdir()
        for name, script in _COMMANDS.items():
            command = root / "bin" / name
            command.write_text(f"#!/bin/sh\n{script}\n")
            command.chmod(0o755)

    # --- the program ---------------------------------------------------------------------------------------

    @property
    def environment(self) -> dict[str, str]:
        """What the program sees: a home of its own, nothing of the caller's but where this world lies, too."""
        around = {name: value for name, value in os.environ.items() if name == "TMPDIR"}
        path = f"{self.root / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        own = {"HOME": str(self.root / "home"), "PATH": path, "LANG": "C.UTF-8", "NOTES": str(self.notes)}
        own |= {"PROJECT": str(self.folder), "MULLIGAN_SANDBOX_WRITABLE": str(self.notes)}
        own["REAL"] = str(self.folder)
        return around | own | self.variables

    @property
    def home(self) -> Path:
        """The home of the project, which is made if there is none."""
        link = self.folder / ".mulligan" / "home.json"
        if not link.exists():
            done = run_program(["init"], folder=self.folder, environment=self.environment)
            assert done.returncode == 0, done.stderr
        return Path(json.loads(link.read_text())["home"])

    def run(self, *words: str) -> dict[str, Any]:
        """Run one command to its end; keeps and gives its answer."""
        self._read = {}
        command = ["--format", "json", *self.options, *words]
        if self.under:
            done = subprocess.run(
                [*self.under, PROGRAM, *command],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=PATIENCE,
                check=False,
            )
        else:
            done = run_program(command, folder=self.folder, environment=self.environment, timeout=PATIENCE)
        return self._take(done.returncode, done.stdout, done.stderr)

    def say(self, line: str) -> dict[str, Any]:
        """Run one command as a user would type it."""
        return self.run(*shlex.split(line))

    def start(self, *words: str) -> None:
        """Start a command and go on once its plan waits in a `hold`."""
        (self.notes / "held").unlink(missing_ok=True)
        self.running = subprocess.Popen(
            [*self.under, PROGRAM, "--format", "json", *self.options, *words],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.await_note("held")

    def signal(self, number: int) -> None:
        """Send a signal to the command that was started and take its answer, if it leaves one."""
        assert self.running is not None
        self.running.send_signal(number)
        self.finish()

    def finish(self) -> None:
        """Wait for the command that was started."""
        assert self.running is not None
        self._read = {}
        stdout, stderr = self.running.communicate(timeout=PATIENCE)
        code, self.running = self.running.returncode, None
        if stdout:
            self._take(code, stdout, stderr)

    def release(self) -> None:
        """Let whatever holds go on."""
        (self.notes / "released").touch()

    def await_note(self, name: str) -> str:
        """Wait until a command of a plan left a note."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if (self.notes / name).exists() and (text := (self.notes / name).read_text()):
                return text
            time.sleep(0.02)
        raise AssertionError(f"no step left the note {name!r}")

    def close(self) -> None:
        """End what is still running."""
        self.release()
        for process in (self.running, self.others):
            if process is not None:
                process.kill()
                process.communicate()

    # --- what it says --------------------------------------------------------------------------------------

    @property
    def data(self) -> dict[str, Any]:
        """The data of the last answer."""
        return self.answer["data"]

    @property
    def error(self) -> dict[str, Any]:
        """The error of the last answer."""
        assert "error" in self.answer, self.told
        return self.answer["error"]

    @property
    def told(self) -> str:
        """The last answer, for messages of assertions."""
        return json.dumps(self.answer, indent=1)

    def ask(self, *words: str) -> dict[str, Any]:
        """The data of a command that only reads, without disturbing the last answer.

        It is read once for all steps that look at it between two commands, unless another process is at work.
        """
        question = words, tuple(self.options), tuple(self.variables.items())
        if question not in self._read or self.running is not None:
            kept = self.code, self.answer, self._read
            data = self.run(*words)["data"]
            self.code, self.answer, self._read = kept
            self._read[question] = data
        return self._read[question]

    def forget(self) -> None:
        """Read everything anew: something outside the program has changed what it says."""
        self._read = {}

    def status(self) -> dict[str, Any]:
        """Where the plan stands now."""
        return self.ask("plan", "status", self.plan)

    def checkpoints(self, *, superseded: bool = False) -> list[dict[str, Any]]:
        """The plan's checkpoints, newest last."""
        return self.ask("checkpoint", "list", self.plan, *(["--all"] if superseded else []))["checkpoints"]

    def sandbox(self, resource: str | None = None) -> Path:
        """The sandbox of a resource, or of the plan's first."""
        known = f"sandboxes of {self.plan}"
        if known not in self.kept:
            self.kept[known] = {s["resource"]: Path(s["path"]) for s in self.status()["sandboxes"]}
        paths: dict[str, Path] = self.kept[known]
        return paths[resource] if resource else next(iter(paths.values()))

    def _take(self, code: int, stdout: bytes, stderr: bytes) -> dict[str, Any]:
        assert b"Traceback" not in stderr, stderr.decode(errors="replace")
        self.code, self.answer = code, json.loads(stdout)
        assert self.answer["exit_code"] == code, self.told
        return self.answer

    # --- files ---------------------------------------------------------------------------------------------

    def write(self, path: str, content: str) -> Path:
        """Put a file into the project folder."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        return file

    def write_plan(self, name: str, text: str) -> None:
        """Put a plan file beside the project folder, so that no sandbox holds it."""
        self.plan = name
        (self.plans / f"{name}.yaml").write_text(f"name: {name}\n{text}\n")

    def plan_file(self, name: str | None = None) -> str:
        """The plan file's path."""
        return str(self.plans / f"{name or self.plan}.yaml")

    def real(self) -> Tree:
        """The real folder, to the nanosecond."""
        return tree_of(self.folder, times=True)

    def recorded(self, name: str) -> Tree:
        """The tree that a step wrote down with `record`."""
        return json.loads((self.notes / f"tree {name}").read_text())

    def tally(self) -> list[str]:
        """Which steps ran, in order."""
        file = self.notes / "tally"
        return file.read_text().split() if file.exists() else []
