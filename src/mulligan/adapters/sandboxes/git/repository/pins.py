"""Pins: refs in the user's repository that keep what a sandbox borrows, whatever the user deletes and prunes."""

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from mulligan.adapters.sandboxes.git.creation.private_git_dir import PINS
from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.position.ref_files import refs_of
from mulligan.adapters.sandboxes.git.repository.named_objects import STATES
from mulligan.adapters.sandboxes.git.repository.ref_locks import PACKED, common_dir_in, noting
from mulligan.adapters.sandboxes.git.repository.user_repository import Repository
from mulligan.boundaries import act

_BRANCHES = "refs/heads/"
_ID = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_PIN = re.compile(rb"%s/([^/]+/[^/]+)/%s" % (PINS.encode(), _ID.pattern))


def pin(git: Git, lender: Path, private: Path, prefix: str) -> None:
    """Pin everything that the refs, HEAD, stashes and half-done operations of a private git directory depend on.

    One ref for each distinct object that the lender has, in one transaction: history is not walked.
    """
    pin_known(git, lender, prefix, (tip.decode() for tip in _tips(_in(git, private), private)))


def pin_known(git: Git, lender: Path, prefix: str, names: Iterable[str]) -> None:
    """Pin those of the objects that the lender has."""
    there = _in(git, lender)
    asked = "".join(f"{name}\n" for name in names).encode()
    known = there.run("cat-file", "--batch-check=%(objectname)", stdin=asked)
    tips = sorted({line.decode() for line in known.split(b"\n") if _ID.fullmatch(line)})
    _set_pins(there, lender, prefix, tips)


def pin_head(git: Git, repository: Repository, prefix: str) -> None:
    """Keep the commit that is checked out, and those of all branches: going back may move any of them."""
    there = _in(git, repository.git_dir)
    if (read := repository.standing()) is not None:
        head = read[1]
    else:
        head = there.attempt("rev-parse", "--verify", "-q", "HEAD^{commit}").stdout.decode().strip()
    named = refs_of(there, repository.common_dir, _BRANCHES, f"{PINS}/{prefix}/")
    wanted = {name for ref, name in named.items() if ref.startswith(_BRANCHES)} | ({head} - {""})
    new = sorted(wanted - {name for ref, name in named.items() if ref.startswith(f"{PINS}/")})
    if new:
        _set_pins(there, repository.git_dir, prefix, new)


def pinned_trees(git: Git, git_dir: Path, prefix: str) -> tuple[str, ...]:
    """The trees of what is kept; none where the repository is gone."""
    if not (git_dir / "HEAD").exists():
        return ()
    tips = "".join(f"{tip}^{{tree}}\n" for tip in _pins_in(git, git_dir, prefix)).encode()
    asked = _in(git, git_dir).run("cat-file", "--batch-check=%(objectname)", stdin=tips).decode()
    return tuple(sorted({line for line in asked.splitlines() if not line.endswith(" missing")}))


def copy_pins(git: Git, git_dir: Path, old: str, new: str) -> None:
    """Keep for another sandbox what is kept for this one."""
    _set_pins(_in(git, git_dir), git_dir, new, _pins_in(git, git_dir, old))


def unpin(git: Git, git_dir: Path, prefix: str) -> None:
    """Let go of what was kept, and leave nothing of ours; a repository that is gone is fine."""
    if not (git_dir / "HEAD").exists():
        return
    there = _in(git, git_dir)
    listed = there.run("for-each-ref", "--format=%(refname)", f"{PINS}/{prefix}/")
    if listed:
        commands = b"".join(b"delete %s\n" % ref for ref in listed.splitlines())
        with noting(there, git_dir, _locks_of(prefix)) as noted, act("pin.drop"):
            noted.run("update-ref", "--stdin", stdin=commands)
    folder = common_dir_in(git_dir) / PINS / prefix
    for each in (folder, *folder.parents[:2]):  # git leaves these empty; another plan's pins keep theirs
        with suppress(OSError):
            each.rmdir()


def prefixes_in(git: Git, git_dir: Path) -> list[str]:
    """For which sandboxes something is kept."""
    listed = _in(git, git_dir).run("for-each-ref", "--format=%(refname)", f"{PINS}/").splitlines()
    return sorted({os.fsdecode(found[1]) for found in map(_PIN.fullmatch, listed) if found})


def _set_pins(there: Git, git_dir: Path, prefix: str, names: Iterable[str]) -> None:
    commands = "".join(f"update {PINS}/{prefix}/{name} {name}\n" for name in names)
    with noting(there, git_dir, _locks_of(prefix)) as noted, act("pin.set"):
        noted.run("update-ref", "--stdin", stdin=commands.encode())


def _locks_of(prefix: str) -> tuple[str, ...]:
    return (PACKED, f"{PINS}/{prefix}/")


def _pins_in(git: Git, git_dir: Path, prefix: str) -> list[str]:
    asked = _in(git, git_dir).run("for-each-ref", "--format=%(objectname)", f"{PINS}/{prefix}/")
    return asked.decode().split()


def _in(git: Git, git_dir: Path) -> Git:
    # A working tree of their own for submodules, which git would look for although no ref needs it.
    return git.on(git_dir, GIT_DIR=git_dir, GIT_WORK_TREE=git_dir)


def _tips(there: Git, git_dir: Path) -> set[bytes]:
    tips = set(there.run("for-each-ref", "--format=%(objectname)").splitlines())
    for name in os.listdir(git_dir):
        if name == "HEAD" or name.endswith("_HEAD") or name == "AUTO_MERGE":
            tips |= _ids_in(git_dir / name)
    for state in STATES:
        for path in (git_dir / state).glob("*"):
            tips |= _ids_in(path)
    tips |= _ids_in(git_dir / "logs" / "refs" / "stash")  # all stashes but the newest are in its log only
    return {tip for tip in tips if tip.strip(b"0")}


def _ids_in(path: Path) -> set[bytes]:
    return set(_ID.findall(path.read_bytes())) if path.is_file() else set()
