"""Checkpoints as commits: the tree before, changed by what the store says changed."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from mulligan.adapters.sandboxes.git.creation.tracked_files import (
    RULES,
    Tracking,
    plain_leaves,
    without_matched,
)
from mulligan.adapters.sandboxes.git.position.index_contents import IndexContents
from mulligan.adapters.sandboxes.git.repository.bare_repository import CHECKPOINTS, BareRepository
from mulligan.adapters.sandboxes.git.repository.git_packs import GITLINK, Objects
from mulligan.adapters.sandboxes.git.repository.git_trees import Leaf, ObjectMissing, Trees
from mulligan.adapters.sandboxes.git.repository.named_objects import head_of
from mulligan.domain.checkpoints.checkpoint import Checkpoint
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.paths.path_patterns import PathPatterns
from mulligan.domain.resources.resource import Sandbox
from mulligan.domain.trees.tree_difference import TreeDifference, TreeEntry
from mulligan.ports import Publication, SnapshotStore


class Commits:
    """Writes the commits of one sandbox; git's answers are kept while it is open."""

    def __init__(
        self,
        bare: BareRepository,
        sandbox: Sandbox,
        store: SnapshotStore,
        indexes: IndexContents,
        *,
        index: Path,
        rules: Path,
    ) -> None:
        """The sandbox holds what the snapshot holds whose commit is asked for.

        `index` lists what is tracked there, and `rules` is the folder with `exclude` and `attributes`.
        """
        self._bare = bare
        self._sandbox = sandbox
        self._store = store
        self._indexes = indexes
        self._top = Path(sandbox.path)
        self._rules = rules
        self._memory = bare.memory
        self._objects = Objects(self._memory.object_format)
        self._trees = Trees(bare.git, self._objects)
        sparse = index.with_name("info") / "sparse-checkout"
        self._tracking = Tracking(
            bare.git, self._top, index, self._memory.object_format, lasting=True, sparse=sparse
        )
        self._excluded = PathPatterns(sandbox.patterns)  # what they match is in no checkpoint
        self._known: dict[str, bytes] = {}  # commits -> trees
        self._written = 0

    def close(self) -> None:
        self._trees.close()
        self._tracking.forget()

    def publish(self, publication: Publication) -> str:
        """Commit a checkpoint's files under its name, durably."""
        after, checkpoint_id = publication.after, publication.checkpoint.checkpoint_id
        parent, tree = self._before(after)
        before = after.snapshot if after is not None and parent else self._sandbox.base
        tree = self._changed(tree, before, publication.checkpoint.snapshot)
        about = f"plan {self._sandbox.plan_id}, resource {self._sandbox.resource}"
        message = f"checkpoint {checkpoint_id}\n\n{about}\n"
        text = _commit_text(tree, parent, int(publication.at.timestamp()), message)
        commit = self._objects.add("commit", text).hex()
        self._known = {commit: tree}
        ref = (self._bare.path / CHECKPOINTS / checkpoint_id, commit.encode() + b"\n")
        self._objects.write_to(self._bare.pack_folder, ref)
        if self._written % 8 == 0:
            self._bare.join_packs(self._objects)
        self._written += 1
        return commit

    def start(self, snapshot: Snapshot, base: Snapshot, commit: str) -> None:
        """Make the commit that a forked sandbox starts from: another's, with what differs."""
        tree = self._changed(self._trees.of_commit(commit), base, snapshot)
        if self._objects.size:
            self._objects.write_to(self._bare.pack_folder)
        start_from(self._bare, tree)

    def _before(self, after: Checkpoint | None) -> tuple[str | None, bytes]:
        """The commit to follow, None where there is none, and the tree to start from."""
        if after is not None:
            known = self._known.get(after.sandbox_ref)
            if known is not None:
                return after.sandbox_ref, known
            try:
                return after.sandbox_ref, self._trees.of_commit(after.sandbox_ref)
            except ObjectMissing:
                pass  # someone else tidied up here: all that changed since the start is committed again
        return None, self._trees.of_commit(self._bare.base())

    def _changed(self, tree: bytes, old: Snapshot, new: Snapshot) -> bytes:
        """The tree with all that differs between two snapshots; the working tree holds the newer one."""
        differences = [d for d in self._difference(old, new, 0) if d.of_files]
        look_again = self._follow_rules()
        changes: dict[bytes, Leaf | None] = {}
        inner: set[bytes] = set()
        files: dict[bytes, TreeEntry] = {}
        for difference in differences:
            path = os.fsencode(difference.path)
            outer = self._repository_around(path)
            if path.rpartition(b"/")[2] in RULES:
                self._tracking.forget()
                look_again = look_again or path.endswith(RULES[0])
            if outer is not None:
                inner.add(outer)
            elif b".git" in path.split(b"/"):
                look_again = True  # a repository is one no more: its files are git's again
            elif difference.new is None or difference.new.is_folder:
                changes[path] = None
            else:
                files[path] = difference.new
        changes |= self._leaves(files)
        came, went = self._moved_in_index(old, new)
        if look_again:
            came |= {path for path in self._tracking.untracked(ignored=False) if not path.endswith(b"/")}
            went |= {path for path in self._tracking.untracked(ignored=True) if not path.endswith(b"/")}
        came = {*without_matched(came, self._excluded)}
        changes |= self._unchanged(tree, came - changes.keys(), went - changes.keys())
        changes |= self._links(tree, inner)
        return self._trees.edit(tree, changes) if changes else tree

    def _leaves(self, files: dict[bytes, TreeEntry]) -> dict[bytes, Leaf | None]:
        """Blobs of changed files; what is ignored is none of git's."""
        ignored, conversions = self._tracking.judge(list(files))
        kept = {path: entry for path, entry in files.items() if path not in ignored}
        leaves, by_git = plain_leaves(self._store, kept, conversions, self._blob)

        def pieces(path: bytes) -> Iterator[bytes]:
            content = kept[path].content
            return self._store.pieces(content) if content is not None else iter(())

        names = self._tracking.blobs(by_git, pieces)
        self._bare.keep({*names.values()})
        made = {path: (kept[path].git_mode, name) for path, name in names.items()}
        return {**dict.fromkeys(ignored), **leaves, **made}

    def _blob(self, data: bytes, _: TreeEntry) -> bytes:
        name = self._objects.add("blob", data)
        if self._objects.is_full:
            self._objects.write_to(self._bare.pack_folder)
        return name

    def _unchanged(self, tree: bytes, came: set[bytes], went: set[bytes]) -> dict[bytes, Leaf | None]:
        """Leaves for what came to be tracked, or ignored, without having changed itself."""
        leaves = self._tracking.leaves(path for path in came if self._trees.entry(tree, path) is None)
        self._bare.keep({name for _, name in leaves.values()})
        gone = [path for path in went if self._trees.entry(tree, path) is not None]
        return {**dict.fromkeys(gone), **leaves}

    def _moved_in_index(self, old: Snapshot, new: Snapshot) -> tuple[set[bytes], set[bytes]]:
        """Paths that came into the index, and ignored ones that left it: `git add -f`, `git rm --cached`."""
        changed = [d for d in self._difference(old, new, 1) if d.path == "index"]
        if not changed:
            return set(), set()
        entries = (changed[0].old, changed[0].new)
        before, now = (self._indexes.of(entry, self._memory.object_format).keys() for entry in entries)
        if before == now:  # most changes to an index leave the paths in it as they are
            return set(), set()
        came, left = ({path.partition(b"\0")[0] for path in paths} for paths in (now - before, before - now))
        return came - left, self._tracking.judge(sorted(left - came)).ignored

    def _difference(self, old: Snapshot, new: Snapshot, root: int) -> Sequence[TreeDifference]:
        if len(old.roots) <= root or len(new.roots) <= root or old.roots[root].id == new.roots[root].id:
            return ()
        return self._store.difference(old.roots[root], new.roots[root])

    def _follow_rules(self) -> bool:
        """Take over the ignore and filter rules of the sandbox's git directory; return whether they changed."""
        changed = False
        for name in ("exclude", "attributes"):
            mine, theirs = self._bare.path / "info" / name, self._rules / name
            text = theirs.read_bytes() if theirs.is_file() and not theirs.is_symlink() else b""
            if text != (mine.read_bytes() if mine.exists() else b""):
                mine.write_bytes(text)
                changed = True
        if changed:
            self._tracking.forget()
        return changed

    def _links(self, tree: bytes, touched: set[bytes]) -> dict[bytes, Leaf | None]:
        links = sorted({*map(os.fsencode, self._memory.links), *touched})
        leaves: dict[bytes, Leaf | None] = {}
        for link in links:
            head = head_of(self._top, link, self._memory.object_format)
            now = (GITLINK, bytes.fromhex(head)) if head else None
            was = self._trees.entry(tree, link)
            gone = now is None and was is not None and was[0] == GITLINK
            if gone and (self._top / os.fsdecode(link)).is_dir() and link in self._tracking.tracked():
                continue  # a submodule that is not checked out
            if gone or (now is not None and now != was):
                leaves[link] = now
        names = tuple(map(os.fsdecode, links))
        if names != self._memory.links:
            self._memory = replace(self._memory, links=names)
            self._bare.remember(self._memory)
        return leaves

    def _repository_around(self, path: bytes) -> bytes | None:
        """The outermost folder above a path that is a repository of its own."""
        names = path.split(b"/")
        for depth in range(1, len(names)):
            folder = b"/".join(names[:depth])
            if os.path.lexists(os.path.join(os.fsencode(self._top), folder, b".git")):
                return folder
        return None


def _commit_text(tree: bytes, parent: str | None, seconds: int, message: str) -> bytes:
    who = f"mulligan <mulligan@localhost> {seconds} +0000"
    parents = [f"parent {parent}"] if parent else []
    lines = [f"tree {tree.hex()}", *parents, f"author {who}", f"committer {who}", "", message]
    return "\n".join(lines).encode("utf-8", "backslashreplace")


def start_from(bare: BareRepository, tree: bytes) -> None:
    """Make the commit that a sandbox starts from, of a tree that is there; equal trees have equal ones."""
    objects = Objects(bare.memory.object_format)
    commit = objects.add("commit", _commit_text(tree, None, 0, "what the sandbox started from\n"))
    objects.write_to(bare.pack_folder)
    bare.set_base(commit.hex())
