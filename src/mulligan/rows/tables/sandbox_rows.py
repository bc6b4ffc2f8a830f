"""Rows of sandboxes."""

from __future__ import annotations

from collections.abc import Sequence

from mulligan.domain.resources.resource import ResourceType, Sandbox, Strategy
from mulligan.domain.text.ids import PlanId
from mulligan.rows.columns import SNAPSHOT, TEXTS, Layout, word
from mulligan.rows.row_repository import RowRepository

SANDBOX = Layout(
    Sandbox,
    type=word(ResourceType),
    strategy=word(Strategy),
    base=SNAPSHOT,
    excluded=TEXTS,
    patterns=TEXTS,
)
_POSITION = "SELECT COUNT(*) AS count FROM sandboxes WHERE plan_id = ?"
_SANDBOXES = "SELECT * FROM sandboxes WHERE plan_id = ? ORDER BY position"
_ALL_SANDBOXES = "SELECT * FROM sandboxes ORDER BY plan_id, position"
_IN_PLACE = "SELECT * FROM sandboxes WHERE strategy = 'in_place' ORDER BY plan_id DESC, position"
_IN_PLACE_STILL = """
SELECT sandboxes.* FROM sandboxes JOIN plans ON plans.plan_id = sandboxes.plan_id
WHERE sandboxes.strategy = 'in_place' AND plans.state NOT IN ('applied', 'cancelled')
ORDER BY sandboxes.plan_id DESC, sandboxes.position
"""
_AT_WORK_IN_PLACE = """
SELECT sandboxes.plan_id, sandboxes.path FROM sandboxes JOIN plans ON plans.plan_id = sandboxes.plan_id
WHERE sandboxes.strategy = 'in_place' AND plans.state NOT IN ('applied', 'cancelled') ORDER BY sandboxes.plan_id
"""
_REMOVE_SANDBOX = "DELETE FROM sandboxes WHERE plan_id = ? AND resource = ?"


class SandboxRepository(RowRepository):
    """Keeps which sandboxes there are."""

    def add(self, sandbox: Sandbox) -> Sandbox:
        """Record a sandbox that was made on this machine; return it as it is recorded."""
        position = self._count(_POSITION, (sandbox.plan_id,))
        self._insert(
            "sandboxes", {**SANDBOX.columns(self._places.kept_sandbox(sandbox)), "position": position}
        )
        return self._places.claimed(sandbox)

    def list(self, plan_id: PlanId) -> Sequence[Sandbox]:
        """Return the plan's sandboxes, in the order of its resources."""
        rows = self._db.rows(_SANDBOXES, (plan_id,))
        return [self._places.whole_sandbox(SANDBOX.value(row)) for row in rows]

    def all(self) -> Sequence[Sandbox]:
        """Return the sandboxes of all plans."""
        return [self._places.whole_sandbox(SANDBOX.value(row)) for row in self._db.rows(_ALL_SANDBOXES)]

    def in_place(self, *, ended: bool) -> Sequence[Sandbox]:
        """Return what plans work on in place, the newest plan first; with `ended`, also plans that did."""
        rows = self._db.rows(_IN_PLACE if ended else _IN_PLACE_STILL)
        return [self._places.whole_sandbox(SANDBOX.value(row)) for row in rows]

    def at_work_in_place(self) -> Sequence[tuple[PlanId, str]]:
        """Return what plans that have not ended work on in place: each plan with a path.

        Other projects ask this of databases of any version: the statement names few columns, none of them new.
        """
        rows = self._db.rows(_AT_WORK_IN_PLACE)
        return [(PlanId(row["plan_id"]), self._places.whole(str(row["path"]))) for row in rows]

    def here(self) -> Sequence[Sandbox]:
        """Return the sandboxes of all plans that are on this machine."""
        return [sandbox for sandbox in self.all() if not self._places.is_elsewhere(sandbox.host)]

    def here_of(self, plan_id: PlanId) -> Sequence[Sandbox]:
        """Return those of a plan that are on this machine."""
        return [sandbox for sandbox in self.list(plan_id) if not self._places.is_elsewhere(sandbox.host)]

    def arrive(self, sandbox: Sandbox) -> Sandbox:
        """Record that a sandbox was made again on this machine; return it as it is recorded."""
        key = {"plan_id": sandbox.plan_id, "resource": sandbox.resource}
        self._update("sandboxes", {"host": self._places.host}, **key)
        return self._places.claimed(sandbox)

    def rewrite(self, sandbox: Sandbox) -> None:
        """Record another base of a sandbox, and other paths that it leaves out."""
        columns = SANDBOX.columns(sandbox)
        changed = {name: columns[name] for name in ("base", "excluded_json")}
        self._update("sandboxes", changed, plan_id=sandbox.plan_id, resource=sandbox.resource)

    def remove(self, plan_id: PlanId, resource: str) -> None:
        """Forget a sandbox that is gone."""
        self._db.execute(_REMOVE_SANDBOX, (plan_id, resource))
