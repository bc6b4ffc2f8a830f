"""Some entries of an index, read and replaced through git: all others stay as they are, flags and all."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from mulligan.adapters.sandboxes.git.command import Git
from mulligan.adapters.sandboxes.git.index import IndexFile
from mulligan.adapters.sandboxes.git.repository import Repository
from mulligan.adapters.sandboxes.git.trees import GITLINK, Leaf

_EMPTY = {
    "sha1": "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "sha256": "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
}
# What users keep in an index stays there; what must last is synced when the index gets its name.
_SETTINGS = ("-c", "core.untrackedCache=keep")


@dataclass(frozen=True, slots=True)
class Staged:
    """What an index has under some paths."""

    wanted: Collection[bytes]
    leaves: Mapping[bytes, Leaf]
    announced: frozenset[bytes]  # by `git add -N`: as good as untracked
    assumed: frozenset[bytes]  # `--assume-unchanged`
    skipped: frozenset[bytes]  # `--skip-worktree`
    links: frozenset[bytes]  # all submodules
    lines: tuple[bytes, ...]  # all entries, as git lists them
    path_at: int  # in a line

    def leaf(self, path: bytes) -> Leaf | None:
        """What the index has under a path, one of those or another."""
        if path in self.wanted:
            return self.leaves.get(path)
        found = next((line for line in self.lines if line[self.path_at :] == path), None)
        return _leaf(found, self.path_at) if found is not None else None

    def below(self, folder: bytes) -> list[bytes]:
        """The paths of all entries in a folder."""
        start = folder + b"/"
        return [line[self.path_at :] for line in self.lines if line.startswith(start, self.path_at)]


class Index:
    """A copy of the user's index."""

    def __init__(self, git: Git, repository: Repository, path: Path) -> None:
        """`git` works in the user's repository."""
        self._there = git.on(repository.top, GIT_WORK_TREE=repository.top, GIT_INDEX_FILE=path)
        self._repository = repository
        self._path = path

    def read(self, wanted: Collection[bytes]) -> Staged:
        """What it has under these paths."""
        lines = tuple(self._there.run("ls-files", "-s", "-v", "-z").split(b"\0")[:-1])
        path_at = len(f"H 100644 {self._repository.null_id} 0\t")
        found = {line[path_at:]: line for line in lines if line[path_at:] in wanted}
        leaves = {path: _leaf(line, path_at) for path, line in found.items()}
        empty = bytes.fromhex(_EMPTY[self._repository.object_format])
        maybe = {path for path, leaf in leaves.items() if leaf[1] == empty}
        announced = self._announced() & maybe if maybe else frozenset[bytes]()
        return Staged(
            wanted,
            {path: leaf for path, leaf in leaves.items() if path not in announced},
            announced,
            frozenset(path for path, line in found.items() if line[:1].islower()),
            frozenset(path for path, line in found.items() if line[:1] in b"Ss"),
            frozenset(line[path_at:] for line in lines if line[2:8] == GITLINK),
            lines,
            path_at,
        )

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
        for flag, paths in (("--assume-unchanged", before.assumed), ("--skip-worktree", before.skipped)):
            flagged = [path for path, leaf in changes.items() if leaf is not None and path in paths]
            if flagged:
                self._run(flag, "-z", "--stdin", stdin=b"".join(path + b"\0" for path in flagged))

    def _announced(self) -> frozenset[bytes]:
        known = IndexFile(self._path.read_bytes(), self._repository.object_format)
        return frozenset(entry.path for entry in known.entries() if entry.announced)

    def _run(self, *words: str, stdin: bytes) -> None:
        self._there.run(*_SETTINGS, "update-index", *words, stdin=stdin)


def _leaf(line: bytes, path_at: int) -> Leaf:
    return line[2:8], bytes.fromhex(line[9 : path_at - 3].decode())
