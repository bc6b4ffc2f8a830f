"""What is done while faults strike, second part: checkouts, databases, own tools, a plan taken over."""

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path

from mulligan.adapters.db.connection import SqliteConnection
from mulligan.adapters.db.migration import migrate, packaged_migrations
from mulligan.adapters.homes.home_index import HomeIndex
from mulligan.adapters.homes.home_link import read_record
from mulligan.adapters.sandboxes.git.repository.git_packs import Objects
from mulligan.api.project import Project
from mulligan.domain.plans.plan import Phase, State
from mulligan.domain.plans.step import StepStatus
from tests.faults.scenario import Command, Run, Scenario, created, cut_off, in_state, is_forked, notes_in
from tests.support.git_world import run_git
from tests.support.homes import home_of, homes_for

KINDS = """\
name: kinds
config: {sandbox.cleanup: on_terminal}
resources:
  repo: {type: git-checkout, location: repo}
  db: {type: sqlite, location: app.db}
steps:
  - name: large
    tool: shell
    args:
      command: |
        echo kinds.large >> "$PLACE/ran"
        python3 -c 'import random; random.seed(7); open("large", "wb").write(random.randbytes(1200000))'
        echo changed > file; rm gone
  - {name: rows, tool: sql, resource: db, args: {statements: ["INSERT INTO t VALUES (2)"]}}
  - {name: publish, tool: publish, resource: repo, args: {title: one}}
  - {name: here, checkpoint: here}
  - name: smaller
    tool: shell
    args: {command: 'echo kinds.smaller >> "$PLACE/ran"; rm large; git add -A; git commit -qm smaller'}
"""
REAL = """\
name: real
config: {sandbox.strategy: in_place}
resources:
  checkout: {type: git-checkout, location: checkout}
  folder: {type: fs-directory, location: folder}
  inner: {type: sqlite, location: folder/inner.db}
steps:
  - name: commit
    tool: shell
    args: {command: 'echo changed > file; git add -A; git commit -qm changed; git checkout -qB other'}
  - {name: rows, tool: sql, resource: inner, args: {statements: ["INSERT INTO t VALUES (2)"]}}
"""
HUNG = """\
name: hung
resources: {folder: {type: fs-directory, location: folder}}
steps:
  - {name: one, tool: shell, args: {command: 'echo hung.one >> "$PLACE/ran"; echo 1 > one; mkdir deep'}}
  - {name: two, tool: shell, args: {command: 'echo hung.two >> "$PLACE/ran"; echo 2 > deep/two; rm file'}}
"""
TOOLS = """\
import os
from pathlib import Path

import mulligan


def take_down(context, arguments, result):
    (Path(os.environ["PLACE"]) / f"published-{arguments['title']}").unlink(missing_ok=True)


@mulligan.tool(writes=False, side_effects=["external"], undo=take_down)
def publish(context, title: str):
    (Path(os.environ["PLACE"]) / f"published-{title}").touch()
    return title
"""
# Holds a plan's lock as a process does that hangs, and that cannot be ended: its number is that of another one here.
_HOLDER = """\
import fcntl, json, os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(fd, fcntl.LOCK_EX)
os.ftruncate(fd, 0)
os.pwrite(fd, json.dumps({"pid": 1, "since": "2026-01-01T00:00:00+00:00"}).encode(), 0)
print(flush=True)
time.sleep(120)
"""
FIRST = "2026-01-01T00:00:00Z"
_MANY = 40  # packs: enough to be joined


def make_project_folder(folder: Path) -> None:
    """Put the real things and the plan files there, and an older project beside them."""
    for name in ("repo", "checkout"):
        top = folder / name
        top.mkdir(parents=True)
        run_git(top, "init", "-q", "-b", "main")
        (top / "file").write_text("file\n")
        (top / "gone").write_text("goes\n")
        run_git(top, "add", "-A")
        run_git(top, "commit", "-qm", "first", GIT_AUTHOR_DATE=FIRST, GIT_COMMITTER_DATE=FIRST)
    notes_in(folder).mkdir()
    (folder / "folder").mkdir()
    (folder / "folder" / "file").write_text("file\n")
    for name in ("app.db", "folder/inner.db"):
        with closing(sqlite3.connect(folder / name)) as database:
            database.executescript("CREATE TABLE t (x); INSERT INTO t VALUES (1);")
    for home in (home_of(folder), home_of(folder / "old")):
        (home / "store").mkdir(mode=0o700, parents=True)
        (home / ".gitignore").write_text("*\n")
    older = SqliteConnection(home_of(folder / "old") / "mulligan.db")
    migrate(older, packaged_migrations()[:1])
    older.close()
    (home_of(folder) / "tools.py").write_text(TOOLS)
    (folder / "kinds.yaml").write_text(KINDS)
    (folder / "real.yaml").write_text(REAL)
    (folder / "hung.yaml").write_text(HUNG)


def _with_many_packs(folder: Path, run: Run) -> None:
    """As after many checkpoints: the next commit joins their packs."""
    (place,) = (home_of(folder) / "git").glob("*/repo.git/objects/pack")
    objects = Objects("sha1")
    for number in range(_MANY):
        objects.add("blob", b"%d" % number)
        objects.write_to(place)


def _lose_things(folder: Path, run: Run) -> None:
    """A plan without its sandboxes, and with checkpoints that no commit has any more."""
    (sandboxes,) = (home_of(folder) / "sandboxes").glob("*/")
    for name in ("repo", "db"):
        shutil.rmtree(sandboxes / name)
    for ref in (home_of(folder) / "git").glob("*/repo.git/refs/checkpoints/*"):
        ref.unlink()


def _end_plans(folder: Path, run: Run) -> None:
    """Plans that are over, and have kept all that was made for them."""
    for name in ("real", "hung"):
        run("plan", "cancel", name)


@contextmanager
def _hanging(folder: Path) -> Generator[None]:
    """A process that has the plan and does nothing with it."""
    (lock,) = (file for file in (home_of(folder) / "locks").glob("*.lock") if _is_of("hung", folder, file))
    process = subprocess.Popen([sys.executable, "-c", _HOLDER, str(lock)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield
    finally:
        process.kill()
        process.communicate()


def _is_imported(project: Project) -> bool:
    """The home is there, and found by its folder; the next command there completes the folder."""
    home = HomeIndex(Path(homes_for(project.folder))).lookup(project.folder / "imported")
    return home is not None and read_record(home) is not None


def _leave_a_home(folder: Path, run: Run) -> None:
    """A home whose folder is gone."""
    (folder / "gone").mkdir()
    run("init", "gone")
    shutil.rmtree(folder / "gone")


def _is_of(name: str, folder: Path, lock: Path) -> bool:
    with closing(sqlite3.connect(home_of(folder) / "mulligan.db")) as database:
        rows = database.execute("SELECT name FROM plans WHERE plan_id = ?", (lock.stem,)).fetchall()
    return rows == [(name,)]


def _stands_at_the_start(project: Project) -> bool:
    status = project.status("kinds")
    return status.state is State.QUEUED and not (notes_in(project.folder) / "published-one").exists()


def _is_undone(name: str, steps: int) -> Callable[[Project], bool]:
    """Whether so many steps of a plan that stopped are complete."""

    def reached(project: Project) -> bool:
        status = project.status(name)
        done = sum(step.status is StepStatus.DONE for step in status.steps)
        return (status.state, done) == (State.QUEUED, steps)

    return reached


COMMANDS = (
    Command(name="upgrade", words=("--project", "old", "plan", "list")),
    Command(name="trust", words=("tool", "trust", "--yes")),
    Command(name="install hooks", words=("agent", "install", "codex", "--scope", "project", "--yes")),
    Command(name="pause hooks", words=("pause",)),
    Command(name="unpause hooks", words=("unpause",)),
    Command(name="uninstall hooks", words=("agent", "uninstall", "codex", "--scope", "project", "--yes")),
    Command(
        name="execute kinds",
        words=("plan", "execute", "kinds"),
        reached=in_state("kinds", State.COMPLETE),
        prepare=created("kinds"),
    ),
    Command(
        name="roll back kinds",
        words=("plan", "rollback", "--yes", "kinds", "first"),
        reached=_stands_at_the_start,
    ),
    Command(
        name="execute kinds again",
        words=("plan", "execute", "kinds"),
        reached=in_state("kinds", State.COMPLETE),
        prepare=_with_many_packs,
    ),
    Command(name="doctor", words=("doctor",), prepare=_lose_things),
    Command(
        name="delete",
        words=("checkpoint", "delete", "here"),
        reached=lambda project: all(c.label != "here" for c in project.checkpoints.list("kinds")),
    ),
    Command(
        name="prune kinds",
        words=("checkpoint", "prune", "kinds", "--keep", "2"),
        reached=lambda project: (
            len({c.group_id for c in project.checkpoints.list("kinds", superseded=True)}) <= 3
        ),
    ),
    Command(name="forget in a checkout", words=("forget", "--yes", "repo/file")),
    Command(
        name="work on real things",
        words=("plan", "execute", "real"),
        reached=in_state("real", State.APPLIED, Phase.APPLY),
        prepare=created("real"),
    ),
    Command(name="undo rows", words=("undo", "--yes", "real"), reached=_is_undone("real", 1)),
    Command(name="undo a commit", words=("undo", "--yes", "real"), reached=_is_undone("real", 0)),
    Command(name="redo a commit", words=("redo", "--yes"), reached=_is_undone("real", 1)),
    Command(
        name="roll back real things",
        words=("plan", "rollback", "--yes", "real", "first"),
        reached=in_state("real", State.QUEUED),
    ),
    Command(
        name="take over",
        words=("plan", "resume", "--take-over", "hung"),
        reached=in_state("hung", State.COMPLETE),
        prepare=cut_off("hung", "after:call.run:2:SIGKILL", "plan", "execute", "hung"),
        meanwhile=_hanging,
    ),
    Command(
        name="fork kinds",
        words=("plan", "fork", "kinds", "first", "--name", "forked"),
        reached=is_forked("forked"),
    ),
    Command(
        name="remove the fork",  # what it pins in the user's repository has its id
        words=("rm", "--yes", "forked"),
        reached=lambda project: all(plan.name != "forked" for plan in project.plans()),
    ),
    Command(name="clean up", words=("plan", "cancel", "kinds"), reached=in_state("kinds", State.CANCELLED)),
    Command(name="gc of what is over", words=("-c", "sandbox.cleanup=on_terminal", "gc"), prepare=_end_plans),
    Command(name="export", words=("project", "export", "saved", "--force")),
    Command(
        name="import",
        words=("project", "import", "saved", "imported"),
        reached=_is_imported,
        prepare=lambda folder, _: (folder / "imported").mkdir(exist_ok=True),
    ),
    Command(name="prune projects", words=("projects", "prune", "--yes"), prepare=_leave_a_home),
)
SCENARIO_KINDS = Scenario(
    make=make_project_folder,
    commands=COMMANDS,
    places=("repo", "checkout", "folder"),
    files=("old/.mulligan/home.json", "notes/published-one"),
)
