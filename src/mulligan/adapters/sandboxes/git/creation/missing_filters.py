"""Filters of the user's configuration that files of a checkout need and that cannot be run here."""

import os
import re
import shlex
import shutil

from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.repository.user_repository import Repository, Unsuited

_KEY = re.compile(r"filter\.(.+)\.(clean|process|required)")
_BUILT_IN = frozenset(
    {"cd", "exec", "eval", "test", "true", "false", "printf", "echo", "if", "case", "while", "f()"}
)
_TRUE = frozenset({"", "true", "yes", "on", "1"})


def missing_filter(git: Git, repository: Repository) -> Unsuited | None:
    """Return a required filter, such as LFS, whose program is not installed, so that files cannot be committed.

    Git refuses to take such files without it, and so every checkpoint that holds one of them would fail.
    """
    there = repository.through(git)
    for name, command in _required(there).items():
        if command and not _can_run(there, command):
            listed = there.run("ls-files", "-z", "--", f":(attr:filter={name})").split(b"\0")
            files = [os.fsdecode(path) for path in listed if path]
            if files:
                return Unsuited(
                    f"files such as {files[0]} need the filter {name!r} of your git configuration, "
                    f"whose program is not installed: {command}",
                    "install it and try again (for LFS: git-lfs); `git status` works then too",
                )
    return None


def _required(there: Git) -> dict[str, str]:
    """The commands of the filters without which git takes no file, by name; any `process` must start."""
    asked = there.attempt(
        "config", "--includes", "-z", "--get-regexp", r"^filter\..*\.(clean|process|required)$"
    )
    settings: dict[str, dict[str, str]] = {}
    for item in os.fsdecode(asked.stdout).split("\0"):
        key, _, value = item.partition("\n")
        if found := _KEY.fullmatch(key):
            settings.setdefault(found[1], {})[found[2]] = value
    return {
        name: each.get("process") or each.get("clean", "")
        for name, each in settings.items()
        if each.get("process") or each.get("required", "false").lower() in _TRUE
    }


def _can_run(there: Git, command: str) -> bool:
    """Return whether the program of a command exists; a command with shell syntax counts as existing."""
    try:
        words = shlex.split(command)
    except ValueError:
        return True
    search = there.environment.get("PATH", os.defpath)
    if len(words) > 1 and words[0] == "git" and not words[1].startswith("-"):
        own = os.fsdecode(there.run("--exec-path")).strip()
        return shutil.which(f"git-{words[1]}", path=f"{own}:{search}") is not None
    if not words or "=" in words[0] or set(words[0]) & set("$`;|&<>("):
        return True
    if "/" in words[0]:
        return os.access(os.path.join(there.folder, os.path.expanduser(words[0])), os.X_OK)
    return words[0] in _BUILT_IN or shutil.which(words[0], path=search) is not None
