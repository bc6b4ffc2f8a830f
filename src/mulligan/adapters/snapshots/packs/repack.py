"""Repacking: the objects of several packs into one new pack, so that the old ones can go.

The caller holds the store's upkeep lease: one process at a time deletes packs. A new pack is durable and visible
before an old one is deleted, so an object that is kept can be read at every instant.
"""

from collections.abc import Sequence
from typing import NamedTuple

from mulligan.adapters.snapshots.format.pack_format import Pack
from mulligan.adapters.snapshots.packs.objects import Objects
from mulligan.adapters.snapshots.packs.pack_file import PackFile
from mulligan.errors import SnapshotDamaged

LARGEST_JOINED = 64 << 20  # bytes: copying more at once would noticeably delay the capture
ENOUGH_TO_JOIN = 32  # packs: opening that many costs 3 ms, joining them two fsyncs
_FACTOR = 2


class Copied(NamedTuple):
    """A new pack, and the packs whose objects it holds; one that is damaged is left as it is."""

    pack: Pack | None  # None where there was nothing to copy
    sources: list[Pack]


def copy_objects(objects: Objects, wanted: Sequence[tuple[Pack, Sequence[bytes]]]) -> Copied:
    """Copy objects, each proved by its hash, into one new pack."""
    sources: list[Pack] = []
    count = 0
    file = PackFile(objects.storage)
    try:
        for pack, ids in wanted:
            try:
                _copy(pack, ids, file)
            except SnapshotDamaged:
                continue  # its copied objects are in two packs now, which does no harm
            sources.append(pack)
            count += len(ids)
        if count == 0:
            return Copied(None, sources)
        return Copied(objects.adopt(file), sources)
    finally:
        file.close()


def _copy(pack: Pack, ids: Sequence[bytes], file: PackFile) -> None:
    for object_id in sorted(ids, key=lambda each: pack.row(each).offset):
        try:
            row, stored = pack.stored(object_id)
        except OSError as exc:
            raise SnapshotDamaged(object=object_id.hex(), reason=exc.strerror or str(exc)) from exc
        file.take(object_id, row, stored)


def packs_to_join(packs: Sequence[Pack], *, at_least: int) -> list[Pack]:
    """The small packs that should become one; none where there are only a few.

    Those that stay form a row in which each is at least twice as large as all before it together, so an
    object is copied again only when the pack that it is in has doubled: as often as the logarithm of the
    number of captures.
    """
    ordered = sorted(packs, key=lambda pack: pack.size)
    split = next(
        (
            at + 1
            for at in range(len(ordered) - 1, 0, -1)
            if ordered[at].size < _FACTOR * ordered[at - 1].size
        ),
        0,
    )
    total = sum(pack.size for pack in ordered[:split])
    while split < len(ordered) and ordered[split].size < _FACTOR * total:
        total += ordered[split].size
        split += 1
    while split and total > LARGEST_JOINED:
        split -= 1
        total -= ordered[split].size
    return ordered[:split] if split >= at_least else []


def can_join(objects: Objects) -> bool:
    """Return whether there are so many small packs that they should become one."""
    return bool(_joined(objects))


def _joined(objects: Objects) -> list[Pack]:
    leaving = objects.leaving()
    staying = [pack for pack in objects.packs() if pack.name not in leaving]
    return packs_to_join(staying, at_least=ENOUGH_TO_JOIN)


def join_small_packs(objects: Objects) -> Copied:
    """Keep the store quick to open, however many captures there are. Nothing is lost, live or not."""
    joined = _joined(objects)
    if not joined:
        return Copied(None, [])
    copied = copy_objects(objects, [(pack, pack.ids) for pack in joined])
    if copied.pack is not None:
        objects.replace(copied.sources, copied.pack)
    return copied
