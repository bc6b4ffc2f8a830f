"""Makes sandboxes again beside their paths, and moves each into place when it is complete."""

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.resources.resource import Sandbox, Strategy
from mulligan.ports import Observer, PlanFolders, SandboxKinds, SnapshotStore


class SandboxRenewal(Struct, kw_only=True, frozen=True, eq=False):
    """Replaces folders that are missing, or that another process may have open."""

    kinds: SandboxKinds
    store: SnapshotStore
    folders: PlanFolders

    def renew(self, sandboxes: Sequence[Sandbox], observer: Observer) -> None:
        """Exchange sandboxes for equal copies, so that a process that lost the plan and lives on has the old ones.

        Whatever call such a process is in, it works on folders that it opened before; its next call finds that it
        has lost the plan. Real resources stay as they are.
        """
        own = [s for s in sandboxes if s.strategy is not Strategy.IN_PLACE and self.kinds.of(s).exists(s)]
        with self.store.hold():
            captured = [(s, self.kinds.of(s).capture(s, observer).snapshot) for s in own]
            self._put(captured, lambda sandbox: Path(sandbox.path), observer)

    def remake(self, wanted: Sequence[tuple[Sandbox, Snapshot]], observer: Observer) -> list[Sandbox]:
        """Make missing sandboxes again; return those that could be made.

        Omitted are real folders, which only the user can put back, and paths that something else occupies.
        """
        possible = [
            (sandbox, snapshot)
            for sandbox, snapshot in wanted
            if sandbox.strategy is not Strategy.IN_PLACE and self.folders.is_free(_folder(sandbox))
        ]
        with self.store.hold():
            self.put(possible, observer)
        return [sandbox for sandbox, _ in possible]

    def set_aside(self, sandboxes: Sequence[Sandbox]) -> list[Path]:
        """Give the folders of sandboxes other names, under which they stay until a sweep; return these."""
        return [self.folders.set_aside(folder) for folder in dict.fromkeys(map(_folder, sandboxes))]

    def put(self, wanted: Sequence[tuple[Sandbox, Snapshot]], observer: Observer) -> None:
        """Make each sandbox hold its snapshot, beside its place first; what was in its place is removed.

        What belongs to no snapshot comes from the real resource.
        """
        self._put(wanted, lambda sandbox: Path(sandbox.location), observer)

    def _put(
        self,
        wanted: Sequence[tuple[Sandbox, Snapshot]],
        source: Callable[[Sandbox], Path],
        observer: Observer,
    ) -> None:
        """Make the copies; `source` is where each gets what belongs to no snapshot."""
        copies = {
            folder: self.folders.make_beside(folder)
            for folder in dict.fromkeys(_folder(s) for s, _ in wanted)
        }
        for sandbox, snapshot in sorted(wanted, key=lambda pair: pair[0].type.traits.is_file):
            folder = _folder(sandbox)
            place = copies[folder] / Path(sandbox.path).relative_to(folder)
            copy = replace(sandbox, path=str(place))
            self.kinds.of(copy).restore(copy, snapshot, observer)
            self.kinds.of(copy).carry_over(source(sandbox), copy)
        for folder, copy in copies.items():
            self.folders.put_in_place(copy, folder)


def _folder(sandbox: Sandbox) -> Path:
    """Return the folder below the plan's: for a database the one around it."""
    path = Path(sandbox.path)
    while path.parent.name != sandbox.plan_id:
        path = path.parent
    return path
