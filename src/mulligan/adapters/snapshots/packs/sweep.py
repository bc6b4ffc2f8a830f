"""The sweep: mark the objects that live snapshots need, then delete the rest, pack by pack.

Marking takes no lock. Packs are deleted in short batches while nothing captures, and each time the rows are read
again. A capture holds the lock until its rows are committed, so the sweep sees every new snapshot, and leaves a pack
with an old object that it reuses for the next sweep.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from msgspec import Struct

from mulligan.adapters.snapshots.format.pack_format import Pack, size_of_pack
from mulligan.adapters.snapshots.packs.live_objects import Marks
from mulligan.adapters.snapshots.packs.objects import Objects
from mulligan.adapters.snapshots.packs.repack import LARGEST_JOINED, copy_objects, packs_to_join
from mulligan.boundaries import act
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.checkpoints.store_report import Swept
from mulligan.osfiles.tempdirs import Rooms
from mulligan.ports import Observer

_BATCH = 64  # packs deleted under the lock at once: a few milliseconds
_TOLERATED = 8  # a pack is rewritten when an eighth of it is garbage
_FEW = 8  # small packs that a sweep leaves as they are


class _Sorted(Struct, eq=False):
    """A pack, and which of its objects must stay in it or be copied out of it."""

    pack: Pack
    live: list[bytes]
    live_bytes: int  # as stored, index included

    @property
    def garbage(self) -> int:
        return len(self.pack.ids) - len(self.live)


class _Verdict(Struct, eq=False):
    """The decision about each pack."""

    keep: list[_Sorted]
    rewrite: list[_Sorted]
    remove: list[_Sorted]


class Sweep(Struct, eq=False):
    """One sweep. The caller holds the store's upkeep lease: one process at a time deletes packs."""

    objects: Objects
    nobody_captures: Callable[[], AbstractContextManager[object]]
    live: Callable[[], Collection[Snapshot]]
    observer: Observer
    marks: Marks
    thorough: bool = False  # leave no garbage at all: what is deleted must be gone
    _came: set[bytes] = set()  # marked after the verdict, or in packs that vanished since
    _owners: dict[str, Pack] = {}  # packs by which others were judged
    _standing: dict[str, Pack] = {}  # those of them that stay
    _kept: set[bytes] = set()  # their ids
    _done: int = 0

    def preview(self) -> Swept:
        verdict = self._judge()
        rewritten = [sum(s.live_bytes for s in group) for group in _groups(verdict.rewrite)]
        packs = len(verdict.keep) + len(rewritten)
        size = sum(s.pack.size for s in verdict.keep) + sum(size_of_pack(each, 0) for each in rewritten)
        return self._swept(verdict, verdict.remove, verdict.rewrite, packs, size)

    def run(self) -> Swept:
        verdict = self._judge()
        self.objects.storage.spare(each.pack.name for each in verdict.keep)
        removed: list[_Sorted] = []
        rewritten: list[_Sorted] = []
        total = len(verdict.remove) + len(verdict.rewrite)
        for start in range(0, len(verdict.remove), _BATCH):
            removed += self._delete(verdict.remove[start : start + _BATCH], total)
        for group in _groups(verdict.rewrite):
            rewritten += self._delete(self._copy(group), total)
        self.observer.progress("packs swept", total, total)
        return self._swept(verdict, removed, rewritten, len(self.objects.packs()), self.objects.size_bytes())

    def _judge(self) -> _Verdict:
        leaving = self.objects.leaving()
        # What is about to go owns nothing that is elsewhere too.
        packs = sorted(self.objects.packs(), key=lambda pack: (pack.name in leaving, -pack.size))
        # Rows that come from here on may name packs that are not among these: those are not judged.
        self.marks.add(self.live())
        self.observer.progress("objects marked", len(self.marks.ids), len(self.marks.ids))
        verdict = _Verdict([], [], [])
        owned: dict[bytes, Pack] = {}  # live ids that a pack before this one has
        for pack in packs:
            found = self._sort(pack, owned)
            if not found.live:
                verdict.remove.append(found)
            elif (self.thorough and found.garbage) or (
                pack.size - size_of_pack(found.live_bytes, 0)
            ) * _TOLERATED >= pack.size:
                verdict.rewrite.append(found)
            else:
                verdict.keep.append(found)
        self._join(verdict)
        self._stay(kept.pack for kept in verdict.keep)
        self._owners.update((each.pack.name, each.pack) for each in verdict.rewrite)
        return verdict

    def _sort(self, pack: Pack, owned: dict[bytes, Pack]) -> _Sorted:
        live = [
            object_id
            for object_id in pack.ids
            if object_id in self.marks.ids
            and not (object_id in owned and self.objects.is_sound(owned[object_id], object_id))
        ]
        owned.update(dict.fromkeys(live, pack))
        stored = sum(pack.row(object_id).stored for object_id in live)
        return _Sorted(pack, live, size_of_pack(stored, len(live)) - size_of_pack(0, 0))

    def _join(self, verdict: _Verdict) -> None:
        """Small packs become one, together with what is rewritten anyway."""
        joined = {pack.name for pack in packs_to_join([s.pack for s in verdict.keep], at_least=_FEW)}
        verdict.rewrite += [s for s in verdict.keep if s.pack.name in joined]
        verdict.keep = [s for s in verdict.keep if s.pack.name not in joined]

    def _copy(self, group: Sequence[_Sorted]) -> list[_Sorted]:
        """Copy live objects into a new pack; return the packs that may go then."""
        copied = copy_objects(self.objects, [(s.pack, s.live) for s in group])
        if copied.pack is not None:
            self._stay([copied.pack])
        sources = {pack.name for pack in copied.sources}
        self._stay(s.pack for s in group if s.pack.name not in sources)
        return [s for s in group if s.pack.name in sources]

    def _delete(self, batch: Sequence[_Sorted], total: int) -> list[_Sorted]:
        """Delete packs, except those that are needed by now; return the deleted ones."""
        self._came |= self.marks.add(self.live())  # without the lock, so that little is left to do with it
        with self.nobody_captures():
            self._came |= self.marks.add(self.live())
            self._look_again()
            needed = self._came - self._kept
            unneeded = [s for s in batch if needed.isdisjoint(s.pack.ids)]
            left = [s.pack for s in batch if s not in unneeded]
            gone = self.objects.remove(s.pack for s in unneeded)
            self.objects.storage.spare(pack.name for pack in left)
        for name in gone:
            self._owners.pop(name, None)
        self._stay(left)
        self._done += len(batch)
        self.observer.progress("packs swept", self._done, total)
        return [s for s in unneeded if s.pack.name in gone]

    def _stay(self, packs: Iterable[Pack]) -> None:
        for pack in packs:
            self._owners[pack.name] = self._standing[pack.name] = pack
            self._kept.update(pack.ids)

    def _look_again(self) -> None:
        """Notice the packs that another process removed: the lease that keeps others away can be lost."""
        self.objects.refresh()
        vanished = self._owners.keys() - {pack.name for pack in self.objects.packs()}
        if vanished:
            for name in vanished:
                self._came.update(self.marks.ids.intersection(self._owners.pop(name).ids))
                self._standing.pop(name, None)
            self._kept = {object_id for pack in self._standing.values() for object_id in pack.ids}

    def _swept(
        self,
        verdict: _Verdict,
        removed: Sequence[_Sorted],
        rewritten: Sequence[_Sorted],
        packs: int,
        size: int,
    ) -> Swept:
        before = sum(s.pack.size for each in (verdict.keep, verdict.rewrite, verdict.remove) for s in each)
        return Swept(
            objects_removed=sum(s.garbage for s in (*removed, *rewritten)),
            objects_kept=len(self.marks.ids),
            packs_removed=len(removed),
            packs_rewritten=len(rewritten),
            packs_kept=packs,
            packs_unreadable=len(self.objects.damaged()),
            bytes_freed=before - size,
            bytes_kept=size,
        )


class Level(Struct, frozen=True, eq=False):
    """The size of the store after the last sweep: growth since then decides when another pays off.

    It is a hint, and needs no fsync: where it is lost, a sweep comes early.
    """

    file: Path
    rooms: Rooms

    def read(self) -> int:
        """Return the bytes that the last sweep left; 0 where there was none."""
        try:
            return int(self.file.read_text("ascii"))
        except (OSError, ValueError):
            return 0

    def write(self, size: int) -> None:
        with self.rooms.room() as room:
            path = room / "level"
            path.touch(mode=0o600)
            path.write_text(str(size), "ascii")
            with act("level.name"):
                path.replace(self.file)


def _groups(packs: Sequence[_Sorted]) -> Iterator[list[_Sorted]]:
    """Packs to rewrite, smallest first, as many together as make one new pack of a good size."""
    group: list[_Sorted] = []
    size = 0
    for each in sorted(packs, key=lambda s: s.live_bytes):
        if group and size + each.live_bytes > LARGEST_JOINED:
            yield group
            group, size = [], 0
        group.append(each)
        size += each.live_bytes
    if group:
        yield group
