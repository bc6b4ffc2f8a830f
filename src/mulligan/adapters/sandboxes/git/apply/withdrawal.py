"""The commit of an apply that can be withdrawn: the branch moves back, as if the commit had never been made."""

import os

from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.repository.pins import PINS
from mulligan.adapters.sandboxes.git.repository.user_repository import Repository

_BRANCHES = "refs/heads/"


def parent_to_return_to(git: Git, repository: Repository, commit: str) -> str | None:
    """Return the only parent of the commit that is checked out, if no other ref or working tree has the commit.

    None: the commit has another number of parents, or someone may build on it: only a commit that reverts it is safe.
    """
    there = repository.through(git)
    text = os.fsdecode(there.run("cat-file", "commit", commit)).partition("\n\n")[0]
    parents = [line.partition(" ")[2] for line in text.split("\n") if line.startswith("parent ")]
    if len(parents) != 1 or repository.branch is None:
        return None
    own = f"{_BRANCHES}{repository.branch}"
    listed = os.fsdecode(there.run("for-each-ref", "--format=%(refname)", f"--contains={commit}"))
    if any(ref != own and not ref.startswith(f"{PINS}/") for ref in listed.splitlines()):
        return None
    return None if _elsewhere(there, repository, commit) else parents[0]


def _elsewhere(there: Git, repository: Repository, commit: str) -> bool:
    """Return whether another working tree of the repository has the commit checked out, or one that follows it."""
    listed = os.fsdecode(there.run("worktree", "list", "--porcelain"))
    for entry in listed.split("\n\n"):
        lines = [line.partition(" ") for line in entry.splitlines()]
        facts = {word: value for word, _, value in lines}
        tip = facts.get("HEAD")
        if tip is None or facts.get("worktree") == str(repository.top):
            continue
        if there.attempt("merge-base", "--is-ancestor", commit, tip).returncode == 0:
            return True
    return False
