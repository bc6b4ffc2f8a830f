"""Whatever boundary a fault strikes at, the end is that of an undisturbed run.

A sample is struck here, each at its first passing; `every_passing.py` is the full product (`nox -s faults`).
"""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from mulligan.boundaries import ACTS, ACTS_APART
from tests.faults.both import BothTrials
from tests.faults.durable_calls import named_acts, outside_of_acts
from tests.faults.trials import Fault

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "mulligan"
WATCHERS = ("boundaries.py", "wiring/faults.py")
# Who says, besides, whether work may still go on, and who goes on with it in other threads.
GUARDING = {
    "adapters/plan_locks.py": "act, guarded, guards",
    "adapters/postgres/postgres_claims.py": "guarded, guards",
    "api/sessions/session.py": "Check, guarded_by, guards",
}
# What makes something last or moves it outside of every act, by file and function, and why it may.
OUTSIDE = {
    "adapters/agents/event_notes.py leave": "a note for people, which may be lost",
    "adapters/db/connection.py transaction": "the end of a transaction that only read",
    "adapters/db/connection.py copy_to": "a draft; `rows.copy` gives it its name",
    "adapters/postgres/postgres_connection.py transaction": "the end of a transaction that only read",
    "adapters/homes/home_adoption.py _is_on_the_same_filesystem": "an empty file that is removed again",
    "adapters/homes/home_archive.py _extract": "in a home that nothing names yet; `home.index` does",
    "adapters/homes/home_link.py _write": "inside of `home.record` or `home.link`, which its callers name",
    "adapters/homes/tree_copy.py _copy_file": "in a copy that nothing names yet; `home.link` does",
    "adapters/object_packs/pack_cache.py _write": "a copy, which is proved before it is used",
    "wiring/store_wiring.py opened": "a note that a bucket was looked at; without it, it is looked at again",
    "adapters/sandboxes/git/remote/branch_clones.py check_out": "in a clone, which is made again where it is damaged",
    "adapters/sandboxes/git/places/private_files.py replace_below": "inside of `home.follow`, or after a restore",
    "adapters/sandboxes/sqlite/database_copy.py _backup": "into a folder that is removed again",
    "adapters/sandboxes/git/position/position.py _branch": "git is only asked",
    "adapters/sandboxes/git/position/staged_objects.py keep_staged": "in a folder that is captured and then removed",
    "adapters/sandboxes/removal.py exchange": "inside of `sandbox.renew`, which its caller names",
    "adapters/sandboxes/removal.py _empty": "moves inside of what is thrown away",
    "adapters/snapshots/restore/aside.py _move_out": "inside of `restore.remove` or `restore.place`",
    "adapters/snapshots/restore/aside.py _moved_back": "what others saved goes back, whoever has the plan by then",
    "adapters/snapshots/restore/private_tree.py sync": "inside of `restore.sync`, which its caller names",
    "adapters/snapshots/restore/real_tree.py sync": "likewise",
    "adapters/local_server/server_place.py write": "a hint that leads to a process, which a crash ends too",
    "osfiles/folders.py sync_folder": "the call itself: its callers name the act",
    "osfiles/folders.py sync_filesystem": "likewise",
    "osfiles/moves.py move_to_free_name": "likewise",
    "osfiles/moves.py _copy_to_free_name": "likewise",
    "api/operations/report_file.py _write": "a page that can be made again; it is whole or not there",
    "wiring/shared/shared_copies.py move_to_server": "in a home that nothing names yet, as all of an import",
    "adapters/tools/builtin/file_replacement.py replace": "inside of `call.run`, in a process of its own",
    "adapters/tools/builtin/file_tools.py call": "inside of `call.run`, in a process of its own",
    "adapters/tools/sql/sql_process.py run": "inside of `call.run`, in a process of its own",
}
FALLIBLE = [name for name, (errors, _, _) in ACTS.items() if errors]
STOPPABLE = ("call.run", "group.record", "pack.sync", "restore.place", "rows.commit", "sandbox.record")

IN_A_CORRECTION = ("return.intend", "return.ready", "restore.place")  # beside `correction.settle`
IN_AN_APPEND = ("subplan.spawn", "restore.place")  # beside `append.record`: the child, and its merge


# Of what takes a plan as it is, adds to it, answers it, and takes an apply back.
TAKEN_AS_IT_IS = [
    ("accept", "plan.accept"),
    ("run on", "step.add"),
    ("run on", "group.record"),
    ("keep what fails", "group.record"),
    ("ask", "plan.constrain"),
    ("answer", "group.record"),
    ("take it back", "sandbox.remake"),
    ("take it back", "apply.settle"),
    ("apply again", "apply.settle"),
]


def test_the_list_and_the_code_name_the_same_acts() -> None:
    assert {name for file in SOURCES.rglob("*.py") for name in named_acts(file)} == {*ACTS, *ACTS_APART}


def test_boundaries_are_passed_by_one_name_only() -> None:
    for file in SOURCES.rglob("*.py"):
        text = file.read_text("utf-8")
        if "boundaries" in text and file.relative_to(SOURCES).as_posix() not in WATCHERS:
            names = GUARDING.get(file.relative_to(SOURCES).as_posix(), "act")
            assert f"from mulligan.boundaries import {names}\n" in text, file
            assert text.count("boundaries") == 1, file


def test_nothing_is_made_to_last_outside_of_an_act() -> None:
    found = {
        f"{file.relative_to(SOURCES).as_posix()} {call.partition(':')[0]}"
        for file in SOURCES.rglob("*.py")
        for call in outside_of_acts(file)
    }
    assert found == set(OUTSIDE)


def test_the_page_names_every_act_with_what_a_crash_leaves() -> None:
    page = (ROOT / "docs/reference/durability.md").read_text("utf-8")
    rows = re.findall(r"^\| `([a-z_.]+)` \| (.+) \| (.+) \| (.*) \|$", page, re.MULTILINE)
    told = {name: (errors.replace("–", ""), before, after) for name, before, after, errors in rows}
    assert told == ACTS | ACTS_APART


def test_every_act_belongs_to_an_operation_of_the_page() -> None:
    page = (ROOT / "docs/reference/durability.md").read_text("utf-8")
    operations = page.partition("\n## Each operation\n")[2].partition("\n## ")[0]
    named = set(re.findall(r"`([a-z]+\.[a-z_]+)`", operations))
    assert named == {*ACTS, *ACTS_APART}


def test_the_scenario_passes_every_act(trials: BothTrials) -> None:
    passed = {act for command in trials.passed.values() for _, act in command}
    assert passed == set(ACTS)


@pytest.mark.parametrize("act", list(ACTS)[::9])
def test_a_kill_before(trials: BothTrials, act: str, record_property: Callable[[str, object], None]) -> None:
    """A ninth of the acts here, another right after them; `nox -s faults` does all."""
    command = trials.first("before", act)
    trials.strike(Fault(command=command, when="before", act=act, number=1, how="SIGKILL"))
    record_property("faults survived", 1)


@pytest.mark.parametrize("act", list(ACTS)[4::9])
def test_a_kill_after(trials: BothTrials, act: str, record_property: Callable[[str, object], None]) -> None:
    """In a short command: another than before, where there is one."""
    command = trials.shortest("after", act)
    trials.strike(Fault(command=command, when="after", act=act, number=1, how="SIGKILL"))
    record_property("faults survived", 1)


@pytest.mark.parametrize("act", IN_A_CORRECTION)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_in_the_middle_of_a_correction(
    trials: BothTrials, when: str, act: str, record_property: Callable[[str, object], None]
) -> None:
    trials.strike(Fault(command="correct", when=when, act=act, number=1, how="SIGKILL"))
    record_property("faults survived", 1)


@pytest.mark.parametrize("act", IN_AN_APPEND)
def test_a_kill_in_the_middle_of_an_append(
    trials: BothTrials, act: str, record_property: Callable[[str, object], None]
) -> None:
    """The same command again goes on with it: a child that is done is not run again, and none is merged twice."""
    trials.strike(Fault(command="append", when="after", act=act, number=1, how="SIGKILL"))
    record_property("faults survived", 1)


@pytest.mark.parametrize(
    ("command", "act", "when"),
    [(*struck, ("before", "after")[number % 2]) for number, struck in enumerate(TAKEN_AS_IT_IS)],
)
def test_a_kill_where_a_plan_is_taken_as_it_is(
    trials: BothTrials, command: str, act: str, when: str, record_property: Callable[[str, object], None]
) -> None:
    trials.strike(Fault(command=command, when=when, act=act, number=1, how="SIGKILL"))
    record_property("faults survived", 1)


@pytest.mark.parametrize("act", FALLIBLE[1::5])
def test_an_act_that_fails(
    trials: BothTrials, act: str, record_property: Callable[[str, object], None]
) -> None:
    how, *_ = ACTS[act][0].split()
    command = trials.shortest("before", act)
    trials.strike(Fault(command=command, when="before", act=act, number=1, how=how))
    record_property("faults survived", 1)


@pytest.mark.parametrize("act", STOPPABLE)
def test_a_request_to_stop(
    trials: BothTrials, act: str, record_property: Callable[[str, object], None]
) -> None:
    trials.strike(Fault(command="execute", when="before", act=act, number=1, how="SIGTERM"))
    record_property("faults survived", 1)
