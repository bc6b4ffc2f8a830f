"""An apply, or taking one back, that is cut off anywhere: every real resource is put back.

Each act is struck once here, and fails in one of its ways; `every_passing.py` strikes at all of them.
"""

import errno
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mulligan.boundaries import ACTS, watch
from mulligan.domain.plans.plan import Phase, State
from mulligan.errors import ApplyConflicted, Interrupted, NextStep, RestoreFailed, RestoreIncomplete
from tests.faults.applying import ApplyWorld, Seen, unlike
from tests.faults.projects import project_in

COMPLETE, APPLIED = (Phase.EXECUTE, State.COMPLETE), (Phase.APPLY, State.APPLIED)
Record = Callable[[str, object], None]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> ApplyWorld:
    return ApplyWorld(tmp_path_factory.mktemp("applying"))


@dataclass(frozen=True)
class Change:
    """A command that changes the real resources, and what is there before and after it."""

    start: str
    do: Callable[[], None]
    before: tuple[Seen, tuple[Phase, State]]
    after: tuple[Seen, tuple[Phase, State]]


def changes(world: ApplyWorld) -> dict[str, Change]:
    """Both commands."""
    taken_back = (world.before, COMPLETE)
    complete, applied = (world.before, COMPLETE), (world.after, APPLIED)
    return {
        "apply": Change("complete", world.apply, complete, applied),
        "unapply": Change("applied", world.unapply, applied, taken_back),
    }


def check(world: ApplyWorld, change: Change, where: object) -> bool:
    """All or nothing, and nothing left behind; tells whether it was all."""
    world.claim()
    done = world.state() == change.after[1]
    seen, state = change.after if done else change.before
    assert (unlike(world.seen(), seen), world.state()) == ([], state), where
    assert world.nothing_unfinished(), where
    if state == COMPLETE:
        assert world.in_sandboxes() == world.sandboxes, where
    return done


def kill_at(world: ApplyWorld, change: Change, moments: Iterator[int] | list[int], passed: list[str]) -> int:
    """Kill the command at these moments; gives how often."""
    count = 0
    for moment in moments:
        world.put_back(change.start)
        where = (moment, passed[moment])
        killed = world.killed(change.do, moment)
        done = check(world, change, where)
        assert killed or done, where
        count += killed
        if count % 8 == 0 and not done:
            change.do()
            assert check(world, change, where), where
    assert count > len(set(passed)) // 2, "the faults never fired"
    return count


def _first(passed: list[str]) -> list[int]:
    return sorted({passed.index(name) for name in passed})


def _last(passed: list[str]) -> list[int]:
    return sorted({name: moment for moment, name in enumerate(passed)}.values())


@pytest.mark.parametrize(("name", "moments"), [("apply", _first), ("unapply", _last)])
def test_a_kill_leaves_all_or_nothing(
    world: ApplyWorld, name: str, moments: Callable[[list[str]], list[int]], record_property: Record
) -> None:
    change = changes(world)[name]
    world.put_back(change.start)
    passed = world.passed(change.do)
    assert {"apply.intend", "apply.ready", "apply.settle", "restore.place", "restore.remove"} <= {*passed}
    record_property("faults survived", kill_at(world, change, moments(passed), passed))


@pytest.mark.parametrize("name", ["apply", "unapply"])
def test_a_failing_disk_leaves_all_or_nothing(world: ApplyWorld, name: str, record_property: Record) -> None:
    change = changes(world)[name]
    world.put_back(change.start)
    passed = world.passed(change.do)
    survived = 0
    for turn, moment in enumerate(_first(passed)):
        words = [word for word in ACTS[passed[moment]][0].split() if word != "EINTR"]
        for word in words[turn % len(words) :][:1] if words else ():
            world.put_back(change.start)
            number = getattr(errno, word)
            told = world.failing(change.do, moment, OSError(number, os.strerror(number)))
            where = (moment, passed[moment], word)
            assert told is None or (told.exit_code in (1, 3) and told.next_step), where
            done = check(world, change, where)
            assert done or told is not None, where
            survived += told is not None
    record_property("faults survived", survived)
    assert survived > 10


def test_a_signal_in_the_middle_puts_everything_back_at_once(world: ApplyWorld) -> None:
    world.put_back("complete")
    moment = world.passed(world.apply).index("restore.place")
    world.put_back("complete")
    told = world.failing(world.apply, moment, KeyboardInterrupt())
    assert isinstance(told, Interrupted)
    assert "apply" in {step.verb for step in told.next_step.steps}
    assert (unlike(world.seen(), world.before), world.state()) == ([], COMPLETE)
    assert world.nothing_unfinished()


def test_a_failure_says_that_everything_is_as_it_was(world: ApplyWorld) -> None:
    world.put_back("complete")
    moment = world.passed(world.apply).index("restore.place")
    world.put_back("complete")
    told = world.failing(world.apply, moment, OSError(errno.EIO, "bad disk"))
    assert isinstance(told, RestoreFailed)
    assert "as it was before" in told.next_step
    assert (unlike(world.seen(), world.before), world.state()) == ([], COMPLETE)


@pytest.fixture
def cut_off(world: ApplyWorld) -> ApplyWorld:
    """An apply whose process was killed when all was written and nothing recorded of that."""
    world.put_back("complete")
    assert world.killed(world.apply, "apply.settle")
    return world


def test_what_others_did_since_stays_and_is_named_where_it_is_in_the_way(cut_off: ApplyWorld) -> None:
    site = cut_off.folder / "site"
    (site / "mine").write_text("changed since")
    (site / "kept").write_text("changed since")
    (site / "text").write_text((site / "text").read_text().replace("five", "FIVE"))
    (site / "was").write_text("changed since, where the plan wrote too")
    _, done = project_in(cut_off.folder).apply("shown")
    assert isinstance(done.error, ApplyConflicted)
    assert [(c.resource, c.path) for c in done.conflicts] == [("site", "was")]
    assert f"{site}/was was changed by others in the meantime and is left as it is" in done.messages
    assert (site / "mine").read_text() == (site / "kept").read_text() == "changed since"
    lines = (site / "text").read_text().split()
    assert (lines[0], lines[4], lines[8]) == ("ONE", "FIVE", "nine")
    assert (site / "was").read_text() == "changed since, where the plan wrote too"
    assert (site / "gone").read_text() == "gone"
    assert not (site / "made").exists()


def test_what_would_be_done_first_is_told_and_not_done(cut_off: ApplyWorld) -> None:
    now = cut_off.seen()
    status, done = project_in(cut_off.folder).apply("shown", dry_run=True)
    assert done.error is None
    assert "an interrupted apply would be taken back first" in done.messages
    assert sum(each.files for each in done.applied) > 5
    assert cut_off.seen() == now
    assert (status.phase, status.state) == (Phase.APPLY, State.PROCESSING)
    assert status.error is not None
    assert NextStep("resume", plan=status.plan_id) in status.error.hint.steps


def test_a_plan_whose_apply_was_cut_off_can_be_cancelled(cut_off: ApplyWorld) -> None:
    status = project_in(cut_off.folder).cancel("shown")
    assert (status.phase, status.state) == (Phase.EXECUTE, State.CANCELLED)
    assert unlike(cut_off.seen(), cut_off.before) == []


def test_a_plan_whose_real_folder_is_gone_can_be_cancelled_too(cut_off: ApplyWorld, tmp_path: Path) -> None:
    (cut_off.folder / "site").rename(tmp_path / "elsewhere")
    project = project_in(cut_off.folder)
    status = project.cancel("shown")
    assert (status.phase, status.state) == (Phase.EXECUTE, State.CANCELLED)
    assert cut_off.nothing_unfinished()
    (entry,) = [e for e in project.log("shown") if e.data.get("state") == "cancelled"]
    assert str(cut_off.folder / "site") in str(entry.data["unfinished"])


def test_a_plan_whose_real_folder_is_between_two_states_is_not_cancelled(cut_off: ApplyWorld) -> None:
    """What was there before is nowhere else: it is kept until it is back."""
    project = project_in(cut_off.folder)
    watch(_full_disk)
    with pytest.raises(RestoreIncomplete) as failure:
        project.cancel("shown")
    watch(None)
    assert "run the command again" in failure.value.next_step
    assert "resume" not in failure.value.next_step, (
        "a resume runs the steps of a plan, and this one has none left"
    )
    assert not cut_off.nothing_unfinished()
    assert project.cancel("shown").state is State.CANCELLED
    assert unlike(cut_off.seen(), cut_off.before) == []


def _full_disk(when: str, name: str) -> None:
    if (when, name) == ("before", "restore.place"):
        raise OSError(errno.ENOSPC, "no room")


def test_an_unapply_that_was_cut_off_is_told_of(world: ApplyWorld) -> None:
    world.put_back("applied")
    assert world.killed(world.unapply, "apply.settle")
    project = project_in(world.folder)
    status = project.status("shown")
    assert status.error is not None
    assert NextStep("unapply", plan=status.plan_id) in status.error.hint.steps
    assert status.execution.files_modified > 5
    _, dry = project.unapply("shown", dry_run=True)
    assert dry.error is None
    assert "an interrupted unapply would be taken back first" in dry.messages
    assert project.doctor().healthy, "it took it back"
    assert project_in(world.folder).status("shown").error is None
    world.unapply()
    assert unlike(world.seen(), world.before) == []
    assert project_in(world.folder).doctor().waiting == ()
