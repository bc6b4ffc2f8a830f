"""A plan over a folder, a database inside it and one beside it, that is applied while faults strike."""

import os
import signal
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from mulligan.boundaries import watch
from mulligan.domain.plans.plan import Phase, State
from mulligan.errors import MulliganError, PlanAlreadyApplied, PlanAlreadyComplete, PlanCancelled
from tests.faults.projects import project_in, services_of
from tests.faults.trials import picture_without_times
from tests.support.homes import homes_beside
from tests.support.keeping import keep, put_back

PLAN = """\
name: shown
resources:
  site: {type: fs-directory, location: site}
  rows: {type: sqlite, location: site/rows.db}
  more: {type: sqlite, location: more.db}
steps:
  - name: change
    tool: shell
    args:
      command: |
        sed -i s/nine/NINE/ text; rm gone; rm -r old; mkdir -p made/deep; echo 1 > made/file
        ln made/file made/deep/same; chmod 750 tool; ln -sf text link; chmod 500 made; rm pair
        mkdir -m 711 empty; rm -r was; echo > was
  - {name: rows, tool: sql, resource: rows, args: {statements: ["insert into t values ('plan')"]}}
  - {name: more, tool: sql, resource: more, args: {statements: ["insert into t values ('plan')"]}}
"""
TEXT = "".join(
    f"{word}\n" for word in ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
)


@dataclass(frozen=True)
class Seen:
    """All that a user sees of the real resources."""

    files: dict[bytes, tuple[object, ...]]
    rows: list[object]
    more: list[object]


class ApplyWorld:
    """A project in which the plan is complete, to be put back as often as needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self._kept = folder / "kept"
        homes_beside(self.folder).mkdir(mode=0o700, parents=True)
        site = self.folder / "site"
        for place in (site / "old" / "deep", site / "was"):
            place.mkdir(parents=True)
        (site / "text").write_text(TEXT)
        (site / "old" / "deep" / "file").write_text("old")
        (site / "was" / "file").write_text("in a folder")
        for name in ("gone", "kept", "tool", "pair"):
            (site / name).write_text(name)
        os.link(site / "pair", site / "pair too")
        (site / "link").symlink_to("kept")
        for file, mode in ((site / "rows.db", "wal"), (self.folder / "more.db", "delete")):
            with closing(sqlite3.connect(file)) as db, db:
                db.execute(f"pragma journal_mode = {mode}")
                db.execute("create table t (x)")
                db.execute("insert into t values ('before')")
        (self.folder / "plan.yaml").write_text(PLAN)
        project_in(self.folder).execute(self.folder / "plan.yaml")
        (site / "text").write_text(TEXT.replace("one", "ONE"))  # by the user, meanwhile
        (site / "mine").write_text("the user's own")
        self.before = self.seen()
        self.sandboxes = self.in_sandboxes()
        self.keep("complete")
        self.apply()
        self.after = self.seen()
        self.keep("applied")

    def keep(self, name: str) -> None:
        """Take what is there now as what trials can start from."""
        self._kept.mkdir(exist_ok=True)
        keep(self.folder, self._kept / name)

    def put_back(self, name: str) -> None:
        """Start anew from there."""
        put_back(self._kept / name, self.folder)

    def apply(self) -> None:
        """Apply the plan."""
        assert project_in(self.folder).apply("shown")[1].error is None

    def unapply(self) -> None:
        """Take it back."""
        assert project_in(self.folder).unapply("shown")[1].error is None

    def claim(self) -> None:
        """Claim the plan and do nothing else."""
        try:
            project_in(self.folder).resume("shown")
        except (PlanAlreadyComplete, PlanAlreadyApplied, PlanCancelled):
            return
        raise AssertionError("there was something to resume")

    def seen(self) -> Seen:
        """Look at the real resources."""
        site = self.folder / "site"
        files = picture_without_times(site)
        hidden = [name for name in files if b"rows.db" in name]
        return Seen(
            files={name: facts for name, facts in files.items() if name not in hidden},
            rows=_rows(site / "rows.db"),
            more=_rows(self.folder / "more.db"),
        )

    def in_sandboxes(self) -> dict[str, object]:
        """Look at the sandboxes of the plan."""
        found = {s.resource: Path(s.path) for s in project_in(self.folder).status("shown").sandboxes}
        return {
            name: picture_without_times(path) if path.is_dir() else _rows(path)
            for name, path in found.items()
        }

    def passed(self, act: Callable[[], object]) -> list[str]:
        """The acts that this process comes to, in order."""
        found: list[str] = []
        watch(lambda when, name: found.append(name) if when == "before" else None)
        try:
            act()
        finally:
            watch(None)
        return found

    def killed(self, act: Callable[[], object], at: int | str) -> bool:
        """Do it in a process that is killed right before the act of that number or name; False: it came to its end.

        How often caches are written is not the same in every run.
        """
        count = 0

        def strike(when: str, name: str) -> None:
            nonlocal count
            count += when == "before"
            if when == "before" and (name == at if isinstance(at, str) else count > at):
                os.kill(os.getpid(), signal.SIGKILL)

        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            try:
                watch(strike)
                act()
            finally:
                os._exit(0)
        _, status = os.waitpid(pid, 0)
        return os.WIFSIGNALED(status)

    def failing(self, act: Callable[[], object], moment: int, failure: BaseException) -> MulliganError | None:
        """Do it where the act of that number fails in this way; gives what was told."""
        count = 0

        def strike(when: str, name: str) -> None:
            nonlocal count
            count += when == "before"
            if when == "before" and count == moment + 1:
                raise failure

        watch(strike)
        try:
            act()
        except MulliganError as exc:
            return exc
        finally:
            watch(None)
        return None

    def state(self) -> tuple[Phase, State]:
        """Where the plan stands."""
        status = project_in(self.folder).status("shown")
        return status.phase, status.state

    def nothing_unfinished(self) -> bool:
        """Whether no intent is open, and nothing is kept for one."""
        services = services_of(self.folder)
        try:
            with services.adapters.database.reading() as db:
                plan = db.plans.resolve("shown")
                left = [c.act for c in db.real_changes.list(plan.plan_id)]
                wanted = ["apply"] * 3 if plan.state is State.APPLIED else []
                return not db.intents.list(plan.plan_id) and left == wanted
        finally:
            services.adapters.database.close()


def _rows(file: Path) -> list[object]:
    with closing(sqlite3.connect(file)) as db:
        mode = db.execute("pragma journal_mode").fetchone()
        return [mode, file.stat().st_mode & 0o777, *db.execute("select x from t").fetchall()]


def unlike(one: Seen, other: Seen) -> list[object]:
    """Where two looks differ."""
    paths = sorted(p for p in one.files.keys() | other.files.keys() if one.files.get(p) != other.files.get(p))
    found: list[object] = [(path, one.files.get(path), other.files.get(path)) for path in paths]
    found += [(one.rows, other.rows)] if one.rows != other.rows else []
    return found + ([(one.more, other.more)] if one.more != other.more else [])
