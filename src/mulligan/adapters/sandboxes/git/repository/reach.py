"""The objects that a private git directory reaches, as git reports in the user's repository.

The configuration in the sandbox may be a stranger's: its files are read as data, and no git runs there.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from mulligan.adapters.sandboxes.git.creation.private_git_dir import PINS
from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.position.index_file import IndexFile
from mulligan.adapters.sandboxes.git.position.staged_objects import RAW, newer_objects, staged_objects
from mulligan.adapters.sandboxes.git.repository.bare_repository import Memory
from mulligan.adapters.sandboxes.git.repository.git_packs import (
    FOLDER,
    GITLINK,
    GITLINK_MODE,
    Objects,
    not_own,
)
from mulligan.adapters.sandboxes.git.repository.git_trees import Leaf, ObjectMissing, Trees
from mulligan.adapters.sandboxes.git.repository.named_objects import head_in, ids_in
from mulligan.adapters.sandboxes.git.repository.user_repository import quoted_always, with_alternates

_PACK = ("-c", "pack.compression=1", "-c", "pack.threads=1", "pack-objects", "-q", "--window=0")
_OBJECTS = ("rev-list", "--objects", "--ignore-missing", "--stdin")
_FEW = 32  # commits that are read one by one; of more git makes a list


class Reach:
    """Answers for one private git directory; git's answers are kept while it is open."""

    def __init__(self, git: Git, lender: Path, git_dir: Path, memory: Memory) -> None:
        """`lender` is the git directory of the user's that it borrows from."""
        self._git_dir = git_dir
        self._lender = lender
        self._object_format = memory.object_format
        self._there = git.on(
            lender,
            GIT_DIR=lender,
            GIT_WORK_TREE=lender,
            GIT_ALTERNATE_OBJECT_DIRECTORIES=quoted_always(git_dir / "objects"),
        )
        self._pins = f"{PINS}/{memory.prefix}/"
        # The pins keep what they reach, whatever else the user deletes.
        self._but_pinned = ("--not", f"--glob={self._pins}*")
        self._trees = Trees(self._there, Objects(memory.object_format))
        self._complete: set[bytes] | None = None  # commits whose objects all stay
        self._folders = tuple(dict.fromkeys(with_alternates(git_dir / "objects", depth=0)))
        # Of a partial clone git must be asked about nothing that was not fetched: it would fetch that.
        self._is_partial = any(any(folder.glob("pack/*.promisor")) for folder in self._folders)

    def close(self) -> None:
        self._trees.close()

    def forget(self) -> None:
        """Take no commit for complete that is not pinned."""
        self._complete = None

    def new_of(self, tips: Collection[bytes]) -> dict[bytes, str]:
        """Tips, and all that they reach and no commit that is complete; each with what needs it.

        It costs what changed: of each new commit what differs from its parents.
        """
        if self._complete is None and tips:
            pinned = self._there.run("for-each-ref", "--format=%(objectname)", self._pins)
            self._complete = set(pinned.split())
        wanted = dict.fromkeys(tips, "")
        few = self._of_few(tips)
        return wanted | (few if few is not None else self._of_many(tips))

    def all_of(self, refs: Collection[bytes]) -> dict[bytes, str]:
        """All that refs and the index reach and pins do not keep, each with what needs it."""
        words = (*_OBJECTS, "--missing=print", *self._but_pinned)
        asked = self._there.attempt(*words, stdin=_lines(refs))
        lines = [line.partition(b" ") for line in asked.stdout.splitlines()]
        found = described({name: path for name, _, path in lines if not name.startswith(b"?")})
        unread = {name[1:] for name, _, _ in lines if name.startswith(b"?")}
        if asked.returncode:  # a commit is missing, which ends the walk
            unread |= ids_in(asked.stderr, self._object_format)
        return dict.fromkeys(refs, "") | found | dict.fromkeys(unread, "reached from a ref") | self.staged()

    def not_pinned(self, tips: Collection[bytes], wanted: set[bytes]) -> set[bytes]:
        """Return the objects that pins do not keep, as far as git knows."""
        walked = self._objects({*tips, *wanted})
        return wanted if walked is None else wanted & walked.keys()

    def present(self, names: Collection[bytes]) -> set[bytes]:
        return {*names} - self._absent(names)

    def copy(self, names: Collection[bytes]) -> None:
        """Put objects into the git directory's own folder, as a pack; a symlink that a plan put there gets nothing."""
        folder = self._git_dir / "objects" / "pack"
        if names and not folder.parent.is_symlink() and not folder.is_symlink():
            folder.mkdir(exist_ok=True)
            self._there.run(*_PACK, str(folder / "pack"), stdin=_lines(sorted(names)))

    def missing(self, wanted: Mapping[bytes, str], refs: Collection[bytes]) -> tuple[str, ...]:
        """In words, those objects that are nowhere; what a partial clone has not fetched is not missing."""
        lost = set[bytes]() if self._is_partial else self._absent(wanted.keys())
        needs = sorted((wanted[name] or ("a ref" if name in refs else ""), name.decode()) for name in lost)
        return tuple(f"{name} ({needed_by})" for needed_by, name in needs if needed_by)

    def staged(self) -> dict[bytes, str]:
        """Objects of the index that the commit which is checked out does not have; a broken index has none."""
        index = self._git_dir / "index"
        if not index.is_file() or index.is_symlink():
            return {}
        there = self._there.on(self._there.folder, GIT_INDEX_FILE=index)
        found = staged_objects(there, head_in(self._git_dir, self._object_format))
        return self._read_from(index) if found is None else described(found)

    def _read_from(self, index: Path) -> dict[bytes, str]:
        """All objects of an index that git reads only in its own git directory: a split one."""
        found: dict[bytes, bytes] = {}
        for file in (index, *self._git_dir.glob("sharedindex.*")):
            try:
                known = IndexFile(file.read_bytes(), self._object_format)
                entries = list(known.entries())
            except (IndexError, ValueError):
                continue  # broken: git cannot read it either
            found |= {known.object_of(e).encode(): e.path for e in entries if e.mode != GITLINK_MODE}
        return described(found)

    def _of_few(self, tips: Collection[bytes]) -> dict[bytes, str] | None:
        """The same as `_of_many` where few commits are new; None where they are not, or a tip is a tree."""
        complete = self._complete or set()
        wanted: dict[bytes, str] = {}
        met: set[bytes] = set()
        pending = [tip for tip in tips if tip not in complete]
        while pending:
            name = pending.pop()
            if name in met or name in complete:
                continue
            if len(met) == _FEW:
                return None
            met.add(name)
            kind, data = self._object(name)
            if kind == "tree":
                return None
            wanted[name] = f"a {kind}" if kind != "missing" else ""
            head = data.partition(b"\n\n")[0].split(b"\n") if kind in ("commit", "tag") else []
            if kind == "tag":
                pending.append(head[0].removeprefix(b"object "))
            elif kind == "commit":
                parents = [line[7:] for line in head if line.startswith(b"parent ")]
                pending += parents
                self._compare(bytes.fromhex(head[0][5:].decode()), self._trees_of(parents), b"", wanted)
        complete |= met  # after this they are
        return wanted

    def _compare(self, tree: bytes, others: Sequence[bytes], path: bytes, wanted: dict[bytes, str]) -> None:
        """Add what a tree holds and none of some others under the same name, and itself."""
        if tree in others:
            return
        wanted[tree.hex().encode()] = os.fsdecode(path) or "a commit"
        olds = [self._entries(other) for other in others]
        for name, (mode, id) in self._entries(tree).items():
            was = [old[name] for old in olds if name in old]
            if mode == GITLINK or any(id == old for _, old in was):
                continue
            inner = path + b"/" + name if path else name
            if mode == FOLDER:
                self._compare(id, [old for kind, old in was if kind == FOLDER], inner, wanted)
            else:
                wanted[id.hex().encode()] = os.fsdecode(inner)

    def _object(self, name: bytes) -> tuple[str, bytes]:
        if self._is_partial and self._absent([name]):
            return "missing", b""
        ((_, kind, data),) = self._trees.read([name.decode()])
        return kind, data

    def _trees_of(self, commits: Sequence[bytes]) -> list[bytes]:
        """Trees of commits, as far as they are there: a shallow clone has not all of them."""
        found = [self._object(name) for name in commits]
        return [
            bytes.fromhex(data[5 : data.index(b"\n")].decode()) for kind, data in found if kind == "commit"
        ]

    def _entries(self, tree: bytes) -> Mapping[bytes, Leaf]:
        if self._is_partial and self._absent([tree.hex().encode()]):
            return {}
        try:
            return self._trees.entries(tree)
        except ObjectMissing:
            return {}

    def _of_many(self, tips: Collection[bytes]) -> dict[bytes, str]:
        """Of the commits that tips reach and pins do not keep what differs from any parent."""
        wanted: dict[bytes, str] = {}
        words = ("rev-list", "--ignore-missing", "--format=%T", "--stdin", *self._but_pinned)
        listed = self._there.attempt(*words, stdin=_lines(tips))
        lines = listed.stdout.splitlines()  # `commit` and its name, then its tree
        commits = [line.removeprefix(b"commit ") for line in lines[::2]]
        if commits:
            compare = ("diff-tree", "--stdin", "--no-commit-id", "-r", "-t", "-m", "--root", *RAW)
            compared = self._there.attempt(*compare, stdin=_lines(commits))
            if listed.returncode or compared.returncode:  # a commit or tree on the way is missing
                return self._objects(tips) or {}
            wanted |= dict.fromkeys((*commits, *lines[1::2]), "a commit") | described(
                newer_objects(compared.stdout)
            )
        others = self.present(set(tips).difference(commits))
        for name, kind in self._kinds(others).items():
            if kind in (b"tag", b"tree"):
                wanted |= self._objects([name]) or {}
        return wanted

    def _objects(self, tips: Collection[bytes]) -> dict[bytes, str] | None:
        """All objects that tips reach and pins do not keep, as far as git walks; None where it cannot."""
        words = (*_OBJECTS, "--missing=allow-any", *self._but_pinned)
        asked = self._there.attempt(*words, stdin=_lines(tips))
        if asked.returncode:
            return None
        lines = (line.partition(b" ") for line in asked.stdout.splitlines())
        return described({name: path for name, _, path in lines})

    def _absent(self, names: Collection[bytes]) -> set[bytes]:
        left = {*names}
        for folder in self._folders:
            left = not_own(folder, left) if left else left
        return left

    def _kinds(self, names: Collection[bytes]) -> dict[bytes, bytes]:
        if not names:
            return {}
        asked = self._there.run("cat-file", "--batch-check=%(objectname) %(objecttype)", stdin=_lines(names))
        return {name: kind for name, _, kind in (line.partition(b" ") for line in asked.splitlines())}


def described(found: Mapping[bytes, bytes]) -> dict[bytes, str]:
    """Name what needs each object: the path that has it, or a commit."""
    return {name: os.fsdecode(path) or "a commit" for name, path in found.items() if name.strip(b"0")}


def _lines(names: Collection[bytes]) -> bytes:
    return b"".join(name + b"\n" for name in names)
