"""Files of a working tree that git would track, and the blobs it would make, as git itself reports.

Git runs with the user's own configuration. From the sandbox it takes data alone: the working tree's
`.gitignore` and `.gitattributes`, and the list of tracked files in the index.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple, TypeAlias

from mulligan.adapters.sandboxes.git.git_batch import Asking
from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.position.index_file import paths_in
from mulligan.adapters.sandboxes.git.repository.git_trees import Leaf
from mulligan.domain.paths.path_patterns import PathPatterns
from mulligan.domain.trees.tree_difference import EntryType, StoredContent, TreeEntry
from mulligan.ports import StoredTrees

_SYMLINK = b"120000"
RULES = (b".gitignore", b".gitattributes")
_LARGE = 8 << 20  # bytes; git reads larger files itself, piece by piece
_ATTRIBUTES = ("text", "eol", "crlf", "filter", "ident", "working-tree-encoding")
_LINE_ENDS = frozenset({b"text", b"eol", b"crlf"})
_OFF = frozenset({b"unspecified", b"unset"})
_NO = frozenset({b"", b"false", b"0", b"no", b"off"})
_CONE = b"/*\n!/*/\n"  # how the patterns of whole folders begin
_HERE = b"./"  # before a path that git reads as a pathspec: at the beginning of one, a colon has a meaning
_AT_ONCE = 8 << 10  # bytes of questions: less than any pipe holds

Pieces: TypeAlias = Callable[[bytes], Iterator[bytes]]  # the bytes of the file at a path


class Judgement(NamedTuple):
    """The judgement of git about some files."""

    ignored: set[bytes]
    conversions: dict[bytes, str]  # "always", by a filter; or "line ends", where there are any


class Tracking:
    """Answers for one working tree."""

    def __init__(
        self, git: Git, top: Path, index: Path, object_format: str, *, lasting: bool, sparse: Path
    ) -> None:
        """`git` works in the bare repository; `index` is the sandbox's; blobs that last outlast a power cut.

        `sparse` is the file with the patterns of a sparse checkout, whether it is there or not.
        """
        self._hash = ("-c", f"core.fsync={'loose-object' if lasting else 'none'}", "hash-object", "-w")
        self._top = top
        self._index = index
        self._git = git.on(top, GIT_WORK_TREE=top, GIT_INDEX_FILE=index)
        self._unindexed = self._git.on(top, GIT_INDEX_FILE=index.with_name("no-index"))
        self._sparse = sparse
        self._ignored, self._attributes = self._asking()
        self._object_format = object_format
        self._index_seen: object = None
        self._in_index: frozenset[bytes] = frozenset()

    def judge(self, paths: Sequence[bytes]) -> Judgement:
        """Return which files are ignored and not in the index, and which contents git converts."""
        ignored: set[bytes] = set()
        conversions: dict[bytes, str] = {}
        for batch in _batches(paths):
            question = b"".join(path + b"\0" for path in batch)
            within = b"".join(_HERE + path + b"\0" for path in batch)
            with self._attributes as attributes:
                attributes.send(question)  # both look it up at the same time
                for source, _, pattern, path in self._matches(within, len(batch)):
                    if source and not pattern.startswith(b"!"):
                        ignored.add(path.removeprefix(_HERE))
                for path in batch:
                    fields = [attributes.until_nul() for _ in range(3 * len(_ATTRIBUTES))]
                    if kind := self._conversion(fields):
                        conversions[path] = kind
        return Judgement(ignored - self.tracked() if ignored else ignored, conversions)

    def blobs(self, paths: Sequence[bytes], pieces: Pieces) -> dict[bytes, bytes]:
        """Make blobs of files of the working tree, filtered as the user's configuration says, in the repository.

        Of a file that others write while git reads it, the blob is made of its `pieces`. One that is gone has none.
        """
        found: dict[bytes, bytes] = {}
        left = [path for path in paths if can_be_listed(path)]
        while left:
            listed = b"".join(path + b"\n" for path in left)
            asked = self._git.attempt(*self._hash, "--stdin-paths", stdin=listed)
            names = asked.stdout.split(b"\n")[:-1]
            found |= zip(left, names, strict=False)
            left = left[len(names) :]
            if left:  # git stopped at the first of these
                found |= self._alone(left.pop(0), pieces)
            elif asked.returncode != 0:
                raise self._git.failed(asked, "hash-object")
        for path in paths:
            if not can_be_listed(path):
                found |= self._alone(path, pieces)
        return {path: bytes.fromhex(name.decode()) for path, name in found.items()}

    def _alone(self, path: bytes, pieces: Pieces) -> dict[bytes, bytes]:
        """Make a blob of a file that holds still while git reads it."""
        with TemporaryFile() as still:
            try:
                still.writelines(pieces(path))
            except FileNotFoundError:
                return {}
            still.seek(0)
            words = (*self._hash, "--stdin", "--path", os.fsdecode(path))
            return {path: self._git.run(*words, stdin=still).strip()}

    def _pieces(self, path: bytes) -> Iterator[bytes]:
        with open(os.path.join(os.fsencode(self._top), path), "rb") as file:
            yield from iter(partial(file.read, _LARGE), b"")

    def _link_blobs(self, paths: Sequence[bytes]) -> dict[bytes, bytes]:
        top = os.fsencode(self._top)
        found: dict[bytes, bytes] = {}
        for path in paths:
            target = os.readlink(os.path.join(top, path))
            name = self._git.run(*self._hash, "--stdin", "--no-filters", stdin=target)
            found[path] = bytes.fromhex(name.strip().decode())
        return found

    def leaves(self, paths: Iterable[bytes]) -> dict[bytes, Leaf]:
        """Make blobs of what the working tree has at these paths; where git can have nothing, there is none."""
        modes = {path: _mode_of(os.path.join(os.fsencode(self._top), path)) for path in paths}
        files = [path for path, mode in modes.items() if mode not in (b"", _SYMLINK)]
        names = self.blobs(files, self._pieces)
        names |= self._link_blobs([path for path, mode in modes.items() if mode == _SYMLINK])
        return {path: (modes[path], name) for path, name in names.items()}

    def untracked(self, *, ignored: bool) -> list[bytes]:
        """The files that are not in the index, repositories inside with a slash at their end."""
        question = ("ls-files", "-o", *(("-i",) if ignored else ()), "--exclude-standard", "-z")
        asked = self._git.attempt(*question)
        # An index that an agent broke tracks nothing.
        out = asked.stdout if asked.returncode == 0 else self._unindexed.run(*question)
        return [path for path in out.split(b"\0") if path]

    def forget(self) -> None:
        """Forget earlier answers: the rules for ignored or filtered files have changed."""
        self._ignored.close()
        self._attributes.close()
        self._ignored, self._attributes = self._asking()

    def _asking(self) -> tuple[Asking, Asking]:
        """Git to ask about ignored files, and about attributes."""
        # Asked about tracked files too, git would look through the whole index for each of them. But rules that a
        # sparse checkout by patterns leaves out of the working tree are in the index alone.
        hidden = self._sparse.is_file() and not self._sparse.read_bytes().startswith(_CONE)
        which = () if hidden else ("--no-index",)
        return (
            Asking(self._git, "check-ignore", *which, "--stdin", "-z", "-v", "-n"),
            Asking(self._git if hidden else self._unindexed, "check-attr", "--stdin", "-z", *_ATTRIBUTES),
        )

    def tracked(self) -> frozenset[bytes]:
        """The paths in the sandbox's index, read again when it has changed."""
        try:
            st = self._index.stat()
        except FileNotFoundError:
            return frozenset()
        seen = (st.st_ino, st.st_size, st.st_mtime_ns, st.st_ctime_ns)
        if seen != self._index_seen:
            self._in_index = paths_in(self._index.read_bytes(), self._object_format)
            self._index_seen = seen
        return self._in_index

    @cached_property
    def _converts_line_ends(self) -> bool:
        asked = self._git.attempt("config", "--get", "core.autocrlf")
        return asked.stdout.strip().lower() not in _NO

    def _conversion(self, fields: list[bytes]) -> str:
        given = {fields[i + 1] for i in range(0, len(fields), 3) if fields[i + 2] not in _OFF}
        if given - _LINE_ENDS:
            return "always"
        return "line ends" if given or self._converts_line_ends else ""

    def _matches(self, question: bytes, count: int) -> list[list[bytes]]:
        """For each path the rule that it matches: its source, line, pattern, and the path."""
        with self._ignored as asked:
            asked.send(question)
            return [[asked.until_nul() for _ in range(4)] for _ in range(count)]


def _mode_of(path: bytes) -> bytes:
    """Return the mode of an entry as trees have it; none for folders and special files, which git cannot have."""
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return b""
    if stat.S_ISLNK(mode):
        return _SYMLINK
    if not stat.S_ISREG(mode):
        return b""
    return b"100755" if mode & 0o100 else b"100644"


def without_matched(paths: Iterable[bytes], patterns: PathPatterns) -> list[bytes]:
    """Return the paths that no pattern matches; one with a slash at its end is a folder."""
    if not patterns:
        return [*paths]
    named = [(path, os.fsdecode(path.rstrip(b"/"))) for path in paths]
    return [path for path, name in named if not patterns.match(name, is_folder=path.endswith(b"/"))]


def can_be_listed(path: bytes) -> bool:
    """Return whether a list with one path per line can have it: git takes a leading quote for quoting."""
    return b"\n" not in path and not path.startswith(b'"')


def plain_leaves(
    store: StoredTrees,
    entries: Mapping[bytes, TreeEntry],
    conversions: Mapping[bytes, str],
    add: Callable[[bytes, TreeEntry], bytes],
) -> tuple[dict[bytes, Leaf], list[bytes]]:
    """Make blobs of stored files that git would not convert; return also the paths that git itself must read.

    `add` gets the bytes of a blob and the entry that they are of, and returns its name.
    """
    found: dict[bytes, Leaf] = {}
    by_git: list[bytes] = []
    for path, entry in entries.items():
        if entry.type is EntryType.SYMLINK:
            found[path] = (entry.git_mode, add(entry.target, entry))
        elif (data := _plain_blob(store, entry.content, conversions.get(path))) is None:
            by_git.append(path)
        else:
            found[path] = (entry.git_mode, add(data, entry))
    return found, by_git


def _plain_blob(store: StoredTrees, content: StoredContent | None, conversion: str | None) -> bytes | None:
    if content is None or conversion == "always" or content.size > _LARGE:
        return None
    data = store.read(content)
    return None if conversion and b"\r\n" in data else data


def _batches(paths: Iterable[bytes]) -> list[list[bytes]]:
    batches: list[list[bytes]] = []
    size = _AT_ONCE
    for path in paths:
        if size + len(path) >= _AT_ONCE:
            batches.append([])
            size = 0
        batches[-1].append(path)
        size += len(_HERE) + len(path) + 1
    return batches
