"""Child plans that a Python tool asks for while it runs."""

import json
from pathlib import Path

import pytest

from mulligan.domain.plans.plan import State
from tests.subplans.families import Family, note, shell

WORK = """\
import json, os, pathlib

def work(context, plans, times=1, **options):
    notes = pathlib.Path(context.variables["notes"])
    with (notes / "called").open("a") as file:
        file.write("called\\n")
    pathlib.Path("begun").write_text("begun")
    context.state["known"] = 1
    found = []
    for number in range(times):
        found.append(context.spawn(plans, **options))
    if (notes / "die").exists():
        (notes / "die").unlink()
        raise RuntimeError("after the children")
    pathlib.Path("after").write_text(",".join(sorted(os.listdir("."))))
    return [[child["name"], child["outputs"]] for each in found for child in each]
"""


@pytest.fixture
def working(family: Family) -> Family:
    (family.real / "work.py").write_text(WORK)
    return family


def python(plans: list[dict[str, object]], **kwargs: object) -> dict[str, object]:
    args = {"function": "work:work", "kwargs": {"plans": plans, **kwargs}}
    return {"name": "spawning", "tool": "python", "args": args}


def part(name: str, command: str) -> dict[str, object]:
    return {"name": name, "steps": [shell(command, "do")]}


def test_a_tool_spawns_children_on_what_it_has_made_and_gets_what_they_made(working: Family) -> None:
    plans = [part("a", "cat begun; echo a > a"), part("b", "echo ${MULLIGAN_OUTPUT_FIRST}; echo b > b")]

    status = working.project().execute(working.write(shell("echo one", "first"), python(plans)))

    assert status.state is State.COMPLETE
    assert status.execution.child_plans == 2
    assert working.files()["after"] == "a,b,begun,text,work.py"
    assert working.project().status("a").parent_plan_id == status.plan_id


def test_what_it_gets_is_each_childs_own_outputs(working: Family) -> None:
    plans = [part("a", "echo one"), part("b", "echo two")]
    show = {"tool": "write_file", "args": {"path": "out", "content": "${{ steps.spawning.output }}"}}

    working.project().execute(working.write(python(plans, mode="sequential"), show))

    assert json.loads(working.files()["out"]) == [["a", {"do": "one"}], ["b", {"do": "two"}]]


def test_several_spawns_of_one_step_are_told_apart(working: Family) -> None:
    plans = [part("a", f"{note('a')}; echo x >> a")]

    assert working.project().execute(working.write(python(plans, times=2))).state is State.COMPLETE
    assert working.files()["a"] == "x\nx\n"
    assert working.noted("ran") == ["a", "a"]


def test_children_that_were_done_are_not_run_again_when_the_step_is(working: Family) -> None:
    plans = [part("a", f"{note('a')}; echo x >> a")]
    (working.notes / "die").touch()
    assert working.project().execute(working.write(python(plans))).state is State.ERRORED
    assert "a" not in working.files()

    status, _ = working.project().resume("p")

    assert status.state is State.COMPLETE
    assert working.noted("called") == ["called", "called"]
    assert working.noted("ran") == ["a"]
    assert working.files()["a"] == "x\n"


def test_a_retry_of_the_step_runs_them_again(working: Family) -> None:
    plans = [part("a", f"{note('a')}; echo x >> a")]
    (working.notes / "die").touch()

    status = working.project().execute(working.write({**python(plans), "retries": 1}))

    assert status.state is State.COMPLETE
    assert working.noted("ran") == ["a", "a"]
    assert working.files()["a"] == "x\n"
    assert status.execution.child_plans == 1


def test_a_conflict_stops_the_tool_and_the_step_runs_again_on_what_was_mended(working: Family) -> None:
    plans = [part(name, f"{note(name)}; echo {name} > text") for name in "ab"]
    status = working.project().execute(working.write(python(plans)))
    assert status.state is State.CONSTRAINED, status.error and status.error.message
    assert status.steps[0].status == "pending"
    (working.sandbox() / "text").write_text("mended\n")
    working.project().resolve("p")

    status, _ = working.project().resume("p")

    assert status.state is State.COMPLETE
    assert working.files()["text"] == "mended\n"
    assert sorted(working.noted("ran")) == ["a", "b"]
    assert status.execution.tool_calls == 1


@pytest.mark.parametrize(
    ("plans", "options", "reason"),
    [
        ([], {}, "`subplans` needs at least one plan"),
        ([{"name": "a", "steps": [{"tool": "nothing"}]}], {}, "nothing"),
        (
            [{"name": "a", "steps": [{"tool": "shell", "args": {"argv": ["${{ steps.no.output }}"]}}]}],
            {},
            "no",
        ),
        ([part("a", "true")], {"mode": "sideways"}, "sideways"),
        ([part("a", "true"), part("a", "true")], {}, "there is already a plan 'a'"),
    ],
)
def test_what_a_plan_file_would_be_refused_for_fails_the_call(
    working: Family, plans: list[dict[str, object]], options: dict[str, object], reason: str
) -> None:
    document = json.loads(working.write(python([])).read_text())
    # The plan file is right: what is wrong comes out of a file while it runs.
    document["steps"][0]["args"] = {"function": "work:from_file", "kwargs": {}}
    (working.real / "asked.json").write_text(json.dumps({"plans": plans, **options}))
    with (working.real / "work.py").open("a") as file:
        file.write("\ndef from_file(context):\n    context.spawn(**json.load(open('asked.json')))\n")
    plan = working.folder / "plan.yaml"
    plan.write_text(json.dumps(document))

    status = working.project().execute(plan)

    assert status.error is not None
    assert "spawn in step 'spawning'" in status.error.message
    assert reason in status.error.message


def test_a_failed_child_fails_the_call(working: Family) -> None:
    status = working.project().execute(working.write(python([part("a", "exit 1")])))
    assert status.error is not None
    assert "child plans failed: a: step 'do' failed" in status.error.message
    assert not (Path(status.sandboxes[0].path) / "begun").exists()
