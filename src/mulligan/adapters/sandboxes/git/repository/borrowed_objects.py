"""Keeping a sandbox's git directories complete: what they reach and nobody keeps for them is copied into them.

Git does not write an object that it finds in a borrowed folder. Pins keep what the user's refs reached when the
sandbox was made; everything else that is found there the user's next prune may take away.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from mulligan.adapters.sandboxes.git.creation.private_git_dir import is_git_dir
from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.position.index_contents import IndexContents
from mulligan.adapters.sandboxes.git.repository.bare_repository import Memory
from mulligan.adapters.sandboxes.git.repository.git_packs import not_own
from mulligan.adapters.sandboxes.git.repository.named_objects import Named, named_now, newly_named
from mulligan.adapters.sandboxes.git.repository.reach import Reach
from mulligan.adapters.sandboxes.git.repository.ref_locks import common_dir_in
from mulligan.adapters.sandboxes.git.repository.user_repository import alternates_of
from mulligan.domain.checkpoints.snapshot import Root
from mulligan.domain.trees.tree_difference import TreeDifference, TreeEntry
from mulligan.ports import StoredTrees

_NESTED = ("modules/", "inner/")


class Completed(Struct, frozen=True):
    """Findings in the git directories of a sandbox."""

    copied: int  # objects
    missing: tuple[str, ...]  # objects that are nowhere, each with the path or ref that needs it


class Completing(Struct, eq=False):
    """Completes the git directory of one sandbox, and those of repositories inside it."""

    git: Git
    store: StoredTrees
    indexes: IndexContents
    memory: Memory  # knows where objects are borrowed and pinned
    private: Path  # the sandbox's git directory
    whole: Root | None = None  # the git directory when it was last found complete
    reaches: dict[Path, Reach] = field(default_factory=dict[Path, Reach])

    def close(self) -> None:
        for reach in self.reaches.values():
            reach.close()
        self.reaches.clear()

    def complete(self, new: Root, base: Root) -> Completed:
        """Complete what changed since the git directory was last complete; it is stored as `new`.

        `base` is what the sandbox started from, complete.
        """
        copied, missing = 0, list[str]()
        for git_dir, found in self._by_git_dir(self.store.difference(self.whole or base, new)).items():
            reach = self._reach_of(git_dir)
            if reach is not None:
                named = newly_named(found, self._read, self.memory.object_format)
                if named.dropped:  # by `git gc`, for instance: nothing that was looked at before is certain
                    reach.forget()
                    again = self._by_git_dir(self.store.difference(base, new)).get(git_dir, [])
                    logs = newly_named(again, self._read, self.memory.object_format).logs
                    named = Named(named_now(git_dir, self.memory.object_format), logs, (), dropped=True)
                done = self._complete(git_dir, reach, named)
                copied += done.copied
                missing += done.missing
        return Completed(copied, tuple(missing))

    def lacking(self) -> tuple[str, ...]:
        """Return the objects that refs, HEAD, stashes and the index reach and no folder of objects holds."""
        missing: list[str] = []
        for git_dir in git_dirs_in(self.private):
            reach = self._reach_of(git_dir)
            if reach is not None:
                refs = named_now(git_dir, self.memory.object_format)
                missing += reach.missing(reach.all_of(refs), refs)
        return tuple(missing)

    def _complete(self, git_dir: Path, reach: Reach, named: Named) -> Completed:
        wanted = reach.new_of(named.refs | named.logs)
        if named.dropped:
            wanted |= reach.staged()
        wanted |= self.indexes.added(named.indexes, self.memory.object_format)
        borrowed = not_own(git_dir / "objects", wanted.keys())
        present = reach.present(borrowed)
        copied = reach.not_pinned(named.refs | named.logs, present) if present else present
        reach.copy(copied)
        lost = {name: wanted[name] for name in borrowed - present}
        return Completed(len(copied), reach.missing(lost, named.refs))

    def _reach_of(self, git_dir: Path) -> Reach | None:
        """Return the reach of a git directory; None where it borrows nothing that we know of."""
        if git_dir not in self.reaches:
            lender = self._lender_of(git_dir)
            if lender is None:
                return None
            self.reaches[git_dir] = Reach(self.git, lender, git_dir, self.memory)
        return self.reaches[git_dir]

    def _lender_of(self, git_dir: Path) -> Path | None:
        """The git directory of the user's that this one borrows from, where it is still there."""
        borrowed = {path.resolve() for path in alternates_of(git_dir / "objects")}
        for each in map(Path, self.memory.lenders):
            if (each / "HEAD").exists() and (common_dir_in(each) / "objects").resolve() in borrowed:
                return each
        return None

    def _by_git_dir(self, differences: Sequence[TreeDifference]) -> dict[Path, list[TreeDifference]]:
        """Differences by the git directory that they are of, with paths inside it."""
        found: dict[Path, list[TreeDifference]] = {}
        for difference in differences:
            path, git_dir = difference.path, self.private
            if path.startswith(_NESTED):
                names = path.split("/")
                depths = range(len(names) - 1, 1, -1)
                inside = next((n for n in depths if is_git_dir(self.private.joinpath(*names[:n]))), 0)
                git_dir, path = self.private.joinpath(*names[:inside]), "/".join(names[inside:])
            found.setdefault(git_dir, []).append(replace(difference, path=path))
        return found

    def _read(self, entry: TreeEntry | None) -> bytes:
        return b"" if entry is None or entry.content is None else self.store.read(entry.content)


def git_dirs_in(top: Path) -> list[Path]:
    """A private git directory, and those of repositories inside it."""
    found = [top] if is_git_dir(top) else []
    for nested in _NESTED:
        if (top / nested).is_symlink():
            continue  # a plan made it
        for folder, names, _ in os.walk(top / nested):
            if is_git_dir(Path(folder)):
                found += git_dirs_in(Path(folder))
                names.clear()
    return found
