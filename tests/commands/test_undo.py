"""`undo`: one step back, and again one further."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commands.program import ask, data_of
from tests.commands.running import on_a_terminal, sandbox, script


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A plain folder, not yet a project."""
    made = tmp_path / "plain"
    made.mkdir()
    return made


def plan(folder: Path, *steps: str, **more: object) -> dict[str, Any]:
    """Run a plan of shell steps; gives the answer."""
    listed = [{"name": f"s{n}", "tool": "shell", "args": {"command": c}} for n, c in enumerate(steps)]
    (folder / "plan.yaml").write_text(json.dumps({"name": "several", "steps": listed, **more}))
    return ask(folder, "plan", "execute", "plan.yaml")


def test_undo_goes_back_one_step_at_a_time(folder: Path) -> None:
    made = sandbox(plan(folder, "touch one", "touch two", "touch three")["data"])
    for left, index in (({"one", "two"}, 2), ({"one"}, 1), (set[str](), 0)):
        back = data_of(folder, "undo", "--yes")
        assert {path.name for path in made.iterdir()} & {"one", "two", "three"} == left
        assert back["post_rollback_state"]["step_index"] == index
        assert back["post_rollback_state"]["pre_rollback_checkpoint"]
    answer = ask(folder, "undo", "--yes")
    assert (answer["exit_code"], answer["error"]["kind"]) == (3, "nothing_to_undo")
    data_of(folder, "plan", "resume", "several")
    assert {"one", "two", "three"} <= {path.name for path in made.iterdir()}


def test_an_undo_that_was_rolled_back_can_be_undone_again(folder: Path) -> None:
    made = sandbox(plan(folder, "touch one", "touch two")["data"])
    kept = data_of(folder, "undo", "--yes")["post_rollback_state"]["pre_rollback_checkpoint"]
    data_of(folder, "plan", "rollback", "--yes", "several", kept)
    assert (made / "two").exists()
    assert data_of(folder, "undo", "--yes")["post_rollback_state"]["step_index"] == 1
    assert not (made / "two").exists()


def test_undo_takes_back_what_keep_left_before_what_was_completed(folder: Path) -> None:
    answer = plan(folder, "touch one", "touch mess; false", rollback_policy={"on_failure": "keep"})
    made = sandbox(answer["data"])
    assert (made / "mess").exists()
    assert data_of(folder, "undo", "--yes")["post_rollback_state"]["step_index"] == 1
    assert not (made / "mess").exists()
    assert data_of(folder, "undo", "--yes")["post_rollback_state"]["step_index"] == 0
    assert not (made / "one").exists()


def test_undo_of_a_failure_that_was_taken_back_goes_before_the_step_that_was_completed(folder: Path) -> None:
    made = sandbox(plan(folder, "touch one", "touch mess; false")["data"])
    data_of(folder, "undo", "--yes")
    assert not (made / "one").exists()
    answer = ask(folder, *script("touch mess; exit 2"))
    refused = ask(folder, "undo", "--yes")
    assert refused["error"]["kind"] == "nothing_to_undo"
    assert answer["error"]["checkpoint"] in refused["error"]["hint"]


def test_undo_names_a_plan_and_asks_without_a_terminal_for_a_yes(folder: Path) -> None:
    first = data_of(folder, "run", "--name", "first", "touch", "one")
    data_of(folder, "run", "touch", "two")
    answer = ask(folder, "undo", "first")
    assert (answer["exit_code"], answer["error"]["kind"]) == (3, "confirmation_missing")
    assert "--dry-run" in answer["error"]["hint"]
    assert "--yes" in answer["error"]["hint"]
    assert data_of(folder, "undo", "--dry-run", "first")["dry_run"]
    assert (sandbox(first) / "one").exists()
    assert data_of(folder, "undo", "--yes", "first")["plan_id"] == first["plan_id"]
    assert not (sandbox(first) / "one").exists()


def test_undo_refuses_to_go_further_back_than_asked(folder: Path) -> None:
    plan(folder, "touch one", "touch two", config={"sandbox.checkpoint.auto-create-on": []})
    answer = ask(folder, "undo", "--yes")
    assert answer["error"]["kind"] == "nothing_to_undo"
    assert "right before the step 's1'" in answer["error"]["message"]
    first = data_of(folder, "checkpoint", "list")["checkpoints"][0]["checkpoint_id"]
    assert (
        f"mulligan rollback several {first}".replace("several", answer["error"]["plan_id"])
        in (answer["error"]["hint"])
    )


@pytest.mark.parametrize(
    ("before", "named", "kind"),
    [
        (["plan", "create", "plan.yaml"], ["several-2"], "nothing_to_undo"),
        (["plan", "cancel", "several"], [], "nothing_to_undo"),
        (["plan", "cancel", "several"], ["several"], "plan_cancelled"),
        (["plan", "cancel", "several"], ["1"], "plan_cancelled"),
    ],
)
def test_undo_of_what_never_ran_or_is_over_is_refused(
    folder: Path, before: list[str], named: list[str], kind: str
) -> None:
    plan(folder, "touch one")
    data_of(folder, *before)
    assert ask(folder, "undo", "--yes", *named)["error"]["kind"] == kind


def test_undo_without_checkpoints_is_refused(folder: Path) -> None:
    plan(folder, "touch one", rollback_policy={"enabled": False})
    assert ask(folder, "undo", "--yes")["error"]["kind"] == "rollback_disabled"


@pytest.mark.processes_measured
def test_undo_asks_on_a_terminal(folder: Path) -> None:
    data = data_of(folder, "run", "touch", "new")
    code, shown = on_a_terminal(folder, "undo", typed=(b"[y/N]", b"n\n"))
    assert code == 3
    assert "Undo? [y/N]" in shown
    assert (sandbox(data) / "new").exists()
    code, shown = on_a_terminal(folder, "undo", typed=(b"[y/N]", b"y\n"))
    assert code == 0
    assert not (sandbox(data) / "new").exists()
