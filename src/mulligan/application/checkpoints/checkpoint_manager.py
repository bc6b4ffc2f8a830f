"""Captures or restores all resources of a group, all or none."""

import posixpath
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TypeAlias
from weakref import WeakKeyDictionary, WeakSet

from msgspec.structs import replace

from mulligan.application.runs.run import Run
from mulligan.domain.checkpoints.checkpoint import Checkpoint, CheckpointGroup
from mulligan.domain.checkpoints.store_report import Capture, ChangeAction, PathChange
from mulligan.domain.plans.trigger import AT_WORK
from mulligan.domain.resources.placement import lie_together
from mulligan.domain.resources.resource import Sandbox, Strategy
from mulligan.domain.trees.real_change import Snapshots
from mulligan.errors import DatabaseBusy, SandboxMissing, TreeUnsteady
from mulligan.ports import Observer, Publication, SandboxKinds, SnapshotStore, Unobserved
from mulligan.ports.world import one_by_one

Changes = Mapping[str, tuple[PathChange, ...]]  # by resource
Stored: TypeAlias = CheckpointGroup | Snapshots


class CheckpointManager:
    """The bytes of a group: every sandbox of a plan at one moment."""

    def __init__(self, *, kinds: SandboxKinds, store: SnapshotStore) -> None:
        """Reach the sandboxes through these kinds, and their snapshots in this store."""
        self._kinds = kinds
        self._store = store
        # The last capture of a run's sandboxes, where nothing can have changed them since.
        self._still: WeakKeyDictionary[Run, tuple[Capture, ...]] = WeakKeyDictionary()
        self._busy: WeakSet[Run] = WeakSet()  # runs with a tool at work

    @contextmanager
    def watch(self, run: Run) -> Generator[None]:
        """Watch the run's sandboxes: meanwhile a capture, comparison or restore costs only what changed."""
        with ExitStack() as watches:
            for sandbox in run.sandboxes:
                kind = self._kinds.of(sandbox)
                watches.enter_context(kind.watch(sandbox, others_at_work=run.others_at_work))
            if not set(AT_WORK).isdisjoint(run.settings.triggers):
                self._store.listen()
            yield

    @contextmanager
    def watch_briefly(self, run: Run) -> Generator[None]:
        """Watch them for work that looks a few times and ends: another process may report what changes instead."""
        with self._store.at_work_briefly(), self.watch(run):
            yield

    @property
    def keeps_watches(self) -> bool:
        """Return whether a watch is kept for the next work: for a single capture none is worth opening otherwise."""
        return self._store.keeps_watches

    def at_once(self) -> AbstractContextManager[None]:
        """Let captures, comparisons and restores meanwhile be those of one moment."""
        return self._store.at_once()

    def capture(self, run: Run) -> tuple[Capture, ...]:
        """Store every sandbox durably, in the plan's order; read only those that may have changed."""
        if (still := self._still.get(run)) is not None:
            return still
        self.require(run.sandboxes)
        sandboxes = one_by_one(run.sandboxes, "sandboxes captured", run.observer)
        with self.at_once():
            captures = tuple(self._kinds.of(s).capture(s, run.observer) for s in sandboxes)
        if not (run.others_at_work or run in self._busy):
            self._still[run] = captures
        return captures

    def capture_at_work(self, run: Run) -> tuple[Capture, ...]:
        """Store every sandbox durably while programs write to them.

        A resource that leaves no moment at which a whole state can be read is held as it was in the group before, and
        named as one that never held still.
        """
        self.require(run.sandboxes)
        return tuple(self._captured_at_work(run, sandbox) for sandbox in run.sandboxes)

    def _captured_at_work(self, run: Run, sandbox: Sandbox) -> Capture:
        try:
            return self._kinds.of(sandbox).capture(sandbox, Unobserved(), at_work=True)
        except (TreeUnsteady, DatabaseBusy):
            before = run.latest[sandbox.resource].snapshot
            is_file = sandbox.type.traits.is_file
            path = posixpath.basename(sandbox.path) if is_file else "."
            return Capture(snapshot=before, size_bytes=0, files=0, unheld=(), busy=(path,))

    def unseen(self, run: Run) -> Mapping[str, str]:
        """Return the resources whose writes the watch does not hear of, each with the reason."""
        found = {sandbox.resource: self._kinds.of(sandbox).unseen(sandbox) for sandbox in run.sandboxes}
        return {resource: reason for resource, reason in found.items() if reason}

    def stirred(self, run: Run) -> bool:
        """Return whether something was written to a watched sandbox since this was last asked, or it was captured."""
        answers = [self._kinds.of(sandbox).stirred(sandbox) for sandbox in run.sandboxes]  # each is asked
        return any(answers)

    def forget(self, run: Run) -> tuple[Capture, ...] | None:
        """Let the next capture read the sandboxes again; return the last capture, where it is still valid."""
        return self._still.pop(run, None)

    @contextmanager
    def tool_at_work(self, run: Run) -> Generator[tuple[Capture, ...] | None]:
        """Let every capture in the block read the sandboxes; yield the one before, where it is still valid."""
        before = self.forget(run)
        self._busy.add(run)
        try:
            yield before
        finally:
            self._busy.discard(run)

    def publish(self, sandbox: Sandbox, publication: Publication) -> Checkpoint:
        """Return a checkpoint with the name under which other programs find it."""
        ref = self._kinds.of(sandbox).publish(sandbox, publication)
        return replace(publication.checkpoint, sandbox_ref=ref)

    def compare(self, run: Run, group: Stored) -> Changes:
        """Return what a restore would do to each sandbox; read and verify all it needs, and change nothing."""
        self.require(run.sandboxes)
        _refuse_partial(run, group)
        changes: dict[str, tuple[PathChange, ...]] = {s.resource: () for s in run.sandboxes}
        leaving: set[str] = set()
        in_order = sorted(run.sandboxes, key=lambda s: not s.type.traits.is_file)
        for sandbox in one_by_one(in_order, "resources compared", run.observer):
            snapshot = group.snapshot_of(sandbox.resource)
            inside = frozenset(
                posixpath.relpath(path, sandbox.path) for path in leaving if lie_together(path, sandbox.path)
            )
            found = self._kinds.of(sandbox).compare(sandbox, snapshot, inside)
            changes[sandbox.resource] = found
            if sandbox.type.traits.is_file and _goes(found):
                leaving.update(sandbox.type.traits.files_of(sandbox.path))
        return changes

    def restore(self, run: Run, group: Stored, known: Stored, *, spare: bool = False) -> Changes:
        """Make every sandbox exactly what the group holds. Running it again completes an interrupted restore.

        In real resources it replaces only contents that are `known`, and raises ChangedMeanwhile at any other. With
        `spare` it leaves files alone that are the same in both, whatever they hold now.
        """
        self.require(run.sandboxes)
        _refuse_partial(run, group)
        self.forget(run)
        changes: dict[str, tuple[PathChange, ...]] = {s.resource: () for s in run.sandboxes}
        for sandbox in one_by_one(self._in_order(run.sandboxes, group), "resources restored", run.observer):
            snapshot = group.snapshot_of(sandbox.resource)
            kept = known.snapshot_of(sandbox.resource) if sandbox.strategy is Strategy.IN_PLACE else None
            kind = self._kinds.of(sandbox)
            changes[sandbox.resource] = kind.restore(sandbox, snapshot, run.observer, kept, spare=spare)
        return changes

    def put(self, sandboxes: Sequence[Sandbox], group: Stored, observer: Observer) -> None:
        """Make copies that no run has exactly what the group holds."""
        for sandbox in one_by_one(self._in_order(sandboxes, group), "resources restored", observer):
            self._kinds.of(sandbox).restore(sandbox, group.snapshot_of(sandbox.resource), observer)

    def restore_paths(
        self, run: Run, group: Stored, known: Stored, paths: Mapping[str, Sequence[str]]
    ) -> None:
        """As `restore`, for these paths of each resource alone: all else stays as it is."""
        self.require(run.sandboxes)
        self.forget(run)
        for sandbox in one_by_one(self._in_order(run.sandboxes, group), "resources restored", run.observer):
            resource = sandbox.resource
            snapshot = group.snapshot_of(resource)
            kept = known.snapshot_of(resource) if sandbox.strategy is Strategy.IN_PLACE else None
            kind = self._kinds.of(sandbox)
            kind.restore_paths(sandbox, snapshot, paths[resource], run.observer, kept)

    def _in_order(self, sandboxes: Sequence[Sandbox], group: Stored) -> list[Sandbox]:
        """Order them: files that are removed, then everything that is not a file, then the other files.

        A folder cannot be removed while a file of another resource is in it, nor a file written before its folder.
        """
        files = [s for s in sandboxes if s.type.traits.is_file]
        # What others see at once, and may build on, comes last.
        others = [s for s in sandboxes if not s.type.traits.is_file]
        remote = [s for s in others if s.type.traits.is_remote]
        nested = any(s.excluded for s in others)
        going = [
            s for s in files if nested and _goes(self._kinds.of(s).compare(s, group.snapshot_of(s.resource)))
        ]
        folders = [s for s in others if s not in remote]
        return [*going, *folders, *(s for s in files if s not in going), *remote]

    def changed_since(self, run: Run, before: tuple[Capture, ...]) -> tuple[str, ...]:
        """Return the paths in which the sandboxes differ from an earlier capture."""
        found: list[str] = []
        with self._store.hold():
            pairs = zip(run.sandboxes, before, self.capture(run), strict=True)
            for sandbox, old, new in pairs:
                differences = self._store.difference(old.snapshot.roots[0], new.snapshot.roots[0])
                found += [f"{sandbox.resource}: {difference.path}" for difference in differences]
        return tuple(found)

    def recover(self, run: Run) -> tuple[str, ...]:
        """Put back files of others that a killed process had moved out of real resources; return their paths."""
        return tuple(path for sandbox in run.sandboxes for path in self._kinds.of(sandbox).recover(sandbox))

    def changed_by_others(self, run: Run, target: Stored, before: Stored) -> tuple[str, ...]:
        """Return paths that others changed in real resources while a return between two groups was interrupted."""
        found: list[str] = []
        for sandbox in run.sandboxes:
            if sandbox.strategy is Strategy.IN_PLACE:
                to, back = (group.snapshot_of(sandbox.resource) for group in (target, before))
                found += self._kinds.of(sandbox).changed_by_others(sandbox, to, back, run.observer)
        return tuple(found)

    def require(self, sandboxes: Sequence[Sandbox]) -> None:
        """Refuse to work on sandboxes that do not exist."""
        for sandbox in sandboxes:
            if not self._kinds.of(sandbox).exists(sandbox):
                raise SandboxMissing(resource=sandbox.resource, path=sandbox.path)


def _refuse_partial(run: Run, group: Stored) -> None:
    """Refuse a group of resources that have no sandbox: a group comes back as a whole."""
    known = {sandbox.resource for sandbox in run.sandboxes}
    for checkpoint in group.checkpoints if isinstance(group, CheckpointGroup) else ():
        if checkpoint.resource not in known:
            raise SandboxMissing(resource=checkpoint.resource, path=checkpoint.filesystem_path)


def _goes(changes: Sequence[PathChange]) -> bool:
    """Return whether a file is removed without a replacement."""
    return bool(changes) and all(change.action is ChangeAction.REMOVED for change in changes)
