"""The StoredTrees port over packs, for callers that only read a snapshot store."""

import errno
import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mulligan import errors
from mulligan.adapters.snapshots.format.chunks import pieces
from mulligan.adapters.snapshots.format.tree_format import address_of
from mulligan.adapters.snapshots.packs.objects import Objects
from mulligan.adapters.snapshots.trees.stored_diff import FolderReader, differences, file_of
from mulligan.adapters.snapshots.trees.tree_lookup import item_at, items_in
from mulligan.domain.checkpoints.snapshot import Root
from mulligan.domain.trees.tree_difference import StoredContent, TreeDifference, TreeEntry, TreeItem

if TYPE_CHECKING:
    from mulligan.ports import Leases, PackStorage

_REMEMBERED = 16  # differences: one operation asks for the same several times
_SMALL = 5_000  # paths in a difference that is remembered
_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def translated(path: Path, *, written: Path | None = None) -> Generator[None]:
    """Make the system's refusals ours, with the path they are about; a full disk is that of what is written."""
    try:
        yield
    except OSError as exc:
        where = written if written is not None and exc.errno in _FULL else path
        if exc.filename is not None and not isinstance(exc.filename, int):
            where = exc.filename
        reason = exc.strerror or str(exc)
        raise errors.SystemFailed(path=os.fsdecode(where), reason=reason) from exc


class PackedTrees:
    """Reads the trees in a store's packs; nothing that captures or restores is loaded for it."""

    def __init__(self, *, packs: "PackStorage", leases: "Leases", work: Path) -> None:
        """`work` is the store's local folder; errors of the system that name no file are about it."""
        self._work = work
        self._leases = leases
        self._objects = Objects(packs)
        self._folders = FolderReader(self._objects.read)
        # By addresses and limits, the one that was asked for last at the end.
        self._differences: dict[tuple[bytes, bytes, tuple[str, ...]], tuple[TreeDifference, ...]] = {}

    @contextmanager
    def hold(self) -> Generator[None]:
        from mulligan.ports import Lease  # here: a look holds nothing

        with ExitStack() as held:
            with translated(self._work):
                held.enter_context(self._leases.shared(Lease.OBJECTS))
            yield

    def difference(self, old: Root, new: Root, within: Sequence[str] = ()) -> tuple[TreeDifference, ...]:
        asked = (address_of(old), address_of(new), tuple(within))
        found = self._differences.pop(asked, None)  # of trees that never change
        if found is None:
            with translated(self._work):
                self._objects.refresh()
                found = differences(*asked[:2], self._folders, within)
        if len(found) <= _SMALL:
            self._differences[asked] = found
            if len(self._differences) > _REMEMBERED:
                del self._differences[next(iter(self._differences))]
        return found

    def read(self, content: StoredContent) -> bytes:
        with translated(self._work):
            return b"".join(pieces(file_of(content), self._objects.read))

    def pieces(self, content: StoredContent) -> Iterator[bytes]:
        with translated(self._work):
            yield from pieces(file_of(content), self._objects.read)

    def item(self, root: Root, path: str) -> TreeEntry | None:
        with translated(self._work):
            self._objects.refresh()
            return item_at(address_of(root), path, self._folders)

    def items(self, root: Root, path: str, *, recursive: bool) -> tuple[TreeItem, ...]:
        with translated(self._work):
            self._objects.refresh()
            return tuple(items_in(address_of(root), path, self._folders, recursive=recursive))

    def head(self, content: StoredContent, length: int) -> bytes:
        with translated(self._work):
            return next(pieces(file_of(content), self._objects.read))[:length]
