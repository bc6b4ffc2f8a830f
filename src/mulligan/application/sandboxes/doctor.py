"""Checks a project: finds problems, repairs what is safe, and lists what waits for its user."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from mulligan.application.checkpoints.project_sweep import SweepService
from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.application.plans.settings_source import SettingsSource
from mulligan.application.sandboxes.ended_sandboxes import EndedSandboxes
from mulligan.application.sandboxes.pin_service import PinService
from mulligan.application.sandboxes.sandbox_repairs import SandboxRepairs
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.plans.intent import IntentKind
from mulligan.domain.plans.plan import Phase, Plan, State
from mulligan.domain.text.ids import PlanId
from mulligan.errors import Advice, MulliganError, NextStep, PlanBusy, ResourceUnsuitable
from mulligan.ports import (
    Confinement,
    Homes,
    Locks,
    Observer,
    ParkedCopies,
    RealPlaces,
    SnapshotStore,
    Toolbox,
)
from mulligan.ports.world import one_by_one
from mulligan.rows.database import Database

_CLONE = (
    "checkpoints of the plan borrow objects from its git repository: put a clone of it there (`git clone`)"
)


class Finding(Struct, frozen=True, kw_only=True):
    """One problem."""

    area: str  # database, store, sandboxes, leftovers or processes
    what: str
    repaired: bool
    remedy: str  # empty if it is repaired


class Diagnosis(Struct, frozen=True, kw_only=True):
    """The result of checking a project."""

    findings: tuple[Finding, ...]
    waiting: tuple[str, ...]  # plans that stopped and can be resumed: not a problem
    left_alone: tuple[str, ...]  # not needed here, but perhaps by another project: not a problem
    system: tuple[str, ...]  # what this system can do for steps, and what it cannot: not a problem

    @property
    def healthy(self) -> bool:
        """Return whether every problem is repaired."""
        return all(finding.repaired for finding in self.findings)


class DoctorService(Struct, kw_only=True, frozen=True, eq=False):
    """Checks database, store, sandboxes, processes and leftovers, and repairs what is safe."""

    database: Database
    store: SnapshotStore
    locks: Locks
    claims: PlanClaims
    repairs: SandboxRepairs
    toolbox: Toolbox
    sweeps: SweepService
    ended: EndedSandboxes
    pins: PinService
    confinement: Confinement
    real_places: RealPlaces
    parked: ParkedCopies
    homes: Homes
    settings: SettingsSource

    def look_over(self, observer: Observer) -> Diagnosis:
        """Check everything, also while plans run. An area that damage makes unreadable is a finding too."""
        try:
            problems = self.database.problems()
            keep = Advice(
                "keep a copy of the file; ",
                NextStep("checkpoints.restore", checkpoint=..., to=...),
                " still exports what can be read",
            )
            findings = [_wrong("database", problem, keep) for problem in problems]
            if problems:  # the other checks read these rows
                return _only(findings)
            with self.database.reading() as db:
                plans = db.plans.list(None)
        except MulliganError as exc:
            return _only([_wrong("database", exc.text, exc.next_step)])
        left_alone: list[str] = []
        looks: Sequence[tuple[str, Callable[[], Iterable[Finding]]]] = (
            ("store", lambda: self._store_findings(observer)),
            ("sandboxes", lambda: self._sandbox_findings(plans, observer)),
            ("leftovers", lambda: self._cut_off_findings(plans, observer)),
            ("processes", lambda: self._process_findings(plans)),
            ("leftovers", lambda: self._leftover_findings(left_alone)),
            ("homes", lambda: self._home_findings(left_alone)),
        )
        for area, look in one_by_one(looks, "parts looked at", observer):
            try:
                findings += look()
            except MulliganError as exc:
                findings.append(_wrong(area, exc.text, exc.next_step))
        return Diagnosis(
            findings=tuple(findings),
            waiting=tuple(self._waiting(plans)),
            left_alone=tuple(left_alone),
            system=tuple(self._abilities()),
        )

    def _store_findings(self, observer: Observer) -> Iterator[Finding]:
        """Find damaged snapshots: of checkpoints, of the initial contents of sandboxes, and of applied changes."""
        with self.store.hold():  # what is pruned meanwhile is not swept before it is verified
            with self.database.reading() as db:
                groups = [
                    g for p in db.plans.list(None) for g in db.checkpoints.list(p.plan_id, superseded=True)
                ]
                sandboxes = db.sandboxes.all()
                applied = [c for p in db.plans.list(None) for c in db.real_changes.list(p.plan_id)]
            wanted: set[Snapshot] = {c.snapshot for g in groups for c in g.checkpoints}
            wanted |= {s.base for s in sandboxes} | {s for c in applied for s in (c.before, c.written)}
            hurt = self.store.verify(wanted, quick=True, observer=observer)
        for group, checkpoint in ((g, c) for g in groups for c in g.checkpoints if c.snapshot in hurt):
            damage = hurt[checkpoint.snapshot][0]
            remove = NextStep("checkpoints.delete", checkpoint=checkpoint.checkpoint_id)
            yield _wrong(
                "store",
                f"checkpoint {checkpoint.checkpoint_id} of plan {group.plan_id} cannot be restored: "
                f"{damage.object} {damage.reason}",
                Advice("go to another checkpoint; ", remove, " removes this one"),
            )
        for sandbox in sandboxes:
            if sandbox.base in hurt:
                yield _wrong(
                    "store",
                    f"the initial contents of the sandbox of {sandbox.resource} (plan {sandbox.plan_id}) are damaged",
                    "its checkpoints can be restored; it cannot be compared with its initial contents",
                )
        for change in applied:
            if change.before in hurt or change.written in hurt:
                yield _wrong(
                    "store",
                    f"the stored contents of applying plan {change.real.plan_id} to {change.real.path} are damaged",
                    "the real resource is intact, but the apply cannot be taken back",
                )

    def _sandbox_findings(self, plans: Iterable[Plan], observer: Observer) -> Iterator[Finding]:
        """Find missing sandboxes, and lost commits of checkpoints."""
        for plan in (plan for plan in plans if not plan.is_final):
            missing = self.repairs.missing(plan)
            made = self.repairs.remake(plan, missing, observer)
            for sandbox in missing:
                what = f"the sandbox of {sandbox.resource} of plan {plan.plan_id} is missing: {sandbox.path}"
                if sandbox.resource in made:
                    again = f"; it was made again from {made[sandbox.resource]}, later changes are lost"
                    yield _repaired("sandboxes", what + again)
                    continue
                yield _wrong(
                    "sandboxes",
                    what,
                    Advice(
                        "put it back; or get the files of a checkpoint with ",
                        NextStep("checkpoints.restore", checkpoint=..., to=...),
                        ", and end the plan with ",
                        NextStep("cancel", plan=plan.plan_id),
                    ),
                )
            try:
                published = self.repairs.republish(plan)
            except ResourceUnsuitable as exc:
                yield _wrong("sandboxes", exc.text, _CLONE)
                continue
            except MulliganError as exc:  # of one plan: the others are still checked
                yield _wrong("sandboxes", exc.text, exc.next_step)
                continue
            for checkpoint_id, damages in self.repairs.lacking(plan).items():
                named = ", ".join(damage.object for damage in damages)
                what = f"checkpoint {checkpoint_id} of plan {plan.plan_id} lacks git objects: {named}"
                yield _wrong(
                    "sandboxes",
                    f"{what}; {damages[0].reason}",
                    Advice(
                        "its files are intact: ",
                        NextStep("checkpoints.restore", checkpoint=checkpoint_id, to=...),
                        "; `git fetch` in your checkout may bring the objects back",
                    ),
                )
            if published:
                what = (
                    f"checkpoints of plan {plan.plan_id} whose commits were lost got new commits: {published}"
                )
                yield _repaired("sandboxes", what)

    def _cut_off_findings(self, plans: Iterable[Plan], observer: Observer) -> Iterator[Finding]:
        """Settle changes of real resources that were cut off, unless a resume of the plan does so."""
        for plan in plans:
            with self.database.reading() as db:
                found = db.intents.list(plan.plan_id)
                intents = [i for i in found if i.locations and not db.hosts.is_elsewhere(i.host)]
            ended = plan.is_final or any(i.kind in (IntentKind.RESTORE, IntentKind.UNDO) for i in intents)
            if intents and ended and self.locks.holder(plan.plan_id) is None:
                with self.claims.open(plan.plan_id, observer):
                    pass
                kinds = ", ".join(dict.fromkeys(i.kind.value for i in intents))
                what = f"finished or took back what was cut off ({kinds}), of plan {plan.handle}"
                yield _repaired("leftovers", what)

    def _process_findings(self, plans: Iterable[Plan]) -> Iterator[Finding]:
        """End processes that killed runs left running, unless another process works on their plan."""
        for plan in plans:
            if plan.state is not State.PROCESSING:
                continue
            for described in self._end_survivors(plan.plan_id):
                what = f"a killed run of plan {plan.plan_id} had left a process running: {described}"
                yield _repaired("processes", what)

    def _end_survivors(self, plan_id: PlanId) -> Sequence[str]:
        try:
            with self.locks.hold(plan_id):
                with self.database.reading() as db:
                    sandboxes = db.sandboxes.list(plan_id)
                return self.toolbox.end_survivors(plan_id, sandboxes)
        except PlanBusy:
            return ()  # its process is alive

    def _leftover_findings(self, left_alone: list[str]) -> Iterator[Finding]:
        """Remove leftovers of killed processes, and of sandboxes that were removed by hand, in this order."""
        for described in self.sweeps.clear_leftovers():
            yield _removed(described)
        for sandbox in self.ended.forget_removed():
            of = f"the missing sandbox of {sandbox.resource} of plan {sandbox.plan_id}"
            yield _removed(f"leftovers of {of}, which has ended")
        for lock in self.pins.clear_locks():
            yield _wrong("leftovers", lock.what, lock.remedy) if lock.remedy else _removed(lock.what)
        found = self.pins.clear()
        left_alone += found.left
        gc = NextStep("gc")
        left_alone += [
            Advice(f"{folder} is kept for the next plan on its resource: ", gc, " removes it")
            for folder in self.parked.all()
        ]
        for described in found.dropped:
            yield _removed(described)

    def _abilities(self) -> Iterator[str]:
        unconfined = self.confinement.lacking()
        yield f"tools can write outside their sandboxes: {unconfined}" if unconfined else "tools are confined"
        unseen = self.real_places.lacking()
        own = f"steps see sandboxes at their own paths, not at the real ones: {unseen}"
        yield own if unseen else "steps see sandboxes at the real paths"
        unwatched = self.store.unwatchable()
        scanned = f"sandboxes are scanned for every checkpoint, and on_quiet cannot fire: {unwatched}"
        yield scanned if unwatched else "sandboxes are watched"

    def _home_findings(self, left_alone: list[str]) -> Iterator[Finding]:
        """Find what nothing uses in the small folder, homes that no folder needs, and homes that hold too much."""
        for path in self.homes.clear_small_folder():
            yield _wrong("leftovers", f"{path} is not used", "move it into the project home, or away")
        prune = NextStep("prune_projects")
        left_alone += [
            Advice(f"no folder needs the project home {home}: ", prune, " removes it")
            for home in self.homes.abandoned()
        ]
        if (said := self.homes.fullness(self.settings.for_plan({}).disk_limit)) is not None:
            yield _wrong("homes", said, Advice("see ", NextStep("projects")))

    def _waiting(self, plans: Iterable[Plan]) -> Iterator[Advice]:
        for plan in plans:
            gone = plan.state is State.PROCESSING and self.locks.holder(plan.plan_id) is None
            with self.database.reading() as db:
                unfinished = bool(db.intents.list(plan.plan_id)) and plan.state is not State.CANCELLED
            if gone or (unfinished and self.locks.holder(plan.plan_id) is None):
                what = "its process is gone" if gone else "it was interrupted"
                way = ("continue with ", NextStep("resume", plan=plan.plan_id))
                if plan.phase is Phase.APPLY:
                    what += ", and real files may be half changed"
                    way = (way[1], " puts them back as they were before")
                yield Advice(f"plan {plan.plan_id}: {what}; ", *way)


def _only(findings: Sequence[Finding]) -> Diagnosis:
    return Diagnosis(findings=tuple(findings), waiting=(), left_alone=(), system=())


def _repaired(area: str, what: str) -> Finding:
    return Finding(area=area, what=what, repaired=True, remedy="")


def _removed(described: str) -> Finding:
    return _repaired("leftovers", f"removed {described}")


def _wrong(area: str, what: str, remedy: str) -> Finding:
    return Finding(area=area, what=what, repaired=False, remedy=remedy)
