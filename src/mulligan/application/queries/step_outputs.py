"""The recorded output of the steps of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from msgspec import Struct

from mulligan.domain.views.printed import Printed, printed_in
from mulligan.errors import StepNotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mulligan.domain.text.ids import CallId, PlanId
    from mulligan.rows.database import Database


class StepOutput(Struct, frozen=True, kw_only=True):
    """The output of the newest call of a step."""

    index: int
    step: str
    tool: str
    call_id: CallId
    exit_status: int | None  # of a command; negative: the signal that ended it
    printed: Printed
    full_screen: bool  # it tried to draw on the whole screen, and could not


class StepOutputs(Struct, kw_only=True, frozen=True, eq=False):
    """Reads outputs; never waits for a running plan."""

    database: Database

    def of(self, plan_id: PlanId, step: str | None) -> Sequence[StepOutput]:
        """Return what the newest ended call of each step printed, in order; of one step, by name or index."""
        found: dict[int, StepOutput] = {}
        with self.database.reading() as db:
            steps = db.steps.list(plan_id)
            wanted = {s.index for s in steps if step is None or step in (s.name, str(s.index))}
            if not wanted and step is not None:
                raise StepNotFound(plan_id=plan_id, step=step)
            for call in db.tool_calls.each(plan_id):
                printed = printed_in(call.detail, call.output) if call.step_index in wanted else None
                if printed is not None:
                    found[call.step_index] = StepOutput(
                        index=call.step_index,
                        step=call.step_name,
                        tool=call.tool,
                        call_id=call.call_id,
                        exit_status=cast("int | None", call.detail.get("exit_status")),
                        printed=printed,
                        full_screen=bool(call.detail.get("full_screen")),
                    )
        return [found[index] for index in sorted(found)]
