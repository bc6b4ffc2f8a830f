"""A bisection killed, or failing, at acts that write: plan, sandboxes and real files stay, and nothing is left over."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands.program import ask, data_of
from tests.commands.timelines import killed, plain_folder
from tests.faults.both import BothTrials
from tests.faults.trials import Fault
from tests.support.homes import home_of

STRIKES = [
    ("after", "room.make"),
    ("before", "restore.place"),
    ("after", "restore.finish"),
    ("before", "call.start"),
    ("after", "call.start"),
    ("before", "room.clear"),
]
PLAN = "name: p\nsteps: [{run: echo x > x}, {run: echo y > y}, {run: rm a.txt}, {run: echo z > z}]\n"
WORDS = ("bisect", "p", "--", "test", "-e", "a.txt")


@pytest.mark.parametrize(("when", "act"), STRIKES)
def test_a_kill(
    trials: BothTrials, when: str, act: str, record_property: Callable[[str, object], None]
) -> None:
    trials.strike(Fault(command="bisect", when=when, act=act, number=1, how="SIGKILL"))
    record_property("faults survived", 1)


@pytest.mark.parametrize(
    ("act", "how"), [("room.make", "ENOSPC"), ("restore.stage", "ENOSPC"), ("restore.place", "EIO")]
)
def test_a_failure(trials: BothTrials, act: str, how: str) -> None:
    trials.strike(Fault(command="bisect", when="before", act=act, number=1, how=how))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = plain_folder(tmp_path)
    (made / "p.yaml").write_text(PLAN)
    data_of(made, "plan", "execute", "p.yaml")
    return made


def left_in(folder: Path) -> list[str]:
    """Return what bisections left in the home."""
    trials = home_of(folder) / "sandboxes" / ".trials"
    return sorted(path.name for path in trials.iterdir())


@pytest.mark.parametrize(
    "words",
    [WORDS, ("gc",), ("doctor",), ("run", "--", "true")],
    ids=["the same again", "gc", "doctor", "the next plan"],
)
def test_the_copy_of_a_killed_one_is_removed_by(folder: Path, words: tuple[str, ...]) -> None:
    killed(folder, "after:call.start:1:SIGKILL", *WORDS)
    assert len(left_in(folder)) == 2, "a folder and its lock"
    (copy,) = (home_of(folder) / "sandboxes" / ".trials").glob("*/workspace")
    (copy / "locked").mkdir(mode=0)
    data_of(folder, *words)
    assert left_in(folder) == []


def test_gc_says_what_a_killed_one_left_and_leaves_a_running_one(folder: Path) -> None:
    killed(folder, "after:call.start:1:SIGKILL", *WORDS)
    assert data_of(folder, "gc", "--dry-run")["work_folders_removed"] == 1
    assert left_in(folder) != []
    inside = ("sh", "-c", f"cd {folder} && true")
    assert ask(folder, "bisect", "p", "--", *inside)["error"]["kind"] == "bisection_ends_wrong"
    assert left_in(folder) == []
