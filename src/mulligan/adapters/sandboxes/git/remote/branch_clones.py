"""The clones of remote branches: one for each in a project home, which can be deleted and made again.

Sandboxes borrow objects from a clone. Its working tree is where a result is merged with the branch as it is now: each
look at the branch fetches it, and discards what a killed process left in the working tree.
"""

import fcntl
import os
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from mulligan.adapters.sandboxes.git.git_command import Git, GitFailed
from mulligan.adapters.sandboxes.removal import remove_tree
from mulligan.boundaries import act
from mulligan.domain.resources.remote_branch import RemoteBranch, branch_at
from mulligan.errors import RemoteMoved, RemoteRefused, RemoteUnreachable, ResourceUnsuitable
from mulligan.osfiles.folders import sync_folder

_TRACKED = "refs/remotes/origin"
_PART = ".part"
_ID = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class BranchClones(Struct, frozen=True, eq=False):
    """All clones of a project home."""

    git: Git  # one that may use networks
    home: Path  # the folder for them
    prepare: Callable[[], None]  # makes the project home, if it is yet to be made

    def has(self, location: Path) -> bool:
        """Return whether a path is the place of one of them."""
        return location.parent == self.home

    def ensure(self, location: Path) -> None:
        """Make a clone that is missing: on another machine, or because someone deleted it."""
        if not (location / ".git").is_dir():
            with self.held(location):
                pass

    @contextmanager
    def held(self, location: Path) -> Generator["HeldClone"]:
        """Have a clone to oneself; git commands that outlive a killed process keep it from others until they end."""
        if not self.home.is_dir():
            self.prepare()
            self.home.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(
            self.home / f"{location.name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            clone = HeldClone(branch_at(str(location)), location, self.git.on(self.home).holding(descriptor))
            clone.make()
            yield clone
        finally:
            os.close(descriptor)


class HeldClone(Struct, frozen=True, eq=False):
    """A clone that nobody else uses now."""

    remote: RemoteBranch
    top: Path
    outside: Git

    @property
    def _git(self) -> Git:
        return self.outside.on(self.top, GIT_DIR=self.top / ".git", GIT_WORK_TREE=self.top)

    def make(self) -> None:
        """Make the clone if it is missing, and remove the locks that killed commands left in it."""
        if (self.top / ".git").is_dir():
            for lock in (self.top / ".git").rglob("*.lock"):
                lock.unlink(missing_ok=True)
            return
        part = self.top.with_name(self.top.name + _PART)
        remove_tree(part, self.top.parent)
        part.mkdir(mode=0o700)
        new = self.outside.on(part)
        new.run("init", "-q", f"--initial-branch={self.remote.branch}", ".")
        new.run("remote", "add", "origin", self.remote.url)
        self._fetch_into(new)
        remove_tree(self.top, self.top.parent)
        with act("clone.make"):
            part.rename(self.top)
            sync_folder(self.top.parent)

    def fetch(self, resource: str) -> str:
        """Fetch all branches; return the commit that the resource's branch is at."""
        self._fetch_into(self._git)
        tip = self._tracked()
        if tip is None:
            raise ResourceUnsuitable(
                resource=resource,
                path=self.remote.url,
                reason=f"it has no branch {self.remote.branch!r}",
                hint="push one with that name first, or correct `ref:`",
            )
        return tip

    def check_out(self, commit: str) -> None:
        """Make the working tree that of a commit; whatever else is in it goes."""
        self._git.run("symbolic-ref", "HEAD", self.remote.ref)
        self._git.run("reset", "-q", "--hard", commit)
        self._git.run("clean", "-q", "-f", "-f", "-d", "-x")

    def tip(self) -> str | None:
        """Return the commit that the branch on the server is at; None: there is no such branch."""
        asked = self._git.attempt("ls-remote", "origin", self.remote.ref)
        if asked.returncode != 0:
            raise self._unreachable(os.fsdecode(asked.stderr))
        found = _ID.match(asked.stdout)
        return found[0].decode() if found else None

    def push(self, commit: str, expected: str | None) -> None:
        """Move the branch from the expected commit to another one, or raise; where it is there already, do nothing."""
        present = self.tip()
        if present == commit:
            return
        if present is None or present != expected:
            raise self.moved()
        lease = f"--force-with-lease={self.remote.ref}:{expected}"
        with act("ref.push"):
            pushed = self._git.attempt(
                "push", "-q", "--atomic", lease, "origin", f"{commit}:{self.remote.ref}"
            )
            if pushed.returncode == 0:
                return
        said = os.fsdecode(pushed.stderr).strip()
        now = self.tip()
        if now == commit:
            return  # the answer to the push was lost
        if now != expected:
            raise self.moved()
        if "[remote rejected]" in said or "[rejected]" in said:
            raise RemoteRefused(url=self.remote.url, branch=self.remote.branch, reason=_reason(said))
        raise self._unreachable(said)

    def moved(self) -> RemoteMoved:
        """Return the error for a branch that others moved."""
        return RemoteMoved(paths=self.remote.shown, branch=self.remote.branch, url=self.remote.url)

    def _tracked(self) -> str | None:
        name = f"{_TRACKED}/{self.remote.branch}^{{commit}}"
        asked = self._git.attempt("rev-parse", "--verify", "-q", "--end-of-options", name)
        return asked.stdout.decode().strip() if asked.returncode == 0 else None

    def _fetch_into(self, git: Git) -> None:
        try:
            git.run("fetch", "-q", "--prune", "--no-auto-gc", "origin", f"+refs/heads/*:{_TRACKED}/*")
        except GitFailed as exc:
            raise self._unreachable(str(exc.facts["reason"])) from exc

    def _unreachable(self, said: str) -> RemoteUnreachable:
        return RemoteUnreachable(url=self.remote.url, reason=_reason(said) or "git names no reason")


def _reason(said: str) -> str:
    """Return what matters of git's words."""
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith("To ")]
    telling = [line for line in lines if line.startswith(("fatal:", "error:", "remote:", "!", "ssh:"))]
    return "; ".join(line.removeprefix("fatal: ").removeprefix("error: ") for line in (telling or lines)[:4])
