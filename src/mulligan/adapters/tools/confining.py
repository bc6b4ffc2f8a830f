"""Confining this process and all that it starts: what the launcher does before its first command.

The order matters. Whatever needs privileges, such as making namespaces, comes before all of this; Landlock
needs the promise of no new privileges; capabilities go last, since nothing may be set up after them.
"""

from mulligan.adapters.tools.landlock import restrict
from mulligan.adapters.tools.privileges import (
    drop_capabilities,
    promise_no_new_privileges,
    refuse_keyrings,
)

TYPE_CHECKING = False  # importing typing would double what the launcher imports
if TYPE_CHECKING:
    from collections.abc import Sequence

LOADED = ("landlock", "privileges", "confining")  # what the launcher loads, in this order


class Unconfined(Exception):
    """One part of the confinement is impossible."""

    def __init__(self, part: str, number: int) -> None:
        super().__init__(part, number)
        self.part = part
        self.number = number


def confine(sandboxes: "Sequence[bytes]", elsewhere: "Sequence[bytes]") -> None:
    """Let this process write below these paths only, and give up what reaches the machine in other ways.

    Raise Unconfined where the system refuses a part of it: then nothing may be run.
    """
    parts = {
        "no new privileges": promise_no_new_privileges,
        "writes, with Landlock": lambda: restrict(sandboxes, elsewhere),
        "keyrings, with seccomp": refuse_keyrings,
        "capabilities": drop_capabilities,
    }
    for part, carry_out in parts.items():
        try:
            carry_out()
        except OSError as exc:
            raise Unconfined(part, exc.errno or 0) from exc
