"""Groups that are taken inside a step, while its programs are at work: `on_quiet` and `on_interval`."""

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager

from msgspec import Struct

from mulligan.application.checkpoints.checkpoint_manager import CheckpointManager
from mulligan.application.checkpoints.checkpoint_service import CheckpointService, reason_for
from mulligan.application.runs.run import Run
from mulligan.domain.checkpoints.work_timer import WorkTimer
from mulligan.domain.plans.step import Step
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.text.json_value import JsonObject
from mulligan.errors import MulliganError, PlanTakenOver
from mulligan.ports import Clock, SideWork, SideWorks

_PACE = 0.05  # seconds between two looks at whether a group is complete
AT_WORK = "at_work"  # in the metadata of such a group


class WorkGroupService(Struct, kw_only=True, frozen=True, eq=False):
    """Takes groups while a tool runs."""

    checkpoints: CheckpointService
    manager: CheckpointManager
    side_works: SideWorks
    clock: Clock

    def of(self, run: Run, step: Step, tool: str) -> "GroupsAtWork":
        """Return the groups of a call, to be taken as the settings say."""
        enabled, triggers = run.plan.definition.rollback_policy.enabled, run.settings.triggers
        timer = WorkTimer(
            quiet=run.settings.quiet_seconds if enabled and CheckpointType.ON_QUIET in triggers else None,
            interval=run.settings.interval_seconds
            if enabled and CheckpointType.ON_INTERVAL in triggers
            else None,
        )
        metadata: JsonObject = {"step": step.name, "tool": tool, AT_WORK: True}
        return GroupsAtWork(service=self, run=run, metadata=metadata, timer=timer)


class GroupsAtWork(Struct, kw_only=True, eq=False):
    """The groups of one call of a tool.

    The tool's own thread asks for them while it waits for its programs. Each is captured and recorded in another one,
    so that output and keys are passed on meanwhile; nothing else is done with the run until it is complete.
    """

    service: WorkGroupService
    run: Run
    metadata: JsonObject
    timer: WorkTimer
    work: SideWork | None = None
    taking: CheckpointType | None = None

    @contextmanager
    def during(self) -> Generator[None]:
        """Let the call run; when the block is left, no group is being taken any longer."""
        with ExitStack() as stack:
            if self.timer.is_on and self.run.streams is not None:
                stack.enter_context(self.run.showing_later())  # the terminal is the command's
            stack.callback(self.settle)
            yield

    def serve(self, now: float, learn: Callable[[], None]) -> float | None:
        """Take the group that is due; return after how many seconds to ask again, None: never.

        `now` is the time of any clock that is the same each time. `learn` is called first where a group is begun: it
        passes on what programs did that no watch sees.
        """
        timer = self.timer
        if not timer.is_on:
            return None
        if self.work is not None:
            if not self.work.is_over:
                return _PACE
            self.settle()
        stirred = timer.quiet is not None and self._stirred(timer)
        due = timer.due(now, stirred=stirred)
        if due is None:
            return timer.wait(now)
        learn()
        timer.fired(now)
        self.taking = due
        reason = reason_for(due, self.metadata, between_steps=False)
        self.work = self.service.side_works.begin(
            lambda: self.service.checkpoints.create_at_work(self.run, reason)
        )
        return _PACE

    def settle(self) -> None:
        """Wait until the group that is being taken is complete; say so where it could not be taken."""
        work, self.work = self.work, None
        if work is None:
            return
        try:
            work.finish()
        except PlanTakenOver:
            raise  # this process may no longer write
        except MulliganError as exc:
            # Programs are not ended for it: the group that is due when they are done must succeed.
            self._announce(f"{self.taking}: no checkpoint could be taken meanwhile: {exc.text}")

    def _stirred(self, timer: WorkTimer) -> bool:
        """Return whether something was written; without a watch, say that `on_quiet` cannot fire."""
        unseen = self.service.manager.unseen(self.run)
        if not unseen:
            return self.service.manager.stirred(self.run)
        for resource, reason in unseen.items():
            other = CheckpointType.ON_INTERVAL.value
            text = (
                f"{resource}: {CheckpointType.ON_QUIET} cannot fire ({reason}); {other} works without a watch"
            )
            self._announce(text)
        timer.quiet = None
        return False

    def _announce(self, text: str) -> None:
        if text not in self.run.messages:
            self.run.announce(text, self.service.clock.now())
