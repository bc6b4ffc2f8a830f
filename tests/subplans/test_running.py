"""How child plans run: in turn or at once, on forks of their parent's sandboxes, with its values."""

import signal
import threading

import pytest

from mulligan.domain.plans.event import Event
from mulligan.domain.plans.plan import State
from mulligan.errors import Interrupted, SubplansFailed
from tests.subplans.families import Family, children, note, shell


def test_sequential_children_build_on_each_other_and_know_what_their_parent_knows(family: Family) -> None:
    parts = {
        "x": [shell('echo "$MULLIGAN_OUTPUT_ONE" > x; echo said', "say")],
        "y": [shell("cat x > y")],
    }
    plan = family.write(
        shell("echo from-one", "one"), children(parts, mode="sequential"), shell("cat y", "end")
    )

    status = family.project().execute(plan)

    assert status.state is State.COMPLETE
    assert status.execution.child_plans == 2
    assert family.files() == {"text": family.files()["text"], "x": "from-one\n", "y": "from-one\n"}
    assert family.files("x").keys() == {"text", "x"}
    assert family.states() == {"p": "execute/complete", "x": "execute/complete", "y": "execute/complete"}
    assert family.project().status("x").parent_plan_id == status.plan_id
    assert family.project().status("latest").name == "p"
    assert not (family.real / "x").exists()


def test_parallel_children_run_at_once(family: Family) -> None:
    meet = (
        'cd "$MULLIGAN_VAR_NOTES"; touch {0}; '
        "for i in $(seq 6000); do test -e {1} && exit; sleep 0.05; done; exit 1"
    )
    parts = {"a": [shell(meet.format("a", "b"))], "b": [shell(meet.format("b", "a"))]}

    assert family.project().execute(family.write(children(parts))).state is State.COMPLETE


@pytest.mark.parametrize("where", ["step", "setting"])
def test_no_more_than_max_parallel_run_at_once(family: Family, where: str) -> None:
    second = "until test $(grep -c + at-once) -ge 2; do sleep 0.02; done"  # so that two meet, however late they start
    command = (
        f'{note("+", "at-once")}; (cd "$MULLIGAN_VAR_NOTES"; {second}); sleep 0.2; {note("-", "at-once")}'
    )
    parts = {name: [shell(command)] for name in "abcde"}
    options, settings = ({"max_parallel": 2}, {}) if where == "step" else ({}, {"plan__max_parallel": 2})

    family.project().execute(family.write(children(parts, **options), **settings))

    running, most = 0, 0
    for word in family.noted("at-once"):
        running += 1 if word == "+" else -1
        most = max(most, running)
    assert most == 2


def test_children_start_when_what_they_depend_on_is_merged(family: Family) -> None:
    parts = {
        "last": [shell(f"test -e a -a ! -e b && cat a > last; {note('last')}")],
        "a": [shell(f"echo a > a; {note('a')}")],
    }
    plan = family.write(children(parts, mode="dependency_ordered", needs={"last": ["a"]}))

    assert family.project().execute(plan).state is State.COMPLETE
    assert family.noted("ran") == ["a", "last"]
    assert family.files()["last"] == "a\n"


def test_a_child_may_have_children(family: Family) -> None:
    inner = children({"z": [shell("echo z > z")]}, mode="sequential")
    plan = family.write(children({"y": [inner, shell("cat z > y")]}))

    status = family.project().execute(plan)

    assert status.state is State.COMPLETE
    assert family.files().keys() == {"text", "y", "z"}
    assert family.project().status("z").parent_plan_id == family.project().status("y").plan_id


def test_a_failed_child_fails_the_step_and_the_others_finish(family: Family) -> None:
    parts = {
        "bad": [shell(f"{note('bad')}; exit 3")],
        "good": [shell(f"sleep 0.3; {note('good')}; echo good > good")],
    }
    project = family.project()

    status, execution = project.run(family.write(shell("echo 1 > one", "one"), children(parts)))

    assert status.state is State.ERRORED
    assert status.error is not None
    assert "child plans failed: bad: step 'step-1' failed" in status.error.message
    assert execution.error is not None
    assert isinstance(execution.error.__cause__, SubplansFailed)
    assert family.states() == {"p": "execute/errored", "bad": "execute/errored", "good": "execute/complete"}
    assert family.files().keys() == {"text", "one"}  # gone back to before the step


def test_a_child_that_ran_to_its_end_is_merged_without_being_run_again(family: Family) -> None:
    parts = {
        "good": [shell(f"{note('good')}; echo good > good")],
        "bad": [shell(f'{note("bad")}; test -e "$MULLIGAN_VAR_NOTES/mended"')],
    }
    plan = family.write(children(parts))
    assert family.project().execute(plan).state is State.ERRORED
    (family.notes / "mended").touch()

    status, _ = family.project().resume("p")

    assert status.state is State.COMPLETE
    assert sorted(family.noted("ran")) == ["bad", "bad", "good"]
    assert family.files().keys() == {"text", "good"}
    assert status.execution.child_plans == 2


def test_a_child_is_tried_again_from_its_own_first_checkpoint(family: Family) -> None:
    flaky = f'test ! -e made; {note("try")}; echo x > made; test $(wc -l < "$MULLIGAN_VAR_NOTES/ran") = 3'
    parts = {"a": [shell("echo first > first"), shell(f"set -e; {flaky}")]}

    status = family.project().execute(family.write(children(parts, max_retries=2)))

    assert status.state is State.COMPLETE
    assert family.noted("ran") == ["try"] * 3
    assert family.files().keys() == {"text", "first", "made"}


def test_with_fail_fast_others_stop_and_those_that_wait_never_start(family: Family) -> None:
    parts = {
        "slow": [shell(f"{note('slow')}; sleep 30; {note('late')}")],
        "bad": [shell('until test -e "$MULLIGAN_VAR_NOTES/ran"; do sleep 0.05; done; exit 1')],
        "never": [shell(note("never"))],
    }
    plan = family.write(children(parts, max_parallel=2, fail_fast=True))

    assert family.project().execute(plan).state is State.ERRORED
    assert family.noted("ran") == ["slow"]
    assert family.states() == {
        "p": "execute/errored",
        "slow": "execute/queued",
        "bad": "execute/errored",
        "never": "execute/cancelled",
    }


def test_an_interrupted_parent_stops_its_children_and_both_go_on_later(family: Family) -> None:
    seen: set[str] = set()

    def press(event: Event) -> None:
        seen.add(f"{event.type} {event.data.get('step', event.data.get('state'))}")
        if {"step_started wait", "plan_state complete"} <= seen:
            seen.clear()
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    parts = {
        "done": [shell(f"{note('done')}; echo done > done")],
        "waits": [shell(note("first")), shell('test -e "$MULLIGAN_VAR_NOTES/go" || sleep 30', "wait")],
    }
    plan = family.write(children(parts))

    with pytest.raises(Interrupted):
        family.project(press).execute(plan)
    assert family.states() == {"p": "execute/queued", "done": "execute/complete", "waits": "execute/queued"}
    (family.notes / "go").touch()

    status, _ = family.project().resume("p")

    assert status.state is State.COMPLETE
    assert sorted(family.noted("ran")) == ["done", "first"]
    assert family.files().keys() == {"text", "done"}


def test_children_begin_with_outputs_of_any_length(family: Family) -> None:
    long = shell("seq 1000 | tr -d '\\n'", "long")
    status = family.project().execute(
        family.write(long, children({"a": [shell('printf %s "$MULLIGAN_OUTPUT_LONG" | wc -c > size')]}))
    )
    assert status.state is State.COMPLETE, status.error
    assert family.files()["size"] == "2893\n"
