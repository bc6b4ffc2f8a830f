"""The entries of a user's index that an apply looks at."""

from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path

from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.position.index_file import IndexFile
from mulligan.adapters.sandboxes.git.repository.git_packs import GITLINK
from mulligan.adapters.sandboxes.git.repository.git_trees import Leaf
from mulligan.adapters.sandboxes.git.repository.user_repository import Repository

_EMPTY = {
    "sha1": "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "sha256": "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
}


class Staged:
    """The entries of an index: some paths are read at once, others on demand."""

    def __init__(self, lines: Sequence[bytes], path_at: int, wanted: Collection[bytes]) -> None:
        """`lines` are all entries as git lists them: mode, object and stage, then the path, from `path_at` on."""
        self._lines = lines
        self._path_at = path_at
        self._found = {line[path_at:]: line for line in lines if line[path_at:] in wanted}
        self._wanted = wanted
        self.announced: frozenset[bytes] = frozenset()  # by `git add -N`: as good as untracked
        self.links = frozenset(line[path_at:] for line in lines if line[2:8] == GITLINK)
        self.letters = {path: line[:1] for path, line in self._found.items()}  # of the wanted: their flags

    def leaf(self, path: bytes) -> Leaf | None:
        if path in self.announced:
            return None
        line = (self._found if path in self._wanted else self._all).get(path)
        return (line[2:8], bytes.fromhex(line[9 : self._path_at - 3].decode())) if line is not None else None

    def paths_of(self, blob: bytes) -> frozenset[bytes]:
        return frozenset(path for path in self._found if (self.leaf(path) or (b"", b""))[1] == blob)

    def below(self, folder: bytes) -> list[bytes]:
        start = folder + b"/"
        return [line[self._path_at :] for line in self._lines if line.startswith(start, self._path_at)]

    @cached_property
    def _all(self) -> dict[bytes, bytes]:
        return {line[self._path_at :]: line for line in self._lines}


def staged_in(there: Git, index: Path, repository: Repository, wanted: Collection[bytes]) -> Staged:
    """Return the entries of an index, which is that of `there`; those at these paths are read at once."""
    lines = there.run("ls-files", "-s", "-v", "-z").split(b"\0")[:-1]
    staged = Staged(lines, len(f"H 100644 {repository.null_id} 0\t"), wanted)
    if empty := staged.paths_of(bytes.fromhex(_EMPTY[repository.object_format])):
        known = IndexFile(index.read_bytes(), repository.object_format)
        staged.announced = frozenset(entry.path for entry in known.odd_entries() if entry.announced) & empty
    return staged
