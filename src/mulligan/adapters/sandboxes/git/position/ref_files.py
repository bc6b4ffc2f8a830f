"""Refs as the files of a repository have them: that spares a process of git at every capture.

What is not plain there (a ref that names another one, a name that git would refuse, reftables) git is asked for.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from mulligan.adapters.sandboxes.git.git_command import Git

_ID = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_PACKED = "packed-refs"
_LOCK = b".lock"
_LARGE = 1 << 20
# Names whose parts git would refuse are left to git, which says so.
_NAME = re.compile(rb"refs(?:/[A-Za-z0-9_+=%,][A-Za-z0-9_+=%,-]*(?:\.[A-Za-z0-9_+=%,-]+)*)+")


class _Unusual(OSError):
    """Git has to be asked."""


def refs_of(there: Git, common_dir: Path, *prefixes: str) -> Mapping[str, str]:
    """Return the objects of the refs below names that end with a slash, in the order of their names."""
    found = _in_files(common_dir, prefixes)
    if found is None:
        listed = there.run("for-each-ref", "--format=%(refname) %(objectname)", *prefixes)
        found = dict(line.rsplit(b" ", 1) for line in listed.splitlines())
    return {os.fsdecode(name): value.decode() for name, value in found.items()}


def commit_in_files(common_dir: Path, name: str) -> str:
    """Return what a file says that a ref names; none where no file does."""
    try:
        return (common_dir / name).read_text("ascii").removesuffix("\n")
    except FileNotFoundError:  # it may be packed: git packs a ref before it removes its file
        return _packed(common_dir).get(os.fsencode(name), b"").decode()


def _in_files(common_dir: Path, prefixes: tuple[str, ...]) -> Mapping[bytes, bytes] | None:
    """Return the same as the files have it; None where git has to be asked.

    Loose refs are read first, as git does: one that is packed meanwhile is among the packed ones then.
    """
    if (common_dir / "reftable").exists():
        return None
    wanted = tuple(map(os.fsencode, prefixes))
    top = os.fsencode(common_dir)
    try:
        loose = {name: value for prefix in wanted for name, value in _loose(top, prefix)}
        packed = {name: value for name, value in _packed(common_dir).items() if name.startswith(wanted)}
    except OSError:  # such as one that was deleted meanwhile
        return None
    found = packed | loose
    plain = (
        _NAME.fullmatch(name) and _ID.fullmatch(value) and value.strip(b"0") for name, value in found.items()
    )
    return dict(sorted(found.items())) if all(plain) else None


def _loose(top: bytes, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
    try:
        listed = list(os.scandir(os.path.join(top, prefix)))
    except FileNotFoundError:
        return
    for entry in listed:
        name = prefix + entry.name
        if entry.is_symlink():
            raise _Unusual
        if entry.is_dir():
            yield from _loose(top, name + b"/")
        elif not name.endswith(_LOCK):
            with open(entry.path, "rb") as file:
                yield name, file.read().removesuffix(b"\n")


def _packed(common_dir: Path) -> Mapping[bytes, bytes]:
    try:
        with (common_dir / _PACKED).open("rb") as file:
            data = file.read(_LARGE)
    except FileNotFoundError:
        return {}
    if len(data) == _LARGE:  # git finds a few of many refs without reading them all
        raise _Unusual
    lines = data.splitlines()
    pairs = (line.partition(b" ") for line in lines if not line.startswith((b"#", b"^")))
    return {name: value for value, _, name in pairs}
