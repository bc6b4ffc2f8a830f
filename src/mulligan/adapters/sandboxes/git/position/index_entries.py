"""The entries of an index, without the stat data, which any look at the files can change."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from mulligan.adapters.sandboxes.git.git_command import Git

# By path: each entry's mode, object and stage as git takes them, and the letter that it is flagged with.
Entries: TypeAlias = Mapping[bytes, tuple[tuple[bytes, bytes], ...]]

_FLAGS = (("--assume-unchanged", b"hsmrck"), ("--skip-worktree", b"Ss"))  # with the letters that mark them


def entries_in(there: Git, index: Path) -> Entries | None:
    """All entries of an index file, none where there is none; None: git cannot read it."""
    asked = there.on(there.folder, GIT_INDEX_FILE=index).attempt("ls-files", "-s", "-v", "-z")
    if asked.returncode:
        return None
    found: dict[bytes, tuple[tuple[bytes, bytes], ...]] = {}
    for line in asked.stdout.split(b"\0")[:-1]:
        told, _, path = line.partition(b"\t")
        found[path] = (*found.get(path, ()), (told[2:], told[:1]))
    return found


def same_entries(there: Git, one: Path, other: Path) -> bool:
    """Return whether two index files have the same entries; files that git cannot read are compared by bytes."""
    if one.is_file() and other.is_file() and one.read_bytes() == other.read_bytes():
        return True
    found = entries_in(there, one)
    return found is not None and found == entries_in(there, other)


def take_back(
    there: Git, index: Path, present: Entries, written: Entries, before: Entries, null_id: str
) -> list[bytes]:
    """Restore the entries of an index from before a write; what others wrote since stays.

    `present` are its entries. Return the paths of the written entries that others changed again.
    """
    ours = [path for path in {**before, **written} if before.get(path) != written.get(path)]
    left = {path for path in ours if present.get(path) not in (before.get(path), written.get(path))}
    back = [path for path in ours if path not in left and present.get(path) != before.get(path)]
    # Where others made a folder of a file, or a file of a folder, git would drop theirs for ours.
    theirs = [path for path in present if path not in back]
    left |= {path for path in back if path in before and any(_collide(path, other) for other in theirs)}
    _set(there, index, {path: before.get(path, ()) for path in back if path not in left}, null_id)
    return sorted(left)


def _collide(one: bytes, other: bytes) -> bool:
    return one.startswith(other + b"/") or other.startswith(one + b"/")


def _set(there: Git, index: Path, wanted: Entries, null_id: str) -> None:
    """Let these paths have these entries, and no others."""
    on_index = there.on(there.folder, GIT_INDEX_FILE=index)
    lines = [b"0 %s\t%s\0" % (null_id.encode(), path) for path in wanted]
    lines += [b"%s\t%s\0" % (entry, path) for path, entries in wanted.items() for entry, _ in entries]
    _update(on_index, ("-z", "--index-info"), lines)
    for flag, letters in _FLAGS:
        flagged = [
            path + b"\0"
            for path, entries in wanted.items()
            if any(letter in letters for _, letter in entries)
        ]
        _update(on_index, (flag, "-z", "--stdin"), flagged)


def _update(there: Git, words: Sequence[str], lines: Sequence[bytes]) -> None:
    if lines:
        there.run("-c", "core.untrackedCache=keep", "update-index", *words, stdin=b"".join(lines))
