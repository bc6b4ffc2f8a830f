"""The branch of a checkout that an apply belongs to: it is not applied to another, or taken back there, unasked."""

from msgspec import Struct

from mulligan.application.apply.apply_preparation import Prepared
from mulligan.domain.history.timeline_entry import Turn
from mulligan.domain.resources.resource import Sandbox
from mulligan.domain.text.json_value import JsonObject
from mulligan.errors import Advice, BranchDiffers, NextStep
from mulligan.ports import SandboxKinds


class OnBranch(Struct, frozen=True, kw_only=True):
    """A deed of a plan, and the branch that was checked out at the time."""

    branch: str | None  # None: none was
    deed: str  # such as "began"

    def refuse_other(self, now: str | None, real: Sandbox, turn: Turn, verb: str) -> None:
        """Refuse a checkout that is on another branch now. `verb` is `apply` or `unapply`."""
        if self.branch in (None, now):
            return
        if turn.undoes is not None:
            there = NextStep("undo", what=str(turn.undoes), onto_branch=True)
        elif turn.redoes is not None:
            there = NextStep("redo", onto_branch=True)
        else:
            there = NextStep("apply" if verb == "apply" else "unapply", plan=real.plan_id, onto_branch=True)
        raise BranchDiffers(
            plan_id=real.plan_id,
            path=real.path,
            deed=self.deed,
            began=self.branch,
            now=now or "no branch (detached HEAD)",
            hint=Advice(f"`git switch {self.branch}` switches back; ", there, " acts on the one it is on"),
        )


def branches_of(kinds: SandboxKinds, prepared: Prepared) -> JsonObject:
    """Return the branches on which real checkouts are changed, by resource."""
    found: JsonObject = {}
    for change in prepared.changes:
        if (branch := kinds.of(change.real).branch_in(change.written)) is not None:
            found[change.real.resource] = branch
    return found
