"""The paths in stored indexes, each index read once."""

from collections.abc import Iterable, Mapping

from mulligan.adapters.sandboxes.git.position.index_file import listing_of
from mulligan.adapters.sandboxes.git.repository.git_packs import GITLINK_MODE
from mulligan.adapters.sandboxes.git.repository.reach import described
from mulligan.domain.trees.tree_difference import StoredContent, TreeEntry
from mulligan.ports import StoredTrees

_REMEMBERED = 4
_MODE = 4  # bytes
_GITLINK = GITLINK_MODE.to_bytes(_MODE, "big")


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

    def added(
        self, changed: Iterable[tuple[TreeEntry | None, TreeEntry | None]], object_format: str
    ) -> dict[bytes, str]:
        """The objects that indexes name and did not name before, each with its path; one index can be in two files."""
        before: set[bytes] = set()
        now: dict[bytes, bytes] = {}
        for old, new in changed:
            before.update(self.of(old, object_format).values())
            now.update((named, path) for path, named in self.of(new, object_format).items())
        came = now.keys() - before
        return described(
            {named[_MODE:].hex().encode(): now[named] for named in came if not named.startswith(_GITLINK)}
        )
