"""What stored indexes list, read once each."""

from collections.abc import Mapping

from mulligan.adapters.sandboxes.git.index import listing_of
from mulligan.adapters.sandboxes.git.reach import described
from mulligan.domain.tree_difference import StoredContent, TreeEntry
from mulligan.ports import StoredTrees

_REMEMBERED = 4
_MODE = 4  # bytes
_GITLINK = 0o160000.to_bytes(_MODE, "big")


class IndexContents:
    """Reads indexes from the store, and remembers the last ones."""

    def __init__(self, store: StoredTrees) -> None:
        """Read from this store."""
        self._store = store
        self._known: dict[StoredContent, Mapping[bytes, bytes]] = {}

    def of(self, entry: TreeEntry | None, object_format: str) -> Mapping[bytes, bytes]:
        """The paths of an index, each with mode and object; no file, and one that git cannot read, has none."""
        if entry is None or entry.content is None:
            return {}
        known = self._known.pop(entry.content, None)
        if known is None:
            known = listing_of(self._store.read(entry.content), object_format)
        self._known[entry.content] = known
        while len(self._known) > _REMEMBERED:
            del self._known[next(iter(self._known))]
        return known

    def added(self, old: TreeEntry | None, new: TreeEntry | None, object_format: str) -> dict[bytes, str]:
        """The objects that an index names under paths where another does not, each with its path."""
        before, now = self.of(old, object_format), self.of(new, object_format)
        came = now.items() - before.items()
        found = {named[_MODE:].hex().encode(): path for path, named in came if not named.startswith(_GITLINK)}
        return described(found)
