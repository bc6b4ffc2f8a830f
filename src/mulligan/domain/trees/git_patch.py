r"""Patches as git writes and `git apply` reads them: its headers, hunks, quoted names and binary literals.

Everything is bytes: a patch has the bytes of its files. Lines end at "\n" alone, so "\r" is kept.
"""

import hashlib
import re
import zlib
from base64 import b85encode
from collections.abc import Iterator, Sequence

from msgspec import Struct

from mulligan.domain.trees.line_diff import Change, changed_lines, is_binary, lines_of

_CONTEXT = 3  # equal lines around a change
_NO_ID = b"0" * 40
_NO_FILE = b"/dev/null"
_UNFINISHED = b"\n\\ No newline at end of file\n"
_ODD = re.compile(rb'[\x00-\x1f\x7f"\\]')
_ESCAPES = {ord(c): escape for c, escape in zip('\a\b\t\n\v\f\r"\\', 'abtnvfr"\\', strict=True)}
_LITERAL_LINE = 52  # bytes in a line of a binary literal


class Version(Struct, frozen=True):
    """A file or symlink as git sees it."""

    path: bytes
    mode: bytes
    data: bytes | None  # None: too large to be looked at


class FilePatch(Struct, frozen=True):
    """The patch of one file, and what it does in numbers."""

    text: bytes
    binary: bool
    insertions: int | None  # None: binary
    deletions: int | None
    carries_content: bool  # False: the patch only says that it differs


def patch_of(old: Version | None, new: Version | None, similarity: int, *, literal: bool) -> FilePatch:
    """The patch that makes the old version the new one; one of them may be missing.

    `similarity` is that of a rename, in percent. `literal` lets it carry binary contents whole.
    """
    if old is not None and new is not None and old.mode[:3] != new.mode[:3]:  # a file and a symlink
        parts = patch_of(old, None, 0, literal=literal), patch_of(None, new, 0, literal=literal)
        return _joined(*parts)
    header = b"".join(_header(old, new, similarity))
    if old is not None and new is not None and old.data is not None and old.data == new.data:
        told = (old.path, old.mode) != (new.path, new.mode)  # else nothing differs that git knows of
        text = header if told else b""
        return FilePatch(text, binary=False, insertions=0, deletions=0, carries_content=True)
    header += _index(old, new)
    before = b"" if old is None else old.data
    after = b"" if new is None else new.data
    if before is None or after is None or is_binary(before) or is_binary(after):
        return _binary(header, old, new, literal=literal)
    old_lines, new_lines = lines_of(before), lines_of(after)
    changes = changed_lines(old_lines, new_lines)
    names = b"--- %s\n+++ %s\n" % (_name_line(b"a/", old), _name_line(b"b/", new)) if changes else b""
    return FilePatch(
        header + names + b"".join(_hunks(old_lines, new_lines, changes)),
        binary=False,
        insertions=sum(change.new_end - change.new_start for change in changes),
        deletions=sum(change.old_end - change.old_start for change in changes),
        carries_content=True,
    )


def quoted(path: bytes) -> bytes:
    """A path as git spells it: in quotes where it has control characters, quotes or bytes that are not UTF-8."""
    try:
        path.decode()
    except UnicodeDecodeError:
        pass
    else:
        if not _ODD.search(path):
            return path
    return b'"%s"' % "".join(map(_spelled, path)).encode()


def _spelled(byte: int) -> str:
    if byte in _ESCAPES:
        return "\\" + _ESCAPES[byte]
    return chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}"


def _header(old: Version | None, new: Version | None, similarity: int) -> Iterator[bytes]:
    there = old or new
    assert there is not None
    old_path, new_path = (old or there).path, (new or there).path
    yield b"diff --git %s %s\n" % (quoted(b"a/" + old_path), quoted(b"b/" + new_path))
    if old is None:
        yield b"new file mode %s\n" % there.mode
    elif new is None:
        yield b"deleted file mode %s\n" % there.mode
    elif old.mode != new.mode:
        yield b"old mode %s\nnew mode %s\n" % (old.mode, new.mode)
    if old_path != new_path:
        yield b"similarity index %d%%\n" % similarity
        yield b"rename from %s\nrename to %s\n" % (quoted(old_path), quoted(new_path))


def _index(old: Version | None, new: Version | None) -> bytes:
    """The line by which git finds the contents, where a repository has them; none for what was not read."""
    if (old and old.data is None) or (new and new.data is None):
        return b""
    mode = b" " + new.mode if old and new and old.mode == new.mode else b""
    return b"index %s..%s%s\n" % (_blob_id(old), _blob_id(new), mode)


def _blob_id(version: Version | None) -> bytes:
    if version is None or version.data is None:
        return _NO_ID
    head = b"blob %d\0" % len(version.data)
    return hashlib.sha1(head + version.data, usedforsecurity=False).hexdigest().encode()


def _name_line(side: bytes, version: Version | None) -> bytes:
    if version is None:
        return _NO_FILE
    return quoted(side + version.path) + (b"\t" if b" " in version.path else b"")


def _binary(header: bytes, old: Version | None, new: Version | None, *, literal: bool) -> FilePatch:
    before = b"" if old is None else old.data
    after = b"" if new is None else new.data
    if literal and before is not None and after is not None:
        text = header + b"GIT binary patch\n" + _literal(after) + _literal(before)
        return FilePatch(text, binary=True, insertions=None, deletions=None, carries_content=True)
    names = (
        _NO_FILE if old is None else quoted(b"a/" + old.path),
        _NO_FILE if new is None else quoted(b"b/" + new.path),
    )
    removes = new is None and before is not None  # for that git needs no more than the id
    text = header + b"Binary files %s and %s differ\n" % names
    return FilePatch(text, binary=True, insertions=None, deletions=None, carries_content=removes)


def _literal(data: bytes) -> bytes:
    squeezed = zlib.compress(data)
    lines = [b"literal %d\n" % len(data)]
    for at in range(0, len(squeezed), _LITERAL_LINE):
        part = squeezed[at : at + _LITERAL_LINE]
        length = len(part) + (ord("A") - 1 if len(part) <= 26 else ord("a") - 27)
        lines.append(b"%c%s\n" % (length, b85encode(part, pad=True)))
    return b"".join(lines) + b"\n"


def _hunks(old: Sequence[bytes], new: Sequence[bytes], changes: Sequence[Change]) -> Iterator[bytes]:
    group: list[Change] = []
    for change in changes:
        if group and change.old_start - group[-1].old_end > 2 * _CONTEXT:
            yield from _hunk(old, new, group)
            group = []
        group.append(change)
    if group:
        yield from _hunk(old, new, group)


def _hunk(old: Sequence[bytes], new: Sequence[bytes], group: Sequence[Change]) -> Iterator[bytes]:
    first, last = group[0], group[-1]
    lead = min(_CONTEXT, first.old_start)
    trail = min(_CONTEXT, len(old) - last.old_end)
    old_start, old_end = first.old_start - lead, last.old_end + trail
    new_start, new_end = first.new_start - lead, last.new_end + trail
    yield b"@@ -%s +%s @@\n" % (_range(old_start, old_end), _range(new_start, new_end))
    at = old_start
    for change in group:
        yield from (_line(b" ", line) for line in old[at : change.old_start])
        yield from (_line(b"-", line) for line in old[change.old_start : change.old_end])
        yield from (_line(b"+", line) for line in new[change.new_start : change.new_end])
        at = change.old_end
    yield from (_line(b" ", line) for line in old[at:old_end])


def _range(start: int, end: int) -> bytes:
    if end - start == 1:
        return b"%d" % end
    return b"%d,%d" % (start + 1 if end > start else start, end - start)


def _line(sign: bytes, line: bytes) -> bytes:
    return sign + line if line.endswith(b"\n") else sign + line + _UNFINISHED


def _joined(first: FilePatch, second: FilePatch) -> FilePatch:
    binary = first.binary or second.binary
    return FilePatch(
        first.text + second.text,
        binary=binary,
        insertions=None if binary else second.insertions,
        deletions=None if binary else first.deletions,
        carries_content=first.carries_content and second.carries_content,
    )
