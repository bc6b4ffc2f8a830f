"""Rows that make no sense, in whatever column of whatever table: reported by name, and never a traceback.

The project has rows in every table: a plan that failed after a correction and a child plan, one whose process was
killed in the middle of an apply, a session of an agent, and one of a graph.
"""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import mulligan
from mulligan.langgraph import MulliganSaver
from tests.graphs.small_graphs import SYNC, State, adds, in_a_row, thread
from tests.hostile.program import say
from tests.support.fake_agent import FakeAgent
from tests.support.homes import home_of, homes_beside
from tests.support.keeping import keep, put_back
from tests.support.long_run import LONGER
from tests.support.patience import PATIENCE

PLAN = """\
name: p
resources: {code: {type: fs-directory, location: code}}
steps:
  - {name: one, tool: write_file, args: {path: one, content: '1'}}
  - {name: much, tool: shell, args: {command: 'head -c 5000 /dev/zero | tr "\\0" x'}}
  - {name: pick, decision: {question: Which?, chosen: this, alternatives: [that]}}
  - name: parts
    subplans:
      plans:
        - {name: part, steps: [{tool: write_file, args: {path: part, content: '2'}}]}
  - {name: two, tool: shell, args: {command: exit 1}}
"""
KILLED = """\
name: q
resources: {real: {type: fs-directory, location: real}}
steps:
  - {name: one, tool: write_file, args: {path: one, content: '1'}}
"""
LOOKING = (
    ("plan", "tree", "p"),
    ("checkpoint", "list", "p"),
    ("plan", "rollback", "--dry-run", "p", "first"),
)
NONSENSE = ("\x1b[31mnonsense", 1 << 62, b"\xff\x00")
OTHERS = (
    ("plan", "status", "p"),
    ("plan", "list"),
    ("plan", "log", "p"),
    ("plan", "resume", "--dry-run", "p"),
    ("plan", "diff", "p"),
    ("plan", "report", "--html", "-", "p"),
    ("plan", "log", "q"),
)
# What a project of one machine has no rows of: these are there although no command made them.
OF_SHARED_PROJECTS = """
INSERT INTO hosts (host, name, home, folder) VALUES ('h', 'here', '/home', '/folder');
INSERT INTO submissions SELECT plan_id, 'default', 1, 0, 0, 0, created_at FROM plans LIMIT 1;
"""
# What only a plan with something unfinished reads: the next command that claims it finishes it or takes it back.
UNFINISHED = ("intents", "real_changes")
FINISHING = (("plan", "apply", "--yes", "q"), ("plan", "unapply", "--yes", "q"), ("doctor",))


@cache
def tables() -> list[tuple[str, str]]:
    folder = Path(__file__).parents[2] / "src" / "mulligan" / "adapters" / "db" / "migrations"
    with closing(sqlite3.connect(":memory:")) as database:
        for file in sorted(folder.glob("*.sql")):
            database.executescript(file.read_text())
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return [(t, str(row[1])) for t in names for row in database.execute(f"PRAGMA table_info({t})")]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("rows") / "project"
    folder.mkdir()
    homes_beside(folder).mkdir(mode=0o700)
    with pytest.MonkeyPatch.context() as patch:  # what is put back are the homes beside the folder
        patch.setenv("MULLIGAN_HOME", str(homes_beside(folder)))
        yield _filled(folder)


def _filled(folder: Path) -> Path:
    for name, text in (("code", PLAN), ("real", KILLED)):
        (folder / name).mkdir()
        (folder / f"{name}.yaml").write_text(text)
    assert say(folder, "plan", "execute", "code.yaml").code == 1
    decision = decisions_in(say(folder, "plan", "tree", "p").document["data"]["tree"])[0]
    correct = (
        "plan",
        "correct",
        "--mode",
        "revert",
        "--guidance",
        "g",
        "--choose",
        "that",
        "--yes",
        decision,
    )
    assert say(folder, *correct).code == 1
    assert say(folder, "plan", "execute", "real.yaml").code == 0
    agent = FakeAgent(folder)
    agent.start()
    with agent.prompted("write"):
        agent.shell("echo 1 > by-an-agent")
    agent.end()
    run_graph(folder)
    kill_applying(folder)
    with (
        closing(sqlite3.connect(home_of(folder) / "mulligan.db")) as database,
        closing(sqlite3.connect(folder / "good.db")) as good,
    ):
        database.executescript(OF_SHARED_PROJECTS)
        database.backup(good)
    keep(folder, folder.with_name("kept"))
    return folder


def run_graph(folder: Path) -> None:
    """Let a graph work on files, and leave one of its tasks with writes."""
    (folder / "graph").mkdir()
    with (
        closing(mulligan.open(folder)) as project,
        project.session("g", resources={"graph": mulligan.directory("graph")}) as session,
    ):
        saver = MulliganSaver(project, files=session)
        in_a_row(saver, {"a": adds(session.path() / "log", "a")}).invoke(State(ran=[]), thread(), **SYNC)


def decisions_in(node: dict[str, Any]) -> list[str]:
    here = [node["id"]] if "question" in node else []
    return here + [id for child in node["children"] for id in decisions_in(child)]


def kill_applying(folder: Path) -> None:
    command = [sys.executable, "-m", "mulligan", "plan", "apply", "--yes", "q"]
    fault = {**os.environ, "MULLIGAN_FAULT": "after:apply.ready:1:SIGKILL"}
    assert subprocess.run(command, cwd=folder, env=fault, check=False, timeout=PATIENCE).returncode == -9


@pytest.mark.parametrize(("table", "column"), tables())
def test_nonsense_in_a_column(project: Path, table: str, column: str) -> None:
    """Each value meets one command, another in each column; `nox -s sweeps` tries two."""
    for number, value in enumerate(NONSENSE, start=tables().index((table, column))):
        put(project, table, column, value)
        commands = LOOKING[number % len(LOOKING)], OTHERS[number % len(OTHERS)]
        for words in commands if LONGER > 1 else commands[number % 2 :][:1]:
            say(project, *words)


@pytest.mark.parametrize(
    ("table", "column"), [(table, column) for table, column in tables() if table in UNFINISHED]
)
def test_nonsense_in_what_is_unfinished(project: Path, table: str, column: str) -> None:
    for number, value in enumerate(NONSENSE):
        put(project, table, column, value)
        words = FINISHING[(number + len(column)) % len(FINISHING)]
        said = say(project, *words)
        assert sorted(os.listdir(project / "real")) in ([], ["one"]), (words, said)
        put_back(project.with_name("kept"), project)
    assert say(project, "plan", "apply", "--yes", "q").code == 0, "with the rows as they were it is finished"
    assert (project / "real" / "one").read_text() == "1"
    put_back(project.with_name("kept"), project)


@pytest.mark.parametrize(
    ("table", "column"), [(table, column) for table, column in tables() if table.startswith("agent_")]
)
def test_nonsense_in_what_agents_did_does_not_stop_them(project: Path, table: str, column: str) -> None:
    put(project, table, column, NONSENSE[len(column) % len(NONSENSE)])
    agent = FakeAgent(project)
    for code, _ in (agent.hook("UserPromptSubmit", prompt="on", prompt_id="p9"), agent.hook("Stop")):
        assert code == 0
    put_back(project.with_name("kept"), project)


@pytest.mark.parametrize("table", sorted({table for table, _ in tables()}))
def test_doctor_finds_it(project: Path, table: str) -> None:
    column = next(
        column for name, column in tables() if name == table and column not in ("plan_id", "version")
    )
    put(project, table, column, b"\xff\x00")
    said = say(project, "doctor")
    assert (said.code, said.document["data"]["findings"][0]["area"]) == (1, "database")


def put(project: Path, table: str, column: str, value: str | int | bytes) -> None:
    """Write nonsense into every row of a table, or into the first where the column must be unique."""
    file, new = home_of(project) / "mulligan.db", project / "new.db"
    shutil.copy(project / "good.db", new)
    with closing(sqlite3.connect(new)) as database:
        database.executescript("PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF")
        done = database.execute(f"UPDATE OR IGNORE {table} SET {column} = ?", (value,)).rowcount
        database.commit()
    assert done, f"{table}.{column}: no row was changed, so nothing would be tried"
    for beside in ("-wal", "-shm"):
        Path(f"{file}{beside}").unlink(missing_ok=True)
    new.replace(file)
