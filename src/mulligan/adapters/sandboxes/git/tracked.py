"""What git would track of a working tree, and the blobs it would make: asked of git itself.

Git is asked with the user's own configuration. From the sandbox it takes data alone: the working tree's
`.gitignore` and `.gitattributes`, and the list of tracked files in the index.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from mulligan.adapters.sandboxes.git.asking import Asking
from mulligan.adapters.sandboxes.git.command import Git, GitFailed

_ATTRIBUTES = ("text", "eol", "crlf", "filter", "ident", "working-tree-encoding")
_LINE_ENDS = frozenset({b"text", b"eol", b"crlf"})
_OFF = frozenset({b"unspecified", b"unset"})
_AT_ONCE = 8 << 10  # bytes of questions: less than any pipe holds


class Tracking:
    """Answers for one working tree."""

    def __init__(self, git: Git, top: Path, index: Path) -> None:
        """`git` works in the bare repository; `index` is the sandbox's."""
        self._top = top
        self._index = index
        self._git = git.on(top, GIT_WORK_TREE=top, GIT_INDEX_FILE=index)
        self._ignored = Asking(self._git, "check-ignore", "--stdin", "-z", "-v", "-n")
        self._attributes = Asking(self._git, "check-attr", "--stdin", "-z", *_ATTRIBUTES)
        self._index_seen: object = None
        self._converts_line_ends: bool | None = None

    def ignored(self, paths: Sequence[bytes]) -> set[bytes]:
        """Those of the paths that are ignored and not in the index."""
        self._follow_index()
        found: set[bytes] = set()
        for batch in _batches(paths):
            try:
                answers = self._answers(self._ignored, batch, fields=4)
            except GitFailed:  # an index that cannot be read, or a path inside a submodule that is not there
                answers = self._without_index(batch)
            found |= {path for source, _, pattern, path in answers if source and not pattern.startswith(b"!")}
        return found

    def conversions(self, paths: Sequence[bytes]) -> dict[bytes, str]:
        """What happens to contents on their way into git: "always" by a filter, "line ends" where there are any."""
        found: dict[bytes, str] = {}
        default = "line ends" if self._line_ends_by_default() else ""
        for batch in _batches(paths):
            answers = self._answers(self._attributes, batch, fields=3 * len(_ATTRIBUTES))
            for fields in answers:
                given = {fields[i + 1] for i in range(0, len(fields), 3) if fields[i + 2] not in _OFF}
                kind = "always" if given - _LINE_ENDS else "line ends" if given else default
                if kind:
                    found[fields[0]] = kind
        return found

    def blobs(self, paths: Sequence[bytes]) -> dict[bytes, bytes]:
        """Make blobs of files of the working tree, filtered as the user's configuration says, in the repository."""
        plain = [path for path in paths if b"\n" not in path]
        listed = b"".join(path + b"\n" for path in plain)
        names = self._git.run("hash-object", "-w", "--stdin-paths", stdin=listed).split() if plain else []
        found = dict(zip(plain, names, strict=True))
        for path in paths:
            if b"\n" in path:
                found[path] = self._git.run("hash-object", "-w", "--", os.fsdecode(path)).strip()
        return {path: bytes.fromhex(name.decode()) for path, name in found.items()}

    def link_blobs(self, paths: Sequence[bytes]) -> dict[bytes, bytes]:
        """Make blobs of where symlinks lead."""
        top = os.fsencode(self._top)
        found: dict[bytes, bytes] = {}
        for path in paths:
            target = os.readlink(os.path.join(top, path))
            name = self._git.run("hash-object", "-w", "--stdin", "--no-filters", stdin=target)
            found[path] = bytes.fromhex(name.strip().decode())
        return found

    def untracked(self, *, ignored: bool) -> list[bytes]:
        """The files that are not in the index, repositories inside with a slash at their end."""
        which = ("-i",) if ignored else ()
        out = self._git.run("ls-files", "-o", *which, "--exclude-standard", "-z")
        return [path for path in out.split(b"\0") if path]

    def forget(self) -> None:
        """Ask anew: what decides which files are ignored or filtered has changed."""
        self._ignored.close()
        self._attributes.close()

    def _follow_index(self) -> None:
        try:
            st = self._index.stat()
            seen: object = (st.st_ino, st.st_size, st.st_mtime_ns, st.st_ctime_ns)
        except FileNotFoundError:
            seen = None
        if seen != self._index_seen:
            self._ignored.close()
            self._index_seen = seen

    def _line_ends_by_default(self) -> bool:
        if self._converts_line_ends is None:
            asked = self._git.attempt("config", "--get", "core.autocrlf")
            self._converts_line_ends = asked.stdout.strip().lower() not in (
                b"",
                b"false",
                b"0",
                b"no",
                b"off",
            )
        return self._converts_line_ends

    def _answers(self, asking: Asking, paths: Sequence[bytes], *, fields: int) -> list[list[bytes]]:
        with asking:
            asking.send(b"".join(path + b"\0" for path in paths))
            return [[asking.until_nul() for _ in range(fields)] for _ in paths]

    def _without_index(self, paths: Sequence[bytes]) -> list[list[bytes]]:
        question = b"".join(path + b"\0" for path in paths)
        asked = self._git.attempt("check-ignore", "--no-index", "--stdin", "-z", "-v", "-n", stdin=question)
        words = asked.stdout.split(b"\0")[:-1]
        return [words[i : i + 4] for i in range(0, len(words), 4)]


def _batches(paths: Iterable[bytes]) -> list[list[bytes]]:
    batches: list[list[bytes]] = []
    size = _AT_ONCE
    for path in paths:
        if size + len(path) >= _AT_ONCE:
            batches.append([])
            size = 0
        batches[-1].append(path)
        size += len(path) + 1
    return batches
