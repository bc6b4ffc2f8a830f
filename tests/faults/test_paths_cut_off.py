"""A restore of paths, its undo and redo, the removal of a plan and a purge, killed at the acts that matter most.

The scenario has the same commands, so that `nox -s faults` strikes at every passing of every act.
"""

from collections.abc import Callable

import pytest

from tests.faults.both import BothTrials
from tests.faults.trials import Fault

STRIKES = [
    *(
        ("restore paths", act)
        for act in ("group.record", "apply.ready", "restore.place", "database.write", "apply.settle")
    ),
    *(("undo a restore", act) for act in ("apply.ready", "restore.place", "database.write", "undo.settle")),
    *(("redo a restore", act) for act in ("apply.intend", "restore.remove", "undo.settle")),
    *(("remove a plan", act) for act in ("plan.end", "sandbox.remove", "plan.remove", "lock.remove")),
    *(("forget paths", act) for act in ("pack.name", "forget.record", "pack.remove")),
    *(("forget in a checkout", act) for act in ("git.remake", "names.record")),
]


@pytest.mark.parametrize(("number", "command", "act"), [(n, *strike) for n, strike in enumerate(STRIKES)])
def test_a_kill(
    trials: BothTrials, number: int, command: str, act: str, record_property: Callable[[str, object], None]
) -> None:
    when = ("before", "after")[number % 2]
    trials.strike(Fault(command=command, when=when, act=act, number=1, how="SIGKILL"))
    record_property("faults survived", 1)


@pytest.mark.parametrize(
    ("command", "act", "how"),
    [
        ("restore paths", "restore.stage", "ENOSPC"),
        ("restore paths", "restore.place", "EIO"),
        ("remove a plan", "sandbox.remove", "EIO"),
        ("remove a plan", "lock.remove", "EIO"),
        ("forget paths", "pack.sync", "ENOSPC"),
    ],
)
def test_a_failure(trials: BothTrials, command: str, act: str, how: str) -> None:
    trials.strike(Fault(command=command, when="before", act=act, number=1, how=how))
