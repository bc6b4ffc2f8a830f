"""A folder for an agent to work in, with all that is easily lost, and the picture of it that is compared."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.agents.test_hook import seen as seen_of_files
from tests.real_agents.agent_programs import AgentProgram, Scene, environment_of
from tests.real_agents.model_protocols import Call, Turn
from tests.real_agents.scripted_model import ScriptedModel
from tests.support.git_world import run_git
from tests.support.tmux import Pane, pane

PROGRAMS = Path(sys.executable).parent  # with the installed `mulligan`
PATIENCE = 240.0  # seconds, for an agent to answer a prompt
_GIT = "[user]\n\tname = You\n\temail = you@example.org\n[init]\n\tdefaultBranch = main\n"
_ROWS = "CREATE TABLE t (x); INSERT INTO t VALUES (1), (2), (3);"


@dataclass
class Workplace:
    """A project, a home folder with one agent in it, and the model that answers."""

    agent: AgentProgram
    scene: Scene
    model: ScriptedModel
    runtime: Path
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The project."""
        return self.scene.folder

    @property
    def environment(self) -> dict[str, str]:
        """All variables of the agent, and of the user's own commands."""
        variables = environment_of(self.agent, self.scene, [PROGRAMS])
        return {**variables, "XDG_RUNTIME_DIR": str(self.runtime), **self.extra}

    # --- mulligan, as a user types it --------------------------------------------------------------------------------

    def ask(self, *words: str) -> dict[str, Any]:
        """Run the installed program, and return its answer."""
        command = [str(PROGRAMS / "mulligan"), "--format", "json", *words]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        assert done.stdout, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def mulligan(self, *words: str) -> Any:
        """Run the installed program, which should succeed; return its data."""
        answer = self.ask(*words)
        assert answer["exit_code"] == 0, answer
        return answer["data"]

    def shown(self, *words: str) -> str:
        """Return what the installed program prints for people."""
        done = subprocess.run(
            [str(PROGRAMS / "mulligan"), *words],
            cwd=self.folder,
            env={**self.environment, "COLUMNS": "100"},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        return done.stdout + done.stderr

    def log(self) -> list[dict[str, Any]]:
        """Return the entries of the timeline, the newest first."""
        return list(self.mulligan("log")["entries"])

    # --- the agent ---------------------------------------------------------------------------------------------------

    def command(self, *words: str) -> list[str]:
        """Return the command that starts the agent."""
        return [*self.agent.command(self.scene), *words]

    def start(self, *words: str) -> "subprocess.Popen[str]":
        """Start the agent in a group of processes of its own."""
        return subprocess.Popen(
            self.command(*words),
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def plays(self, text: str, *turns: Turn | Call, ends: str = "All done.") -> None:
        """Have the model answer a prompt by these turns, and then say that it is done. A call alone gets no words."""
        whole = [Turn(calls=(each,)) if isinstance(each, Call) else each for each in turns]
        self.model.turns[text] = [*whole, Turn(text=ends)]

    def prompt(
        self,
        text: str,
        *turns: Turn | Call,
        options: Sequence[str] = (),
        how: Callable[[str], list[str]] | None = None,
    ) -> str:
        """Have the agent answer a prompt by these turns, and end; return what it printed."""
        self.plays(text, *turns)
        agent = self.start(*options, *(how or self.agent.prompted)(text))
        try:
            printed, _ = agent.communicate(timeout=PATIENCE)
        finally:
            agent.kill()
        asked = any(text in each.prompt for each in self.model.conversations)
        assert asked, (text, [each.prompt for each in self.model.conversations], printed)
        return printed

    @contextmanager
    def terminal(self, *, columns: int = 110, lines: int = 45) -> Generator[Pane]:
        """Have a shell in the project on a real terminal, with the variables of the agent."""
        with TemporaryDirectory(prefix="programs-") as programs:
            unset = [f"--unset={name}" for name in os.environ if name not in self.environment]
            shell = ["env", *unset, *(f"{k}={v}" for k, v in self.environment.items()), "PS1=$ "]
            shell += ["bash", "--norc", "--noprofile"]
            with pane(self.folder, Path(programs), columns=columns, lines=lines, shell=shell) as opened:
                yield opened

    def beside(self, agent: AgentProgram) -> "Workplace":
        """Install another agent for the same project and user, and return the project with that one."""
        agent.configure(self.scene)
        self.mulligan("agent", "install", agent.name, "--yes")
        return replace(self, agent=agent)

    # --- the folder --------------------------------------------------------------------------------------------------

    def seen(self) -> Mapping[Any, Any]:
        """Return everything about the folder: names, bytes, modes, symlinks, rows, branch and index."""
        found = dict(seen_of_files(self.folder))
        if (self.folder / ".git").exists():
            for words in (
                ["ls-files", "--stage", "-v"],
                ["rev-parse", "main"],
            ):
                found[" ".join(words)] = run_git(self.folder, *words)
        return found


@contextmanager
def workplace(
    base: Path, agent: AgentProgram, model: ScriptedModel, packages: Path, *, served: bool = True
) -> Generator[Workplace]:
    """Have a project with the hooks of an agent installed; without `served`, no local server may run."""
    home, folder = base / "home", base / "project"
    home.mkdir()
    (home / ".gitconfig").write_text(_GIT)
    fill(folder)
    model.turns, model.conversations = {}, []
    with TemporaryDirectory(prefix="mr-", dir="/tmp") as runtime:  # a socket has a short name
        scene = Scene(packages=packages, home=home, folder=folder, model=model.url)
        agent.configure(scene)
        made = Workplace(agent=agent, scene=scene, model=model, runtime=Path(runtime))
        made.mulligan("init")
        made.mulligan("config", "set", "agent.databases", "*.db")
        if not served:
            made.mulligan("config", "set", "server.start", "never")
        made.mulligan("agent", "install", agent.name, "--yes")
        try:
            yield made
        finally:
            made.ask("serve", "--stop")


def fill(folder: Path) -> None:
    """Make a checkout with files of every sort, committed, staged, changed, untracked and ignored."""
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("one\n")
    (folder / "b.txt").write_text("bee\n")
    (folder / "sub" / "deep").write_text("deep\n")
    (folder / "run.sh").write_text("#!/bin/sh\necho run\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("sub/deep")
    (folder / ".gitignore").write_text("ignored/\n.env\n*.db*\n*.sqlite3\n")
    run_git(folder, "init", "-q", "-b", "main")
    run_git(folder, "add", "-A")
    run_git(folder, "commit", "-qm", "first")
    (folder / "b.txt").write_text("bee, not committed\n")
    (folder / "staged.txt").write_text("staged\n")
    run_git(folder, "add", "staged.txt")
    (folder / "untracked").write_text("not committed\n")
    (folder / "private").write_bytes(b"\0\1\2")
    (folder / "private").chmod(0o600)
    (folder / "empty").mkdir()
    (folder / "ignored").mkdir()
    (folder / "ignored" / "data").write_bytes(bytes(range(256)))
    (folder / "ignored" / "dangling").symlink_to("nowhere")
    (folder / ".env").write_text("SECRET=1\n")
    with closing(sqlite3.connect(folder / "app.db")) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.executescript(_ROWS)
    with closing(sqlite3.connect(folder / "plain.sqlite3")) as database:  # a file like any other
        database.executescript(_ROWS)


def until(
    holds: Callable[[], object], wanted: str, patience: float = PATIENCE, shown: Callable[[], str] = str
) -> None:
    """Wait for something that an agent must do; what is shown then goes into the failure."""
    limit = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < limit, f"it did not come to this: {wanted}\n{shown()}"
        time.sleep(0.05)
