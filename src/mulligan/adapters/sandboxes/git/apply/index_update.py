"""Some entries of an index, read and replaced through git: all others stay as they are, flags and all."""

from collections.abc import Collection, Mapping, Sequence
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
_ASSUMED, _SKIPPED = b"hsmrck", b"Ss"  # letters that git marks entries with
# What users keep in an index stays there; what must last is synced when the index gets its name.
_SETTINGS = ("-c", "core.untrackedCache=keep")


class Staged:
    """The entries of an index: some paths are read at once, others on demand."""

    def __init__(self, lines: Sequence[bytes], path_at: int, wanted: Collection[bytes]) -> None:
        """`lines` are all entries as git lists them: mode, object and stage, then the path, from `path_at` on."""
        self._lines = lines
        self._path_at = path_at
        self._found = {line[path_at:]: line for line in lines if line[path_at:] in wanted}
        self._wanted = wanted
        self._all: dict[bytes, bytes] | None = None
        self.announced: frozenset[bytes] = frozenset()  # by `git add -N`: as good as untracked
        self.links = frozenset(line[path_at:] for line in lines if line[2:8] == GITLINK)

    def leaf(self, path: bytes) -> Leaf | None:
        """Return the entry at a path."""
        if path in self.announced:
            return None
        line = self._found.get(path) if path in self._wanted else self._any(path)
        return (line[2:8], bytes.fromhex(line[9 : self._path_at - 3].decode())) if line is not None else None

    def paths_of(self, blob: bytes) -> frozenset[bytes]:
        """The wanted paths that have this blob."""
        return frozenset(path for path in self._found if (self.leaf(path) or (b"", b""))[1] == blob)

    def flagged(self, flags: bytes) -> frozenset[bytes]:
        """The wanted paths that have one of these letters in git's list."""
        return frozenset(path for path, line in self._found.items() if line[:1] in flags)

    def below(self, folder: bytes) -> list[bytes]:
        """The paths of all entries in a folder."""
        start = folder + b"/"
        return [line[self._path_at :] for line in self._lines if line.startswith(start, self._path_at)]

    def _any(self, path: bytes) -> bytes | None:
        if self._all is None:
            self._all = {line[self._path_at :]: line for line in self._lines}
        return self._all.get(path)


class Index:
    """A copy of the user's index."""

    def __init__(self, git: Git, repository: Repository, path: Path) -> None:
        """`git` works in the user's repository."""
        self._there = git.on(repository.top, GIT_WORK_TREE=repository.top, GIT_INDEX_FILE=path)
        self._repository = repository
        self._path = path

    def read(self, wanted: Collection[bytes]) -> Staged:
        """Return its entries; those at these paths are read at once."""
        lines = self._there.run("ls-files", "-s", "-v", "-z").split(b"\0")[:-1]
        staged = Staged(lines, len(f"H 100644 {self._repository.null_id} 0\t"), wanted)
        if empty := staged.paths_of(bytes.fromhex(_EMPTY[self._repository.object_format])):
            staged.announced = self._announced() & empty
        return staged

    def write(self, changes: Mapping[bytes, Leaf | None], before: Staged) -> None:
        """Set these entries, or take them out where None; they keep their flags."""
        null = self._repository.null_id.encode()
        gone = [b"0 %s\t%s\0" % (null, path) for path, leaf in changes.items() if leaf is None]
        set_to = [
            b"%s %s\t%s\0" % (leaf[0], leaf[1].hex().encode(), path)
            for path, leaf in changes.items()
            if leaf is not None
        ]
        self._run("-z", "--index-info", stdin=b"".join((*gone, *set_to)))
        for flag, letters in (("--assume-unchanged", _ASSUMED), ("--skip-worktree", _SKIPPED)):
            paths = before.flagged(letters)
            flagged = [path for path, leaf in changes.items() if leaf is not None and path in paths]
            if flagged:
                self._run(flag, "-z", "--stdin", stdin=b"".join(path + b"\0" for path in flagged))

    def _announced(self) -> frozenset[bytes]:
        known = IndexFile(self._path.read_bytes(), self._repository.object_format)
        return frozenset(entry.path for entry in known.entries() if entry.announced)

    def _run(self, *words: str, stdin: bytes) -> None:
        self._there.run(*_SETTINGS, "update-index", *words, stdin=stdin)
