"""The entries of an index, without the stat data, which any look at the files can change."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.repository.git_trees import Leaf

# By path: each entry's mode, object and stage as git takes them, and the letter that it is flagged with.
Entries: TypeAlias = Mapping[bytes, tuple[tuple[bytes, bytes], ...]]

_FLAGS = (("--assume-unchanged", b"hsmrck"), ("--skip-worktree", b"Ss"))  # with the letters that mark them

_UNFLAGGED: Mapping[bytes, bytes] = {}


def entries_in(there: Git, index: Path) -> Entries | None:
    """All entries of an index file, none where there is none; None: git cannot read it."""
    asked = there.on(there.folder, GIT_INDEX_FILE=index).attempt("ls-files", "-s", "-v", "-z")
    if asked.returncode:
        return None
    found: dict[bytes, tuple[tuple[bytes, bytes], ...]] = {}
    for line in asked.stdout.split(b"\0")[:-1]:
        about, _, path = line.partition(b"\t")
        found[path] = (*found.get(path, ()), (about[2:], about[:1]))
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
    on_index = there.on(there.folder, GIT_INDEX_FILE=index)
    _set(on_index, {path: before.get(path, ()) for path in back if path not in left}, null_id)
    return sorted(left)


def set_entries(
    there: Git, leaves: Mapping[bytes, Leaf | None], null_id: str, letters: Mapping[bytes, bytes] = _UNFLAGGED
) -> None:
    """Set entries of git's index, or take them out where None; `letters` are the flags that they have."""
    found = {
        path: ((b"%s %s 0" % (leaf[0], leaf[1].hex().encode()), letters.get(path, b"H")),) if leaf else ()
        for path, leaf in leaves.items()
    }
    _set(there, found, null_id)


def _collide(one: bytes, other: bytes) -> bool:
    return one.startswith(other + b"/") or other.startswith(one + b"/")


def _set(there: Git, wanted: Entries, null_id: str) -> None:
    """Let these paths have these entries, with their flags, and no others."""
    lines = [b"0 %s\t%s\0" % (null_id.encode(), path) for path in wanted]
    lines += [b"%s\t%s\0" % (entry, path) for path, entries in wanted.items() for entry, _ in entries]
    _update(there, ("-z", "--index-info"), lines)
    for flag, letters in _FLAGS:
        flagged = [path for path, entries in wanted.items() if any(each in letters for _, each in entries)]
        _update(there, (flag, "-z", "--stdin"), [path + b"\0" for path in flagged])


def _update(there: Git, words: Sequence[str], lines: Sequence[bytes]) -> None:
    # What users keep in an index stays there; what must last is synced when the index gets its name.
    if lines:
        there.run("-c", "core.untrackedCache=keep", "update-index", *words, stdin=b"".join(lines))
