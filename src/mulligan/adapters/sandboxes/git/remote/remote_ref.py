"""The real side of a remote branch: read by fetching it, written by one push that names the commit it was at."""

from collections.abc import Sequence
from pathlib import Path

from mulligan.adapters.sandboxes.git.checkout_in_place import InPlaceCheckouts
from mulligan.adapters.sandboxes.git.remote.remote_context import RemoteContext
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.checkpoints.store_report import Capture, PathChange
from mulligan.domain.resources.resource import Resource, ResourceType, Sandbox
from mulligan.errors import NotBuiltYet
from mulligan.ports import Observer


class RemoteBranches(InPlaceCheckouts):
    """Brings results to branches on servers. Work is done in the clone, and what is pushed is one commit."""

    type = ResourceType.GIT_REMOTE

    def __init__(self, context: RemoteContext) -> None:
        super().__init__(context)
        self._clones = context.clones

    def check(self, resource: Resource, location: Path) -> None:
        with self._clones.held(location) as clone:
            clone.fetch(resource.name)
        self._context.checked(resource.name, location)

    def exists(self, sandbox: Sandbox) -> bool:
        """Return whether it is one of our clones, which is made if it is missing."""
        place = Path(sandbox.path)
        if not self._clones.has(place):
            return False
        self._clones.ensure(place)
        return True

    def capture(self, sandbox: Sandbox, observer: Observer, *, at_work: bool = False) -> Capture:
        """Store what the branch holds now."""
        with self._clones.held(Path(sandbox.path)) as clone:
            clone.check_out(clone.fetch(sandbox.resource))
            return super().capture(sandbox, observer, at_work=at_work)

    def changed_where(
        self, real: Sandbox, before: Snapshot, written: Snapshot, observer: Observer
    ) -> tuple[str, ...]:
        """Return nothing: a branch that moved meanwhile is a conflict, whatever was changed in it."""
        with self._clones.held(Path(real.path)) as clone:
            if clone.tip() != self._commit_in(before):
                raise clone.moved()
        return ()

    def restore(
        self,
        sandbox: Sandbox,
        snapshot: Snapshot,
        observer: Observer,
        known: Snapshot | None = None,
        *,
        spare: bool = False,
    ) -> tuple[PathChange, ...]:
        """Let the branch be at the commit of a snapshot; the working tree of the clone is as the push leaves it."""
        wanted = self._commit_in(snapshot)
        with self._clones.held(Path(sandbox.path)) as clone:
            changes = super().restore(sandbox, snapshot, observer, known, spare=spare)
            if wanted is not None:
                clone.push(wanted, None if known is None else self._commit_in(known))
        return changes

    def restore_paths(
        self,
        sandbox: Sandbox,
        snapshot: Snapshot,
        paths: Sequence[str],
        observer: Observer,
        known: Snapshot | None = None,
    ) -> tuple[PathChange, ...]:
        raise NotBuiltYet(
            feature="bringing single paths back in a remote branch",
            hint="bring them back in the plan's sandbox, then apply the plan",
        )

    def _commit_in(self, snapshot: Snapshot) -> str | None:
        """Return the commit that the branch is at in a snapshot."""
        return self._standing_in(snapshot)[1]
