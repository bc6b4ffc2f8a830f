"""The snapshot store on a local disk: the SnapshotStore port over packs, trees and the stat cache."""

import fcntl
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path

from mulligan.adapters.snapshots.cache import StatCache
from mulligan.adapters.snapshots.capture import Reading, unheld_in
from mulligan.adapters.snapshots.changes import differences, file_of
from mulligan.adapters.snapshots.contents import pieces
from mulligan.adapters.snapshots.difference import Difference, address_of, compare_trees
from mulligan.adapters.snapshots.durable import make_private_folder
from mulligan.adapters.snapshots.objects import HashingSink, Objects
from mulligan.adapters.snapshots.places import Folders
from mulligan.adapters.snapshots.restore import Restoring
from mulligan.adapters.snapshots.rooms import Rooms
from mulligan.adapters.snapshots.scan import Folder, Scan, exclusions_of, until_steady
from mulligan.adapters.snapshots.trees import EntryKind
from mulligan.adapters.snapshots.verify import Verification
from mulligan.domain.snapshot import (
    Capture,
    Damage,
    ObjectId,
    PathChange,
    Root,
    Snapshot,
    SnapshotId,
    Survey,
)
from mulligan.domain.tree_difference import StoredContent, TreeDifference
from mulligan.errors import SystemFailed
from mulligan.ports import Observer, WorkingTree


class PackedSnapshotStore:
    """Keeps snapshots in a folder of its own: packs, stat caches, rooms for work in progress, a lock file."""

    def __init__(self, *, home: Path, now_ns: Callable[[], int], boot_id: str) -> None:
        """`now_ns` is the wall clock that stamps files; `boot_id` tells boots of the machine apart."""
        self._home = home
        self._now_ns = now_ns
        self._rooms = Rooms(home / "rooms")
        self._objects = Objects(home, self._rooms)
        self._cache = StatCache(home, self._rooms, boot_id)

    @contextmanager
    def hold(self) -> Generator[None]:
        """Keep the sweep from deleting anything until the rows of what is captured inside are committed."""
        with _translated(self._home):
            make_private_folder(self._home)
            fd = os.open(self._home / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_SH)
            yield
        finally:
            os.close(fd)

    def survey(self, tree: WorkingTree, observer: Observer) -> Survey:
        """Count what a capture would hold."""
        with _translated(tree.path), Folders(tree.path) as folders:
            scans: list[Scan] = []

            def attempt() -> Folder:
                scans.append(Scan(folders, exclusions_of(tree), self._now_ns()))
                return scans[-1].run()

            top = until_steady(attempt)
            files = sum(len(folder.stats) - len(folder.children) for folder in top.walk())
        observer.progress("files counted", files, files)
        return Survey(files=files, size_bytes=scans[-1].size_bytes)

    def capture(self, tree: WorkingTree, observer: Observer) -> Capture:
        """Store the tree durably: when this returns, a power cut loses nothing of it."""
        self._objects.refresh()
        writer = self._objects.writer()
        try:
            with _translated(tree.path):
                reading = Reading(tree, self._known(tree), writer, observer)
                top = reading.run(self._now_ns)
                if not top.stats:
                    raise SystemFailed(path=str(tree.path), reason="there is no such folder")
                size = writer.finish()
                self._objects.settle()
                self._cache.remember(
                    tree.cache_key,
                    top,
                    self._objects.pack_names(),
                    files_read=reading.files_read,
                    bytes_read=reading.bytes_read,
                )
        finally:
            writer.abandon()
        root = Root(SnapshotId(top.id.hex()), ObjectId(top.address.hex()))
        return Capture(snapshot=Snapshot((root,)), size_bytes=size, files=top.files, unheld=unheld_in(top))

    def compare(self, snapshot: Snapshot, tree: WorkingTree) -> tuple[PathChange, ...]:
        """What a restore would do to the tree, to the path, sorted; touches nothing."""
        with _translated(tree.path):
            difference = self._difference(snapshot, tree, _Unwatched())
            for work in difference.works:
                for entry in work.write:
                    if entry.kind is EntryKind.FILE:
                        deque(pieces(entry, self._objects.read), maxlen=0)  # each is proved by its hash
            return difference.changes()

    def restore(self, snapshot: Snapshot, tree: WorkingTree, observer: Observer) -> tuple[PathChange, ...]:
        """Make the tree exactly what the snapshot holds, and say what was touched, sorted."""
        with _translated(tree.path):
            difference = self._difference(snapshot, tree, observer)
            restoring = Restoring(tree, difference, self._objects, self._rooms, observer)
            top = restoring.run(self._now_ns)
            # The next process should find what this one knows of files that it wrote itself.
            self._cache.remember(
                tree.cache_key,
                top,
                self._objects.pack_names(),
                files_read=restoring.files_written,
                bytes_read=restoring.bytes_written,
            )
        return difference.changes()

    def verify(
        self, snapshots: Iterable[Snapshot], *, quick: bool, observer: Observer
    ) -> Mapping[Snapshot, tuple[Damage, ...]]:
        """Give what is wrong with each damaged snapshot; `quick` looks at presence and structure only."""
        with _translated(self._home):
            self._objects.refresh()
            return Verification(self._objects, observer, quick=quick).run(snapshots)

    def difference(self, old: Root, new: Root) -> tuple[TreeDifference, ...]:
        """Where two trees differ, path by path, sorted; folders that are equal are not opened."""
        with _translated(self._home):
            self._objects.refresh()
            return differences(address_of(old), address_of(new), self._objects.read)

    def read(self, content: StoredContent) -> bytes:
        """The bytes of a stored file."""
        with _translated(self._home):
            return b"".join(pieces(file_of(content), self._objects.read))

    def forget_tree(self, tree: WorkingTree) -> None:
        """Drop what is remembered of a tree that is no more."""
        with _translated(self._home):
            self._cache.forget(tree.cache_key)

    def _known(self, tree: WorkingTree) -> Folder | None:
        return self._cache.recall(tree.cache_key, self._objects.pack_names())

    def _difference(self, snapshot: Snapshot, tree: WorkingTree, observer: Observer) -> Difference:
        self._objects.refresh()
        reading = Reading(tree, self._known(tree), HashingSink(), observer)
        present = reading.run(self._now_ns)
        return compare_trees(present, reading.inside, snapshot, tree, self._objects.read)


class _Unwatched:
    """An observer for work that nobody watches."""

    def event(self, event: object) -> None:
        """Nothing is recorded here."""

    def output(self, data: bytes) -> None:
        """Nothing is printed here."""

    def progress(self, what: str, done: int, total: int | None) -> None:
        """Nobody looks."""


@contextmanager
def _translated(path: Path) -> Generator[None]:
    """Make the system's refusals ours, with the path they are about."""
    try:
        yield
    except OSError as exc:
        where = exc.filename if exc.filename is not None and not isinstance(exc.filename, int) else path
        reason = exc.strerror or str(exc)
        raise SystemFailed(path=os.fsdecode(where), reason=reason) from exc
