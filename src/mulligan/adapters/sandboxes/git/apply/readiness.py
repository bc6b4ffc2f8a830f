"""Readiness of a checkout for an apply, and the identity of the committer."""

import os
from pathlib import Path
from typing import TypeAlias

from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.repository.user_repository import Repository
from mulligan.errors import Advice, CheckoutUnready, NextStep

# Files in a git directory while an operation is half done, and the command that ends it.
_HALF_DONE = {
    "MERGE_HEAD": ("a merge", "`git merge --continue` or `git merge --abort`"),
    "rebase-merge": ("a rebase", "`git rebase --continue` or `git rebase --abort`"),
    "rebase-apply": (
        "a rebase or `git am`",
        "`git rebase --continue` or `--abort`, or `git am --continue` or `--abort`",
    ),
    "CHERRY_PICK_HEAD": ("a cherry-pick", "`git cherry-pick --continue` or `git cherry-pick --abort`"),
    "REVERT_HEAD": ("a revert", "`git revert --continue` or `git revert --abort`"),
    "sequencer": ("a cherry-pick or revert", "`git cherry-pick --abort` or `git revert --abort`"),
    "BISECT_LOG": ("a bisection", "`git bisect reset`"),
}


# By git directory and role: name and address, and time zone, as they were when the checkout was last found ready.
People: TypeAlias = dict[tuple[Path, str], tuple[str, str]]


def refuse_unready(git: Git, repository: Repository, people: People, *, commit: bool) -> None:
    """Refuse a checkout in which something is half done or, where a commit is to be made, none can be.

    Who would commit is noted, so that git is asked once for one commit.
    """
    for name, (what, remedy) in _HALF_DONE.items():
        if (repository.git_dir / name).exists():
            raise CheckoutUnready(
                path=str(repository.top), reason=f"{what} is in progress", hint=f"end it with {remedy}"
            )
    listed = repository.through(git).run("ls-files", "-u", "-z").split(b"\0")[:-1]
    if unmerged := sorted({os.fsdecode(line.partition(b"\t")[2]) for line in listed}):
        raise CheckoutUnready(
            path=str(repository.top),
            reason=f"its index has conflicts: {', '.join(unmerged)}",
            hint="resolve them, and say so with `git add`",
        )
    if commit and repository.branch is None:
        raise CheckoutUnready(
            path=str(repository.top),
            reason="no branch is checked out (detached HEAD), so there is none to commit on",
            hint=Advice(
                "switch to a branch with `git switch`, or leave it uncommitted with ",
                NextStep("again", commit=False),
            ),
        )
    if commit:
        for role in ("AUTHOR", "COMMITTER"):
            people[repository.git_dir, role] = identity(git, repository, role)


def identity(git: Git, repository: Repository, role: str) -> tuple[str, str]:
    """The user's name and address as commits have them, and the time zone; what git would only guess is refused."""
    asked = repository.through(git).attempt("-c", "user.useConfigOnly=true", "var", f"GIT_{role}_IDENT")
    if asked.returncode != 0:
        raise CheckoutUnready(
            path=str(repository.top),
            reason="git does not know who you are, so nobody could be named as the author of a commit",
            hint=Advice(
                "set it with `git config user.name` and `git config user.email`, or use ",
                NextStep("again", commit=False),
            ),
        )
    who, _, zone = os.fsdecode(asked.stdout).strip().rpartition(" ")
    return who.rpartition(" ")[0], zone
