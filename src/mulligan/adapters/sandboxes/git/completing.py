"""Keeping a sandbox's git directories complete: what they reach and nobody keeps for them is copied into them.

Git does not write an object that it finds in a borrowed folder. Pins keep what the user's refs reached when the
sandbox was made; of everything else that is found there the user's next prune may take away.
The configuration in the sandbox may be a stranger's: its files are read as data, and git runs in the user's repository.
"""

import os
from collections.abc import Collection, Sequence
from pathlib import Path

from msgspec import Struct

from mulligan.adapters.sandboxes.git.bare import Memory
from mulligan.adapters.sandboxes.git.command import Git
from mulligan.adapters.sandboxes.git.index import IndexFile
from mulligan.adapters.sandboxes.git.own_objects import not_own
from mulligan.adapters.sandboxes.git.private import PINS
from mulligan.adapters.sandboxes.git.repository import alternates_of, quoted_always
from mulligan.adapters.sandboxes.git.roots import Named, named_now, newly_named
from mulligan.adapters.sandboxes.git.standing import head_in
from mulligan.domain.snapshot import Root
from mulligan.domain.tree_difference import TreeDifference, TreeEntry
from mulligan.ports import StoredTrees

_GITLINK = b"160000"
_NESTED = ("modules/", "inner/")
_PACK = ("-c", "pack.compression=1", "-c", "pack.threads=1", "pack-objects", "-q", "--window=0")
_RAW = ("--raw", "--no-renames", "--no-abbrev", "-z")


class Completed(Struct, frozen=True):
    """What was found in the git directories of a sandbox."""

    copied: int  # objects
    missing: tuple[str, ...]  # objects that are nowhere, each with the path or ref that needs it


class Completing:
    """Completes the git directory of one sandbox, and those of repositories inside it."""

    def __init__(self, git: Git, store: StoredTrees, memory: Memory, private: Path) -> None:
        """`private` is the sandbox's git directory; `memory` knows where objects are borrowed and pinned."""
        self._git = git
        self._store = store
        self._memory = memory
        self._private = private

    def since(self, old: Root, new: Root, base: Root) -> Completed:
        """Complete what changed between two stored states of the git directory; it is in the newer one now.

        In the older one everything is complete. `base` is what the sandbox started from.
        """
        copied, missing = 0, list[str]()
        for git_dir, found in self._by_git_dir(self._store.difference(old, new)).items():
            named = newly_named(found, self._read, self._memory.object_format)
            if named.dropped:  # by `git gc`, for instance: nothing that was looked at before is certain
                again = self._by_git_dir(self._store.difference(base, new)).get(git_dir, [])
                logs = newly_named(again, self._read, self._memory.object_format).logs
                refs = named_now(git_dir, self._memory.object_format)
                named = Named(refs, logs, index=True, dropped=True)
            if named.refs or named.logs or named.index:
                done = self._complete(git_dir, named)
                copied += done.copied
                missing += done.missing
        return Completed(copied, tuple(missing))

    def lacking(self) -> tuple[str, ...]:
        """What refs, HEAD, stashes and the index of the git directories reach and no folder of objects holds."""
        missing: list[str] = []
        for git_dir in _git_dirs(self._private):
            refs = named_now(git_dir, self._memory.object_format)
            lender = self._lender_of(git_dir)
            if lender is not None:
                reach = _Reach(self._git, lender, git_dir, self._memory)
                missing += reach.missing(
                    reach.all_of(Named(refs, frozenset(), index=True, dropped=False)), refs
                )
        return tuple(missing)

    def _complete(self, git_dir: Path, named: Named) -> Completed:
        lender = self._lender_of(git_dir)
        if lender is None:
            return Completed(0, ())  # it borrows nothing that we know of
        reach = _Reach(self._git, lender, git_dir, self._memory)
        wanted = reach.new_of(named)
        borrowed = not_own(git_dir / "objects", wanted.keys())
        if not borrowed:
            return Completed(0, ())
        present = reach.present(borrowed)
        copied = reach.not_pinned(named, present) if present else present
        reach.copy(copied)
        lost = {name: wanted[name] for name in borrowed - present}
        return Completed(len(copied), reach.missing(lost, named.refs))

    def _lender_of(self, git_dir: Path) -> Path | None:
        """The git directory of the user's that this one borrows from, where it is still there."""
        borrowed = {path.resolve() for path in alternates_of(git_dir / "objects")}
        for each in map(Path, self._memory.lenders):
            if (each / "HEAD").exists() and _objects_of(each) in borrowed:
                return each
        return None

    def _by_git_dir(self, differences: Sequence[TreeDifference]) -> dict[Path, list[TreeDifference]]:
        """Differences by the git directory that they are of, with paths inside it."""
        found: dict[Path, list[TreeDifference]] = {}
        for difference in differences:
            path, git_dir = difference.path, self._private
            if path.startswith(_NESTED):
                names = path.split("/")
                inside = next(
                    (
                        n
                        for n in range(len(names) - 1, 1, -1)
                        if _is_git_dir(self._private.joinpath(*names[:n]))
                    ),
                    0,
                )
                git_dir, path = self._private.joinpath(*names[:inside]), "/".join(names[inside:])
            found.setdefault(git_dir, []).append(
                TreeDifference(path=path, old=difference.old, new=difference.new)
            )
        return found

    def _read(self, entry: TreeEntry | None) -> bytes:
        return b"" if entry is None or entry.content is None else self._store.read(entry.content)


class _Reach:
    """What one private git directory reaches, asked of git in the user's repository."""

    def __init__(self, git: Git, lender: Path, git_dir: Path, memory: Memory) -> None:
        self._git_dir = git_dir
        self._lender = lender
        self._memory = memory
        self._there = git.on(
            lender,
            GIT_DIR=lender,
            GIT_WORK_TREE=lender,
            GIT_ALTERNATE_OBJECT_DIRECTORIES=quoted_always(git_dir / "objects"),
        )
        # The pins keep what they reach, whatever else the user deletes.
        self._but_pinned = ("--not", f"--glob={PINS}/{memory.prefix}/*")

    def new_of(self, named: Named) -> dict[bytes, str]:
        """Objects that are reached newly, each with what needs it: those of new commits, and of staged files.

        It costs what changed: of each new commit what differs from its parents, of the index what from HEAD.
        """
        tips = named.refs | named.logs
        wanted = self._of_commits(tips) if tips else {}
        return wanted | (self._staged() if named.index else {})

    def all_of(self, named: Named) -> dict[bytes, str]:
        """Objects that are reached and not kept by pins."""
        staged = self._staged()
        asked = self._objects([*named.refs, *staged])
        found = (
            {name: path for name, path in asked.items() if name not in staged} if asked is not None else {}
        )
        return dict.fromkeys(named.refs, "") | found | staged

    def not_pinned(self, named: Named, wanted: set[bytes]) -> set[bytes]:
        """Those objects that pins do not keep, as far as git can tell."""
        walked = self._objects([*named.refs, *named.logs, *wanted])
        return wanted if walked is None else wanted & walked.keys()

    def present(self, names: Collection[bytes]) -> set[bytes]:
        """Those objects that can be found somewhere."""
        return {name for name, kind in self._kinds(names).items() if kind != b"missing"}

    def copy(self, names: Collection[bytes]) -> None:
        """Put objects into the git directory's own folder, as a pack."""
        if names:
            folder = self._git_dir / "objects" / "pack"
            folder.mkdir(exist_ok=True)
            self._there.run(*_PACK, str(folder / "pack"), stdin=_lines(sorted(names)))

    def missing(self, wanted: dict[bytes, str], refs: Collection[bytes]) -> tuple[str, ...]:
        """In words, those objects that are nowhere; what a partial clone has not fetched is not missing."""
        if any(self._lender.glob("objects/pack/*.promisor")) or any(
            self._git_dir.glob("objects/pack/*.promisor")
        ):
            return ()
        lost = wanted.keys() - self.present(wanted.keys())
        told = sorted((wanted[name] or ("a ref" if name in refs else ""), name.decode()) for name in lost)
        return tuple(f"{name} ({needed_by})" for needed_by, name in told if needed_by)

    def _of_commits(self, tips: Collection[bytes]) -> dict[bytes, str]:
        """Tips, and of the commits that they reach and pins do not keep what differs from any parent."""
        wanted = dict.fromkeys(tips, "")
        words = ("rev-list", "--ignore-missing", "--format=%T", "--stdin", *self._but_pinned)
        listed = self._there.attempt(*words, stdin=_lines(tips))
        lines = listed.stdout.splitlines()  # `commit` and its name, then its tree
        commits = [line.removeprefix(b"commit ") for line in lines[::2]]
        if commits:
            compare = ("diff-tree", "--stdin", "--no-commit-id", "-r", "-t", "-m", "--root", *_RAW)
            compared = self._there.attempt(*compare, stdin=_lines(commits))
            if listed.returncode or compared.returncode:  # a commit or tree on the way is missing
                return wanted | (self._objects(tips) or {})
            wanted |= dict.fromkeys((*commits, *lines[1::2]), "a commit") | _changed(compared.stdout)
        others = set(tips).difference(commits)
        for name, kind in self._kinds(others).items():
            if kind in (b"tag", b"tree"):
                wanted |= self._objects([name]) or {}
        return wanted

    def _staged(self) -> dict[bytes, str]:
        """Objects of the index that the commit which is checked out does not have; a broken index has none."""
        index = self._git_dir / "index"
        if not index.is_file() or index.is_symlink():
            return {}
        there = self._there.on(self._there.folder, GIT_INDEX_FILE=index)
        head = head_in(self._git_dir, self._memory.object_format)
        if head is not None:
            asked = there.attempt("diff-index", "--cached", *_RAW, head)
            found = _changed(asked.stdout)
            words = ("-u",) if b" U\0" in asked.stdout else None
            if not asked.returncode and words is None:
                return found
        else:
            found, words = {}, ("-s",)
        listed = there.attempt("ls-files", *(words or ("-s",)), "-z")
        if listed.returncode:
            return self._read_from(index)
        entries = (record.partition(b"\t") for record in listed.stdout.split(b"\0") if record)
        return found | _described(
            {told.split()[1]: path for told, _, path in entries if not told.startswith(_GITLINK)}
        )

    def _read_from(self, index: Path) -> dict[bytes, str]:
        """All objects of an index that git reads only in its own git directory: a split one."""
        found: dict[bytes, bytes] = {}
        for file in (index, *self._git_dir.glob("sharedindex.*")):
            try:
                known = IndexFile(file.read_bytes(), self._memory.object_format)
                entries = list(known.entries())
            except (IndexError, ValueError):
                continue  # broken: git cannot read it either
            found |= {known.object_of(e).encode(): e.path for e in entries if e.mode != int(_GITLINK, 8)}
        return _described(found)

    def _objects(self, tips: Collection[bytes]) -> dict[bytes, str] | None:
        """All objects that tips reach and pins do not keep, as far as git walks; None where it cannot."""
        words = (
            "rev-list",
            "--objects",
            "--ignore-missing",
            "--missing=allow-any",
            "--stdin",
            *self._but_pinned,
        )
        asked = self._there.attempt(*words, stdin=_lines(tips))
        if asked.returncode:
            return None
        lines = (line.partition(b" ") for line in asked.stdout.splitlines())
        return _described({name: path for name, _, path in lines})

    def _kinds(self, names: Collection[bytes]) -> dict[bytes, bytes]:
        if not names:
            return {}
        asked = self._there.run("cat-file", "--batch-check=%(objectname) %(objecttype)", stdin=_lines(names))
        return {name: kind for name, _, kind in (line.partition(b" ") for line in asked.splitlines())}


def _changed(compared: bytes) -> dict[bytes, str]:
    """The newer objects in raw differences, each with its path."""
    fields = compared.split(b"\0")[:-1]
    records = zip((field.split() for field in fields[::2]), fields[1::2], strict=True)
    return _described({new: path for (_, mode, _, new, _), path in records if mode != _GITLINK})


def _described(found: dict[bytes, bytes]) -> dict[bytes, str]:
    return {name: os.fsdecode(path) or "a commit" for name, path in found.items() if name.strip(b"0")}


def _lines(names: Collection[bytes]) -> bytes:
    return b"".join(name + b"\n" for name in names)


def _is_git_dir(path: Path) -> bool:
    return (path / "HEAD").is_file() and (path / "objects").is_dir()


def _git_dirs(top: Path) -> list[Path]:
    """A private git directory, and those of repositories inside it."""
    found = [top] if _is_git_dir(top) else []
    for nested in _NESTED:
        for folder, names, _ in os.walk(top / nested):
            if _is_git_dir(Path(folder)):
                found += _git_dirs(Path(folder))
                names.clear()
    return found


def _objects_of(git_dir: Path) -> Path:
    pointer = git_dir / "commondir"
    common = git_dir / os.fsdecode(pointer.read_bytes()).strip() if pointer.is_file() else git_dir
    return (common / "objects").resolve()
