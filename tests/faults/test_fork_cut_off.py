"""A fork of folders, checkouts and databases, killed at the acts that matter most: the same command makes it.

The scenarios have the same commands, so that `nox -s faults` strikes at every passing of every act.
"""

from collections.abc import Callable

import pytest

from tests.faults.both import BothTrials
from tests.faults.trials import Fault

ACTS = ("plan.fork", "plan.claim", "sandbox.intend", "sandbox.record", "group.record")


@pytest.mark.parametrize("command", ["fork", "fork kinds"])
@pytest.mark.parametrize(("number", "act"), list(enumerate(ACTS)))
def test_a_kill(
    trials: BothTrials, command: str, number: int, act: str, record_property: Callable[[str, object], None]
) -> None:
    when = ("before", "after")[(number + (command == "fork")) % 2]
    trials.strike(Fault(command=command, when=when, act=act, number=1, how="SIGKILL"))
    record_property("faults survived", 1)


@pytest.mark.parametrize(("command", "act"), [("fork", "tree.copy"), ("fork kinds", "pin.set")])
def test_a_kill_while_sandboxes_are_made(trials: BothTrials, command: str, act: str) -> None:
    trials.strike(Fault(command=command, when="before", act=act, number=1, how="SIGKILL"))


def test_a_full_disk_leaves_no_fork(trials: BothTrials) -> None:
    trials.strike(Fault(command="fork", when="before", act="tree.copy", number=1, how="ENOSPC"))
