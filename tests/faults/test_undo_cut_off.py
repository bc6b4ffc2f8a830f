"""Undo, redo and the end of a plan in place, killed at every boundary: the folder is before or after, never between.

The same command again leads to the end of an undisturbed run: the entry of the timeline is taken back once.
"""

from collections.abc import Callable

import pytest

from tests.faults.both import BothTrials
from tests.faults.trials import Fault

COMMANDS = ("undo in place", "redo in place", "begin after a run that failed")
OF_KINDS = ("undo rows", "undo a commit", "redo a commit")
# Beside these the acts of a restore, which other tests strike at.
TURNING = ("apply.intend", "apply.ready", "undo.settle", "restore.place", "restore.remove", "database.write")
ENDING = ("plan.end", "sandbox.record", "group.record")


@pytest.mark.parametrize("command", [*COMMANDS, *OF_KINDS])
def test_a_kill_leaves_before_or_after(
    trials: BothTrials, command: str, record_property: Callable[[str, object], None]
) -> None:
    wanted = ENDING if command.startswith("begin") else TURNING
    acts = sorted({act for _, act in trials.passed[command]} & {*wanted})
    assert {"undo.settle", "plan.end"} & {*acts}
    # Before one act and after the next: `nox -s faults` strikes at both sides of each.
    for index, act in enumerate(acts):
        when = ("before", "after")[index % 2]
        trials.strike(Fault(command=command, when=when, act=act, number=1, how="SIGKILL"))
    record_property("faults survived", len(acts))
