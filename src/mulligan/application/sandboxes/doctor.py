"""Looks a project over: what is wrong, what of it could be mended at once, and what waits for its user."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from mulligan.application.checkpoints.project_sweep import SweepService
from mulligan.application.sandboxes.ended_sandboxes import EndedSandboxes
from mulligan.application.sandboxes.pin_service import PinService
from mulligan.application.sandboxes.sandbox_repairs import SandboxRepairs
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.plans.plan import Plan, State
from mulligan.domain.text.ids import PlanId
from mulligan.errors import Advice, MulliganError, NextStep, PlanBusy
from mulligan.ports import Locks, Observer, SnapshotStore, Toolbox
from mulligan.ports.world import one_by_one
from mulligan.rows.database import Database


class Finding(Struct, frozen=True, kw_only=True):
    """One thing that was wrong."""

    area: str  # database, store, sandboxes, leftovers or processes
    what: str
    repaired: bool
    remedy: str  # what to do; empty where it is repaired


class Diagnosis(Struct, frozen=True, kw_only=True):
    """What a look at a project found."""

    findings: tuple[Finding, ...]
    waiting: tuple[str, ...]  # plans that stopped and can go on: nothing is wrong with them
    left_alone: tuple[str, ...]  # what no plan here needs, and another project may: nothing is wrong with it

    @property
    def healthy(self) -> bool:
        """Whether nothing is left wrong."""
        return all(finding.repaired for finding in self.findings)


class DoctorService(Struct, kw_only=True, frozen=True, eq=False):
    """Checks database, store, sandboxes, processes and leftovers, and repairs what is safe."""

    database: Database
    store: SnapshotStore
    locks: Locks
    repairs: SandboxRepairs
    toolbox: Toolbox
    sweeps: SweepService
    ended: EndedSandboxes
    pins: PinService

    def look_over(self, observer: Observer) -> Diagnosis:
        """Check everything, while plans may run. What cannot be looked at because of damage is a finding too."""
        try:
            problems = self.database.problems()
            keep = Advice(
                "keep a copy of the file; ",
                NextStep("checkpoints.restore", checkpoint=..., to=...),
                " still writes out what can be read",
            )
            findings = [_wrong("database", problem, keep) for problem in problems]
            if problems:  # what follows reads these rows
                return _only(findings)
            with self.database.reading() as db:
                plans = db.plans.list(None)
        except MulliganError as exc:
            return _only([_wrong("database", exc.text, exc.next_step)])
        left_alone: list[str] = []
        looks: Sequence[tuple[str, Callable[[], Iterable[Finding]]]] = (
            ("store", lambda: self._store_findings(observer)),
            ("sandboxes", lambda: self._sandbox_findings(plans, observer)),
            ("processes", lambda: self._process_findings(plans)),
            ("leftovers", lambda: self._leftover_findings(left_alone)),
        )
        for area, look in one_by_one(looks, "parts looked at", observer):
            try:
                findings += look()
            except MulliganError as exc:
                findings.append(_wrong(area, exc.text, exc.next_step))
        return Diagnosis(
            findings=tuple(findings), waiting=tuple(self._waiting(plans)), left_alone=tuple(left_alone)
        )

    def _store_findings(self, observer: Observer) -> Iterator[Finding]:
        """Checkpoints whose snapshots are not all there; and what sandboxes were made of."""
        with self.store.hold():  # what is pruned meanwhile is not swept before it was looked at
            with self.database.reading() as db:
                groups = [
                    g for p in db.plans.list(None) for g in db.checkpoints.list(p.plan_id, superseded=True)
                ]
                sandboxes = db.sandboxes.all()
                applied = [c for p in db.plans.list(None) for c in db.real_changes.list(p.plan_id)]
            wanted: set[Snapshot] = {c.snapshot for g in groups for c in g.checkpoints}
            wanted |= {s.base for s in sandboxes} | {s for c in applied for s in (c.before, c.written)}
            hurt = self.store.verify(wanted, quick=True, observer=observer)
        for group in groups:
            for checkpoint in group.checkpoints:
                if checkpoint.snapshot in hurt:
                    damage = hurt[checkpoint.snapshot][0]
                    yield _wrong(
                        "store",
                        f"checkpoint {checkpoint.checkpoint_id} of plan {group.plan_id} cannot be restored: "
                        f"{damage.object} {damage.reason}",
                        Advice(
                            "go to another checkpoint; ",
                            NextStep("checkpoints.delete", checkpoint=checkpoint.checkpoint_id),
                            " removes this one",
                        ),
                    )
        for sandbox in sandboxes:
            if sandbox.base in hurt:
                yield _wrong(
                    "store",
                    f"what the sandbox of {sandbox.resource} (plan {sandbox.plan_id}) was made of is damaged",
                    "its checkpoints can be restored; it cannot be compared with its beginning",
                )

        for change in applied:
            if change.before in hurt or change.written in hurt:
                yield _wrong(
                    "store",
                    f"what applying plan {change.real.plan_id} wrote to {change.real.path} is damaged",
                    "nothing is wrong with the real resource, but the apply cannot be taken back",
                )

    def _sandbox_findings(self, plans: Iterable[Plan], observer: Observer) -> Iterator[Finding]:
        """Working copies that rows name and that are not there, and commits of checkpoints that are lost."""
        for plan in (plan for plan in plans if not plan.is_final):
            missing = self.repairs.missing(plan)
            made = self.repairs.remake(plan, missing, observer)
            for sandbox in missing:
                what = f"the sandbox of {sandbox.resource} of plan {plan.plan_id} is missing: {sandbox.path}"
                if sandbox.resource in made:
                    again = f"; it was made anew from {made[sandbox.resource]}, what came after that is gone"
                    yield Finding(area="sandboxes", what=what + again, repaired=True, remedy="")
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
            except MulliganError as exc:  # of one plan: the others are looked at all the same
                yield _wrong("sandboxes", exc.text, exc.next_step)
                continue
            for checkpoint_id, damages in self.repairs.lacking(plan).items():
                named = ", ".join(damage.object for damage in damages)
                what = f"checkpoint {checkpoint_id} of plan {plan.plan_id} lacks git objects: {named}"
                yield _wrong(
                    "sandboxes",
                    f"{what}; {damages[0].reason}",
                    Advice(
                        "its files are whole: ",
                        NextStep("checkpoints.restore", checkpoint=checkpoint_id, to=...),
                        "; `git fetch` in your checkout may bring the objects back",
                    ),
                )
            if published:
                what = f"checkpoints of plan {plan.plan_id} that were commits no more were made anew: {published}"
                yield Finding(area="sandboxes", what=what, repaired=True, remedy="")

    def _process_findings(self, plans: Iterable[Plan]) -> Iterator[Finding]:
        """Processes that steps of killed runs left alive: ended, each while nobody works on its plan."""
        for plan in plans:
            if plan.state is not State.PROCESSING:
                continue
            for described in self._end_survivors(plan.plan_id):
                yield Finding(
                    area="processes",
                    what=f"a killed run of plan {plan.plan_id} had left a process behind: {described}",
                    repaired=True,
                    remedy="",
                )

    def _end_survivors(self, plan_id: PlanId) -> Sequence[str]:
        try:
            with self.locks.hold(plan_id):
                with self.database.reading() as db:
                    sandboxes = db.sandboxes.list(plan_id)
                return self.toolbox.end_survivors(plan_id, sandboxes)
        except PlanBusy:
            return ()  # its process lives

    def _leftover_findings(self, left_alone: list[str]) -> Iterator[Finding]:
        """What killed processes left, and what sandboxes that were removed by hand left; in this order."""
        for described in self.sweeps.clear_leftovers():
            yield _removed(described)
        for sandbox in self.ended.forget_removed():
            of = f"the sandbox of {sandbox.resource} of plan {sandbox.plan_id}"
            yield _removed(f"what was left of {of}, which is over; the sandbox itself was gone")
        for lock in self.pins.locks():
            yield _wrong("leftovers", lock.what, lock.remedy) if lock.remedy else _removed(lock.what)
        found = self.pins.clear()
        left_alone += found.left
        for described in found.dropped:
            yield _removed(described)

    def _waiting(self, plans: Iterable[Plan]) -> Iterator[Advice]:
        for plan in plans:
            gone = plan.state is State.PROCESSING and self.locks.holder(plan.plan_id) is None
            with self.database.reading() as db:
                unfinished = bool(db.intents.list(plan.plan_id)) and plan.state is not State.CANCELLED
            if gone or (unfinished and self.locks.holder(plan.plan_id) is None):
                what = "its process is gone" if gone else "something was cut off"
                yield Advice(f"plan {plan.name}: {what}; go on with ", NextStep("resume", plan=plan.plan_id))


def _only(findings: Sequence[Finding]) -> Diagnosis:
    return Diagnosis(findings=tuple(findings), waiting=(), left_alone=())


def _removed(described: str) -> Finding:
    return Finding(area="leftovers", what=f"removed {described}", repaired=True, remedy="")


def _wrong(area: str, what: str, remedy: str) -> Finding:
    return Finding(area=area, what=what, repaired=False, remedy=remedy)
