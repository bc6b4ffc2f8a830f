"""`mulligan checkpoint prune` and `delete` through the program."""

from pathlib import Path

import pytest

from tests.commands.program import STEP_BYTES, answer_of, ask, data_of, project_with_plan, start, store_size
from tests.support.homes import home_of


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project_with_plan(tmp_path, steps=6, limit=50)
    return tmp_path


def _ids(project: Path, *options: str) -> list[str]:
    return [c["checkpoint_id"] for c in data_of(project, "checkpoint", "list", *options)["checkpoints"]]


def test_a_dry_run_says_what_goes_and_why_the_rest_stays(project: Path) -> None:
    before = _ids(project)
    told = data_of(project, "checkpoint", "prune", "growing", "--keep", "3", "--dry-run")
    assert _ids(project) == before
    assert (told["dry_run"], told["limit"], told["bytes_freed"]) == (True, 3, None)
    assert [p["checkpoint_id"] for p in told["pruned"]] == before[1:-2]
    assert [k["reason"] for k in told["kept"]] == [
        "the first",
        "within the limit",
        "the most recent",
    ]
    done = data_of(project, "checkpoint", "prune", "growing", "--keep", "3")
    assert (done["pruned"], done["kept"]) == (told["pruned"], told["kept"])
    assert _ids(project) == [before[0], *before[-2:]]


def test_a_prune_frees_the_bytes(project: Path) -> None:
    before = store_size(project)
    done = data_of(project, "checkpoint", "prune", "growing", "--keep", "2")
    assert done["bytes_freed"] == before - store_size(project) > 4 * STEP_BYTES
    assert data_of(project, "checkpoint", "verify")["damaged"] == []
    assert data_of(project, "gc")["bytes_freed"] == 0


def test_without_a_number_the_settings_say_how_many_stay(project: Path) -> None:
    assert data_of(project, "checkpoint", "prune", "growing")["pruned"] == []
    data_of(project, "config", "set", "max_checkpoints_per_plan", "4")
    # The plan file's own word is stronger than the project's.
    assert data_of(project, "checkpoint", "prune", "growing")["limit"] == 50
    assert (
        data_of(project, "-c", "max_checkpoints_per_plan=4", "checkpoint", "prune", "growing")["limit"] == 4
    )


def test_a_plan_goes_on_after_a_prune(project: Path) -> None:
    data_of(project, "checkpoint", "create", "growing", "--label", "mine")
    data_of(project, "plan", "rollback", "--yes", "growing", "first")
    done = data_of(project, "checkpoint", "prune", "growing", "--keep", "1")
    assert {k["reason"] for k in done["kept"]} >= {"the first", "the most recent"}
    assert data_of(project, "plan", "execute", "growing")["state"] == "complete"
    assert data_of(project, "checkpoint", "verify")["damaged"] == []


def test_what_must_stay_cannot_be_deleted(project: Path) -> None:
    ids = _ids(project)
    first = ask(project, "checkpoint", "delete", ids[0])
    assert (first["exit_code"], first["error"]["kind"]) == (3, "checkpoint_needed")
    assert first["error"]["reason"] == "the first"
    assert "prune" in first["error"]["hint"]
    assert ask(project, "checkpoint", "delete", ids[-1])["error"]["reason"] == "the most recent"
    data_of(project, "plan", "rollback", "--yes", "growing", ids[3])
    assert "between two steps" in ask(project, "checkpoint", "delete", ids[3])["error"]["reason"]
    assert _ids(project, "--all")[: len(ids)] == ids


def test_one_checkpoint_is_deleted_with_its_bytes(project: Path) -> None:
    ids, before = _ids(project), store_size(project)
    done = data_of(project, "checkpoint", "delete", ids[3])
    assert [gone["checkpoint_id"] for gone in done["pruned"]] == [ids[3]]
    assert done["bytes_freed"] == before - store_size(project) > STEP_BYTES
    assert _ids(project) == [*ids[:3], *ids[4:]]
    assert ask(project, "checkpoint", "delete", ids[3])["error"]["kind"] == "checkpoint_not_found"
    assert data_of(project, "checkpoint", "verify")["damaged"] == []
    parents = {c["checkpoint_id"]: c for c in data_of(project, "checkpoint", "list")["checkpoints"]}
    assert parents[ids[4]]["parent_group_id"] == parents[ids[2]]["group_id"]


def test_a_plan_at_work_is_not_pruned_by_others(tmp_path: Path) -> None:
    plan = "name: slow\nsteps:\n  - {name: wait, tool: shell, args: {command: 'touch started; sleep 30'}}\n"
    (tmp_path / "slow.yaml").write_text(plan)
    running = start(tmp_path, "plan", "execute", "slow.yaml")
    while not list((home_of(tmp_path) / "sandboxes").glob("*/workspace/started")):
        assert running.poll() is None
    try:
        assert ask(tmp_path, "checkpoint", "prune", "slow", "--keep", "1")["error"]["kind"] == "plan_busy"
        assert ask(tmp_path, "checkpoint", "delete", "first")["error"]["kind"] == "plan_busy"
        assert ask(tmp_path, "checkpoint", "prune", "slow", "--keep", "1", "--dry-run")["exit_code"] == 0
    finally:
        running.terminate()
    answer_of(running)


@pytest.mark.parametrize("keep", ["0", "-1", "many"])
def test_nonsense_is_refused(project: Path, keep: str) -> None:
    assert ask(project, "checkpoint", "prune", "growing", "--keep", keep)["exit_code"] == 2
