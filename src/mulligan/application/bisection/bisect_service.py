"""Finds the first checkpoint group of a plan at which a command fails. The fields are named as in the JSON output."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from msgspec import Struct

from mulligan.application.bisection.culprit import Culprit, culprit_of
from mulligan.application.bisection.scratch_copies import ScratchCopies, ScratchCopy
from mulligan.application.queries.checkpoint_diff import DiffService, DiffWish
from mulligan.domain.checkpoints.checkpoint import CheckpointGroup
from mulligan.domain.history.bisection import Verdict, candidates, next_place, verdict_of
from mulligan.domain.history.lines import is_live, live_segments
from mulligan.domain.plans.plan import Plan
from mulligan.domain.plans.step import milliseconds
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.text.ids import CheckpointId, GroupId, PlanId
from mulligan.domain.text.json_value import JsonObject
from mulligan.domain.views.printed import LOGGED, Printed, printed_in
from mulligan.errors import (
    Advice,
    BisectionEndsWrong,
    BisectionImpossible,
    BisectionStopped,
    BisectionUndecided,
    CheckpointForeign,
    MulliganError,
    NextStep,
    ToolFailed,
)
from mulligan.ports import Clock, Observer, StepHost
from mulligan.rows.database import Database
from mulligan.rows.transaction import Transaction

FIRST, LATEST = "first", "latest"
_NOT_STARTED = 127  # as shells and `env` have it


class Trial(Struct, frozen=True, kw_only=True):
    """One run of the command, at one group."""

    number: int  # of the group, in its plan
    group_id: GroupId
    checkpoint_id: CheckpointId
    checkpoint_type: CheckpointType
    label: str | None
    step_index: int
    result: Verdict
    exit_status: int
    duration_ms: int
    stdout: str  # bounded, as the next
    stderr: str
    stdout_omitted: int  # bytes
    stderr_omitted: int


class FirstBad(Struct, frozen=True, kw_only=True):
    """The first group at which the command fails, and what led from the group before it to this one."""

    number: int
    handle: str  # of the plan
    group_id: GroupId
    checkpoint_id: CheckpointId
    checkpoint_type: CheckpointType
    label: str | None
    step_index: int
    previous: int  # number of the group before it, at which the command passes
    step: str | None
    tool_call: JsonObject | None
    decision: JsonObject | None
    files: int
    insertions: int
    deletions: int


class Bisection(Struct, frozen=True, kw_only=True):
    """The result of a search."""

    plan_id: PlanId
    handle: str
    good: int  # numbers of groups
    bad: int
    groups: int  # between the two, both included
    trials: tuple[Trial, ...]
    first_bad: FirstBad | None  # None: skipped ones hide it
    candidates: tuple[int, ...]  # one of them is the first that fails
    skipped: tuple[int, ...]
    messages: tuple[str, ...]
    error: MulliganError | None = None


class Following(Struct, frozen=True, kw_only=True):
    """The callers that follow a search while it goes on."""

    tried: Callable[[Trial], None]  # called after each trial
    printed: Callable[[bytes], None]  # called with what the command prints


class BisectWish(Struct, frozen=True, kw_only=True):
    """The command to try, and the groups between which something broke."""

    words: Sequence[str]
    folder: str  # relative to the plan's first resource
    good: str | None  # words of users; None: the first group
    bad: str | None  # None: the newest one


class BisectService(Struct, kw_only=True, frozen=True, eq=False):
    """Tries a command at groups of a plan, in scratch copies; plan, sandboxes and real resources stay untouched."""

    database: Database
    copies: ScratchCopies
    diffs: DiffService
    clock: Clock

    def bisect(
        self, plan_id: PlanId, wish: BisectWish, following: Following, observer: Observer
    ) -> Bisection:
        """Find the first group at which the command fails."""
        with self.database.reading() as db:
            plan = db.plans.get(plan_id)
            groups = _between(db, plan, wish)
        distinct = _distinct(groups)
        search = _Search(self.clock, plan, wish, distinct, following)
        with self.copies.of(plan, distinct[0], observer) as copy:
            found = search.run(copy)
            messages = tuple(copy.messages)
        places = candidates(found)
        named = tuple(distinct[place].number for place in places)
        skipped = tuple(g.number for g, each in zip(distinct, found, strict=True) if each is Verdict.SKIPPED)
        certain = len(places) == 1
        return Bisection(
            plan_id=plan_id,
            handle=plan.handle,
            good=groups[0].number,
            bad=groups[-1].number,
            groups=len(groups),
            trials=tuple(search.trials),
            first_bad=self._first_bad(plan, groups, distinct[places[0]]) if certain else None,
            candidates=named,
            skipped=skipped,
            messages=messages,
            error=None if certain else _undecided(plan, named),
        )

    def _first_bad(self, plan: Plan, groups: Sequence[CheckpointGroup], first: CheckpointGroup) -> FirstBad:
        previous = groups[groups.index(first) - 1]
        with self.database.reading() as db:
            culprit = culprit_of(db, plan, previous, first)
        wish = DiffWish(binary=False, hidden=False, paths=(), folder=None)
        difference = self.diffs.of_plan(plan.plan_id, previous.group_id, first.group_id, wish)
        return FirstBad(
            **_described(first),
            handle=plan.handle,
            previous=previous.number,
            **_as_document(culprit),
            files=len(difference.files),
            insertions=sum(file.insertions or 0 for file in difference.files),
            deletions=sum(file.deletions or 0 for file in difference.files),
        )


class _Search:
    """One search: what was tried, and with which result."""

    def __init__(
        self,
        clock: Clock,
        plan: Plan,
        wish: BisectWish,
        groups: Sequence[CheckpointGroup],
        following: Following,
    ) -> None:
        self._clock = clock
        self._plan = plan
        self._wish = wish
        self._groups = groups
        self._following = following
        self._known: dict[tuple[str, ...], Verdict] = {}  # by what groups hold
        self.trials: list[Trial] = []

    def run(self, copy: ScratchCopy) -> list[Verdict | None]:
        """Try both ends, then between them; return what is known of each group in the end."""
        found: list[Verdict | None] = [None] * len(self._groups)
        last = len(found) - 1
        for place, wanted in ((0, Verdict.PASSED), (last, Verdict.FAILED)):
            found[place] = self._verdict(copy, place)
            if found[place] is not wanted:
                raise self._wrong_end(self._groups[place], wanted)
        while (place := next_place(found)) is not None:
            found[place] = self._verdict(copy, place)
        return found

    def _verdict(self, copy: ScratchCopy, place: int) -> Verdict:
        group = self._groups[place]
        holds = _holdings(group)
        if holds not in self._known:
            copy.put(group.group_id)
            trial = self._try(copy, group)
            self.trials.append(trial)
            self._following.tried(trial)
            self._known[holds] = trial.result
        return self._known[holds]

    def _try(self, copy: ScratchCopy, group: CheckpointGroup) -> Trial:
        started = self._clock.now()
        status, printed = _outcome(copy, self._wish, self._following)
        result = verdict_of(status)
        if result is None:
            raise self._stopped(group, status)
        content = cast("dict[str, Any]", printed.bounded(LOGGED).content())
        return Trial(
            **_described(group),
            result=result,
            exit_status=status,
            duration_ms=milliseconds(started, self._clock.now()),
            **content,
        )

    def _wrong_end(self, group: CheckpointGroup, wanted: Verdict) -> BisectionEndsWrong:
        trial = self.trials[-1]
        end = "good" if wanted is Verdict.PASSED else "bad"
        should = "passes" if wanted is Verdict.PASSED else "fails"
        groups = NextStep("checkpoints.list", plan=self._plan.handle)
        again = NextStep("again", good=...) if wanted is Verdict.PASSED else NextStep("again", bad=...)
        hint = Advice(
            *(f"name a checkpoint at which it {should} with ", again, "; ", groups, " lists them"),
            "; with `-v` you see what it prints",
        )
        return BisectionEndsWrong(
            result=trial.result.value,
            checkpoint=group.group_id,
            number=group.number,
            end=end,
            exit_status=trial.exit_status,
            stderr=trial.stderr,
            hint=hint,
        )

    def _stopped(self, group: CheckpointGroup, status: int) -> BisectionStopped:
        how = f"signal {-status} ended it" if status < 0 else f"it ended with exit status {status}"
        return BisectionStopped(
            reason=how, checkpoint=group.group_id, number=group.number, exit_status=status
        )


class _Printing(Struct, frozen=True):
    """The part of a step's host that the tool `shell` uses."""

    output: Callable[[bytes], None]

    def while_waiting(self, now: float, learn: Callable[[], None]) -> float | None:  # noqa: ARG002 - of the port
        """Do nothing: no checkpoint is taken inside of a trial."""
        return None


def _outcome(copy: ScratchCopy, wish: BisectWish, following: Following) -> tuple[int, Printed]:
    """Run the command; return its exit status, and what it printed. One that cannot be started has 127."""
    try:
        result = copy.run(wish.words, wish.folder, cast("StepHost", _Printing(following.printed)))
    except ToolFailed as exc:
        printed = exc.facts.get("printed")
        known = printed_in({"printed": cast("JsonObject | None", printed)}, None)
        status = exc.facts.get("exit_status")
        if not isinstance(status, int):
            return _NOT_STARTED, known or Printed(stdout=b"", stderr=exc.text.encode("utf-8", "replace"))
        return status, known or Printed(stdout=b"", stderr=b"")
    return 0, printed_in(result.detail, result.output) or Printed(stdout=b"", stderr=b"")


def _between(db: Transaction, plan: Plan, wish: BisectWish) -> list[CheckpointGroup]:
    """Return the groups from the good one to the bad one, along the line of history that led to the bad one."""
    good = _find(db, plan, wish.good or FIRST)
    bad = _find(db, plan, wish.bad or LATEST)
    segments = live_segments(db.history.lines(plan.plan_id), bad.line, bad.seq)
    line = [
        group
        for group in db.checkpoints.list(plan.plan_id, superseded=True)
        if is_live(segments, group.line, group.seq) and group.reason.is_of_sandboxes
    ]
    groups = [group for group in line if good.seq <= group.seq]
    if good.group_id == bad.group_id or good not in groups:
        same = good.group_id == bad.group_id
        reason = "is both the good and the bad end" if same else f"does not lead to @{bad.number}"
        groups_of = NextStep("checkpoints.list", plan=plan.handle)
        raise BisectionImpossible(
            reason=f"{plan.handle}@{good.number} {reason}",
            hint=Advice(
                groups_of, " lists the groups: name an earlier one with ", NextStep("again", good=...)
            ),
        )
    return groups


def _find(db: Transaction, plan: Plan, word: str) -> CheckpointGroup:
    group = db.checkpoints.resolve(word, plan.plan_id).group
    if group.plan_id != plan.plan_id:
        raise CheckpointForeign(checkpoint_id=word, owner=group.plan_id, plan_id=plan.plan_id)
    if not group.reason.is_of_sandboxes:
        raise BisectionImpossible(
            reason=f"{plan.handle}@{group.number} holds the real resources, not what the plan made",
            hint=Advice(
                "name another group: ", NextStep("checkpoints.list", plan=plan.handle), " lists them"
            ),
        )
    return group


def _distinct(groups: Sequence[CheckpointGroup]) -> list[CheckpointGroup]:
    """Return the groups without those that hold the same as the one before."""
    return [
        group
        for place, group in enumerate(groups)
        if place == 0 or _holdings(group) != _holdings(groups[place - 1])
    ]


def _holdings(group: CheckpointGroup) -> tuple[str, ...]:
    return tuple(root.id for checkpoint in group.checkpoints for root in checkpoint.snapshot.roots)


def _described(group: CheckpointGroup) -> dict[str, Any]:
    return {
        "number": group.number,
        "group_id": group.group_id,
        "checkpoint_id": group.first_checkpoint_id,
        "checkpoint_type": group.reason.type,
        "label": group.reason.label,
        "step_index": group.step_index,
    }


def _as_document(culprit: Culprit) -> dict[str, Any]:
    return {"step": culprit.step, "tool_call": culprit.tool_call, "decision": culprit.decision}


def _undecided(plan: Plan, numbers: Sequence[int]) -> BisectionUndecided:
    named = ", ".join(f"{plan.handle}@{number}" for number in numbers)
    return BisectionUndecided(candidates=named)
