"""The paths in stored indexes, each index read once."""

from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from mulligan.adapters.sandboxes.git.position.index_file import listing_of
from mulligan.adapters.sandboxes.git.repository.git_packs import GITLINK_MODE
from mulligan.adapters.sandboxes.git.repository.reach import described
from mulligan.domain.trees.tree_difference import StoredContent, TreeEntry
from mulligan.ports import StoredTrees

_Listing = Mapping[bytes, bytes]  # paths, each with mode and object
_REMEMBERED = 4
_MODE = 4  # bytes
_GITLINK = GITLINK_MODE.to_bytes(_MODE, "big")


class IndexContents(Struct, frozen=True, eq=False):
    """Reads indexes from the store, and remembers the last ones."""

    store: StoredTrees
    known: dict[StoredContent, _Listing] = field(default_factory=dict[StoredContent, _Listing])

    def of(self, entry: TreeEntry | None, object_format: str) -> _Listing:
        """The paths of an index, each with mode and object; no file, and one that git cannot read, has none."""
        if entry is None or entry.content is None:
            return {}
        known = self.known.pop(entry.content, None)
        if known is None:
            known = listing_of(self.store.read(entry.content), object_format)
        self.known[entry.content] = known
        while len(self.known) > _REMEMBERED:
            del self.known[next(iter(self.known))]
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
