"""Whatever boundary a fault strikes at, the end is that of an undisturbed run.

Each is struck once here, at its first passing; `every_passing.py` is the full product (`nox -s faults`).
"""

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from mulligan.boundaries import ACTS
from tests.faults.trials import Fault, Trials

ROOT = Path(__file__).parents[2]
FALLIBLE = [name for name, (errors, _, _) in ACTS.items() if errors]
STOPPABLE = ("call.run", "group.record", "pack.sync", "restore.place", "rows.commit", "sandbox.record")

IN_A_CORRECTION = ("return.intend", "return.ready", "restore.place")  # beside `correction.settle`


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> Trials:
    return Trials(tmp_path_factory.mktemp("trials"))


def test_the_list_and_the_code_name_the_same_acts() -> None:
    named: set[str] = set()
    for file in (ROOT / "src").rglob("*.py"):
        text = file.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if "from mulligan.boundaries import act\n" in text else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "act":
                (name,) = node.args
                assert isinstance(name, ast.Constant), file
                named.add(str(name.value))
    assert named == set(ACTS)


def test_the_page_names_every_act_with_what_a_crash_leaves() -> None:
    page = (ROOT / "docs/reference/durability.md").read_text("utf-8")
    rows = re.findall(r"^\| `([a-z_.]+)` \| (.+) \| (.+) \| (.*) \|$", page, re.MULTILINE)
    told = {name: (errors.replace("–", ""), before, after) for name, before, after, errors in rows}
    assert told == ACTS


def test_every_act_belongs_to_an_operation_of_the_page() -> None:
    page = (ROOT / "docs/reference/durability.md").read_text("utf-8")
    operations = page.partition("\n## Each operation\n")[2].partition("\n## ")[0]
    named = set(re.findall(r"`([a-z]+\.[a-z_]+)`", operations))
    assert named == set(ACTS)


def test_the_scenario_passes_every_act(trials: Trials) -> None:
    passed = {act for command in trials.passed.values() for _, act in command}
    assert passed == set(ACTS)


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill(trials: Trials, when: str, act: str, record_property: Callable[[str, object], None]) -> None:
    trials.strike(Fault(command=trials.first(when, act), when=when, act=act, number=1, how="SIGKILL"))
    record_property("faults survived", 1)


@pytest.mark.parametrize("act", IN_A_CORRECTION)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_in_the_middle_of_a_correction(
    trials: Trials, when: str, act: str, record_property: Callable[[str, object], None]
) -> None:
    trials.strike(Fault(command="correct", when=when, act=act, number=1, how="SIGKILL"))
    record_property("faults survived", 1)


@pytest.mark.parametrize("act", FALLIBLE)
def test_an_act_that_fails(trials: Trials, act: str, record_property: Callable[[str, object], None]) -> None:
    how, *_ = ACTS[act][0].split()
    trials.strike(Fault(command=trials.first("before", act), when="before", act=act, number=1, how=how))
    record_property("faults survived", 1)


@pytest.mark.parametrize("act", STOPPABLE)
def test_a_request_to_stop(trials: Trials, act: str, record_property: Callable[[str, object], None]) -> None:
    trials.strike(Fault(command="execute", when="before", act=act, number=1, how="SIGTERM"))
    record_property("faults survived", 1)
