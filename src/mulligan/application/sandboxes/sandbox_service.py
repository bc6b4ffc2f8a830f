"""Makes and removes the sandboxes of a plan."""

import posixpath
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.checkpoints.checkpoint_service import what_is_not_held
from mulligan.application.plans.guards import refuse_newer, refuse_taken, refuse_under_way
from mulligan.application.runs.commit import Commit, Entry
from mulligan.application.runs.confinement_rules import ConfinementService
from mulligan.application.runs.run import Run, at_work
from mulligan.application.sandboxes.appearance_rules import AppearanceService
from mulligan.application.sandboxes.fork_sources import ForkSources
from mulligan.application.subplans.child_plans import family
from mulligan.config import Settings
from mulligan.domain.checkpoints.store_report import Capture
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.fork import Fork
from mulligan.domain.plans.intent import Intent, SandboxWork
from mulligan.domain.plans.plan import Phase, PlanDefinition, State
from mulligan.domain.plans.step import Subplans
from mulligan.domain.resources.placement import (
    clone_of,
    folder_name,
    left_out,
    location_problem,
    outer_of,
    overlap,
    path_inside,
)
from mulligan.domain.resources.resource import Resource, ResourceType, Sandbox, Strategy
from mulligan.domain.text.ids import IntentId, PlanId
from mulligan.domain.text.plural import counted
from mulligan.errors import (
    Advice,
    DiskLimitExceeded,
    LocationTaken,
    NextStep,
    NotBuiltYet,
    ResourceUnsuitable,
    RestoreFailed,
)
from mulligan.ports import (
    Clock,
    Homes,
    Ids,
    Locks,
    Neighbours,
    Observer,
    ParkedCopies,
    SandboxKind,
    SandboxKinds,
    SandboxOrder,
    SnapshotStore,
    TrialRooms,
)
from mulligan.ports.world import one_by_one
from mulligan.rows.database import Database

_Make: TypeAlias = Callable[[SandboxKind, SandboxOrder], tuple[Sandbox, Capture]]


class SandboxService(Struct, kw_only=True, frozen=True, eq=False):
    """Makes and removes sandboxes, and refuses resources that cannot have one."""

    project: Path
    sandbox_home: Path
    database: Database
    store: SnapshotStore
    kinds: SandboxKinds
    neighbours: Neighbours
    homes: Homes
    parked: ParkedCopies
    trials: TrialRooms
    locks: Locks
    rules: ConfinementService
    appearances: AppearanceService
    forks: ForkSources
    ids: Ids
    clock: Clock
    is_elsewhere: Callable[[str | None], bool]

    def check(self, definition: PlanDefinition, settings: Settings) -> None:
        """Refuse resources that no sandbox can be made of, and any new plan where the homes hold too much already."""
        self._refuse_full(settings)
        has_children = any(isinstance(step.action, Subplans) for step in definition.steps)
        for resource in definition.resources:
            kind = self._kind(resource, definition, settings)
            kind.check(resource, self._location(resource))
            if has_children:
                _refuse_unforked(kind.type, kind.strategy)
        found: list[Resource] = []
        for resource in map(self._as_it_lies, definition.resources):
            problems = [location_problem(resource), *(overlap(resource, other) for other in found)]
            if problem := next(filter(None, problems), None):
                path = str(self._location(resource))
                raise ResourceUnsuitable(
                    resource=resource.name, path=path, reason=f"through a symlink, it {problem}"
                )
            found.append(resource)

    def _refuse_full(self, settings: Settings) -> None:
        """Refuse a new plan where the homes hold too much, even without parked trees."""
        try:
            self.homes.refuse_full(settings.disk_limit)
        except DiskLimitExceeded:
            if not self.parked.clear(wait=True):
                raise
            self.homes.refuse_full(settings.disk_limit)

    def refuse_unforked(self, sandboxes: Sequence[Sandbox]) -> None:
        """Refuse child plans of a plan with a sandbox that cannot be forked."""
        for sandbox in sandboxes:
            _refuse_unforked(sandbox.type, sandbox.strategy)

    def check_confinement(self, definition: PlanDefinition, settings: Settings) -> None:
        """Refuse settings of confinement, and of where sandboxes are seen, that the system cannot carry out."""
        in_place = self.worked_on_in_place(definition, settings)
        self.rules.check(settings, in_place)
        if len(in_place) < len(definition.resources):
            self.appearances.check(settings)

    def refuse_taken(self, run: Run) -> None:
        """Refuse to work in place where another plan does, or is being applied, or where something newer happened."""
        with self.database.reading() as db:
            refuse_newer(db, run.plan, run.sandboxes)
        started = run.plan.plan_id if run.sandboxes else None
        self.refuse_taken_locations(run.plan.definition, run.settings, started)

    def refuse_taken_locations(
        self, definition: PlanDefinition, settings: Settings, started: PlanId | None
    ) -> None:
        """Refuse the same for a plan that may not be recorded yet; `started` has its locations already."""
        for location in self.worked_on_in_place(definition, settings):
            with self.database.reading() as db:
                refuse_taken(db, started, str(location), self._at_work)
                refuse_under_way(db, started, str(location), self._at_work)
            if started is None:
                self.refuse_neighbours(location)

    def make(self, run: Run) -> None:
        """Copy every resource into its sandbox, and start the plan: intent first, rows last."""
        self.trials.abandoned(clear=True)  # they may hold as much as the sandboxes will
        orders = [self._order(run, resource) for resource in run.plan.definition.resources]
        with self.store.surveys_kept():
            for order in orders:
                kind = self._kind(order.resource, run.plan.definition, run.settings)
                survey = kind.survey(order, run.observer)
                size = f"{counted(survey.files, 'file')}, {counted(survey.size_bytes, 'byte')}"
                done = "to read, and to work on in place" if kind.strategy is Strategy.IN_PLACE else "to copy"
                text = f"{order.resource.name}: {size} {done}"
                run.note(Entry(type=EventType.MESSAGE, data={"message": text}, at=self.clock.now()))
            self._carry_out(
                run, orders, lambda kind, order: kind.create(order, run.observer), run.settings.hide
            )

    def fork(self, run: Run, parent_plan_id: PlanId) -> None:
        """Fork the sandboxes of a child plan from its parent's at the time of the spawn, and start it."""
        with self.database.reading() as db:
            bases = db.children.bases_of(run.plan.plan_id)
            parents = {sandbox.resource: sandbox for sandbox in db.sandboxes.list(parent_plan_id)}
            hidden = db.plans.get(parent_plan_id).hidden

        def fork(_kind: SandboxKind, order: SandboxOrder) -> tuple[Sandbox, Capture]:
            name = order.resource.name
            parent = replace(parents[name], host=None)  # its snapshot is enough, wherever it is
            made = self.kinds.of(parent).fork(order, parent, bases[name], run.observer)
            return made, Capture(snapshot=bases[name], size_bytes=0, files=0, unheld=())

        orders = [self._order(run, resource) for resource in run.plan.definition.resources]
        self._carry_out(run, orders, fork, hidden)

    def fork_group(self, run: Run, origin: Fork) -> None:
        """Make the sandboxes of a fork from a group of another plan, and start it.

        They merge against what the real resources were for that plan. Where these have its work already, because it was
        applied or done in place, they merge against the group.
        """
        forked = self.forks.of(origin)

        def fork(_kind: SandboxKind, order: SandboxOrder) -> tuple[Sandbox, Capture]:
            source = forked.sources[order.resource.name]
            made = self.kinds.of(source.sandbox).fork(order, source.sandbox, source.snapshot, run.observer)
            capture = Capture(snapshot=source.snapshot, size_bytes=0, files=0, unheld=())
            return made if source.base is None else replace(made, base=source.base), capture

        orders = [self._order(run, resource) for resource in run.plan.definition.resources]
        self._carry_out(run, orders, fork, forked.hidden)

    def _carry_out(
        self, run: Run, orders: Sequence[SandboxOrder], make: _Make, hidden: tuple[str, ...]
    ) -> None:
        intent = Intent(
            intent_id=IntentId(self.ids.new()),
            plan_id=run.plan.plan_id,
            work=SandboxWork(resources=tuple(order.resource.name for order in orders)),
            created_at=self.clock.now(),
        )
        with run.commit("sandbox.intend") as commit:
            commit.db.intents.add(intent)
        with run.showing_later(), self.store.hold():
            made = self._make_all(run, orders, make)
            self._record(run, intent, made, hidden)

    def forget(self, commit: Commit, run: Run, *, copies_only: bool = False) -> Sequence[Sandbox]:
        """Remove the rows of the sandboxes of the plan and its children; return the sandboxes.

        With `copies_only`, a plan that works in place too keeps the rows of that: an unapply needs them.
        """
        db = commit.db
        plan_ids = family(db, run.plan.plan_id)
        found = [s for plan_id in plan_ids for s in db.sandboxes.list(plan_id)]
        has_copies = any(s.strategy is not Strategy.IN_PLACE for s in run.sandboxes)
        spared = [s for s in run.sandboxes if copies_only and has_copies and s.strategy is Strategy.IN_PLACE]
        sandboxes = [s for s in found if s not in spared]
        for sandbox in sandboxes:
            db.sandboxes.remove(sandbox.plan_id, sandbox.resource)
        commit.afterwards(lambda: run.use_sandboxes(spared))
        return sandboxes

    def path_of(self, run: Run, resource: str) -> str:
        """Return the path of the sandbox of one of the plan's resources, whether it exists or not."""
        return str(self._order(run, run.plan.definition.resource(resource)).path)

    def remove(self, sandboxes: Sequence[Sandbox], observer: Observer) -> None:
        """Park or remove sandboxes that no row refers to: a crash leaves a folder, never a row without one."""
        here = [sandbox for sandbox in sandboxes if not self.is_elsewhere(sandbox.host)]
        for sandbox in one_by_one(here, "sandboxes removed", observer):
            self.kinds.of(sandbox).park(sandbox)

    def undo(self, run: Run, intent: Intent) -> None:
        """Drop an interrupted making of sandboxes; the next start makes them again."""
        with run.commit("sandbox.undo") as commit:
            commit.db.intents.close(intent.intent_id)

    def _make_all(
        self, run: Run, orders: Sequence[SandboxOrder], make: _Make
    ) -> list[tuple[Sandbox, Capture]]:
        """Make every sandbox, folders before the files inside them; return them in the plan's order."""
        made: dict[str, tuple[Sandbox, Capture]] = {}
        in_order = sorted(orders, key=lambda o: o.resource.type.traits.is_file)
        for order in one_by_one(in_order, "sandboxes made", run.observer):
            kind = self._kind(order.resource, run.plan.definition, run.settings)
            try:
                made[order.resource.name] = make(kind, order)
            except RestoreFailed as exc:  # there is nothing to complete: the next start makes it again
                hint = Advice(
                    "fix the cause, then continue with ", NextStep("execute", plan=run.plan.plan_id)
                )
                raise RestoreFailed(hint=hint, **exc.facts) from exc
        return [made[order.resource.name] for order in orders]

    def _order(self, run: Run, resource: Resource) -> SandboxOrder:
        resources = run.plan.definition.resources
        outer = outer_of(resource, resources)
        if outer is not None:
            path = self._order(run, outer).path / path_inside(outer, resource)
        elif self._kind(resource, run.plan.definition, run.settings).strategy is Strategy.IN_PLACE:
            path = self._location(resource).resolve()
        else:
            path = self.sandbox_home / run.plan.plan_id / folder_name(resource.name)
            if resource.type.traits.is_file:  # the folder is for it and its sidecars
                path /= posixpath.basename(resource.location)
        return SandboxOrder(
            plan_id=run.plan.plan_id,
            resource=resource,
            location=self._location(resource),
            path=path,
            excluded=left_out(resource, resources),
            include_ignored=run.settings.include_ignored,
            patterns=run.settings.exclude if resource.type.traits.is_folder else (),
        )

    def _record(
        self,
        run: Run,
        intent: Intent,
        made: Sequence[tuple[Sandbox, Capture]],
        hidden: tuple[str, ...],
    ) -> None:
        now = self.clock.now()
        unheld = tuple(text for s, capture in made for text in what_is_not_held(s.resource, capture))
        real = self.worked_on_in_place(run.plan.definition, run.settings)
        plan = replace(
            run.plan.moved_to(Phase.EXECUTE, State.PROCESSING, now),
            hidden=hidden,
            messages=(
                *self.rules.cautions(run.settings, real),
                *self.appearances.cautions(run, [sandbox for sandbox, _ in made]),
                *unheld,
            ),
        )
        messages = (Entry(type=EventType.MESSAGE, data={"message": text}, at=now) for text in unheld)
        with self.neighbours.hold(real):
            for location in real:
                self.refuse_neighbours(location)
            with run.commit("sandbox.record") as commit:
                db = commit.db
                recorded: list[tuple[Sandbox, Capture]] = []
                for sandbox, capture in made:
                    if sandbox.strategy is Strategy.IN_PLACE:  # another plan may have started just now
                        refuse_taken(db, sandbox.plan_id, sandbox.path)
                        refuse_under_way(db, sandbox.plan_id, sandbox.path)
                    recorded.append((db.sandboxes.add(sandbox), capture))
                db.children.forget_bases(plan.plan_id)  # the rows of its sandboxes refer to them now
                db.intents.close(intent.intent_id)
                commit.plan = plan
                commit.record(at_work(plan, now), *messages)
                commit.afterwards(lambda: run.work_on(recorded))

    def refuse_neighbours(self, location: Path, inside: Iterable[Path] | None = None) -> None:
        """Refuse to change a real resource where a plan of another project works in place.

        `inside` are the folders below that may be projects; None: they are looked for.
        """
        if (other := self.neighbours.at_work(location, inside)) is not None:
            raise LocationTaken(
                path=other.path,
                plan_id=other.plan_id,
                hint=Advice(
                    "it is a plan of another project: run it on there, or cancel it with ",
                    NextStep("cancel", plan=other.plan_id, project=str(other.project)),
                    ", then try again",
                ),
            )

    def _kind(self, resource: Resource, definition: PlanDefinition, settings: Settings) -> SandboxKind:
        outer = outer_of(resource, definition.resources)
        if outer is not None and self._kind(outer, definition, settings).strategy is Strategy.IN_PLACE:
            return self.kinds.choose(replace(resource, strategy=Strategy.IN_PLACE), settings.strategy)
        return self.kinds.choose(resource, settings.strategy)

    def worked_on_in_place(self, definition: PlanDefinition, settings: Settings) -> list[Path]:
        """Return the real locations of resources that a plan works on in place."""
        kinds = [(resource, self._kind(resource, definition, settings)) for resource in definition.resources]
        return [self._location(r).resolve() for r, kind in kinds if kind.strategy is Strategy.IN_PLACE]

    def locations(self, definition: PlanDefinition) -> list[Path]:
        """Return the real locations of a plan's resources."""
        return [self._location(resource).resolve() for resource in definition.resources]

    def _at_work(self, plan_id: PlanId) -> bool:
        return self.locks.holder(plan_id) is not None

    def _as_it_lies(self, resource: Resource) -> Resource:
        if resource.type.traits.is_remote:
            return resource
        real = self._location(resource).resolve()
        return replace(resource, location=posixpath.relpath(real, self.project.resolve()))

    def _location(self, resource: Resource) -> Path:
        if resource.type.traits.is_remote:
            return Path(clone_of(str(self.sandbox_home.parent), resource.location))
        return self.project / resource.location


def _refuse_unforked(type: ResourceType, strategy: Strategy) -> None:
    if strategy in type.traits.unforkable:
        raise NotBuiltYet(
            feature=f"child plans of a plan that works in place on a {type.traits.noun}",
            hint=f"use `strategy: {type.traits.copying}`",
        )
