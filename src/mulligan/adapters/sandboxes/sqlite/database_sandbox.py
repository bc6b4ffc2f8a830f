"""Sandboxes of SQLite databases: copied and captured through SQLite, put in place as a file.

A snapshot of a database holds one file under the database's own name, or none where there is no database.
What a step made unreadable for SQLite is kept byte for byte instead, so that there is a way back from it.
"""

import os
import stat
import time
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from msgspec.structs import replace

from mulligan.adapters.sandboxes.private_sandbox import Private, Workplace, make_private, work_folder
from mulligan.adapters.sandboxes.removal import remove_tree
from mulligan.adapters.sandboxes.sqlite.database_contents import same_contents, why_not_taken
from mulligan.adapters.sandboxes.sqlite.database_copy import MAGIC, DatabaseCopies, NoDatabase, problem_in
from mulligan.adapters.sandboxes.sqlite.database_files import DatabaseFiles, Stamps, is_settled, sidecars
from mulligan.adapters.sandboxes.sqlite.known_state import KnownState
from mulligan.domain.checkpoints.snapshot import Root, Snapshot
from mulligan.domain.checkpoints.store_report import Capture, ChangeAction, PathChange, Survey, Unheld
from mulligan.domain.resources.placement import PROJECT_HOME, folder_name
from mulligan.domain.resources.resource import Resource, ResourceType, Sandbox, Strategy
from mulligan.errors import ResourceUnsuitable, RestoreFailed, SystemFailed
from mulligan.ports import Observer, SandboxOrder, Unobserved, WorkingTree

_WORTH_A_NAP = 4 << 20  # bytes; waiting until a file's stamp is trusted takes less than reading it again
_NAP = 0.005
_LONGEST_NAP = 0.1  # someone may be writing all the time


class SqliteSandboxes(Private):
    """Makes working copies of databases, each in a folder of its own or inside another resource's sandbox."""

    type = ResourceType.SQLITE
    strategy = Strategy.FILESYSTEM_COPY
    _others_at_work = False  # between two steps nobody writes to a sandbox

    def __init__(self, place: Workplace, copies: DatabaseCopies, boot_id: str) -> None:
        super().__init__(place)
        self._copies = copies
        self._boot_id = boot_id
        self._stamps: dict[Path, Stamps] = {}  # when a database was last captured, or asked about

    def check(self, resource: Resource, location: Path) -> None:
        if reason := self._unsuitable(resource, location.resolve()):
            raise ResourceUnsuitable(resource=resource.name, path=str(location), reason=reason)

    def survey(self, order: SandboxOrder, observer: Observer) -> Survey:
        database, wal, _journal = _real(order).look()
        size = sum(stamp[4] for stamp in (database, wal) if stamp is not None)
        return Survey(files=int(database is not None), size_bytes=size)

    def create(self, order: SandboxOrder, observer: Observer) -> tuple[Sandbox, Capture]:
        files, name = _real(order), order.path.name
        with self._place.workshop(order.plan_id, order.resource.name) as shop:
            tree = work_folder(shop, "out")
            try:
                if files.look()[0] is not None:
                    self._copies.copy(files, tree.path / name, work_folder(shop, "room").path, observer)
                    if problem := problem_in(tree.path / name):
                        raise NoDatabase(problem)
                elif not order.resource.create:
                    raise NoDatabase("it no longer exists")
            except NoDatabase as exc:
                raise ResourceUnsuitable(
                    resource=order.resource.name,
                    path=str(order.location),
                    reason=f"SQLite cannot read it: {exc}",
                    hint="repair the database (`sqlite3 FILE .recover` saves what can be read), then try again",
                ) from exc
            _stamp(tree, files)
            try:
                capture = self._store.capture(tree, observer)
            finally:
                self._store.forget_tree(tree)
        return self._make(order, capture.snapshot, observer), capture

    def fork(self, order: SandboxOrder, parent: Sandbox, snapshot: Snapshot, observer: Observer) -> Sandbox:
        return self._make(order, snapshot, observer)

    def fill(self, sandbox: Sandbox, snapshot: Snapshot, observer: Observer) -> None:
        make_private(self._files(sandbox).root)
        self.restore(sandbox, snapshot, observer)

    def _folder(self, sandbox: Sandbox) -> Path:
        return self._files(sandbox).root  # a step may remove the database itself

    def watch(self, sandbox: Sandbox, *, others_at_work: bool) -> AbstractContextManager[None]:
        """Do nothing: one look at three files shows whether a database changed."""
        return nullcontext()

    def unseen(self, sandbox: Sandbox) -> str:
        return ""

    def stirred(self, sandbox: Sandbox) -> bool:
        files = self._files(sandbox)
        stamps = files.look()
        before, self._stamps[files.path] = self._stamps.get(files.path), stamps
        return before is not None and before != stamps

    def capture(self, sandbox: Sandbox, observer: Observer, *, at_work: bool = False) -> Capture:
        """Store the working copy durably; one that nobody touched is not read again."""
        self._must_exist(sandbox)
        stamps, taken_ns = self._look(self._files(sandbox))
        self._stamps[self._files(sandbox).path] = stamps
        if (known := self._known(sandbox)) is not None:
            return Capture(snapshot=known, size_bytes=0, files=int(stamps[0] is not None), unheld=())
        with self._staged(sandbox, observer, at_work=at_work) as (tree, unheld):
            capture = self._store.capture(tree, observer)
        if unheld:
            return replace(capture, unheld=unheld)
        self._memory(sandbox).remember(stamps, taken_ns, capture.snapshot)
        return capture

    def compare(
        self, sandbox: Sandbox, snapshot: Snapshot, leaving: frozenset[str] = frozenset()
    ) -> tuple[PathChange, ...]:
        """Return what a restore would do, with paths of the database's own folder; touch nothing."""
        self._must_exist(sandbox)
        return self._changes(sandbox, snapshot)

    def restore(
        self,
        sandbox: Sandbox,
        snapshot: Snapshot,
        observer: Observer,
        known: Snapshot | None = None,
        *,
        spare: bool = False,
    ) -> tuple[PathChange, ...]:
        self._must_exist(sandbox)
        changes = self._changes(sandbox, snapshot)
        # Equal as SQLite reads it may still mean half of it in a -wal, or a transaction to be rolled back.
        untidy = not self._others_at_work and any(self._files(sandbox).look()[1:])
        if changes or untidy:
            self._put(sandbox, snapshot, observer)
        return changes

    def restore_paths(
        self,
        sandbox: Sandbox,
        snapshot: Snapshot,
        paths: Sequence[str],
        observer: Observer,
        known: Snapshot | None = None,
    ) -> tuple[PathChange, ...]:
        """Restore the whole database: it has one path."""
        return self.restore(sandbox, snapshot, observer, known)

    def same(self, sandbox: Sandbox, one: Snapshot, other: Snapshot) -> bool:
        """Return whether SQLite reads the same from both, regardless of the page layout."""
        if one.same_as(other):
            return True
        with self._place.workshop(sandbox.plan_id, sandbox.resource) as shop:
            trees = (work_folder(shop, "one"), work_folder(shop, "other"))
            for tree, snapshot in zip(trees, (one, other), strict=True):
                self._store.restore(snapshot, tree, Unobserved())
                self._store.forget_tree(tree)
            return same_contents(*(next(tree.path.iterdir(), None) for tree in trees))

    def why_not_taken(self, ours: Root, theirs: Root) -> str:
        return why_not_taken(self._store, ours, theirs)

    def trees(self, sandbox: Sandbox) -> tuple[WorkingTree, ...]:
        """None: what is remembered of a database lies beside its sandbox."""
        return ()

    def park(self, sandbox: Sandbox, *, room: int = 0) -> None:
        self.remove(sandbox)  # a database is copied whole by SQLite: a copy saves nothing

    def remove(self, sandbox: Sandbox) -> None:
        files = self._files(sandbox)
        if self.exists(sandbox):
            with self._place.workshop(sandbox.plan_id, sandbox.resource) as shop:
                files.remove(shop)
        if files.root.name == folder_name(sandbox.resource):  # not another resource's
            remove_tree(files.root, self._home)
        self._memory(sandbox).forget()

    def _make(self, order: SandboxOrder, base: Snapshot, observer: Observer) -> Sandbox:
        sandbox = self._sandbox(order, base)
        self.fill(sandbox, base, observer)
        return sandbox

    def _changes(self, sandbox: Sandbox, snapshot: Snapshot) -> tuple[PathChange, ...]:
        """Return the differences from the snapshot; if there are any, all of the snapshot is read and verified."""
        known = self._known(sandbox)
        if known is None:
            with self._staged(sandbox, Unobserved()) as (tree, _):
                return self._store.compare(snapshot, tree)
        if known.same_as(snapshot):
            return ()
        with self._place.workshop(sandbox.plan_id, sandbox.resource) as shop:
            self._store.compare(snapshot, nothing := work_folder(shop, "nothing"))
            self._store.forget_tree(nothing)
        return tuple(
            PathChange(found.path, ChangeAction.REMOVED if found.new is None else ChangeAction.RESTORED)
            for found in self._store.difference(known.roots[0], snapshot.roots[0])
            if found.of_files
        )

    def _put(self, sandbox: Sandbox, snapshot: Snapshot, observer: Observer) -> None:
        files = self._files(sandbox)
        with self._place.workshop(sandbox.plan_id, sandbox.resource) as shop:
            tree = work_folder(shop, "in")
            self._store.restore(snapshot, tree, observer)
            self._store.forget_tree(tree)
            try:
                self._replace(files, tree.path, shop)
            except OSError as exc:
                raise RestoreFailed(path=sandbox.path, reason=exc.strerror or str(exc)) from exc
        if not self._others_at_work:
            self._memory(sandbox).remember(*self._look(files), snapshot)

    def _look(self, files: DatabaseFiles) -> tuple[Stamps, int]:
        """The stamps of a database and when they were taken; of a large one once they can be trusted."""
        limit = time.monotonic() + _LONGEST_NAP
        while True:
            taken_ns, stamps = self._copies.now_ns(), files.look()
            large = stamps[0] is not None and stamps[0][4] >= _WORTH_A_NAP
            if not large or is_settled(stamps, taken_ns) or time.monotonic() > limit:
                return stamps, taken_ns
            time.sleep(_NAP)

    def _replace(self, files: DatabaseFiles, new: Path, shop: Path) -> None:
        files.replace_from(new, shop)

    @contextmanager
    def _staged(
        self, sandbox: Sandbox, observer: Observer, *, at_work: bool = False
    ) -> Generator[tuple[WorkingTree, tuple[Unheld, ...]]]:
        """The working copy as a folder that the store can take: read by SQLite, or else byte for byte."""
        with self._place.workshop(sandbox.plan_id, sandbox.resource) as shop:
            tree = work_folder(shop, "out")
            try:
                room = work_folder(shop, "room").path
                unheld = self._stage(self._files(sandbox), tree.path, room, observer, at_work=at_work)
            except OSError as exc:
                raise SystemFailed(path=sandbox.path, reason=exc.strerror or str(exc)) from exc
            _stamp(tree, self._files(sandbox))
            try:
                yield tree, unheld
            finally:
                self._store.forget_tree(tree)

    def _stage(
        self, files: DatabaseFiles, out: Path, room: Path, observer: Observer, *, at_work: bool
    ) -> tuple[Unheld, ...]:
        found = files.stat(files.name)
        if found is None:
            return ()
        if stat.S_ISREG(found.st_mode):
            try:
                self._copies.copy(files, out / files.name, room, observer, at_work=at_work)
                return ()
            except PermissionError:
                return (Unheld(files.name, "it may not be read"),)
            except NoDatabase as exc:
                (out / files.name).unlink(missing_ok=True)
                reason = f"as a database: {exc}; its bytes are kept as they are"
        elif stat.S_ISLNK(found.st_mode):
            reason = "as a database: a symlink is in its place, which is kept and not followed"
        else:
            then = "stops there unless it is an empty folder" if self._others_at_work else "removes it"
            return (Unheld(files.name, f"it is no longer a file; a rollback {then}"),)
        wal, _shm, journal = sidecars(files.name)
        files.copy_to(out, (files.name, wal, journal))
        if stat.S_ISREG(found.st_mode):
            os.chmod(out / files.name, stat.S_IMODE(found.st_mode))
        return (Unheld(files.name, reason),)

    def _known(self, sandbox: Sandbox) -> Snapshot | None:
        """Return the snapshot of the working copy, if it is known without reading and the store still has it."""
        known = self._memory(sandbox).recall(self._files(sandbox).look())
        if known is None or self._store.verify([known], quick=True, observer=Unobserved()):
            return None
        return known

    def _memory(self, sandbox: Sandbox) -> KnownState:
        file = self._home / sandbox.plan_id / f".known-{folder_name(sandbox.resource)}"
        return KnownState(file, self._boot_id)

    def _files(self, sandbox: Sandbox) -> DatabaseFiles:
        """The working copy, from the sandbox's folder (its own, or that of the resource around it) on."""
        plan = self._home / sandbox.plan_id
        folder, *inside = Path(sandbox.path).relative_to(plan).parts
        return DatabaseFiles(plan / folder, tuple(inside))

    def _unsuitable(self, resource: Resource, real: Path) -> str:
        """Return why a plan cannot work on this; empty when it can."""
        project, home = self._place.project.resolve(), self._place.project_home.resolve()
        if real.is_relative_to(home) or real.is_relative_to(project / PROJECT_HOME):
            return "it is inside the project home"
        if not real.is_relative_to(project):
            return f"it leads out of the project, to {real}"
        if real.is_dir():
            return "it is a folder; a database is a file"
        files = DatabaseFiles(real.parent, (real.name,))
        found = files.stat(files.name)
        if found is None:
            return "" if resource.create else "it does not exist; with `create: true` it may be missing"
        if not stat.S_ISREG(found.st_mode):
            return "it is not a file"
        try:
            head = files.head(len(MAGIC))
        except OSError as exc:
            return f"it cannot be read: {exc.strerror}"
        return "" if head in (b"", MAGIC) else "it is not a SQLite database"


def _real(order: SandboxOrder) -> DatabaseFiles:
    real = order.location.resolve()  # the user may name a database by a symlink, as SQLite itself allows
    return DatabaseFiles(real.parent, (real.name,))


def _stamp(tree: WorkingTree, files: DatabaseFiles) -> None:
    """Give the folder a time that the database decides: what was not touched is stored no second time."""
    found = files.stat(files.name)
    time_ns = found.st_mtime_ns if found is not None else 0
    os.utime(tree.path, ns=(time_ns, time_ns))
