"""Paths in git directories that follow a project or a home that was moved.

The repositories of checkpoints and the git directories of sandboxes borrow objects of the user's repository by its
path, and may name the sandbox by its path. Snapshots keep such files as they were, so they follow after a restore too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mulligan.adapters.sandboxes.git.creation.private_git_dir import git_dirs_under, is_git_dir
from mulligan.adapters.sandboxes.git.places.lenders import ALTERNATES
from mulligan.adapters.sandboxes.git.places.private_files import read_below, replace_below
from mulligan.adapters.sandboxes.git.repository.user_repository import quoted, unquoted

Moves = tuple[tuple[str, str], ...]  # former and present places, the inner before the outer
_MEMORY = "mulligan.json"


def follow_moves(home: Path, moves: Moves) -> None:
    """Let everything of git in a home follow; done twice it changes nothing more."""
    for bare in (home / "git").glob("*/*.git"):
        _follow_memory(bare, moves)
        _follow(bare.parent, Path(bare.name), moves)
    for git_dir in (home / "sandboxes").glob("*/*/.git"):
        if not git_dir.is_symlink():
            follow_in(git_dir, moves)


def follow_in(git_dir: Path, moves: Moves) -> None:
    """Let a sandbox's git directory follow, and those of repositories inside it."""
    if not moves:
        return
    for each in _git_dirs(git_dir):
        _follow(git_dir.parent, each.relative_to(git_dir.parent), moves)


def moved_path(path: str, moves: Moves) -> str:
    """Return where a path leads now: as it is where it leads into a present place, else out of a former one."""
    if any(_inside(path, new) for _, new in moves) and os.path.lexists(path):
        return path
    for old, new in moves:
        if _inside(path, old):
            return new + path[len(old) :]
    return path


def _git_dirs(top: Path) -> Iterator[Path]:
    if is_git_dir(top) and not top.is_symlink():
        yield top
        for module in git_dirs_under(top / "modules"):
            yield from _git_dirs(module)
        inner = top / "inner"
        for folder in sorted(inner.iterdir()) if inner.is_dir() and not inner.is_symlink() else ():
            yield from _git_dirs(folder)


def _follow(top: Path, inside: Path, moves: Moves) -> None:
    """Let the files of a git directory follow; it is at a path inside `top`, which no plan can replace."""
    alternates = str(inside / ALTERNATES)
    if (data := read_below(top, alternates)) is not None:
        lines = os.fsdecode(data).splitlines()
        new = [
            line if not line or line.startswith("#") else quoted(Path(moved_path(unquoted(line), moves)))
            for line in lines
        ]
        if new != lines:
            replace_below(top, alternates, os.fsencode("".join(f"{line}\n" for line in new)))
    config = str(inside / "config")
    if (data := read_below(top, config)) is not None:
        text = os.fsdecode(data)
        new_text = text
        for old, new_place in moves:
            new_text = new_text.replace(f"{old}/sandboxes/", f"{new_place}/sandboxes/")
        if new_text != text:
            replace_below(top, config, os.fsencode(new_text))


def _follow_memory(bare: Path, moves: Moves) -> None:
    try:
        memory: dict[str, Any] = json.loads(read_below(bare, _MEMORY) or b"")
        followed = {
            **memory,
            "lenders": [moved_path(lender, moves) for lender in memory["lenders"]],
            "path": moved_path(memory["path"], moves),
        }
    except (ValueError, KeyError):
        return  # gone or damaged: doctor makes the repository again
    if followed != memory:
        replace_below(bare, _MEMORY, json.dumps(followed).encode())


def confine_memories(home: Path, project: Path) -> None:
    """Let repositories of checkpoints from elsewhere know only pins of their own, and lenders inside the project."""
    for bare in (home / "git").glob("*/*.git"):
        try:
            memory: dict[str, Any] = json.loads(read_below(bare, _MEMORY) or b"")
            lenders = [str(lender) for lender in memory["lenders"]]
        except (ValueError, KeyError, TypeError):
            replace_below(bare, _MEMORY, b"")  # damaged: doctor makes the repository again
            continue
        own = [each for each in lenders if Path(each).resolve().is_relative_to(project.resolve())]
        prefix = f"{bare.parent.name}/{bare.name.removesuffix('.git')}"
        confined = {**memory, "lenders": own, "prefix": prefix}
        if confined != memory:
            replace_below(bare, _MEMORY, json.dumps(confined).encode())


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")
