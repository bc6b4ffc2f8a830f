"""Rows of agents' sessions and of the events that their hooks reported."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from mulligan.domain.agents.agent_session import AgentMoment, AgentSession, KnownMoment, PlacedMoment
from mulligan.domain.checkpoints.retention import AgedGroup
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.rows.columns import TIME, Format, Layout, time_text
from mulligan.rows.row_repository import RowRepository

if TYPE_CHECKING:
    from mulligan.domain.plans.tool import ToolCall
    from mulligan.domain.text.ids import GroupId, PlanId


def _written(moment: datetime | None) -> str | None:
    return None if moment is None else time_text(moment)


def _read(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


_SESSION = Layout(
    AgentSession,
    started_at=TIME,
    ended_at=Format(_written, _read),
)
_MOMENT = Layout(AgentMoment, created_at=TIME)
_GET = "SELECT * FROM agent_sessions WHERE agent = ? AND session = ?"
_FORGET = "DELETE FROM agent_sessions WHERE agent = ? AND session = ?"
_LAST = "SELECT COALESCE(MAX(number), 0) AS count FROM agent_moments"
_NEWEST = (
    "SELECT * FROM agent_moments WHERE plan_id = ? AND kind NOT LIKE 'group:%' ORDER BY number DESC LIMIT 1"
)
_OF_AGENTS = "SELECT EXISTS (SELECT 1 FROM agent_sessions) AS count"
_KNOWN = """
SELECT m.number, m.kind, m.plan_id, c.snapshot FROM agent_moments AS m
JOIN checkpoints AS c ON c.group_id = m.group_id
WHERE m.number >= ? AND c.filesystem_path = ? ORDER BY m.number
"""
_PLACED = """
SELECT m.number, m.kind, m.plan_id, m.group_id, m.created_at, c.resource, c.filesystem_path, c.snapshot
FROM agent_moments AS m JOIN checkpoints AS c ON c.group_id = m.group_id
WHERE m.number >= COALESCE((SELECT MAX(number) FROM agent_moments WHERE created_at <= ?), 0) - ?
AND m.created_at <= ? ORDER BY m.number
"""
_BEFORE_PLACED = 20  # moments before the first one, for the last known contents of each folder
_FIRST_TIME, _LAST_TIME = "", "9999"
_WRITTEN_MEANWHILE = """
SELECT DISTINCT plan_id, type FROM events
WHERE type IN ('applied', 'unapplied', 'paths_restored') AND created_at > ? AND created_at <= ?
AND plan_id NOT IN (SELECT plan_id FROM agent_moments) ORDER BY plan_id, type
"""
_OF_PLAN = "SELECT * FROM agent_sessions WHERE plan_id = ? LIMIT 1"
_ENDED_AT = """
SELECT created_at FROM agent_moments WHERE call_id = ? AND kind = 'after_call' ORDER BY number DESC LIMIT 1
"""
_CUT_OFF_AT = """
SELECT created_at FROM agent_moments
WHERE plan_id = ? AND kind IN ('prompt', 'stop', 'interrupt', 'session_start', 'session_end')
AND number > (SELECT MIN(number) FROM agent_moments WHERE call_id = ?) ORDER BY number LIMIT 1
"""
_OTHERS_AT_WORK = """
SELECT EXISTS (
    SELECT 1 FROM agent_moments AS b JOIN agent_sessions AS s ON s.plan_id = b.plan_id
    WHERE s.agent = ? AND s.plan_id <> ? AND b.kind = 'before_call' AND b.created_at <= ? AND NOT EXISTS (
        SELECT 1 FROM agent_moments AS e WHERE e.plan_id = b.plan_id AND e.number > b.number AND e.created_at < ?
        AND (
            (e.kind = 'after_call' AND e.call_id = b.call_id)
            OR e.kind IN ('prompt', 'stop', 'interrupt', 'session_start', 'session_end')
        )
    )
) AS count
"""
_SINCE = "SELECT * FROM agent_moments WHERE number >= ? ORDER BY number"
_OF_CALLS = """
SELECT call_id, kind, MIN(number) AS first, MAX(number) AS last FROM agent_moments
WHERE plan_id = ? AND call_id IS NOT NULL GROUP BY call_id, kind
"""
_LAST_WITH = "SELECT MAX(number) AS number FROM agent_moments WHERE group_id = ?"
_FIRST_WITH = "SELECT MIN(number) AS number FROM agent_moments WHERE group_id = ? AND number > ?"
_ACTED_DURING = """
SELECT EXISTS (SELECT 1 FROM agent_moments WHERE kind LIKE 'group:%' AND number > (
    SELECT number FROM agent_moments WHERE call_id = ? AND kind = 'before_call' ORDER BY number DESC LIMIT 1
)) AS count
"""
_ACTED_APART = """
SELECT EXISTS (SELECT 1 FROM agent_moments WHERE (
    kind IN ('group:pre_rollback', 'group:pre_restore') OR plan_id NOT IN (SELECT plan_id FROM agent_sessions)
) AND number > (
    SELECT number FROM agent_moments WHERE call_id = ? AND kind = 'before_call' ORDER BY number DESC LIMIT 1
)) AS count
"""
_ACTED_LAST = """
SELECT group_id FROM agent_moments
WHERE plan_id = ? AND kind IN ('group:post_undo', 'group:post_restore') ORDER BY number DESC LIMIT 1
"""
_PLANS = "SELECT DISTINCT plan_id FROM agent_sessions"
_ENDS = """
SELECT number FROM agent_moments
WHERE plan_id = ? AND kind IN ('prompt', 'stop', 'interrupt', 'session_start', 'session_end') ORDER BY number
"""
_RETURNS = """
SELECT COUNT(*) AS count FROM checkpoint_groups AS g
WHERE g.checkpoint_type IN ('pre_rollback', 'pre_restore') AND g.created_at > ?
AND g.plan_id IN (SELECT plan_id FROM agent_sessions)
"""
_GROUPS = """
SELECT g.group_id, g.created_at, g.label,
    (
        SELECT CAST(COALESCE(SUM(c.size_bytes), 0) AS BIGINT) FROM checkpoints AS c WHERE c.group_id = g.group_id
    ) AS size_bytes
FROM checkpoint_groups AS g WHERE g.plan_id = ? ORDER BY g.seq
"""
_OF_PROMPTS = "SELECT before_group, after_group FROM entries WHERE plan_id = ?"
_IDLE = """
SELECT s.plan_id, COUNT(*) AS groups FROM agent_sessions AS s
JOIN plans AS p ON p.plan_id = s.plan_id JOIN checkpoint_groups AS g ON g.plan_id = s.plan_id
WHERE p.updated_at < ? GROUP BY s.plan_id HAVING COUNT(*) > 2 ORDER BY s.plan_id LIMIT ?
"""


class AgentRepository(RowRepository):
    """Keeps agents' sessions and events."""

    def session(self, agent: str, session: str) -> AgentSession | None:
        """Return a session; None where none of its events was recorded."""
        row = self._db.row(_GET, (agent, session))
        return _SESSION.value(row) if row else None

    def save(self, session: AgentSession) -> None:
        """Record a session, or the present state of one."""
        self._db.execute(_FORGET, (session.agent, session.session))
        self._insert("agent_sessions", _SESSION.columns(session))

    def add(self, moment: AgentMoment) -> None:
        """Record an event under the next number."""
        columns = _MOMENT.columns(moment)
        columns["number"] = self.last() + 1
        self._insert("agent_moments", columns)

    def last(self) -> int:
        """Return the number of the newest moment; 0: there is none."""
        return self._count(_LAST)

    def newest(self, plan_id: PlanId) -> AgentMoment | None:
        """Return the newest event of a session; None where it has none."""
        row = self._db.row(_NEWEST, (plan_id,))
        return _MOMENT.value(row) if row else None

    def of_plan(self, plan_id: PlanId) -> AgentSession | None:
        """Return the session of a plan; None where it is not one of an agent."""
        row = self._db.row(_OF_PLAN, (plan_id,))
        return _SESSION.value(row) if row else None

    def ended_at(self, call: ToolCall) -> datetime | None:
        """Return when a call ended, or was known to be cut off; None: neither is known."""
        row = self._db.row(_ENDED_AT, (call.call_id,)) or self._db.row(
            _CUT_OFF_AT, (call.plan_id, call.call_id)
        )
        return datetime.fromisoformat(row["created_at"]) if row else None

    def others_at_work(self, session: AgentSession, since: datetime, until: datetime) -> bool:
        """Return whether a call of another session of the same agent was open then."""
        wanted = (session.agent, session.plan_id, time_text(until), time_text(since))
        return self._count(_OTHERS_AT_WORK, wanted) > 0

    def any(self) -> bool:
        """Return whether an agent ever worked here."""
        return self._count(_OF_AGENTS) > 0

    def plans(self) -> Sequence[PlanId]:
        """Return the plans of all sessions."""
        return [row["plan_id"] for row in self._db.rows(_PLANS)]

    def known(self, path: str, number: int) -> Sequence[KnownMoment]:
        """Return the moments from that number on at which the contents of a real folder or file are known."""
        return [
            KnownMoment(
                number=row["number"],
                kind=row["kind"],
                plan_id=row["plan_id"],
                snapshot=Snapshot.from_text(row["snapshot"]),
            )
            for row in self._db.rows(_KNOWN, (number, self._places.kept(path)))
        ]

    def placed(self, since: datetime | None, until: datetime | None) -> Sequence[PlacedMoment]:
        """Return the moments between two times whose contents are held, and some before them; None: no limit."""
        bounds = (
            time_text(since) if since else _FIRST_TIME,
            _BEFORE_PLACED,
            time_text(until) if until else _LAST_TIME,
        )
        return [
            PlacedMoment(
                number=row["number"],
                kind=row["kind"],
                plan_id=row["plan_id"],
                group_id=row["group_id"],
                resource=row["resource"],
                path=row["filesystem_path"],
                snapshot=Snapshot.from_text(row["snapshot"]),
                created_at=datetime.fromisoformat(row["created_at"]),
            )
            for row in self._db.rows(_PLACED, bounds)
        ]

    def written_meanwhile(self, since: datetime, until: datetime) -> Sequence[tuple[PlanId, str]]:
        """Return the plans with sandboxes that wrote real files between two times, each with the type of event."""
        rows = self._db.rows(_WRITTEN_MEANWHILE, (time_text(since), time_text(until)))
        return [(row["plan_id"], row["type"]) for row in rows]

    def last_with(self, group_id: GroupId) -> int | None:
        """Return the number of the last moment at which a group held the files; None: there is no such moment."""
        row = self._db.row(_LAST_WITH, (group_id,))
        return row["number"] if row else None

    def first_with(self, group_id: GroupId, number: int) -> int | None:
        """Return the first moment after that one at which a group held the files; None: there is no such moment."""
        row = self._db.row(_FIRST_WITH, (group_id, number))
        return row["number"] if row else None

    def acted_during(self, call: ToolCall) -> bool:
        """Return whether mulligan took a group on its own since a call began."""
        return self._count(_ACTED_DURING, (call.call_id,)) > 0

    def acted_apart(self, call: ToolCall) -> bool:
        """Return whether a user undid, restored or ran something in place since a call began."""
        return self._count(_ACTED_APART, (call.call_id,)) > 0

    def left_by_undo(self, plan_id: PlanId) -> GroupId | None:
        """Return the group of what the last undo or restore left in a session; None: there was none."""
        row = self._db.row(_ACTED_LAST, (plan_id,))
        return row["group_id"] if row else None

    def since(self, number: int) -> Sequence[AgentMoment]:
        """Return the moments from that number on, in order."""
        return [_MOMENT.value(row) for row in self._db.rows(_SINCE, (number,))]

    def reports(self, plan_id: PlanId) -> Sequence[tuple[str, str, int, int]]:
        """Return the calls of a session by kind of report, with the first and the last moment of such a report."""
        return [
            (row["call_id"], row["kind"], row["first"], row["last"])
            for row in self._db.rows(_OF_CALLS, (plan_id,))
        ]

    def ends(self, plan_id: PlanId) -> Sequence[int]:
        """Return the moments of a session at which calls without an end are known to be over."""
        return [row["number"] for row in self._db.rows(_ENDS, (plan_id,))]

    def groups(self, plan_id: PlanId) -> Sequence[AgedGroup]:
        """Return the groups of a session, oldest first, as retention looks at them."""
        sides = self._db.rows(_OF_PROMPTS, (plan_id,))
        prompts = {row[side] for row in sides for side in ("before_group", "after_group")}
        return [
            AgedGroup(
                group_id=row["group_id"],
                created_at=datetime.fromisoformat(row["created_at"]),
                size_bytes=row["size_bytes"],
                labelled=row["label"] is not None,
                of_prompt=row["group_id"] in prompts,
            )
            for row in self._db.rows(_GROUPS, (plan_id,))
        ]

    def idle_since(self, moment: datetime, limit: int) -> Sequence[PlanId]:
        """Return plans of sessions in which nothing happened since, if they have more than two groups."""
        return [row["plan_id"] for row in self._db.rows(_IDLE, (time_text(moment), limit))]

    def went_back_since(self, moment: datetime) -> bool:
        """Return whether something that an agent did was taken back, or brought back, after that time."""
        return self._count(_RETURNS, (time_text(moment),)) > 0
