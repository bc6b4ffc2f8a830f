"""Guards that several use cases share: they refuse before anything is changed."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from mulligan.domain.history.lines import FIRST_LINE
from mulligan.domain.plans.command_plan import words_of
from mulligan.domain.plans.decision import Question
from mulligan.domain.plans.intent import IntentKind
from mulligan.domain.plans.plan import Phase, Plan, State
from mulligan.domain.resources.placement import lie_together
from mulligan.domain.resources.resource import Sandbox, Strategy, is_in_place
from mulligan.domain.text.ids import PlanId
from mulligan.errors import (
    Advice,
    ApplyUnderWay,
    ConflictsUnresolved,
    LocationTaken,
    NewerWork,
    NextStep,
    OnAnotherHost,
    PlanAlreadyApplied,
    PlanCancelled,
    PlanIsChild,
    PlanNotReady,
    QuestionOpen,
    RollbackDisabled,
)
from mulligan.rows.transaction import Transaction

AtWork: TypeAlias = Callable[[PlanId], bool]  # whether a live process works on a plan


def not_ready(plan: Plan, reason: str, hint: str) -> PlanNotReady:
    """Return the refusal of a plan in the wrong state."""
    return PlanNotReady(plan_id=plan.plan_id, phase=plan.phase, state=plan.state, reason=reason, hint=hint)


def refuse_ended(plan: Plan, sandboxes: Sequence[Sandbox] = ()) -> None:
    """Refuse a plan that was applied or cancelled: both are final.

    A plan with these sandboxes that did all in place has only ended: what it did can be gone back on.
    """
    if plan.state is State.APPLIED and not is_in_place(plan.definition.resources, sandboxes):
        look, again = NextStep("diff", plan=plan.handle), _again(plan)
        raise PlanAlreadyApplied(
            plan_id=plan.plan_id,
            hint=Advice(
                *(
                    "take it back with ",
                    NextStep("unapply", plan=plan.handle),
                    "; ",
                    look,
                    " shows what it did, ",
                ),
                *(again, " runs it again"),
            ),
        )
    if plan.state is State.CANCELLED:
        raise cancelled(plan)


def cancelled(plan: Plan) -> PlanCancelled:
    """Return the refusal of a plan that was cancelled or dropped, with what can still be done with it."""
    look: tuple[str | NextStep, ...] = ()
    done = plan.progress.step_index or plan.progress.steps or plan.progress.taken or plan.failure is not None
    if plan.current_group_id is not None and not done and plan.line != FIRST_LINE:  # undone, then ended
        look = (NextStep("timeline"), " shows what was done and undone, ")
    elif plan.current_group_id is not None:
        restore = NextStep("restore_paths", checkpoint=plan.current_group_id, paths=...)
        look = (
            NextStep("diff", plan=plan.handle),
            " shows what it did, ",
            restore,
            " brings a path of that back, ",
        )
    return PlanCancelled(plan_id=plan.plan_id, hint=Advice(*look, _again(plan), " runs it again"))


def _again(plan: Plan) -> NextStep:
    """Return the operation that does once more what a plan did."""
    words = words_of(plan.definition)
    if words is not None or plan.definition.command:
        if all(each.strategy is Strategy.IN_PLACE for each in plan.definition.resources):
            return NextStep("run_command", words=words or ..., in_place=True)
        return NextStep("run_command", words=words or ...)
    return NextStep("execute", plan=...)


def is_real_elsewhere(db: Transaction, plan_id: PlanId) -> bool:
    """Return whether a plan works, or worked, on the real things of another machine."""
    if not db.hosts.are_several:
        return False
    made = [s.host for s in db.sandboxes.list(plan_id) if s.strategy is Strategy.IN_PLACE]
    made += [change.real.host for change in db.real_changes.list(plan_id)]
    return any(map(db.hosts.is_elsewhere, made))


def refuse_elsewhere(db: Transaction, plan_id: PlanId) -> None:
    """Refuse a plan that works in place, is applied, or was changing real resources, on another machine."""
    for sandbox in db.sandboxes.list(plan_id):
        if sandbox.strategy is Strategy.IN_PLACE and db.hosts.is_elsewhere(sandbox.host):
            raise on_another(db, plan_id, sandbox.resource, sandbox.host)
    for change in db.real_changes.list(plan_id):
        if db.hosts.is_elsewhere(change.real.host):
            raise on_another(db, plan_id, change.real.resource, change.real.host)
    for intent in db.intents.list(plan_id):
        if intent.locations and db.hosts.is_elsewhere(intent.host):
            raise on_another(db, plan_id, intent.locations[0].rpartition(":")[2], intent.host)


def on_another(db: Transaction, plan_id: PlanId, resource: str, host: str | None) -> OnAnotherHost:
    """Return the refusal of what another machine has, by the name of that."""
    name = db.hosts.name_of(host or "")
    return OnAnotherHost(plan_id=db.plans.get(plan_id).handle, resource=resource, host=name)


def refuse_conflicts(plan: Plan) -> None:
    """Refuse to continue a plan with unresolved conflicts."""
    if plan.state is State.CONSTRAINED and plan.conflicts:
        raise ConflictsUnresolved(
            plan_id=plan.plan_id,
            count=len(plan.conflicts),
            paths=", ".join(conflict.path for conflict in plan.conflicts),
        )


def refuse_waiting(plan: Plan) -> None:
    """Refuse to continue a plan that waits for someone: to resolve conflicts, or to answer a question."""
    refuse_conflicts(plan)
    if plan.question is not None:
        raise open_question(plan, plan.question)


def open_question(plan: Plan, question: Question) -> QuestionOpen:
    """Return the error of a plan that waits for an answer."""
    way = plan.way_to_answer
    called = "CHOICE" if way.verb == "answer" else "VARIANT"
    of = f", where {called} is one of: {', '.join(question.alternatives)}" if question.alternatives else ""
    return QuestionOpen(
        plan_id=plan.plan_id,
        question=question.question,
        alternatives=list(question.alternatives),
        hint=Advice("answer with ", way, of),
    )


def refuse_child(plan: Plan, done: str) -> None:
    """Refuse to end a child plan on its own: its parent's step needs it."""
    if plan.parent_plan_id is not None:
        raise PlanIsChild(plan_id=plan.plan_id, parent_plan_id=plan.parent_plan_id, done=done)


def refuse_without_checkpoints(plan: Plan) -> None:
    """Refuse a plan whose file switched checkpoints off."""
    if not plan.definition.rollback_policy.enabled:
        raise RollbackDisabled(plan_id=plan.plan_id)


def refuse_without_conflicts(plan: Plan) -> None:
    """Refuse a plan that does not wait for conflicts of merged child plans to be resolved."""
    refuse_ended(plan)
    refuse_without_checkpoints(plan)
    if plan.state is not State.CONSTRAINED or plan.phase is not Phase.EXECUTE or not plan.conflicts:
        hint = Advice(NextStep("status", plan=plan.plan_id), " says what it waits for")
        raise not_ready(plan, "no conflicts of its own wait to be resolved", hint)


def refuse_newer(db: Transaction, plan: Plan, sandboxes: Sequence[Sandbox]) -> None:
    """Refuse to bring a plan in place to one of its groups where something newer happened on its folder since."""
    own = [sandbox.path for sandbox in sandboxes if sandbox.strategy is Strategy.IN_PLACE]
    last = db.entries.last_of(plan.plan_id)
    for other in db.entries.plans_after(last, plan.plan_id) if own else ():
        made = db.sandboxes.list(other)
        theirs = [s.path for s in made if s.strategy is Strategy.IN_PLACE]
        theirs += [s.location for s in made if db.entries.has_restored_since(other, last)]
        theirs += [c.real.path for c in db.real_changes.list(other) if c.act is IntentKind.APPLY]
        for path in own:
            if any(lie_together(path, each) for each in theirs):
                raise NewerWork(plan_id=plan.plan_id, newer=db.plans.get(other).handle, path=path)


def holds_folder(plan: Plan, at_work: AtWork | None = None) -> bool:
    """Return whether a plan in place keeps others from its folder: it is running, or has steps of a file left to run.

    Without `at_work` a plan in `processing` counts as running although its process may be gone.
    """
    if plan.is_final or plan.is_executed:
        return plan.state is State.PROCESSING
    if plan.definition.command or plan.definition.session:
        return plan.state is State.PROCESSING and (at_work is None or at_work(plan.plan_id))
    return True


def in_place_at(db: Transaction, plan_id: PlanId | None, path: str) -> list[Plan]:
    """Return the other plans in place on a location, inside it or around it, that have not ended."""
    near = [s.plan_id for s in db.sandboxes.in_place(ended=False) if lie_together(path, s.path)]
    return [db.plans.get(other) for other in dict.fromkeys(near) if other != plan_id]


def refuse_taken(db: Transaction, plan_id: PlanId | None, path: str, at_work: AtWork | None = None) -> None:
    """Refuse a real resource that another plan in place holds."""
    for other in in_place_at(db, plan_id, path):
        if not holds_folder(other, at_work):
            continue
        if other.state is State.PROCESSING and (at_work is None or at_work(other.plan_id)):
            raise running_there(other.plan_id, path)
        raise LocationTaken(path=path, plan_id=other.plan_id)


def refuse_running(db: Transaction, plan_id: PlanId, path: str, at_work: AtWork) -> None:
    """Refuse a real resource on which another plan runs in place."""
    for other in in_place_at(db, plan_id, path):
        if other.state is State.PROCESSING and at_work(other.plan_id):
            raise running_there(other.plan_id, path)


def running_there(other: PlanId, path: str) -> LocationTaken:
    """Return the refusal of a real resource on which another plan runs."""
    cancel = NextStep("cancel", plan=other)
    hint = Advice(
        "it is running: wait until it has finished, or stop it with ", cancel, ", which keeps its changes"
    )
    return LocationTaken(path=path, plan_id=other, hint=hint)


def changing_at(db: Transaction, plan_id: PlanId | None, path: str) -> list[PlanId]:
    """Return the other plans that are changing a real resource, or were when their processes died."""
    found = [
        intent.plan_id
        for intent in db.intents.of_real_resources()
        if intent.plan_id != plan_id and any(lie_together(path, other) for other in intent.locations)
    ]
    return list(dict.fromkeys(found))


def refuse_under_way(
    db: Transaction, plan_id: PlanId | None, path: str, at_work: AtWork | None = None
) -> None:
    """Refuse a real resource that another plan is changing.

    Without `at_work` also one that another plan was changing when its process died: the caller had that finished.
    """
    for other in changing_at(db, plan_id, path):
        if at_work is None or at_work(other):
            raise ApplyUnderWay(plan_id=other, path=path)


def left_open_at(db: Transaction, plan_id: PlanId | None, path: str) -> list[PlanId]:
    """Return the other plans with a step in place there that runs or was cut off, whether they ended or not."""
    found = dict.fromkeys(entry.plan_id for entry in db.entries.left_open())
    return [other for other in found if other != plan_id and _works_at(db, other, path)]


def _works_at(db: Transaction, plan_id: PlanId, path: str) -> bool:
    in_place = [s.path for s in db.sandboxes.list(plan_id) if s.strategy is Strategy.IN_PLACE]
    return any(lie_together(path, each) for each in in_place)
