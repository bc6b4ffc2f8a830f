"""Scratch copies of a plan's resources: made of its checkpoints, seen and confined as its sandboxes are, then removed.

No row refers to them, and nothing is pinned for them. They lie in a room that its process keeps locked: what a killed
one leaves, the next bisection, `gc`, `doctor` or new sandbox removes.
"""

import posixpath
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.checkpoints.checkpoint_manager import CheckpointManager
from mulligan.application.plans.settings_source import SettingsSource
from mulligan.application.runs.confinement_rules import ConfinementService
from mulligan.application.sandboxes.appearance_rules import AppearanceService
from mulligan.config import Settings
from mulligan.domain.checkpoints.checkpoint import CheckpointGroup
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.plans.interpolation import PLAN_HANDLE
from mulligan.domain.plans.plan import Plan
from mulligan.domain.plans.tool import ToolResult
from mulligan.domain.resources.appearance import Appearance
from mulligan.domain.resources.bounds import Bounds
from mulligan.domain.resources.placement import folder_name, left_out, outer_of, path_inside
from mulligan.domain.resources.resource import Resource, Sandbox, type_of_folder
from mulligan.domain.text.ids import CallId, GroupId, PlanId
from mulligan.domain.trees.real_change import Snapshots
from mulligan.ports import (
    Ids,
    Observer,
    PlanFolders,
    SandboxKinds,
    SnapshotStore,
    StepHost,
    Toolbox,
    ToolRequest,
    TrialRooms,
)
from mulligan.rows.database import Database

_STEP = "bisect"  # in the place of a step's name


class ScratchCopies(Struct, kw_only=True, frozen=True, eq=False):
    """Makes scratch copies."""

    project: Path
    sandbox_home: Path
    database: Database
    store: SnapshotStore
    kinds: SandboxKinds
    manager: CheckpointManager
    trials: TrialRooms
    scratch: PlanFolders
    rules: ConfinementService
    appearances: AppearanceService
    settings: SettingsSource
    toolbox: Toolbox
    ids: Ids

    @contextmanager
    def of(self, plan: Plan, first: CheckpointGroup, observer: Observer) -> Generator["ScratchCopy"]:
        """Make a copy of all resources of a plan that holds its group `first`, and remove it at the end."""
        settings = self.settings.for_plan(plan.definition.config)
        self.rules.check(settings, ())
        self.appearances.check(settings)
        with self.trials.room() as room, ExitStack() as stack:
            parts = self._parts(plan, PlanId(str(room.relative_to(self.sandbox_home))), settings, first)
            copy = ScratchCopy(self, plan, parts, settings, observer)
            stack.callback(copy.remove)
            copy.make(first.group_id)
            for part in parts:
                watch = self.kinds.of(part.filled).watch(part.filled, others_at_work=False)
                stack.enter_context(watch)
            stack.callback(self.toolbox.forget_processes)
            yield copy

    def _parts(self, plan: Plan, room: PlanId, settings: Settings, group: CheckpointGroup) -> list["Part"]:
        """Return the copies to be made, in the plan's order, with what is known of the sandboxes that they copy."""
        with self.database.reading() as db:
            known = {change.real.resource: change.real for change in db.real_changes.list(plan.plan_id)}
            known |= {sandbox.resource: sandbox for sandbox in db.sandboxes.list(plan.plan_id)}
        paths: dict[str, str] = {}
        for resource in sorted(plan.definition.resources, key=lambda r: r.type.traits.is_file):
            paths[resource.name] = self._path(plan, room, resource, paths)
        return [
            _part(
                self._copied(plan, room, resource, paths[resource.name], known.get(resource.name), settings),
                Path(group.checkpoint_of(resource.name).filesystem_path),
            )
            for resource in plan.definition.resources
        ]

    def _path(self, plan: Plan, room: PlanId, resource: Resource, paths: Mapping[str, str]) -> str:
        outer = outer_of(resource, plan.definition.resources)
        if outer is not None:
            return posixpath.join(paths[outer.name], path_inside(outer, resource))
        path = self.sandbox_home / room / folder_name(resource.name)
        return str(path / posixpath.basename(resource.location) if resource.type.traits.is_file else path)

    def _copied(
        self,
        plan: Plan,
        room: PlanId,
        resource: Resource,
        path: str,
        known: Sandbox | None,
        settings: Settings,
    ) -> Sandbox:
        """Return one copy; of a sandbox that no row has any longer, what the plan's file and settings say."""
        patterns = settings.exclude if resource.type.traits.is_folder else ()
        return Sandbox(
            plan_id=room,
            resource=resource.name,
            type=resource.type,
            strategy=resource.type.traits.copying,
            location=known.location if known else str(self.project / resource.location),
            path=path,
            base=Snapshot(()),
            excluded=known.excluded if known else (*sorted(left_out(resource, plan.definition.resources)),),
            branch=None,
            git_dir=None,
            patterns=known.patterns if known else patterns,
        )


class Part(Struct, frozen=True, kw_only=True):
    """The copy of one resource."""

    shown: Sandbox  # as what processes see it
    filled: Sandbox  # as what it is restored
    source: Path  # of what belongs to no checkpoint: the plan's sandbox, or the real thing
    files_only: bool  # only the files come out of groups


class ScratchCopy:
    """A scratch copy of all resources of a plan, in which commands run."""

    def __init__(
        self,
        copies: ScratchCopies,
        plan: Plan,
        parts: Sequence[Part],
        settings: Settings,
        observer: Observer,
    ) -> None:
        self._copies = copies
        self._plan = plan
        self._parts = parts
        self._settings = settings
        self._observer = observer
        self._found: tuple[Bounds | None, Appearance | None] | None = None
        self.messages: list[str] = []

    def make(self, group_id: GroupId) -> None:
        """Make the copies, folders before the files inside them."""
        with self._copies.store.hold():
            group = self._group(group_id)
            for part in sorted(self._parts, key=lambda part: part.filled.type.traits.is_file):
                kind = self._copies.kinds.of(part.filled)
                kind.fill(part.filled, group.snapshot_of(part.filled.resource), self._observer)
                kind.carry_over(part.source, part.filled)
                if part.files_only:
                    self._copies.kinds.of(part.shown).give_git_directory(part.shown)

    def put(self, group_id: GroupId) -> None:
        """Make them hold another group; the cost is that of what differs."""
        with self._copies.store.hold():
            group = self._group(group_id)
            self._copies.manager.put([part.filled for part in self._parts], group, self._observer)

    def _group(self, group_id: GroupId) -> Snapshots:
        with self._copies.database.reading() as db:
            group = db.checkpoints.get(group_id)
        return Snapshots({part.filled.resource: _held(part, group) for part in self._parts})

    def run(self, words: Sequence[str], folder: str, host: StepHost) -> ToolResult:
        """Run a command as the plan's first resource is seen, in a folder of it; ToolFailed as a step has it."""
        bounds, appearance = self._found = self._found or self._seen()
        shown = [part.shown for part in self._parts]
        paths = {sandbox.resource: Path(sandbox.path) for sandbox in shown}
        folders = [Path(sandbox.path) for sandbox in shown if sandbox.type.traits.is_folder]
        request = ToolRequest(
            call_id=CallId(self._copies.ids.new()),
            plan_id=shown[0].plan_id,
            step_name=_STEP,
            args={"argv": [*words], "cwd": folder},
            root=Path(shown[0].path),
            script_root=folders[0] if folders else None,
            sandboxes=paths,
            variables=self._plan.definition.variables,
            outputs={},
            memory={},
            guidance="",
            environment={PLAN_HANDLE: self._plan.handle},
            large_values={},
            timeout=None,
            bounds=bounds,
            appearance=appearance,
        )
        return self._copies.toolbox.tool("shell").call(request, host)

    def _seen(self) -> tuple[Bounds | None, Appearance | None]:
        shown = [part.shown for part in self._parts]
        found = self._copies.appearances.shown(self._settings, shown)
        appearance = None if isinstance(found, str) else found
        if isinstance(found, str):
            self.messages.append(
                f"the command sees the scratch copy at its own path, not at the real one: {found}"
            )
        return self._copies.rules.drawn(shown[0].plan_id, shown, self._settings, appearance), appearance

    def remove(self) -> None:
        """Park or remove the copies; files inside of others go with those."""
        for folder in self._copies.scratch.list(self._parts[0].filled.plan_id):  # a TMPDIR of its own
            self._copies.scratch.remove(folder)
        for part in self._parts:
            self._copies.kinds.of(part.filled).park(part.filled)


def _held(part: Part, group: CheckpointGroup) -> Snapshot:
    snapshot = group.snapshot_of(part.filled.resource)
    return Snapshot(snapshot.roots[:1]) if part.files_only else snapshot


def _part(copied: Sandbox, place: Path) -> Part:
    """Return how a copy is filled of groups that were taken at that place."""
    in_place = place == Path(copied.location).resolve()
    source = place if place.is_dir() else Path(copied.location)
    marked = copied.type.traits.marked_by
    if not in_place or marked is None:
        return Part(shown=copied, filled=copied, source=source, files_only=False)
    # Groups in place hold the files, and a position in the user's own git directory.
    plain = type_of_folder(lambda _name: False)
    files = replace(
        copied,
        type=plain,
        strategy=plain.traits.copying,
        excluded=(*copied.excluded, marked),
    )
    return Part(shown=copied, filled=files, source=source, files_only=True)
