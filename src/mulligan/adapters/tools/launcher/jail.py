"""Confining this process and all that it starts: what the launcher does before its first command.

The order matters. Whatever needs privileges, such as making namespaces, comes before all of this; Landlock
needs the promise of no new privileges; capabilities go last, since nothing may be set up after them.
"""

from mulligan.adapters.tools.launcher.call_filter import filter_calls
from mulligan.adapters.tools.launcher.landlock import restrict
from mulligan.adapters.tools.launcher.privileges import drop_capabilities, promise_no_new_privileges

TYPE_CHECKING = False  # importing typing would double what the launcher imports
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mulligan.adapters.tools.launcher.call_filter import Notices

# What is loaded to confine, in this order.
LOADED = ("launcher.landlock", "launcher.privileges", "launcher.call_filter", "launcher.jail")


class Unconfined(Exception):
    """One part of the confinement is impossible."""

    def __init__(self, part: str, number: int) -> None:
        super().__init__(part, number)
        self.part, self.number = part, number


def confine(sandboxes: "Sequence[bytes]", elsewhere: "Sequence[bytes]", noted: int) -> "Notices | None":
    """Let this process write below these paths only, and give up what reaches the machine in other ways.

    Return what notes, on that descriptor, each link that is made; None where links cannot be noticed. Raise
    Unconfined where the system refuses a part of it: then nothing may be run.
    """
    part = "no new privileges"
    try:
        promise_no_new_privileges()
        part = "writes, with Landlock"
        restrict(sandboxes, elsewhere)
        part = "system calls, with seccomp"
        notices = filter_calls(noted)
        part = "capabilities"
        drop_capabilities()
    except OSError as exc:
        raise Unconfined(part, exc.errno or 0) from exc
    return notices
