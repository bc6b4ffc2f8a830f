"""Apply to a user's checkout: files, one commit, and an index that fits both.

For each path that the plan changed, the commit gets merge(base, plan, HEAD) and the index merge(base, plan, index).
Staged changes of the user stay staged, and uncommitted ones stay uncommitted. If one of the two cannot take the
plan's part alone, neither does, and the change reaches the working tree only.
"""

import os
from collections.abc import Collection, Sequence
from pathlib import Path

from msgspec import Struct

from mulligan.adapters.sandboxes.git.apply.clean_filters import Cleaning
from mulligan.adapters.sandboxes.git.apply.commit_decisions import Decisions, Sides, can_have
from mulligan.adapters.sandboxes.git.apply.readiness import People, identity
from mulligan.adapters.sandboxes.git.apply.staged_entries import Staged, staged_in
from mulligan.adapters.sandboxes.git.git_command import Git, GitFailed
from mulligan.adapters.sandboxes.git.position.index_entries import set_entries
from mulligan.adapters.sandboxes.git.repository.git_trees import ObjectMissing, Trees, folders_above
from mulligan.adapters.sandboxes.git.repository.user_repository import Repository
from mulligan.domain.trees.tree_difference import TreeDifference, TreeEntry
from mulligan.errors import Advice, CheckoutUnready, NextStep, NotBuiltYet, SystemFailed
from mulligan.ports import ApplyOrder, SnapshotStore


def refuse_included(included: Collection[str]) -> None:
    """Refuse to take over what is in a checkout's own git directory."""
    named = sorted(path for path in included if path.split("/")[0] == ".git")
    if named:
        raise NotBuiltYet(
            feature=f"applying {', '.join(named)}, of a checkout's own git directory,",
            hint="copy it from the sandbox by hand, after reading it: it may be code that git runs",
        )


class Applied(Struct, frozen=True):
    """The new HEAD and index, and the changes that they could not take."""

    commit: str | None
    staged: bool  # whether the index was changed
    uncommitted: tuple[str, ...]
    committed: tuple[str, ...]  # paths that the commit changes


class Applying(Struct, frozen=True, eq=False):
    """One apply to one checkout."""

    git: Git
    repository: Repository
    store: SnapshotStore
    order: ApplyOrder
    workshop: Path  # an empty folder of ours
    people: People  # who commits, where that is known

    def carry_out(self, head: str | None, index: Path, message: str) -> Applied:
        """Make the commit on top of `head`, with no ref yet, and change this copy of the index."""
        differences = [d for d in self.order.changed if can_have(d.path)]
        merged = self._merged()
        paths = [os.fsencode(d.path) for d in differences]
        folder = self.workshop / "rules"
        folder.mkdir()
        there = self.repository.through(self.git)
        indexed = there.on(there.folder, GIT_INDEX_FILE=index)
        cleaning = Cleaning(there, self.repository, self.store, index=index, folder=folder)
        trees = Trees(there, cleaning.objects)
        try:
            tree = trees.of_commit(head) if head else None
            staged = staged_in(indexed, index, self.repository, {*paths, *folders_above(paths)})
            self._refuse_inner(differences, staged)
            trees.look_ahead(tree, paths)
            cleaning.follow(self.repository.top, paths, merged)
            sides = Sides(trees, tree, staged, cleaning)
            decided = Decisions(self.store, self.order, sides, merged)
            decided.decide(differences)
            if decided.staged:
                set_entries(indexed, decided.staged, self.repository.null_id, staged.letters)
            commit = None
            if decided.committed:
                new_tree = trees.edit(tree, decided.committed)
                text = self._commit_text(new_tree, head, message)
                commit = cleaning.objects.add("commit", text).hex()
            if commit is not None or decided.staged:
                cleaning.keep()
            unnamable = [d.path for d in self.order.changed if d.of_files and not can_have(d.path)]
            left = [f"{path}: git takes no such name" for path in unnamable]
            committed = tuple(sorted(os.fsdecode(path) for path in decided.committed))
            return Applied(commit, bool(decided.staged), (*decided.uncommitted, *left), committed)
        except ObjectMissing as exc:
            reason = f"the object {exc} is missing from the repository"
            raise GitFailed(path=str(self.repository.top), reason=reason) from exc
        except OSError as exc:
            reason = exc.strerror or str(exc)
            raise SystemFailed(path=exc.filename or str(self.repository.git_dir), reason=reason) from exc
        finally:
            trees.close()
            cleaning.close()

    def _merged(self) -> dict[bytes, TreeEntry | None]:
        ours = self.order.ours.roots[0]
        found = self.store.difference(ours, self.order.files) if ours.id != self.order.files.id else ()
        return {os.fsencode(d.path): d.new for d in found}

    def _refuse_inner(self, differences: Sequence[TreeDifference], staged: Staged) -> None:
        """Refuse changes in submodules and other repositories inside: no commit of ours could hold them."""
        parts = [d.path.split("/") for d in self.order.changed if d.new is not None]
        made = {"/".join(names[: names.index(".git")]) for names in parts if ".git" in names}
        tops = [Path(self.order.real.path), Path(self.order.sandbox.path)]
        known: dict[str, bool] = {"": False}

        def is_inner(folder: str) -> bool:
            if folder not in known:
                known[folder] = (
                    is_inner(folder.rpartition("/")[0])
                    or os.fsencode(folder) in staged.links
                    or folder in made
                    or any(os.path.lexists(top / folder / ".git") for top in tops)
                )
            return known[folder]

        inside = [d.path for d in differences if d.of_files and is_inner(d.path.rpartition("/")[0])]
        if inside:
            raise CheckoutUnready(
                path=str(self.repository.top),
                reason="the plan changed files in submodules or other repositories inside it, which no commit "
                f"of it can hold: {', '.join(inside)}",
                hint=Advice("apply with ", NextStep("again", commit=False), ", and commit there yourself"),
            )

    def _commit_text(self, tree: bytes, parent: str | None, message: str) -> bytes:
        seconds = int(self.order.at.timestamp())
        people: list[str] = []
        for role, word in (("AUTHOR", "author"), ("COMMITTER", "committer")):
            asked = self.people.get((self.repository.git_dir, role))
            who, zone = asked or identity(self.git, self.repository, role)
            people.append(f"{word} {who} {seconds} {zone}")
        parents = [f"parent {parent}"] if parent else []
        text = message.replace("\0", "").strip("\n") + "\n"
        lines = [f"tree {tree.hex()}", *parents, *people, "", text]
        return "\n".join(lines).encode("utf-8", "surrogateescape")
