"""A try and a pick, killed at the acts that matter most: what is finished stays so, and the rest is done again.

The scenario has the same commands, so that `nox -s faults` strikes at every passing of every act.
"""

from collections.abc import Callable

import pytest

from tests.faults.both import BothTrials
from tests.faults.trials import Fault

OF_A_TRY = [
    ("before", "subplan.spawn"),
    ("after", "subplan.spawn"),
    ("after", "call.run"),
    ("after", "check.drop"),
    ("after", "variant.finish"),
    ("after", "plan.constrain"),
]
OF_A_PICK = [("after", "group.record"), ("after", "restore.place")]


@pytest.mark.parametrize(("when", "act"), OF_A_TRY)
def test_a_kill_of_a_try(
    trials: BothTrials, when: str, act: str, record_property: Callable[[str, object], None]
) -> None:
    trials.strike(Fault(command="try", when=when, act=act, number=1, how="SIGKILL"))
    record_property("faults survived", 1)


@pytest.mark.parametrize(("when", "act"), OF_A_PICK)
def test_a_kill_of_a_pick(
    trials: BothTrials, when: str, act: str, record_property: Callable[[str, object], None]
) -> None:
    trials.strike(Fault(command="pick", when=when, act=act, number=1, how="SIGKILL"))
    record_property("faults survived", 1)
