"""Gathers the report of a plan in one consistent view, and cuts it to what a page can show."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.queries.plan_queries import Queries
from mulligan.application.queries.report_changes import PageRoom, ReportChanges
from mulligan.domain.checkpoints.checkpoint import GroupOutline
from mulligan.domain.plans.plan import Plan
from mulligan.domain.plans.tool import ToolCall
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.text.ids import GroupId, PlanId
from mulligan.domain.text.inert_text import without_escapes
from mulligan.domain.text.json_value import Json
from mulligan.domain.views.excerpt import Excerpt, excerpt
from mulligan.domain.views.printed import printed_in
from mulligan.domain.views.report import Changes, PlanReport, Report
from mulligan.domain.views.story import Records, ShownCall, story
from mulligan.errors import Advice, NextStep
from mulligan.ports import Clock, StoredTrees
from mulligan.rows.database import Database
from mulligan.rows.tables.handle_rows import HandleRepository
from mulligan.rows.transaction import Transaction

_PLANS = 100  # child plans of child plans are shown to any depth, but not more in all
_EVENTS = 2_000  # of one plan, the newest
_GROUPS = 1_000
_LINES = 20_000  # of all patches, and as many of all that tools printed
_OUTPUT = (40, 160)  # first and last lines: an error is usually at the end
_ARGUMENT = (30, 10)
_ID = r"(?<![\w/.-])[0-7][0-9A-HJKMNP-TV-Z]{25}(?![\w/])"  # not as part of a path
_OF_REAL_RESOURCES = (CheckpointType.PRE_APPLY, CheckpointType.PRE_RESTORE, CheckpointType.POST_RESTORE)


class ReportService(Struct, kw_only=True, frozen=True, eq=False):
    """Reports the whole story of a plan, without reading sandboxes or waiting for a running plan."""

    database: Database
    trees: StoredTrees
    queries: Queries
    clock: Clock

    def report(self, plan_id: PlanId, words: Callable[[str], str]) -> Report:
        """Return the report of a plan and its child plans; its cost depends on what is shown and what differs.

        `words` words next steps for a front door.
        """
        with self.trees.hold(), self.database.reading() as db:  # snapshots stay until they are read
            found = [*_family(db, db.plans.get(plan_id), None)]
            room = PageRoom(patches=_LINES, outputs=_LINES)
            named = partial(_named, db.handles, words)
            parts = tuple(self._part(db, *each, room, named) for each in found[:_PLANS])
            left_out = max(0, len(found) - _PLANS)
            return Report(plans=parts, plans_left_out=left_out, made_at=self.clock.now())

    def _part(
        self,
        db: Transaction,
        plan: Plan,
        parent_name: str | None,
        room: PageRoom,
        words: Callable[[str], str],
    ) -> PlanReport:
        plan_id = plan.plan_id
        status = self.queries.status_in(db, plan_id, None)
        events = db.events.list(plan_id, limit=_EVENTS)
        older = db.events.count(plan_id) - len(events)
        groups = {group.group_id: group for group in db.checkpoints.outlines(plan_id, limit=_GROUPS)}
        since = events[0].seq if events else 0
        records = Records(
            calls={
                call.call_id: _shown(call, room)
                for call in db.tool_calls.each(plan_id)
                if (call.done_seq or call.seq) >= since
            },
            decisions={d.decision_id: d for d in db.decisions.list(plan_id)},
            groups=groups,
        )
        changes = ReportChanges(self.trees, room, words, plan.hidden)
        return PlanReport(
            plan=plan,
            parent_name=parent_name,
            steps=status.steps,
            counts=status.execution,
            error=replace(status.error, hint=words(status.error.hint)) if status.error else None,
            messages=tuple(map(words, status.messages)),
            corrections=tuple(db.corrections.list(plan_id)),
            passages=story(events, records, db.history.lines(plan_id), plan.line),
            events_left_out=older,
            look=words(Advice(NextStep("log", plan=plan_id))),
            # Before `changes`: the most important comparison gets the room.
            overall=_overall(db, plan_id, changes),
            changes=dict(_since_before(groups, changes)),
        )


def _named(handles: HandleRepository, words: Callable[[str], str], text: str) -> str:
    """Return a text in the words of a front door, with handles and numbers in place of ids."""
    said = words(text)
    known = handles.of(set(re.findall(_ID, said)))
    return re.sub(_ID, lambda found: known.get(found[0], found[0]), said)


def _family(db: Transaction, plan: Plan, parent_name: str | None) -> Iterator[tuple[Plan, str | None]]:
    yield plan, parent_name
    for child in db.children.list(plan.plan_id):
        yield from _family(db, child.plan, plan.name)


def _shown(call: ToolCall, room: PageRoom) -> ShownCall:
    first, last = _ARGUMENT
    given = ((name, excerpt(_text(v), first=first, last=last)) for name, v in call.arguments.items())
    text = "" if call.output in (None, "") else _text(call.output)
    if not text and (printed := printed_in(call.detail, call.output)) is not None:
        text = (printed.stdout + printed.stderr).decode(errors="replace").removesuffix("\n")
    output = _printed(text, room) if text else None
    return ShownCall(call=replace(call, arguments={}, output=None), arguments=tuple(given), output=output)


def _printed(text: str, room: PageRoom) -> Excerpt:
    first, last = (min(lines, room.outputs // 2) for lines in _OUTPUT)
    shown = excerpt(text, first=first, last=last)
    room.outputs -= shown.lines
    return replace(shown, head=without_escapes(shown.head), tail=without_escapes(shown.tail))


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def _overall(db: Transaction, plan_id: PlanId, changes: ReportChanges) -> Changes | None:
    """Compare the first live group with the newest, as `plan diff` does."""
    first, latest = db.checkpoints.first(plan_id), db.checkpoints.latest(plan_id)
    if first is None or latest is None or latest.group_id == first.group_id:
        return None
    return changes.between(first, latest)


def _since_before(
    groups: Mapping[GroupId, GroupOutline], changes: ReportChanges
) -> Iterator[tuple[GroupId, Changes]]:
    """Compare each group with modifications with the one before it, except groups of real resources."""
    for group in groups.values():
        before = groups.get(group.parent_group_id) if group.parent_group_id else None
        modified = any(checkpoint.modified for checkpoint in group.checkpoints)
        if before is not None and modified and group.type not in _OF_REAL_RESOURCES:
            yield group.group_id, changes.between(before, group)
