"""Entries of a working tree as git sees them."""

import os
import re
import stat
from enum import Enum
from pathlib import Path

from mulligan.adapters.sandboxes.git.creation.private_git_dir import named_git_dir

_REF = re.compile(r"refs/[^\0]+")


class Kind(Enum):
    """The kind of an entry; the value is git's mode."""

    FILE = 0o100644
    PROGRAM = 0o100755
    SYMLINK = 0o120000
    NOTHING = 0

    @property
    def mode(self) -> int:
        """The mode in an index or tree."""
        return self.value


def standing(top: Path, path: bytes) -> Kind:
    """Return the kind of the entry; folders and special files are nothing to git."""
    try:
        mode = os.lstat(os.path.join(os.fsencode(top), path)).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return Kind.NOTHING
    if stat.S_ISLNK(mode):
        return Kind.SYMLINK
    if not stat.S_ISREG(mode):
        return Kind.NOTHING
    return Kind.PROGRAM if mode & 0o100 else Kind.FILE


def head_of(top: Path, folder: bytes, object_format: str) -> str | None:
    """The commit that a repository inside a working tree has checked out; None: it has none, or none yet.

    Read as data: git itself would read the repository's configuration, which may be a stranger's.
    """
    git_dir = named_git_dir(top / os.fsdecode(folder))
    return head_in(git_dir, object_format) if git_dir is not None else None


def head_in(git_dir: Path, object_format: str) -> str | None:
    """The commit that a git directory has checked out, read as data; None: it has none, or none yet."""
    digits = 64 if object_format == "sha256" else 40
    pointer = git_dir / "commondir"
    common = git_dir / _text(pointer).strip() if pointer.is_file() else git_dir
    name = "HEAD"
    for _ in range(5):
        text = (_text(git_dir / name) or _text(common / name)).strip()
        if re.fullmatch(rf"[0-9a-f]{{{digits}}}", text):
            return text
        name = text.removeprefix("ref:").strip() if text.startswith("ref:") else name
        if not _REF.fullmatch(name) or ".." in name:
            return None
        if not text:
            return _packed(common, name)
    return None


def _packed(common: Path, name: str) -> str | None:
    for line in _text(common / "packed-refs").splitlines():
        commit, _, ref = line.partition(" ")
        if ref == name:
            return commit
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "surrogateescape")
    except OSError:
        return ""
