"""Trials of both scenarios, as one."""

from collections import Counter
from pathlib import Path

from tests.faults.scenario import SCENARIO
from tests.faults.scenario_kinds import SCENARIO_KINDS
from tests.faults.trials import Fault, Trials


class BothTrials:
    """Finds the scenario that a command belongs to; each is run undisturbed when it is first needed."""

    def __init__(self, folder: Path) -> None:
        self._trials: list[Trials] = []
        for name, scenario in (("folders", SCENARIO), ("kinds", SCENARIO_KINDS)):
            (folder / name).mkdir(exist_ok=True)
            self._trials.append(Trials(scenario, folder / name))

    @property
    def passed(self) -> dict[str, Counter[tuple[str, str]]]:
        """How often each command passed each boundary."""
        return {command: passed for trials in self._trials for command, passed in trials.passed.items()}

    def first(self, when: str, act: str) -> str:
        """The first command that passes a boundary."""
        for command, passed in self.passed.items():
            if passed[when, act]:
                return command
        raise AssertionError(f"nothing passes {when}:{act}: the scenario lacks a command, or the act goes")

    def shortest(self, when: str, act: str) -> str:
        """The command that passes a boundary and fewest others."""
        passing = {command: passed for command, passed in self.passed.items() if passed[when, act]}
        return min(passing, key=lambda command: passing[command].total())

    def strike(self, fault: Fault) -> None:
        """Let the fault strike, and compare the end."""
        next(trials for trials in self._trials if fault.command in trials.passed).strike(fault)
