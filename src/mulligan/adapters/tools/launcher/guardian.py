"""The guardian: the parent of a launcher, so that no single kill leaves processes of a call alive.

A launcher ends what runs under it, also when the runner dies. When the launcher itself is killed, by the
system for want of memory or by the step it runs, its orphans become children of the guardian, which kills
them. When the guardian is killed, the kernel ends the launcher, and that ends everything first. The guardian is
not confined, so a confined step cannot signal it. It never outlives what it guards.
"""

import os

from mulligan.adapters.tools.launcher.control_groups import enter, leave
from mulligan.adapters.tools.launcher.kernel import prctl
from mulligan.adapters.tools.launcher.launcher import Launcher, become_subreaper, children_of

TYPE_CHECKING = False  # importing typing would double what this program imports
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable

    from mulligan.adapters.tools.launcher.call_filter import Notices
    from mulligan.adapters.tools.launcher.launcher import Message
else:
    import _signal as signal

_PR_SET_PDEATHSIG = 1


def main(
    arguments: list[str],
    confine: "Callable[[Message, Message, int], Notices | None]",
    appear: "Callable[[Message | None], None]",
) -> None:
    """Serve stdin. The words are `tree` or `group`, the plan, and descriptors: for replies, for notes, to hand on."""
    how, plan_id, *descriptors = arguments
    replies, noted, *kept = map(int, descriptors)
    for own in (replies, noted):
        os.set_inheritable(own, False)  # noqa: FBT003 - the function has no names
    os.chdir("/")
    subreaper = how == "tree" and become_subreaper()
    if subreaper:
        enter(plan_id)
        guardian, runner = os.getpid(), os.getppid()
        launcher = os.fork()
        if launcher:
            _guard(launcher, [0, 1, 2, noted, *kept])
            if _has_closed_everything(runner):  # else it waits for this process, and removes the group
                leave(plan_id)
            os._exit(0)  # at once: the runner waits for it, and nothing is to be tidied up
        _end_with(guardian)
        become_subreaper()  # a child does not inherit it
    Launcher(
        0, replies, kept, lambda own, others: confine(own, others, noted), appear, subreaper=subreaper
    ).serve()
    os._exit(0)


def _guard(launcher: int, closed: list[int]) -> None:
    """Wait for the launcher to end, then kill what it left.

    The runner learns that its launcher is gone when nobody has the descriptor for replies open: it stays open here
    until all is over.
    """
    for descriptor in closed:
        os.close(descriptor)
    os.waitpid(launcher, 0)
    while True:
        for child in children_of(os.getpid()):
            try:
                os.kill(child, signal.SIGKILL)
            except PermissionError:
                continue  # another user's, such as sudo: it is waited for
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _has_closed_everything(pid: int) -> bool:
    """Return whether a process is gone or about to be: it closes its descriptors before its children see it end."""
    try:
        return not os.listdir(f"/proc/{pid}/fd")
    except FileNotFoundError:
        return True
    except PermissionError:
        return False


def _end_with(guardian: int) -> None:
    """Have the kernel end this process, in the way that ends its commands first, when the guardian dies."""
    prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != guardian:  # it died meanwhile: there is nothing to end yet
        os._exit(1)
