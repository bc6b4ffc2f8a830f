"""The repositories in which checkpoints are commits: one for each sandbox of a git checkout, in the project home."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from mulligan.adapters.sandboxes.git.creation.private_git_dir import git_dirs_under, named_git_dir
from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.git_processes import git_at_work
from mulligan.adapters.sandboxes.git.position.index_lock import clear_abandoned
from mulligan.adapters.sandboxes.git.repository.bare_repository import BareRepository
from mulligan.adapters.sandboxes.git.repository.pins import common_dir_of, prefixes_in, unpin
from mulligan.adapters.sandboxes.git.repository.ref_locks import clear_locks, described, locks_in, removal_of
from mulligan.adapters.sandboxes.plan_folders import LocalRepositoryFolders
from mulligan.domain.resources.placement import folder_name
from mulligan.domain.resources.resource import Sandbox
from mulligan.domain.text.ids import CheckpointId, PlanId
from mulligan.ports import LeftLock, Pinned


class CheckpointRepositories:
    """All of them, and the pins in users' repositories that go away with them."""

    def __init__(self, *, git: Git, home: Path) -> None:
        """`home` is the folder for them."""
        self._git = git
        self._home = home
        self._folders = LocalRepositoryFolders(home=home, release=self.unpin)

    def of(self, plan_id: PlanId, resource: str) -> BareRepository:
        """The one of a plan's resource, whether it is there or not."""
        return BareRepository(self._git, self._home / plan_id / f"{folder_name(resource)}.git")

    def retire(self, sandbox: Sandbox, kept: Collection[CheckpointId]) -> None:
        """Drop the commits of all checkpoints but those kept."""
        bare = self.of(sandbox.plan_id, sandbox.resource)
        if bare.is_there:
            bare.retire(kept)

    def release(self, sandbox: Sandbox) -> None:
        """Remove a sandbox's repository and pins; where it is gone already, what it would know is looked up."""
        bare = self.of(sandbox.plan_id, sandbox.resource)
        original = sandbox.git_dir == str(bare.path)  # in a copy of the project the pins are another's
        if original and not bare.is_there:
            for lender in _lenders_at(Path(sandbox.location)):
                unpin(self._git, lender, pins_of(sandbox.plan_id, sandbox.resource))
        self._folders.remove(bare.path)

    def unpin(self, folder: Path) -> None:
        """Let go of what is pinned for one of them."""
        bare = BareRepository(self._git, folder)
        if bare.is_there:
            for lender in bare.lent_to_this():
                unpin(self._git, Path(lender), bare.memory.prefix)

    def pinned(self, locations: Iterable[Path]) -> list[Pinned]:
        """All pins in the repositories of checkouts, and in those of their submodules."""
        lenders = {each.resolve() for location in locations for each in _lenders_at(location)}
        shared = {common_dir_of(self._git, lender).resolve() for lender in lenders}
        return [
            Pinned(git_dir=git_dir, plan_id=PlanId(plan_id), folder=folder)
            for git_dir in sorted(shared)
            for plan_id, folder in (each.split("/") for each in prefixes_in(self._git, git_dir))
        ]

    def drop(self, pinned: Pinned) -> None:
        """Let go of what is kept for one sandbox."""
        unpin(self._git, pinned.git_dir, f"{pinned.plan_id}/{pinned.folder}")

    def locks(self, locations: Iterable[Path], now: datetime) -> list[LeftLock]:
        """Remove the locks that killed processes of ours left; name all others that no live git can hold."""
        found: list[LeftLock] = []
        for lender in sorted({each.resolve() for location in locations for each in _lenders_at(location)}):
            clear_abandoned(lender / "index")
            found += [
                LeftLock(what=f"{lock}, which a killed git had left", remedy="")
                for lock in clear_locks(lender)
            ]
            for lock in locks_in(lender):
                with suppress(FileNotFoundError):
                    if not git_at_work((lender, lender.parent), before=lock.lstat().st_mtime):
                        what = f"a lock of git is left: {described(lock, now)}"
                        found.append(LeftLock(what=what, remedy=removal_of(lock)))
        return found


def _lenders_at(location: Path) -> Iterator[Path]:
    """The git directories of a checkout, and of its submodules, that are there."""
    git_dir = named_git_dir(location)
    if git_dir is not None and (git_dir / "HEAD").exists():
        yield git_dir
        yield from git_dirs_under(git_dir / "modules")


def pins_of(plan_id: PlanId, resource: str) -> str:
    """Return the prefix of the names of a sandbox's pins."""
    return f"{plan_id}/{folder_name(resource)}"
