"""The words by which people call what rows have ids for: `tune`, `tune@3`, `tune/d1`, `tune/c1`."""

from __future__ import annotations

from collections.abc import Collection

from mulligan.rows.row_repository import RowRepository

_PLANS = "SELECT plan_id AS id, handle FROM plans WHERE plan_id IN ({marks})"
# Of each kind: the statement, and what is between the plan's handle and the number in the plan.
_NUMBERED = (
    (
        """
        SELECT c.checkpoint_id AS id, p.handle, g.number FROM checkpoints AS c
        JOIN checkpoint_groups AS g ON g.group_id = c.group_id JOIN plans AS p ON p.plan_id = c.plan_id
        WHERE c.checkpoint_id IN ({marks})
        """,
        "@",
    ),
    (
        """
        SELECT g.group_id AS id, p.handle, g.number FROM checkpoint_groups AS g
        JOIN plans AS p ON p.plan_id = g.plan_id WHERE g.group_id IN ({marks})
        """,
        "@",
    ),
    (
        """
        SELECT d.decision_id AS id, p.handle,
            (SELECT COUNT(*) FROM decisions AS e WHERE e.plan_id = d.plan_id AND e.seq <= d.seq) AS number
        FROM decisions AS d JOIN plans AS p ON p.plan_id = d.plan_id WHERE d.decision_id IN ({marks})
        """,
        "/d",
    ),
    (
        """
        SELECT c.correction_id AS id, p.handle,
            (SELECT COUNT(*) FROM corrections AS e WHERE e.plan_id = c.plan_id AND e.attempt <= c.attempt) AS number
        FROM corrections AS c JOIN plans AS p ON p.plan_id = c.plan_id WHERE c.correction_id IN ({marks})
        """,
        "/c",
    ),
)


class HandleRepository(RowRepository):
    """Looks up words for ids."""

    def of(self, ids: Collection[str]) -> dict[str, str]:
        """Return the word for each id of a plan, checkpoint, group, decision or correction that is still there."""
        wanted = tuple(ids)
        if not wanted:
            return {}
        marks = ", ".join("?" * len(wanted))
        found = {row["id"]: row["handle"] for row in self._db.rows(_PLANS.format(marks=marks), wanted)}
        for statement, sign in _NUMBERED:
            if len(found) == len(wanted):
                break
            rows = self._db.rows(statement.format(marks=marks), wanted)
            found |= {row["id"]: f"{row['handle']}{sign}{row['number']}" for row in rows}
        return found
