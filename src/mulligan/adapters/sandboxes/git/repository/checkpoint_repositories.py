"""The repositories in which checkpoints are commits: one for each sandbox of a git checkout, in the project home."""

import shlex
from collections.abc import Collection, Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from mulligan.adapters.sandboxes.git.creation.private_git_dir import git_dirs_under, is_git_dir, named_git_dir
from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.git_processes import git_at_work
from mulligan.adapters.sandboxes.git.position.index_lock import clear_abandoned
from mulligan.adapters.sandboxes.git.repository.bare_repository import BareRepository
from mulligan.adapters.sandboxes.git.repository.pins import pin, prefixes_in, unpin
from mulligan.adapters.sandboxes.git.repository.ref_locks import (
    clear_locks,
    common_dir_in,
    described,
    locks_in,
)
from mulligan.adapters.sandboxes.plan_folders import LocalRepositoryFolders
from mulligan.domain.resources.placement import folder_name
from mulligan.domain.resources.resource import Sandbox
from mulligan.domain.text.ids import CheckpointId, PlanId
from mulligan.ports import LeftLock, Pinned


class CheckpointRepositories(Struct, frozen=True, eq=False, kw_only=True):
    """All of them, and the pins in users' repositories that go away with them."""

    git: Git
    home: Path  # the folder for them

    def of(self, plan_id: PlanId, resource: str) -> BareRepository:
        return BareRepository(self.git, self.home / plan_id / f"{folder_name(resource)}.git")

    def retire(self, sandbox: Sandbox, kept: Collection[CheckpointId]) -> None:
        bare = self.of(sandbox.plan_id, sandbox.resource)
        if bare.is_there:
            bare.retire(kept)

    def lenders_of(self, sandbox: Sandbox) -> list[Path]:
        """Return the git directories of the user's that a sandbox borrows from, as the project recorded them.

        Those of the checkout count too: they are all that is known where the record is gone.
        """
        recorded = map(Path, self.of(sandbox.plan_id, sandbox.resource).known_lenders())
        return [*dict.fromkeys((*recorded, *sorted(_lenders_at(Path(sandbox.location)))))]

    def release(self, sandbox: Sandbox) -> None:
        """Remove a sandbox's repository and pins; where it is gone already, what it would know is looked up."""
        bare = self.of(sandbox.plan_id, sandbox.resource)
        original = sandbox.git_dir == str(bare.path)  # in a copy of the project the pins are another's
        if original and not bare.is_there:
            for lender in sorted(_lenders_at(Path(sandbox.location))):
                unpin(self.git, lender, pins_of(sandbox.plan_id, sandbox.resource))
        LocalRepositoryFolders(home=self.home, release=self.unpin).remove(bare.path)

    def unpin(self, folder: Path) -> None:
        bare = BareRepository(self.git, folder)
        if bare.is_there:
            for lender in bare.lent_to_this():
                unpin(self.git, Path(lender), bare.memory.prefix)

    def pin_again(self, folder: Path, sandboxes: Path) -> None:
        """Pin what a sandbox borrows of repositories that have no pins, such as clones on another machine."""
        bare = BareRepository(self.git, folder)
        if not bare.is_there or not bare.memory.lenders:
            return
        memory = bare.memory
        private, top = sandboxes / memory.prefix / ".git", Path(memory.lenders[0])
        for lender in map(Path, memory.lenders):
            own = private / lender.relative_to(top) if lender.is_relative_to(top) else None
            if own is not None and is_git_dir(own) and (lender / "HEAD").exists():
                pin(self.git, lender, own, memory.prefix)

    def pinned(self, locations: Iterable[Path]) -> list[Pinned]:
        shared = {common_dir_in(lender).resolve() for lender in _lenders_at(*locations)}
        return [
            Pinned(git_dir=git_dir, plan_id=PlanId(plan_id), folder=folder)
            for git_dir in sorted(shared)
            for plan_id, folder in (each.split("/") for each in prefixes_in(self.git, git_dir))
        ]

    def drop(self, pinned: Pinned) -> None:
        unpin(self.git, pinned.git_dir, f"{pinned.plan_id}/{pinned.folder}")

    def locks(self, locations: Iterable[Path], now: datetime) -> list[LeftLock]:
        """Remove the locks that killed processes of ours left; name all others that no live git can hold."""
        found: list[LeftLock] = []
        for lender in sorted(_lenders_at(*locations)):
            clear_abandoned(lender / "index")
            found += [
                LeftLock(what=f"{lock}, which a killed git had left", remedy="")
                for lock in clear_locks(lender)
            ]
            for lock in locks_in(lender):
                with suppress(FileNotFoundError):
                    if not git_at_work((lender, lender.parent), before=lock.lstat().st_mtime):
                        remedy = f"if no git command is running there: `rm {shlex.quote(str(lock))}`"
                        what = f"a lock of git is left: {described(lock, now)}"
                        found.append(LeftLock(what=what, remedy=remedy))
        return found


def _lenders_at(*locations: Path) -> set[Path]:
    """Return the git directories of checkouts, and of their submodules, that exist."""
    found = {
        git_dir for each in locations if (git_dir := named_git_dir(each)) and (git_dir / "HEAD").exists()
    }
    return {each.resolve() for git_dir in found for each in (git_dir, *git_dirs_under(git_dir / "modules"))}


def pins_of(plan_id: PlanId, resource: str) -> str:
    """Return the prefix of the names of a sandbox's pins."""
    return f"{plan_id}/{folder_name(resource)}"
