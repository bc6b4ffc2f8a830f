"""Changes in a sandbox's git directory that an apply does not carry over, in words."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.domain.resources.resource import Strategy
from mulligan.domain.trees.tree_difference import TreeDifference, TreeEntry
from mulligan.ports import ApplyOrder, StoredTrees

_KINDS = {"refs/heads/": "branch", "refs/tags/": "tag"}
_CODE = ("hooks/", "config", "info/", "modules/")  # what git runs or obeys
_MOST = 20  # commits that are named one by one


def left_behind(store: StoredTrees, order: ApplyOrder, git: Git) -> tuple[str, ...]:
    """Commits, branches, tags, stashes, hooks and settings; `git` works in the user's repository.

    The sandbox's objects are read as data: its configuration, which may be a stranger's, is not.
    """
    old, new = order.base.roots[1:], order.theirs.roots[1:]
    if order.sandbox.strategy is not Strategy.GIT_WORKTREE or not (old and new) or old[0].id == new[0].id:
        return ()
    changed = {d.path: d for d in store.difference(old[0], new[0]) if d.of_files}

    def text(entry: TreeEntry | None) -> str:
        if entry is None or entry.content is None:
            return ""
        return store.read(entry.content).decode("utf-8", "replace")

    objects = Path(order.sandbox.path) / ".git" / "objects"
    there = git.on(git.folder, GIT_ALTERNATE_OBJECT_DIRECTORIES=objects)
    before, after = _refs(changed, text, new=False), _refs(changed, text, new=True)
    notes: list[str] = []
    if "HEAD" in changed:
        head = text(changed["HEAD"].new).strip()
        where = head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else f"commit {head[:12]}"
        notes.append(f"the sandbox has {where} checked out; in your checkout nothing is switched")
        if not head.startswith("ref: "):
            notes.append(_commits(there, "the detached HEAD", head))
    for ref in sorted(before.keys() | after.keys()):
        was, now = before.get(ref), after.get(ref)
        start = next((start for start in _KINDS if ref.startswith(start)), None)
        if start is None or was == now:
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
    return tuple(notes)


def _commits(there: Git, name: str, tip: str) -> str:
    """The commits that the user does not have, one by one, as far as the sandbox still has them."""
    asked = there.attempt(
        "log", "--no-show-signature", "--format=%h %s", f"-{_MOST}", tip, "--not", "--all", "--"
    )
    listed = os.fsdecode(asked.stdout).splitlines() if asked.returncode == 0 else []
    named = f" ({'; '.join(listed)})" if listed else ""
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
