"""Decides whether and how a plan's tools are confined, and explains that to the user."""

from collections.abc import Sequence
from pathlib import Path

from mulligan.application.runs.run import Run
from mulligan.config import Isolation, Settings
from mulligan.domain.resources.appearance import Appearance
from mulligan.domain.resources.bounds import Bounds
from mulligan.domain.resources.placement import lies_in
from mulligan.domain.resources.resource import Sandbox, Strategy
from mulligan.domain.text.ids import PlanId
from mulligan.errors import Advice, ConfinementImpossible, MulliganError, NextStep, SettingInvalid, ToolFailed
from mulligan.ports import Claim, Confinement

_KEY, _AT = "sandbox.writable", "sandbox.at"


class ConfinementService:
    """Applies the settings of confinement, as far as the system can."""

    def __init__(self, *, confinement: Confinement) -> None:
        self._confinement = confinement
        self._drawn: dict[tuple[Claim, Appearance | None], Bounds | None] = {}

    def check(self, settings: Settings, real: Sequence[Path]) -> None:
        """Refuse settings that the system cannot carry out; `real` are folders that are worked on in place."""
        if settings.isolate is Isolation.OFF:
            return
        for path in settings.writable:
            if self._confinement.opens_home(path) or self._confinement.opens_project(path):
                raise SettingInvalid(
                    key=_KEY,
                    reason=f"{path} holds the project folder or a project home, or lies in that, and tools must not "
                    "write them",
                    origin=settings.entry(_KEY).origin,
                    hint="name folders beside them",
                )
        if settings.isolate is Isolation.REQUIRED:
            if lacking := self._confinement.lacking():
                raise ConfinementImpossible(reason=lacking)
            if opened := self._opened(real):
                raise ConfinementImpossible(
                    reason=opened,
                    hint="work on a copy (`strategy: auto`), on a folder beside the project home, or set "
                    "`sandbox.isolate` to `auto`",
                )

    def cautions(self, settings: Settings, real: Sequence[Path]) -> tuple[str, ...]:
        """Return warnings for the user, once per plan."""
        if settings.isolate is Isolation.OFF:
            return ()
        known = "set `sandbox.isolate` to `off` to say that you know"
        if lacking := self._confinement.lacking():
            return (f"tools can write outside their sandboxes: {lacking} ({known})",)
        opened = self._opened(real)
        return (f"tools can write the project home: {opened}",) if opened else ()

    def bounds(self, run: Run, appearance: Appearance | None) -> Bounds | None:
        """Return what tools of a run that see its sandboxes so may write; None: everything that the user may.

        Determined once per run: a symlink that a tool puts in place of a folder opens nothing to the next tool.
        """
        key = (run.claim, appearance)
        if key not in self._drawn:
            self._drawn[key] = self.drawn(run.plan.plan_id, run.sandboxes, run.settings, appearance)
        return self._drawn[key]

    def drawn(
        self,
        plan_id: PlanId,
        sandboxes: Sequence[Sandbox],
        settings: Settings,
        appearance: Appearance | None,
    ) -> Bounds | None:
        """Determine the same for sandboxes, under settings."""
        if settings.isolate is Isolation.OFF or self._confinement.lacking():
            return None
        return self._confinement.bounds(plan_id, sandboxes, settings.writable, appearance)

    def explain(
        self, error: MulliganError, folder: Path, bounds: Bounds | None, sandboxes: Sequence[Sandbox]
    ) -> MulliganError:
        """Return the error of a tool call, with the path if it was caused by a write out of bounds."""
        # 126: a shell's exit status for a file that it may not execute.
        refused = error.facts.get("started") is False or error.facts.get("exit_status") == 126
        if bounds is None or type(error) is not ToolFailed or refused:
            return error
        complaint = str(error.facts.get("stderr") or error.text)
        path = self._confinement.stopped(complaint, Path(str(error.facts.get("folder", folder))), bounds)
        if path is None:
            return error
        stopped = f"writing {path} was stopped: it is outside of what the plan's tools may write"
        real = [str(Path(s.location).resolve()) for s in sandboxes if s.strategy is not Strategy.IN_PLACE]
        if any(lies_in(path, each) for each in real):
            return _into_the_real(error, path, stopped)
        if self._confinement.opens_home(path):
            return _into_a_home(error, path, stopped)
        unmade = next((each for each in bounds.missing if Path(path).is_relative_to(each)), None)
        around = str(Path(path).parent)
        narrow = self._confinement.opens_home(around) or any(lies_in(each, around) for each in real)
        wide = "" if narrow else ", or a folder around it,"
        remedy = f"make {unmade}, which `{_KEY}` names" if unmade else f"add it{wide} to `{_KEY}`"
        shown, change = NextStep("config.get", key=_KEY), NextStep("config.add", key=_KEY, value=...)
        hint = remedy if unmade else Advice(f"{remedy}: ", shown, " shows what it is, ", change, " sets it")
        reason = f"{error.facts['reason']}\n{stopped}; {remedy}"
        facts = {**error.facts, "reason": reason, "stopped_write": path}
        return ToolFailed(hint=hint, **facts)

    def _opened(self, real: Sequence[Path]) -> str | None:
        found = next((folder for folder in real if self._confinement.opens_home(str(folder))), None)
        return f"it lies in {found}, which is worked on in place" if found else None


def _into_the_real(error: MulliganError, path: str, stopped: str) -> ToolFailed:
    """Return the error of a write to the real resource, which nothing opens to tools: it would end the sandbox."""
    remedy = (
        "it is in the real folder, which `apply` alone changes; use a path relative to the working folder"
    )
    hint = Advice(
        f"{remedy}, or set `sandbox.at` to `real-path`: ", NextStep("config.get", key=_AT), " shows it"
    )
    facts = {**error.facts, "reason": f"{error.facts['reason']}\n{stopped}; {remedy}", "stopped_write": path}
    return ToolFailed(hint=hint, **facts)


def _into_a_home(error: MulliganError, path: str, stopped: str) -> ToolFailed:
    """Return the error of a write to what mulligan keeps of this project or another, which nothing opens to tools."""
    remedy = "it is in the home of a project, with plans and checkpoints, which no step may write"
    facts = {**error.facts, "reason": f"{error.facts['reason']}\n{stopped}; {remedy}", "stopped_write": path}
    return ToolFailed(hint=remedy, **facts)
