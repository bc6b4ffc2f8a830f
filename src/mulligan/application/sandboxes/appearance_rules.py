"""Decides where a plan's processes see its sandboxes, and explains to the user where that is not the real path."""

from collections.abc import Sequence

from mulligan.application.runs.run import Run
from mulligan.config import SandboxPlace, Settings
from mulligan.domain.plans.step import Action, Step, Subplans, ToolUse
from mulligan.domain.resources.appearance import Appearance
from mulligan.domain.resources.resource import Sandbox, Strategy
from mulligan.errors import RealPathImpossible
from mulligan.ports import Claim, Clock, RealPlaces, SandboxKinds, Toolbox


class AppearanceService:
    """Applies the setting `sandbox.at`, as far as the system can."""

    def __init__(
        self, *, real_places: RealPlaces, kinds: SandboxKinds, toolbox: Toolbox, clock: Clock
    ) -> None:
        self._places = real_places
        self._kinds = kinds
        self._toolbox = toolbox
        self._clock = clock
        self._found: dict[Claim, Appearance | str | None] = {}  # a text: why there is none

    def check(self, settings: Settings) -> None:
        """Refuse a setting that the system cannot carry out."""
        if settings.at is SandboxPlace.REAL_PATH and (lacking := self._places.lacking()):
            raise RealPathImpossible(reason=lacking)

    def cautions(self, run: Run, sandboxes: Sequence[Sandbox]) -> tuple[str, ...]:
        """Return warnings for the user, once per family of plans: where sandboxes are seen, and what leads back."""
        if run.plan.parent_plan_id is not None or not self._has_processes(run.plan.definition.steps):
            return ()
        found = self._of(run, sandboxes)
        return self._warnings(found, sandboxes) if isinstance(found, str) else ()

    def of(self, run: Run) -> Appearance | None:
        """Return where processes of a run see its sandboxes; None: at the sandboxes' own paths."""
        known = run.claim in self._found
        found = self._of(run, run.sandboxes)
        if not isinstance(found, str):
            return found
        if not known and run.plan.parent_plan_id is None:
            for text in self._warnings(found, run.sandboxes):
                if text not in run.plan.messages:  # the plan did not start with it
                    run.announce(text, self._clock.now())
        return None

    def _of(self, run: Run, sandboxes: Sequence[Sandbox]) -> Appearance | str | None:
        if run.claim not in self._found:
            self._found[run.claim] = self.shown(run.settings, sandboxes)
        return self._found[run.claim]

    def shown(self, settings: Settings, sandboxes: Sequence[Sandbox]) -> Appearance | str | None:
        """Return where processes see sandboxes; None: at their own paths, as wished; a text: so, and why."""
        copies = _with_real_path(sandboxes)
        if settings.at is SandboxPlace.OWN_PATH or not copies:
            return None
        lenders = [pair for each in copies for pair in self._kinds.of(each).lenders(each)]
        try:
            return self._places.show(copies, lenders)
        except RealPathImpossible as exc:
            if settings.at is SandboxPlace.REAL_PATH:
                raise
            return str(exc.facts["reason"])

    def _warnings(self, reason: str, sandboxes: Sequence[Sandbox]) -> tuple[str, ...]:
        copies = _with_real_path(sandboxes)
        known = "set `sandbox.at` to `own-path` to say that you know"
        note = f"steps see the sandboxes at their own paths, not at the real ones: {reason} ({known})"
        back = [
            f"this leads steps back to the real folder: {text}" for text in self._places.ways_back(copies)
        ]
        return (note, *back)

    def _has_processes(self, steps: Sequence[Step]) -> bool:
        """Return whether steps run processes that see the sandboxes; a session's program is not one of them."""
        return any(self._is_process(step.action) for step in steps)

    def _is_process(self, action: Action) -> bool:
        if isinstance(action, Subplans):
            return any(self._has_processes(child.steps) for child in action.plans)
        return isinstance(action, ToolUse) and self._toolbox.tool(action.tool).declaration.at_real_path


def _with_real_path(sandboxes: Sequence[Sandbox]) -> list[Sandbox]:
    """Return the copies of what is at a path of this machine."""
    copies = [each for each in sandboxes if each.strategy is not Strategy.IN_PLACE]
    return [each for each in copies if not each.type.traits.is_remote]
