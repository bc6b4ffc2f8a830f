"""Changes in a sandbox's git directory that an apply does not carry over, in words."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.domain.resources.resource import Strategy
from mulligan.domain.text.plural import counted
from mulligan.domain.trees.tree_difference import TreeDifference, TreeEntry
from mulligan.ports import ApplyOrder, StoredTrees

_KINDS = {"refs/heads/": "branch", "refs/tags/": "tag"}
_CODE = ("hooks/", "config", "info/", "modules/")  # what git runs or obeys
_MOST = 20  # commits that are named one by one


class LeftBehind(Struct, frozen=True):
    """Changes of a sandbox's git directory that stay there."""

    notes: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()  # of what is checked out: hash and subject of each, newest first


def left_behind(store: StoredTrees, order: ApplyOrder, git: Git) -> LeftBehind:
    """Return commits, branches, tags, stashes, hooks and settings; `git` works in the user's repository.

    The sandbox's objects are read as data: its configuration, which may be a stranger's, is not.
    """
    old, new = order.base.roots[1:], order.theirs.roots[1:]
    if order.sandbox.strategy is not Strategy.GIT_WORKTREE or not (old and new) or old[0].id == new[0].id:
        return LeftBehind()
    changed = {d.path: d for d in store.difference(old[0], new[0]) if d.of_files}

    def text(entry: TreeEntry | None) -> str:
        if entry is None or entry.content is None:
            return ""
        return store.read(entry.content).decode("utf-8", "replace")

    objects = Path(order.sandbox.path) / ".git" / "objects"
    there = git.on(git.folder, GIT_ALTERNATE_OBJECT_DIRECTORIES=objects)
    before, after = _refs(changed, text, new=False), _refs(changed, text, new=True)
    notes: list[str] = []
    head = text(store.item(new[0], "HEAD")).strip()
    on = head.removeprefix("ref: ")
    commits = _listed(there, after.get(on) if on != head else head)
    if commits:
        notes.append(_combined(commits, committed=order.message is not None))
    if "HEAD" in changed:
        where = head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else f"commit {head[:12]}"
        notes.append(f"the sandbox has {where} checked out; in your checkout nothing is switched")
        if on == head and not commits:
            notes.append(_commits(there, "the detached HEAD", head))
    for ref in sorted(before.keys() | after.keys()):
        was, now = before.get(ref), after.get(ref)
        start = next((start for start in _KINDS if ref.startswith(start)), None)
        if start is None or was == now or (ref == on and was is not None and commits):
            continue
        name = f"{_KINDS[start]} {ref.removeprefix(start)}"
        if now is None:
            notes.append(f"{name} was deleted in the sandbox only")
        elif was is None:
            notes.append(f"{name} ({now[:12]}) was made in the sandbox and is not carried over")
        else:
            notes.append(_commits(there, name, now))
    if stashes := changed.get("logs/refs/stash"):
        old_lines, new_lines = (set(text(side).splitlines()) for side in (stashes.old, stashes.new))
        if count := len(new_lines - old_lines):
            notes.append(f"{count} stash(es) made in the sandbox are not carried over")
    code = (path for path in sorted(changed) if path.startswith(_CODE))
    notes += [f".git/{path} was changed in the sandbox; git directories are never applied" for path in code]
    return LeftBehind(tuple(notes), commits)


def _listed(there: Git, tip: str | None) -> tuple[str, ...]:
    """Return the commits that the user does not have, newest first, as far as the sandbox still has them."""
    if tip is None:
        return ()
    asked = there.attempt("log", "--no-show-signature", "--format=%h %s", tip, "--not", "--all", "--")
    return tuple(os.fsdecode(asked.stdout).splitlines()) if asked.returncode == 0 else ()


def _combined(commits: Sequence[str], *, committed: bool) -> str:
    """Say what becomes of the commits on what is checked out in the sandbox."""
    many = counted(len(commits), "commit of the sandbox becomes", "commits of the sandbox become")
    return f"{many} {'one' if committed else 'changes of the working tree'}: {_named(commits)}"


def _named(commits: Sequence[str]) -> str:
    more = (f"… and {len(commits) - _MOST} more",) if len(commits) > _MOST else ()
    return "; ".join((*commits[:_MOST], *more))


def _commits(there: Git, name: str, tip: str) -> str:
    listed = _listed(there, tip)
    named = f" ({_named(listed)})" if listed else ""
    return f"commits on {name} of the sandbox, now {tip[:12]}, are not carried over{named}"


def _refs(
    changed: Mapping[str, TreeDifference], text: Callable[[TreeEntry | None], str], *, new: bool
) -> dict[str, str]:
    found: dict[str, str] = {}
    packed = changed.get("packed-refs")
    if packed is not None:
        for line in text(packed.new if new else packed.old).splitlines():
            name, _, ref = line.partition(" ")
            if ref and not line.startswith(("#", "^")):
                found[ref] = name
    for path, difference in changed.items():
        value = text(difference.new if new else difference.old).strip()
        if path.startswith("refs/") and value:
            found[path] = value
    return found
