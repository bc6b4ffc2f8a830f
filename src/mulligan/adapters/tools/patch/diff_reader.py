"""Reading unified diffs as git and `diff -u` write them."""

import re

from mulligan.adapters.tools.patch.unified_diff import DiffMalformed, FilePatch, Hunk
from mulligan.domain.trees.line_diff import lines_of

NOWHERE = "/dev/null"  # stands for a file that is not there
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NEVER = re.compile(rb"\t(1969-12-31|1970-01-01) ")  # `diff -N` dates a file that is not there so
_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_PREFIXES = ("a/", "b/", "c/", "i/", "o/", "w/")  # git's mnemonic ones included
_EXTENDED = (
    *(b"rename ", b"copy ", b"new ", b"old mode ", b"deleted "),
    *(b"index ", b"similarity ", b"dissimilarity "),
)  # how the lines begin that git puts between the names
_SIGNATURE = b"-- \n"  # the end of what `git format-patch` writes


def parse_diff(text: bytes) -> list[FilePatch]:
    """Read a diff; text around it, such as a commit message, is passed over."""
    patches = _Reader(text).patches()
    if not patches:
        raise DiffMalformed("there is no change in it")
    return patches


class _Reader:
    def __init__(self, text: bytes) -> None:
        self._lines = lines_of(text if text.endswith(b"\n") else text + b"\n")  # it is easily lost on the way
        self._at = 0
        self._patches: list[FilePatch] = []

    def patches(self) -> list[FilePatch]:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.startswith(b"diff --git "):
                self._read_git()
            elif self._at_names():
                patch = FilePatch()
                self._read_names(patch, plain=True)
                self._patches.append(patch)
            elif line.startswith(b"@@ -"):
                raise self._malformed("a hunk without the names of its files (`---` and `+++`) above it")
            elif line.startswith((b"GIT binary patch", b"Binary files ")):
                raise self._malformed("binary patches cannot be applied")
            else:
                self._at += 1
        return self._patches

    def _read_git(self) -> None:
        patch = FilePatch()
        patch.old_path, patch.new_path = self._git_names(self._next()[len(b"diff --git ") :])
        while self._at < len(self._lines):
            if self._at_names():
                self._read_names(patch, plain=False)
                break
            words = self._lines[self._at].rstrip(b"\r\n")
            if not self._extended_header(patch, words):
                break
            self._at += 1
        self._patches.append(patch)

    def _extended_header(self, patch: FilePatch, line: bytes) -> bool:
        """Take one of the lines that git puts between the names; False for any other."""
        for start in (b"rename from ", b"copy from "):
            if line.startswith(start):
                patch.old_path = self._unquoted(line[len(start) :])
        for start in (b"rename to ", b"copy to "):
            if line.startswith(start):
                patch.new_path = self._unquoted(line[len(start) :])
                patch.copy = start == b"copy to "
        if line.startswith(b"new file mode "):
            patch.old_path, patch.executable = None, self._executable(line)
        elif line.startswith(b"deleted file mode "):
            patch.new_path = None
            self._executable(line)
        elif line.startswith(b"new mode "):
            patch.executable = self._executable(line)
        elif line.startswith(b"index ") and line.count(b" ") == 2:
            self._executable(line)
        return line.startswith(_EXTENDED)

    def _at_names(self) -> bool:
        pair = self._lines[self._at : self._at + 2]
        return len(pair) == 2 and pair[0].startswith(b"--- ") and pair[1].startswith(b"+++ ")

    def _read_names(self, patch: FilePatch, *, plain: bool) -> None:
        old_line, new_line = self._next()[4:], self._next()[4:]
        old, new = self._stripped(self._file_name(old_line), self._file_name(new_line))
        if plain:
            created = old == NOWHERE or _NEVER.search(old_line) is not None
            deleted = new == NOWHERE or _NEVER.search(new_line) is not None
            patch.new_path = None if deleted else new
            patch.old_path = None if created else old if deleted else new
        else:  # those who write such diffs by hand forget `new file mode`
            patch.old_path = None if old == NOWHERE else patch.old_path
            patch.new_path = None if new == NOWHERE else patch.new_path
        while self._at < len(self._lines) and self._lines[self._at].startswith(b"@@ -"):
            patch.hunks.append(self._read_hunk())
        if not patch.hunks:
            raise self._malformed("the names of files, but no hunk below them")
        if self._at < len(self._lines) and not self._at_names() and _is_stray(self._lines[self._at]):
            raise self._malformed("more lines than the hunk above says it has")
        patch.may_create = plain and not patch.hunks[0].old and patch.hunks[0].old_start == 0

    def _read_hunk(self) -> Hunk:
        header = _HUNK.match(self._next())
        if not header:
            self._at -= 1
            raise self._malformed("a hunk's header is not as it must be (`@@ -1,2 +1,3 @@`)")
        start, old_left, _, new_left = (int(word) if word is not None else 1 for word in header.groups())
        old: list[bytes] = []
        new: list[bytes] = []
        while old_left or new_left:
            line = self._next()
            kind = b" " if line in (b"\n", b"\r\n") else line[:1]  # mail programs cut off the blank
            body = line if line in (b"\n", b"\r\n") else line[1:]
            if kind in (b" ", b"-"):
                old.append(body)
                old_left -= 1
            if kind in (b" ", b"+"):
                new.append(body)
                new_left -= 1
            if kind not in (b" ", b"-", b"+") or old_left < 0 or new_left < 0:
                self._at -= 1
                raise self._malformed("the hunk has other lines than its header says")
            if self._at < len(self._lines) and self._lines[self._at].startswith(
                b"\\"
            ):  # no newline at its end
                self._at += 1
                for side in (old,) * (kind != b"+") + (new,) * (kind != b"-"):
                    side[-1] = side[-1].removesuffix(b"\n")
        return Hunk(start, tuple(old), tuple(new))

    def _git_names(self, rest: bytes) -> tuple[str, str]:
        """Return the names in `diff --git a/x b/x`; where they differ, later lines have them."""
        rest = rest.rstrip(b"\r\n")
        if rest.startswith(b'"'):
            end = re.match(rb'"(?:[^"\\]|\\.)*"', rest)
            first, second = (rest[: end.end()], rest[end.end() + 1 :]) if end else (rest, b"")
        else:
            middle = len(rest) // 2
            first, second = rest[:middle], rest[middle + 1 :]
        return self._stripped(self._unquoted(first), self._unquoted(second))

    def _file_name(self, line: bytes) -> str:
        name = line.rstrip(b"\r\n")
        return self._unquoted(name if name.startswith(b'"') else name.split(b"\t")[0])

    def _unquoted(self, name: bytes) -> str:
        name = name.rstrip(b"\r")
        text = name.decode("utf-8", "surrogateescape")
        if not text.startswith('"'):
            return text
        parts = re.findall(r'\\([0-7]{3})|\\(.)|([^"\\]+)', text)
        data = bytearray()
        for octal, escape, plain in parts:
            if escape and escape not in _ESCAPES:
                raise self._malformed(f"a quoted name has the unknown escape \\{escape}")
            data += bytes([int(octal, 8) & 255]) if octal else b""
            data += bytes([_ESCAPES[escape]]) if escape else plain.encode("utf-8", "surrogateescape")
        return data.decode("utf-8", "surrogateescape")

    @staticmethod
    def _stripped(old: str, new: str) -> tuple[str, str]:
        """Both names without the folders a/ and b/ that git puts before them, if it did."""
        if all(name == NOWHERE or name.startswith(_PREFIXES) for name in (old, new)):
            old = old if old == NOWHERE else old[2:]
            new = new if new == NOWHERE else new[2:]
        return old, new

    def _executable(self, line: bytes) -> bool:
        word = line.split()[-1]
        if not word.startswith(b"100"):
            kind = {b"120000": "a symlink", b"160000": "a submodule"}.get(word, "no regular file")
            raise self._malformed(f"{kind} cannot be patched: use the tool `shell` for it")
        return word == b"100755"

    def _next(self) -> bytes:
        if self._at == len(self._lines):
            raise self._malformed("the hunk has fewer lines than its header says")
        self._at += 1
        return self._lines[self._at - 1]

    def _malformed(self, why: str) -> DiffMalformed:
        return DiffMalformed(f"line {min(self._at + 1, len(self._lines))} of the patch: {why}")


def _is_stray(line: bytes) -> bool:
    return line[:1] in (b"+", b"-") and line != _SIGNATURE and line.rstrip(b"\r\n") != b"--"
