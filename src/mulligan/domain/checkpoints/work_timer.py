"""The moments inside a step at which `on_quiet` and `on_interval` fire."""

from msgspec import Struct

from mulligan.domain.plans.trigger import CheckpointType

_LOOKS = 4  # at what was written, while `quiet` passes
_LONGEST_NAP = 0.5  # seconds between two of these looks


class WorkTimer(Struct):
    """Counts the time since something was written, and since the last group; times are seconds of any clock."""

    quiet: float | None  # seconds without a write after which a group is due; None: the trigger is off
    interval: float | None  # seconds between two groups; None: the trigger is off
    began: float | None = None  # when it was first asked, or a group was last taken
    written: float | None = None  # when a write was last seen that no group is known to hold

    @property
    def is_on(self) -> bool:
        """Return whether a group can become due."""
        return self.quiet is not None or self.interval is not None

    def due(self, now: float, *, stirred: bool) -> CheckpointType | None:
        """Return the trigger that fires now, if one does; `stirred`: something was written since the last look."""
        if self.began is None:
            self.began = now
        if stirred:
            self.written = now
        if self.quiet is not None and self.written is not None and now - self.written >= self.quiet:
            return CheckpointType.ON_QUIET
        if self.interval is not None and now - self.began >= self.interval:
            return CheckpointType.ON_INTERVAL
        return None

    def fired(self, now: float) -> None:
        """Count from here on: a group is being taken."""
        self.began, self.written = now, None

    def wait(self, now: float) -> float | None:
        """Return for how long nothing is due; None: both triggers are off."""
        naps: list[float] = []
        if self.quiet is not None:
            naps.append(min(self.quiet / _LOOKS, _LONGEST_NAP))
        if self.interval is not None:
            naps.append(max((now if self.began is None else self.began) + self.interval - now, 0.0))
        return min(naps, default=None)
