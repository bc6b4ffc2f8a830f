"""Every passing of every boundary, by every command of the scenario, struck in every way: `nox -s faults`."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mulligan.boundaries import ACTS
from tests.faults.applying import ApplyWorld
from tests.faults.test_apply_cut_off import changes, kill_at
from tests.faults.trials import Fault, NeverFired, Trials


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> Trials:
    return Trials(tmp_path_factory.mktemp("trials"))


def _faults(trials: Trials, act: str) -> Iterator[Fault]:
    ways = {"before": ("SIGKILL", "SIGTERM", *ACTS[act][0].split()), "after": ("SIGKILL",)}
    for command, passed in trials.passed.items():
        for when, hows in ways.items():
            for number in range(1, passed[when, act] + 1):
                for how in hows:
                    yield Fault(command=command, when=when, act=act, number=number, how=how)


@pytest.mark.parametrize("act", ACTS)
def test_every_passing(trials: Trials, act: str, record_property: Callable[[str, object], None]) -> None:
    survived = 0
    failed: list[str] = []
    for fault in _faults(trials, act):
        try:
            trials.strike(fault)
        except NeverFired:
            # How often caches are written and packs joined is not the same in every run: only the first is sure.
            if fault.number == 1:
                failed.append(f"{fault.command}: {fault}: it never fired")
        except AssertionError as exc:
            failed.append(f"{fault.command}: {fault}: {str(exc)[:1000]}")
        else:
            survived += 1
    record_property("faults survived", survived)
    assert failed == []
    assert survived, "the fault never fired"


@pytest.mark.parametrize("name", ["apply", "unapply"])
def test_every_passing_of_a_change_of_real_resources(
    tmp_path: Path, name: str, record_property: Callable[[str, object], None]
) -> None:
    world = ApplyWorld(tmp_path)
    change = changes(world)[name]
    world.put_back(change.start)
    passed = world.passed(change.do)
    record_property("faults survived", kill_at(world, change, [*range(len(passed))], passed))
