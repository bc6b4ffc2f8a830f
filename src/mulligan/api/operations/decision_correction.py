"""The correction of a decision: which of the two ways is meant, and what it needs."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from mulligan.api.operations.plan_files import read_bytes
from mulligan.application.corrections.append import AppendWish
from mulligan.application.corrections.revert import Wish
from mulligan.domain.text.json_value import Json
from mulligan.errors import Advice, NextStep, NothingToChoose, UsageWrong

if TYPE_CHECKING:
    from mulligan.application.corrections.correction_result import Corrected
    from mulligan.domain.plans.plan import PlanDefinition
    from mulligan.domain.plans.step import ChildPlan
    from mulligan.ports import Observer
    from mulligan.wiring.services import Services


class DecisionCorrection(Struct, frozen=True, kw_only=True):
    """The correction of a decision, as a caller asks for it."""

    decision: str
    guidance: str | None  # None: the choice is the guidance
    mode: str
    choose: str | None
    corrected: Path | None
    execute: bool

    def perform(
        self,
        services: "Services",
        read: "Callable[[Path], PlanDefinition]",
        observer: "Observer",
        *,
        dry_run: bool,
    ) -> "Corrected":
        """Take the decision back (`revert`) or `append` work to it; refuse another mode, and a choice to append."""
        guidance = self.guidance if self.guidance is not None else self.choose
        if guidance is None:
            raise UsageWrong(
                reason="neither guidance nor a choice is given",
                hint=Advice(
                    "say what to do instead with ",
                    NextStep("again", guidance=...),
                    ", or what to choose with ",
                    NextStep("again", choose=...),
                ),
            )
        if self.mode == "revert":
            revised = read(self.corrected) if self.corrected is not None else None
            wish = Wish(
                decision=self.decision,
                guidance=guidance,
                chosen=self.choose,
                corrected=revised,
                execute=self.execute,
            )
            act = services.corrections.preview if dry_run else services.corrections.revert
            return act(wish, observer)
        if self.mode != "append":
            raise UsageWrong(reason=f"the mode is {self.mode!r}", hint="give `revert` or `append`")
        if self.choose is not None:
            leave_out, revert = NextStep("again", choose=...), NextStep("again", mode="revert")
            raise NothingToChoose(
                decision_id=self.decision,
                reason="stays as it is when work is appended to it",
                hint=Advice("leave ", leave_out, " out, or take the decision back with ", revert),
            )
        appended = partial(_read_appended, services, self.corrected) if self.corrected is not None else None
        work = AppendWish(decision=self.decision, guidance=guidance, read=appended, execute=self.execute)
        add = services.appends.preview if dry_run else services.appends.append
        return add(work, observer)


def _read_appended(
    services: "Services", file: Path, definition: "PlanDefinition", outputs: Mapping[str, Json]
) -> "ChildPlan":
    from mulligan.planfile import read_appended  # here: only plan files need a YAML parser

    return read_appended(
        read_bytes(file),
        file=str(file),
        definition=definition,
        outputs=outputs,
        declarations=services.adapters.toolbox.declarations(),
    )
