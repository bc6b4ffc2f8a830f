"""The project in which system calls fail, and the commands that make them: each from a state that is kept.

A folder with a database inside, and a git checkout, in a sandbox and in place; the user changes both meanwhile.
"""

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from mulligan.api.project import Project
from mulligan.domain.plans.plan import Phase, State
from tests.support.git_world import run_git
from tests.support.homes import home_of
from tests.support.snapshot_world import picture

_STEPS = """\
steps:
  - name: files
    tool: shell
    args:
      command: |
        echo NAME > text; rm gone; mkdir -p made; echo > made/file; ln made/file made/same; chmod 750 tool; rm -r old
        ln -sf text link
  - name: code
    tool: shell
    resource: code
    args: {command: 'echo NAME > file; rm dropped; git add -A; git commit -qm NAME; echo > untracked'}
  - {name: rows, tool: sql, resource: rows, args: {statements: ["insert into t values ('NAME')"]}}
"""
_RESOURCES = """\
resources:
  app: {type: fs-directory, location: app}
  code: {type: git-checkout, location: code}
  rows: {type: sqlite, location: app/rows.db}
"""
_PLANS = {
    "plan": "name: plan\n",
    "place": "name: place\nconfig: {sandbox.strategy: in_place}\n",
}
_SIDES = ("rows.db", "rows.db-wal", "rows.db-shm", "rows.db-journal")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command, where it begins, and how its end is known."""

    name: str
    words: tuple[str, ...]
    begin: str  # the state that it begins from
    end: str | None = None  # the state that it leads to, where others begin from that
    prepare: Callable[[Path], None] = lambda _folder: None
    reached: Callable[[Project], bool] | None = None  # None: exit code 0 tells
    again: tuple[str, ...] | None = None  # what a user types after a failure; None: the same
    all_or_none: bool = True  # of the real resources: not where steps themselves change them


def _in(name: str, *states: State) -> Callable[[Project], bool]:
    """Return whether a plan got there; one that waits for its first run is `complete` too, in an earlier phase."""

    def reached(project: Project) -> bool:
        status = project.status(name)
        return status.phase is not Phase.STRATEGIZE and status.state in states

    return reached


def _user_at_work(folder: Path) -> None:
    """What a user does between the end of a plan and its apply."""
    (folder / "app" / "mine").write_text("mine")
    (folder / "code" / "mine").write_text("mine")
    (folder / "code" / "kept").write_text("kept\nand changed\n")
    run_git(folder / "code", "add", "kept")


def _leave_things_behind(folder: Path) -> None:
    """What killed processes leave, and a pack that nothing needs."""
    home = home_of(folder)
    (plan_folder, *_) = (home / "sandboxes").iterdir()
    for place in (
        home / "store/rooms/0123",
        plan_folder / "stray",
        home / "scratch" / plan_folder.name / "call",
    ):
        place.mkdir(parents=True)
        (place / "file").write_text("left behind")
    (home / "store" / "rooms" / "4567.lock").touch()
    (home / "store" / "caches").mkdir(exist_ok=True)
    (home / "store" / "caches" / "of nothing").write_text("left behind")
    pack = next((home / "store" / "packs").iterdir())
    pack.with_name(f"{'0' * 32}.pack").write_bytes(pack.read_bytes())


def _lose_a_sandbox(folder: Path) -> None:
    (sandbox,) = home_of(folder).glob("sandboxes/*/app")
    shutil.rmtree(sandbox)


COMMANDS = (
    Command(
        name="execute",
        words=("plan", "execute", "plan"),
        begin="created",
        end="complete",
        reached=_in("plan", State.COMPLETE),
    ),
    Command(
        name="rollback",
        words=("plan", "rollback", "--yes", "plan", "first"),
        begin="complete",
        reached=_in("plan", State.QUEUED),
    ),
    Command(
        name="apply",
        words=("plan", "apply", "--yes", "plan"),
        begin="complete",
        end="applied",
        prepare=_user_at_work,
        reached=_in("plan", State.APPLIED),
    ),
    Command(
        name="unapply",
        words=("plan", "unapply", "--yes", "plan"),
        begin="applied",
        reached=_in("plan", State.COMPLETE),
    ),
    Command(
        name="prune",
        words=("checkpoint", "prune", "plan", "--keep", "2"),
        begin="complete",
        reached=lambda project: (
            len({c.group_id for c in project.checkpoints.list("plan", superseded=True)}) == 2
        ),
    ),
    Command(name="gc", words=("gc",), begin="complete", prepare=_leave_things_behind),
    Command(name="doctor", words=("doctor",), begin="complete", prepare=_lose_a_sandbox),
    Command(
        name="execute in place",
        words=("plan", "execute", "place"),
        begin="created",
        end="worked in place",
        reached=_in("place", State.APPLIED),
        all_or_none=False,
    ),
    Command(
        name="rollback in place",
        words=("plan", "rollback", "--yes", "place", "first"),
        begin="worked in place",
        reached=_in("place", State.QUEUED),
    ),
)


def make_project_folder(folder: Path) -> None:
    """Put the real things and the plan files there."""
    app, code = folder / "app", folder / "code"
    for place in (app / "old", code):
        place.mkdir(parents=True)
    for name in ("text", "gone", "tool", "old/file"):
        (app / name).write_text(f"{name}\n")
    for name in ("file", "dropped", "kept"):
        (code / name).write_text(f"{name}\n")
    for words in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-qm", "start")):
        run_git(code, *words)
    with closing(sqlite3.connect(app / "rows.db")) as rows, rows:
        rows.execute("create table t (word)")
        rows.execute("insert into t values ('before')")
    for name, head in _PLANS.items():
        (folder / f"{name}.yaml").write_text(head + _RESOURCES + _STEPS.replace("NAME", name))


def seen_in(folder: Path) -> dict[str, object]:
    """Return all that a user sees of each real resource; times do not count."""
    files = {
        os.fsdecode(name): (*what[:3], *what[4:])
        for name, what in picture(folder / "app").items()
        if name.rpartition(b"/")[2] not in map(os.fsencode, _SIDES)
    }
    with closing(sqlite3.connect(folder / "app" / "rows.db")) as rows:
        held = tuple(rows.iterdump())
    return {"app": files, "code": _checkout(folder / "code"), "rows": held}


def _checkout(top: Path) -> dict[str, object]:
    files = {
        os.fsdecode(name): (*what[:3], *what[4:])
        for name, what in picture(top).items()
        if name.split(b"/")[1:2] != [b".git"] and name != b"."
    }
    return {
        "files": files,
        "HEAD": (top / ".git" / "HEAD").read_text(),
        "branches": run_git(top, "for-each-ref", "--format=%(refname) %(tree) %(subject)", "refs/heads"),
        "index": run_git(top, "ls-files", "--stage", GIT_OPTIONAL_LOCKS="0"),
        "status": run_git(top, "status", "--porcelain", GIT_OPTIONAL_LOCKS="0"),
    }


def left_in(folder: Path) -> list[str]:
    """Return what no command may leave in a user's folders: spare names, drafts and locks.

    Unfinished packs of a git that was cut off are git's own, which it clears.
    """
    found = [*(folder / "app").rglob(".mulligan*"), *(folder / "code").rglob(".mulligan*")]
    for pattern in ("*.lock", "*.mulligan"):
        found += (folder / "code" / ".git").rglob(pattern)
    return sorted(str(path.relative_to(folder)) for path in found)
