"""Gives a plan's sandboxes new folders, so that a process that lost the plan and lives on reaches the old ones only."""

from pathlib import Path

from msgspec.structs import replace

from mulligan.application.run import Run
from mulligan.domain.resource import ResourceType, Sandbox, Strategy
from mulligan.ports import PlanFolders, SandboxKinds, SnapshotStore


class SandboxRenewal:
    """Puts equal copies in the place of sandboxes.

    Whatever call such a process is in the middle of, it works on folders that it opened before it lost the plan;
    before the next one it learns that it has.
    """

    def __init__(self, *, kinds: SandboxKinds, store: SnapshotStore, folders: PlanFolders) -> None:
        """Use these collaborators."""
        self._kinds = kinds
        self._store = store
        self._folders = folders

    def renew(self, run: Run) -> None:
        """Copy every sandbox beside itself, and let each copy and its original change places in one move.

        Real things stay where they are.
        """
        own = [
            s for s in run.sandboxes if s.strategy is not Strategy.IN_PLACE and self._kinds.of(s).exists(s)
        ]
        with self._store.hold():
            captures = [self._kinds.of(s).capture(s, run.observer) for s in own]
            copies = {
                folder: self._folders.make_beside(folder) for folder in dict.fromkeys(map(_folder, own))
            }
            pairs = zip(own, captures, strict=True)
            for sandbox, capture in sorted(pairs, key=lambda pair: pair[0].type is ResourceType.SQLITE):
                folder = _folder(sandbox)
                place = copies[folder] / Path(sandbox.path).relative_to(folder)
                copy = replace(sandbox, path=str(place))
                self._kinds.of(copy).restore(copy, capture.snapshot, run.observer)
        for folder, copy in copies.items():
            self._folders.put_in_place(copy, folder)
        run.still = None


def _folder(sandbox: Sandbox) -> Path:
    """The sandbox's folder: a database's is the one around it, its own or that of the resource it lies in."""
    path = Path(sandbox.path)
    while path.parent.name != sandbox.plan_id:
        path = path.parent
    return path
