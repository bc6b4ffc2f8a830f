"""Objects that a private git directory names: git's starting points when it looks for reachable objects."""

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import Struct

from mulligan.adapters.sandboxes.git.creation.private_git_dir import named_git_dir
from mulligan.domain.trees.tree_difference import TreeDifference, TreeEntry

_LOGS = "logs/"
_STASHES = "logs/refs/stash"  # all stashes but the newest are in this log only
STATES = ("rebase-merge", "rebase-apply", "sequencer")  # folders of what is half done
_REF = re.compile(r"refs/[^\0]+")
_DIGITS = {"sha1": 40, "sha256": 64}


class Named(Struct, frozen=True):
    """Changes in one git directory: the newly named objects, and whether all others must be checked."""

    refs: frozenset[bytes]  # by refs, HEAD, stashes and what is half done
    logs: frozenset[bytes]  # by reflogs alone
    indexes: tuple[tuple[TreeEntry | None, TreeEntry | None], ...]  # of those that changed: before, and now
    dropped: bool  # objects of its own went


def ids_in(text: bytes, object_format: str) -> set[bytes]:
    """The names of objects in a text, but for that of none."""
    digits = _DIGITS[object_format]
    found = re.findall(rb"(?<![0-9a-f])[0-9a-f]{%d}(?![0-9a-f])" % digits, text)
    return {name for name in found if name.strip(b"0")}


def is_ref(path: str) -> bool:
    """Return whether git looks for objects in this file of a git directory, given its path inside."""
    top, _, rest = path.partition("/")
    if path in ("packed-refs", "AUTO_MERGE", _STASHES) or top == "refs":
        return True
    if top == "worktrees":
        return is_ref(rest.partition("/")[2])
    return (not rest and (path == "HEAD" or path.endswith("_HEAD"))) or top in STATES


def newly_named(
    differences: Iterable[TreeDifference], read: Callable[[TreeEntry | None], bytes], object_format: str
) -> Named:
    """The objects that files of a git directory name and did not name before, by what differs in it."""
    old: tuple[set[bytes], set[bytes]] = (set(), set())
    new: tuple[set[bytes], set[bytes]] = (set(), set())
    indexes: list[tuple[TreeEntry | None, TreeEntry | None]] = []
    dropped = False
    for difference in differences:
        path = difference.path
        logged = path.startswith(_LOGS) and path != _STASHES
        if is_ref(path) or logged:
            old[logged].update(ids_in(read(difference.old), object_format))
            new[logged].update(ids_in(read(difference.new), object_format))
        elif path.rpartition("/")[2] == "index" or path.startswith("sharedindex."):
            indexes.append((difference.old, difference.new))
        elif path.startswith("objects/") and difference.old is not None and not difference.old.is_folder:
            dropped = True
    return Named(
        frozenset(new[False] - old[False]), frozenset(new[True] - old[True]), tuple(indexes), dropped
    )


def named_now(git_dir: Path, object_format: str) -> frozenset[bytes]:
    """All objects that refs, HEAD, stashes and what is half done name."""
    found: set[bytes] = set()
    for folder, names, files in os.walk(git_dir):
        inside = os.path.relpath(folder, git_dir)
        if inside == ".":
            names[:] = [name for name in names if name in ("refs", "logs", "worktrees", *STATES)]
        for name in files:
            path = os.path.normpath(os.path.join(inside, name))
            if is_ref(path) and not os.path.islink(os.path.join(folder, name)):
                found |= ids_in(Path(folder, name).read_bytes(), object_format)
    return frozenset(found)


def head_of(top: Path, folder: bytes, object_format: str) -> str | None:
    """The commit that a repository inside a working tree has checked out; None: it has none, or none yet.

    Read as data: git itself would read the repository's configuration, which may be a stranger's.
    """
    git_dir = named_git_dir(top / os.fsdecode(folder))
    return head_in(git_dir, object_format) if git_dir is not None else None


def head_in(git_dir: Path, object_format: str) -> str | None:
    """The commit that a git directory has checked out, read as data; None: it has none, or none yet."""
    pointer = git_dir / "commondir"
    common = git_dir / _text(pointer).strip() if pointer.is_file() else git_dir
    name = "HEAD"
    for _ in range(5):
        text = (_text(git_dir / name) or _text(common / name)).strip()
        if re.fullmatch(rf"[0-9a-f]{{{_DIGITS[object_format]}}}", text):
            return text
        name = text.removeprefix("ref:").strip() if text.startswith("ref:") else name
        if not _REF.fullmatch(name) or ".." in name:
            return None
        if not text:
            packed = (line.partition(" ") for line in _text(common / "packed-refs").splitlines())
            return next((commit for commit, _, ref in packed if ref == name), None)
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "surrogateescape")
    except OSError:
        return ""
