"""The SnapshotStore port over packs, trees and the stat cache.

What makes new trees, and what sweeps or verifies packs, is imported where it is used: most commands do neither.
"""

from __future__ import annotations

import os
import posixpath
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mulligan.adapters.snapshots.cache.marks import Mark
from mulligan.adapters.snapshots.cache.stat_cache import StatCache, key_when_new
from mulligan.adapters.snapshots.capture.entry_reader import Records
from mulligan.adapters.snapshots.capture.file_contents import store_bytes
from mulligan.adapters.snapshots.capture.full_capture import Surveyed, unheld_in
from mulligan.adapters.snapshots.capture.served_trees import ServedTrees
from mulligan.adapters.snapshots.capture.surveys import Surveys
from mulligan.adapters.snapshots.capture.tree_reader import UNWATCHED, Looking
from mulligan.adapters.snapshots.format.chunks import pieces
from mulligan.adapters.snapshots.format.tree_format import ROOT_NAME, EntryKind
from mulligan.adapters.snapshots.packed_trees import PackedTrees, translated
from mulligan.adapters.snapshots.packs.pack_writer import PackWriter
from mulligan.adapters.snapshots.packs.repack import can_join, join_small_packs
from mulligan.adapters.snapshots.packs.sinks import HashingSink, Sink
from mulligan.adapters.snapshots.packs.sweep import Level, Sweep
from mulligan.adapters.snapshots.restore.adoption import doubts_about
from mulligan.adapters.snapshots.restore.asides import Asides
from mulligan.adapters.snapshots.restore.collisions import answers_to_another_name, refuse_collisions
from mulligan.adapters.snapshots.restore.known_tree import KnownTree, changed_at
from mulligan.adapters.snapshots.restore.real_tree import holds
from mulligan.adapters.snapshots.restore.restore_plan import Difference, SparedRecords, compare_trees
from mulligan.adapters.snapshots.restore.restorer import Restoring
from mulligan.adapters.snapshots.scan.exclusions import exclusions_in, exclusions_of, left_out_in
from mulligan.adapters.snapshots.scan.filesystems import keeps_no_times
from mulligan.adapters.snapshots.scan.found_folder import Folder
from mulligan.adapters.snapshots.scan.memory_maps import Moments
from mulligan.adapters.snapshots.scan.scan import Scan, Witness, until_steady
from mulligan.adapters.snapshots.trees.tree_edit import grafted
from mulligan.adapters.snapshots.watch.open_watches import OpenWatches
from mulligan.adapters.snapshots.watch.tree_watch import (
    CUT_OFF,
    NOT_IN_STORE,
    OTHER_NAME,
    Look,
    why_unwatchable,
)
from mulligan.boundaries import act
from mulligan.domain.checkpoints.snapshot import ObjectId, Root, Snapshot, SnapshotId
from mulligan.domain.checkpoints.store_report import Capture, Damage, Leftovers, PathChange, Survey, Swept
from mulligan.domain.trees.tree_difference import StoredContent, TreeEntry
from mulligan.errors import SystemFailed
from mulligan.osfiles.directory_handles import Folders, path_of
from mulligan.osfiles.folders import reserved
from mulligan.osfiles.tempdirs import Rooms
from mulligan.ports import Lease, Unobserved

if TYPE_CHECKING:
    from mulligan.adapters.snapshots.new_trees.tree_creation import Source
    from mulligan.ports import ChangeReports, Leases, Observer, PackStorage, Replacement, WorkingTree


class PackedSnapshotStore(PackedTrees):
    """Keeps snapshots in packs, and in a local folder all that is about this machine.

    In `work` are the stat caches, rooms for work in progress, asides of restores, and the size after the last sweep.
    It is on the filesystem of private sandboxes where possible: a restore renames files out of it.
    """

    def __init__(
        self,
        *,
        packs: PackStorage,
        leases: Leases,
        work: Path,
        now_ns: Callable[[], int],
        boot_id: str,
        staging: Path | None = None,
        reports: ChangeReports | None = None,
        ask_from: int = 2_000,
    ) -> None:
        """`now_ns` is the wall clock that stamps files; `boot_id` distinguishes boots of the machine.

        `staging` is a folder for the asides of real trees that are on another filesystem than `work`. `reports` are of
        another process that may watch trees of at least `ask_from` files: smaller ones are scanned as fast.
        """
        super().__init__(packs=packs, leases=leases, work=work)
        self._now_ns = now_ns
        self._rooms = Rooms(work / "rooms")
        self._asides = Asides(work / "asides", staging)
        self._cache = StatCache(work, self._rooms, boot_id)
        self._level = Level(work / "level", self._rooms)
        self._restless: dict[str, frozenset[str]] = {}  # by cache key: files that did not hold still
        self._watches = OpenWatches()
        self._surveys = Surveys()
        self._moments = Moments()
        self._reports = reports
        self._ask_from = ask_from
        self._briefly = 0
        self._served = ServedTrees(self._cache, reports, ask_from)
        # How the last capture, comparison or restore read its tree: all of it, or what changed.
        self.last_look = Look(watched=False, reason=UNWATCHED)

    @contextmanager
    def watch(self, tree: WorkingTree, *, others_at_work: bool) -> Generator[None]:
        with self._watches.over(tree, others_at_work=others_at_work) as kept:
            try:
                yield
            finally:
                if not kept:
                    self._served.flush(tree.cache_key)

    def keep_watches(self, most: int) -> None:
        """Keep so many watches open when the work that asked for them is done, for the next work on their trees."""
        self._watches.keep(most)

    @property
    def keeps_watches(self) -> bool:
        return self._watches.keeps

    @property
    def kept_watches(self) -> int:
        """The number of watches that are open and that no work uses."""
        return self._watches.kept

    def close_watches(self) -> None:
        """Close the watches that were kept, and write down what they learned."""
        for tree in self._watches.close_kept():
            self._served.flush(tree.cache_key)

    def at_once(self) -> AbstractContextManager[None]:
        return self._moments.at_once()

    def distrust_watches(self) -> None:
        """Scan each watched tree at its next look: a file may have been written under a name that nobody watches."""
        with translated(self._work):
            for tree in self._watches.distrust(OTHER_NAME):
                self._served.distrust(tree)

    def listen(self) -> None:
        self._watches.listen()

    def unwatchable(self) -> str:
        return why_unwatchable(self._work)

    def unseen(self, tree: WorkingTree) -> str:
        watch = self._watches.of(tree)
        return UNWATCHED if watch is None else watch.blind

    def stirred(self, tree: WorkingTree) -> bool:
        watch = self._watches.of(tree)
        return watch is not None and watch.stirred()

    def survey(self, tree: WorkingTree, observer: Observer) -> Survey:
        with translated(tree.path):
            self._objects.refresh()
            known = self._cache.recall(tree.cache_key, self._objects)
            may_ask = not (known.forgotten or self._watches.keeps) and self._watches.of(tree) is None
            may_ask = may_ask and known.top is not None and known.top.files >= self._ask_from
            reports, mark = self._reports if may_ask else None, self._cache.mark_of(tree.cache_key)
            survey = self._surveys.count(tree, known.top, mark, reports, self._now_ns())
        observer.progress("files counted", survey.files, survey.files)
        return survey

    def surveys_kept(self) -> AbstractContextManager[None]:
        return self._surveys.kept()

    def folders_with(self, tree: WorkingTree, name: str) -> tuple[str, ...]:
        top = self._cache.recall(tree.cache_key, self._objects).top
        found = top.with_name(name) if top is not None else []
        return tuple(sorted(posixpath.dirname(path_of(folder, name)) or ROOT_NAME for folder in found))

    def folders_leaving_out(self, tree: WorkingTree) -> tuple[Path, ...] | None:
        top = self._cache.recall(tree.cache_key, self._objects).top
        return None if top is None else tuple(tree.path / path_of(each, "") for each in top.leaving_out())

    def matched(self, tree: WorkingTree) -> tuple[str, ...]:
        exclusions = exclusions_of(tree)
        found: list[str] = []
        if tree.patterns:
            with translated(tree.path), Folders(tree.path) as folders:
                top = until_steady(lambda: Scan(folders, exclusions, self._now_ns(), Witness()).run())
                for folder in top.walk():
                    if folder.skipped:
                        here = exclusions_in(folder, exclusions)
                        with suppress(FileNotFoundError, NotADirectoryError):  # it is gone since
                            names = left_out_in(folders.fd(folder), here)
                            found += [path_of(folder, name) for name in names]
        return tuple(sorted(found, key=os.fsencode))

    def capture(self, tree: WorkingTree, observer: Observer, *, at_work: bool = False) -> Capture:
        writer = PackWriter(self._objects)
        watch = self._watches.of(tree)
        try:
            with translated(tree.path, written=self._work), self._all_or_forgotten(tree):
                looking = self._looking(tree, writer, observer, at_work=at_work)
                looking.surveyed = self._survey_of(tree, looking.known)
                top = looking.run(self._now_ns)
                self.last_look = looking.look
                if watch is not None and watch.last is not None:
                    return watch.last
                if not top.stats:
                    raise SystemFailed(path=str(tree.path), reason="there is no such folder")
                size = writer.finish()
                self._objects.settle()
                self._join_small_packs()
                self._cache.remember(
                    tree.cache_key,
                    top,
                    self._objects.pack_names(),
                    # After a restore files are known and folders are not: making those again costs as much.
                    files_read=looking.records.files_read + len(looking.touched),
                    bytes_read=looking.records.bytes_read,
                )
                if watch is None:
                    self._cache.flush_for_others(tree.cache_key)
                self._served.note(looking, top)
        finally:
            writer.abandon()
        root = Root(SnapshotId(top.id.hex()), ObjectId(top.address.hex()))
        busy = frozenset(looking.records.moves.busy)
        self._restless[tree.cache_key] = busy
        capture = Capture(
            snapshot=Snapshot((root,)),
            size_bytes=size,
            files=top.files,
            unheld=unheld_in(top),
            busy=tuple(sorted(busy, key=os.fsencode)),
        )
        if watch is not None and not looking.is_reported:
            watch.last = replace(capture, size_bytes=0)
        return capture

    def _survey_of(self, tree: WorkingTree, known: Folder | None) -> Surveyed | None:
        """Return the scan of a tree that a survey made, unless something was learned of the tree, or lost, since."""
        found = self._surveys.take(tree, known)
        return None if self._cache.lacks(tree.cache_key) or self._watches.of(tree) is not None else found

    def put(self, contents: Iterable[bytes]) -> tuple[StoredContent, ...]:
        with self._writing() as writer:
            return tuple(
                StoredContent(ObjectId(store_bytes(data, writer).hex()), len(data)) for data in contents
            )

    def graft(self, root: Root, edits: Mapping[str, TreeEntry | None], at_ns: int) -> Root:
        with self._writing() as writer:
            return grafted(root, edits, at_ns, self._objects.read, writer)

    def without(self, roots: Iterable[Root], paths: Sequence[str]) -> Mapping[Root, Root]:
        edits = dict.fromkeys(paths)
        with self._writing() as writer:
            return {root: grafted(root, edits, None, self._objects.read, writer) for root in set(roots)}

    def kept_contents(self, contents: Iterable[StoredContent]) -> frozenset[StoredContent]:
        with translated(self._work):
            self._objects.refresh()
            return frozenset(c for c in contents if self._objects.can_read(bytes.fromhex(c.id)))

    @contextmanager
    def _writing(self) -> Generator[Sink]:
        """A sink whose objects are durable once it is closed."""
        writer = PackWriter(self._objects)
        try:
            with translated(self._work):
                self._objects.refresh()
                yield writer
                writer.finish()
                self._objects.settle()
                self._join_small_packs()
        finally:
            writer.abandon()

    def compare(self, snapshot: Snapshot, tree: WorkingTree) -> tuple[PathChange, ...]:
        with translated(tree.path), self._all_or_forgotten(tree):
            looking = self._looking(tree, HashingSink(), Unobserved())
            difference = self._difference(looking, snapshot, tree)
            looking.stored_nothing()
            self._served.keep(looking)
            for work in difference.works:
                for entry in work.write:
                    if entry.kind is EntryKind.FILE:
                        deque(pieces(entry, self._objects.read), maxlen=0)  # each is proved by its hash
            return difference.changes()

    def restore(
        self,
        snapshot: Snapshot,
        tree: WorkingTree,
        observer: Observer,
        known: Snapshot | None = None,
        *,
        spare: bool = False,
    ) -> tuple[PathChange, ...]:
        self.recover(tree)
        kept = KnownTree(known, self._objects.read) if known is not None else None
        with translated(tree.path, written=self._work), self._all_or_forgotten(tree):
            looking = self._looking(tree, HashingSink(), observer)
            spared = kept.records_of if kept is not None and spare else None
            if known is not None and kept is not None and spare:
                self._look_where_they_differ(looking, kept, known, snapshot)
            difference = self._difference(looking, snapshot, tree, spared)
            self._served.keep(looking)
            self._carry_out(tree, difference, kept, observer)
            self._cache.renew_mark(tree, looking.file, looking.mark, self._reports)
        return difference.changes()

    def changed_where(self, tree: WorkingTree, known: Snapshot, target: Snapshot) -> tuple[str, ...]:
        kept = KnownTree(known, self._objects.read)
        with translated(tree.path), self._all_or_forgotten(tree):
            looking = self._looking(tree, HashingSink(), Unobserved())
            paths = self._look_where_they_differ(looking, kept, known, target)
            top = looking.run(self._now_ns)
            looking.stored_nothing()
            self.last_look = looking.look
            changed = changed_at(paths, top, kept)
            if changed or not kept.is_all_of(top):
                self._cache.let_go(tree.cache_key)  # what was read of it is not stored
            return tuple(changed)

    def _look_where_they_differ(
        self, looking: Looking, kept: KnownTree, known: Snapshot, target: Snapshot
    ) -> Sequence[str]:
        """Have a tree that was captured as `known` just now looked at only where the target differs from it."""
        found = self.difference(known.roots[0], target.roots[0])
        paths = [each.path for each in found if each.path != ROOT_NAME]
        if kept.is_all_of(looking.known) and not any(
            kept.record_at(path) is None and answers_to_another_name(looking.tree.path / path)
            for path in paths
        ):
            looking.named = paths
        return paths

    def create(
        self, snapshot: Snapshot, tree: WorkingTree, observer: Observer, like: WorkingTree | None
    ) -> None:
        if os.path.lexists(tree.path):
            self.restore(snapshot, tree, observer)
            return
        with translated(tree.path, written=self._work):
            self._objects.refresh()
            from mulligan.adapters.snapshots.new_trees.tree_creation import Creation

            creation = Creation(snapshot, tree, self._objects, self._folders, self._source(like), observer)
            top = creation.run(self._now_ns)
            self._cache.remember(
                tree.cache_key,
                top,
                self._objects.pack_names(),
                files_read=creation.files_written,
                bytes_read=creation.bytes_written,
            )

    def _source(self, tree: WorkingTree | None) -> Source | None:
        """Return what is known of a tree that files can be copied from, where that can be relied on."""
        from mulligan.adapters.snapshots.new_trees.tree_creation import Source

        if tree is None or keeps_no_times(tree.path):
            return None
        top = self._cache.recall(tree.cache_key, self._objects).top
        return Source(tree.path, top) if top is not None and tree.path.is_dir() else None

    def _carry_out(
        self, tree: WorkingTree, difference: Difference, kept: KnownTree | None, observer: Observer
    ) -> None:
        watch = self._watches.of(tree)
        if watch is not None and watch.asks and watch.top is None:
            watch = None
        restoring = Restoring(
            tree,
            difference,
            self._objects,
            self._rooms,
            self._asides,
            kept,
            watch or Witness(),
            observer,
        )
        top = restoring.run(self._now_ns)
        if watch is not None:
            watch.restored(top)
        # The next process should find what this one knows of files that it wrote itself.
        self._cache.remember(
            tree.cache_key,
            top,
            self._objects.pack_names(),
            files_read=restoring.files_written,
            bytes_read=restoring.bytes_written,
        )

    @contextmanager
    def reserve(self, sizes: Mapping[Path, int]) -> Generator[None]:
        with ExitStack() as reserves:
            for path, size in sizes.items():
                with translated(path):
                    reserves.enter_context(reserved(path, size))
            yield

    def replace_files(self, folder: Path, replacements: Sequence[Replacement]) -> None:
        with translated(folder):
            from mulligan.adapters.snapshots.restore.replacement import replace_files

            replace_files(self._asides, folder, replacements)

    def recover(self, tree: WorkingTree) -> tuple[str, ...]:
        if not tree.real:
            return ()
        with translated(tree.path):
            return tuple(str(tree.path / path) for path in self._asides.recover(tree.path, holds))

    def verify(
        self, snapshots: Iterable[Snapshot], *, quick: bool, observer: Observer
    ) -> Mapping[Snapshot, tuple[Damage, ...]]:
        with translated(self._work):
            self._objects.look_for_packs()
            from mulligan.adapters.snapshots.packs.verification import Verification

            return Verification(objects=self._objects, observer=observer, quick=quick).run(snapshots)

    def sweep(
        self,
        live: Callable[[], Collection[Snapshot]],
        *,
        dry_run: bool,
        observer: Observer,
        thorough: bool = False,
    ) -> Swept:
        with translated(self._work), self._leases.exclusive(Lease.UPKEEP):
            self._objects.refresh()
            alone = partial(self._leases.exclusive, Lease.OBJECTS)
            from mulligan.adapters.snapshots.packs.live_objects import Marks

            marks = Marks(self._objects.read, observer)
            sweep = Sweep(self._objects, alone, live, observer, marks, thorough=thorough)
            if dry_run:
                return sweep.preview()
            swept = sweep.run()
            self._level.write(self._objects.size_bytes())
            return swept

    def has_grown(self, factor: float, at_least: int) -> bool:
        with translated(self._work):
            self._objects.refresh()
            size, before = self._objects.size_bytes(), self._level.read()
            return size >= before * factor and size >= before + at_least

    def clear_leftovers(self, trees: Iterable[WorkingTree], *, dry_run: bool) -> Leftovers:
        with translated(self._work):
            rooms, size = self._rooms.abandoned(clear=not dry_run)
            rooms += self._asides.clear_abandoned(holds, dry_run=dry_run)
            caches = self._cache.orphans(
                key for tree in trees for key in (tree.cache_key, key_when_new(tree))
            )
            for path in caches:
                with suppress(FileNotFoundError):
                    size += path.lstat().st_size
                    if not dry_run:
                        with act("leftover.remove"):
                            path.unlink()
            orphans, orphaned = self._objects.storage.clear(dry_run=dry_run)
        return Leftovers(work_folders=rooms + orphans, stat_caches=len(caches), size_bytes=size + orphaned)

    def mark_new(self, tree: WorkingTree) -> None:
        with translated(self._work):
            self._cache.copy(tree.cache_key, key_when_new(tree))

    def move_mark(self, old: WorkingTree, new: WorkingTree) -> bool:
        with translated(self._work):
            return self._cache.move(key_when_new(old), key_when_new(new))

    def adopt(self, snapshot: Snapshot, tree: WorkingTree, observer: Observer) -> bool:
        with (
            translated(tree.path, written=self._work),
            self._watches.hand_on(tree) as watch,
            self._all_or_forgotten(tree),
        ):
            self._cache.move(key_when_new(tree), tree.cache_key)
            looking = self._looking(tree, HashingSink(), observer)
            if looking.known is None:
                return False
            # No report says which file got another name outside of the tree: all of it is looked at.
            if not self._watches.keeps:
                looking.mark = Mark(token=self._served.moment(tree, looking.known))
            watch.asks = bool(looking.mark.token)
            top = looking.run(self._now_ns)
            self.last_look = looking.look
            doubtful = doubts_about(tree.path, top, looking.records.made)
            if doubtful is None:
                return False
            difference = compare_trees(top, looking.inside, snapshot, tree, self._folders, doubtful=doubtful)
            refuse_collisions(tree, difference)
            self._carry_out(tree, difference, None, observer)
            self._cache.flush_for_others(tree.cache_key)
            self._served.note_adopted(looking)
        return True

    def adopted(self, tree: WorkingTree, place: WorkingTree) -> None:
        self._watches.moved(tree, place)

    def forget_tree(self, tree: WorkingTree) -> None:
        self._watches.drop(tree.cache_key)
        with translated(self._work):
            self._cache.forget(tree.cache_key)
            self._cache.forget(key_when_new(tree))

    def _join_small_packs(self) -> None:
        """Keep the number of packs small; where someone else is at it, or the disk is full, it can wait."""
        if can_join(self._objects):
            with self._leases.exclusive_if_free(Lease.UPKEEP) as free, suppress(OSError):
                joined = join_small_packs(self._objects) if free else None
                if joined is not None and joined.pack is not None:
                    self._cache.note_joined(joined.pack.name, [pack.name for pack in joined.sources])

    def _looking(
        self, tree: WorkingTree, sink: Sink, observer: Observer, *, at_work: bool = False
    ) -> Looking:
        self._objects.refresh()
        known, watch = self._cache.recall(tree.cache_key, self._objects), self._watches.of(tree)
        if known.forgotten and watch is not None:
            watch.lost(NOT_IN_STORE)  # what was swept meanwhile is dirty although nobody touched it
        restless = self._restless.get(tree.cache_key, frozenset())
        records = Records(sink, observer, restless=restless, at_work=at_work)
        may_ask = watch is None
        if watch is not None and watch.top is None:
            may_ask = self._briefly > 0 or (watch.asks and self._served.is_marked(tree))
        asks = not self._watches.keeps
        served = self._served.watch_over(tree, known.top, asks=asks) if may_ask else None
        if known.forgotten and served is not None:
            served.lost(NOT_IN_STORE)
        looking = Looking(tree, known.top, watch, records, None, self._moments, served=served)
        looking.file = self._cache.file_of(tree.cache_key)
        return looking

    @contextmanager
    def at_work_briefly(self) -> Generator[None]:
        self._briefly += 1
        try:
            yield
        finally:
            self._briefly -= 1

    def _difference(
        self,
        looking: Looking,
        snapshot: Snapshot,
        tree: WorkingTree,
        spared: SparedRecords | None = None,
    ) -> Difference:
        present = looking.run(self._now_ns)
        self.last_look = looking.look
        if self._watches.of(tree) is not None:
            self._cache.hold(tree.cache_key, present, self._objects.pack_names())
        difference = compare_trees(present, looking.inside, snapshot, tree, self._folders, spared)
        refuse_collisions(tree, difference)
        return difference

    @contextmanager
    def _all_or_forgotten(self, tree: WorkingTree) -> Generator[None]:
        """Drop the known tree, which may be changed in place: one that was cut off may name what is not stored."""
        try:
            yield
        except BaseException:
            if (watch := self._watches.of(tree)) is not None:
                watch.lost(CUT_OFF)
            self._served.let_go(tree)
            self._cache.let_go(tree.cache_key)
            raise
