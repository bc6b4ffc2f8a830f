"""Retention keeps what an undo of a plan's newest entries needs, however small the limit is."""

from pathlib import Path

import pytest

from tests.commands.program import ask, data_of
from tests.commands.timelines import in_place, kind_of, plain_folder, redo, undo


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MULLIGAN_SANDBOX_CHECKPOINT_MAX_CHECKPOINTS_PER_PLAN", "2")
    return plain_folder(tmp_path)


def test_the_only_step_of_a_run_in_place_is_undone_and_redone_with_the_smallest_limit(folder: Path) -> None:
    in_place(folder, "echo b > a.txt")
    data_of(folder, "checkpoint", "prune", "latest", "--keep", "1")
    undo(folder)
    assert (folder / "a.txt").read_text() == "a\n"
    data_of(folder, "checkpoint", "prune", "latest", "--keep", "1")
    redo(folder)
    assert (folder / "a.txt").read_text() == "b\n"
    undo(folder)
    assert (folder / "a.txt").read_text() == "a\n"


def test_the_newest_step_and_the_newest_restore_of_a_plan_can_both_be_taken_back(folder: Path) -> None:
    in_place(folder, "echo b > a.txt; echo new > b.txt", "--name", "one")
    for _ in range(3):
        (folder / "a.txt").write_text("mine\n")
        data_of(folder, "restore", "--yes", "--from", "one@1", "a.txt")
    assert (folder / "a.txt").read_text() == "a\n"
    undo(folder)
    assert (folder / "a.txt").read_text() == "mine\n"
    (folder / "a.txt").write_text("b\n")
    undo(folder, "1")
    assert not (folder / "b.txt").exists()


def test_an_older_step_is_refused_and_the_reason_is_that_its_checkpoint_was_pruned(folder: Path) -> None:
    steps = [f"  - {{name: s{n}, tool: shell, args: {{command: 'echo {n} > a.txt'}}}}" for n in range(4)]
    head = [
        "name: four",
        "resources: {workspace: {type: fs-directory, location: ., strategy: in_place}}",
        "steps:",
    ]
    (folder / "plan.yaml").write_text("\n".join([*head, *steps]))
    data_of(folder, "plan", "execute", "plan.yaml")
    undo(folder)
    assert (folder / "a.txt").read_text() == "2\n"
    answer = ask(folder, "undo", "--yes")
    assert (answer["exit_code"], answer["error"]["kind"]) == (3, "nothing_to_undo")
    assert "pruned" in answer["error"]["message"]
    assert (folder / "a.txt").read_text() == "2\n"


def test_what_an_undo_needs_goes_only_by_name(folder: Path) -> None:
    made = in_place(folder, "echo b > a.txt")
    data_of(folder, "checkpoint", "create", made["handle"], "--label", "newest")
    kept = data_of(folder, "checkpoint", "prune", made["handle"], "--keep", "1", "--dry-run")["kept"]
    assert "an undo needs it" in {each["reason"] for each in kept}
    data_of(folder, "checkpoint", "delete", data_of(folder, "log")["entries"][0]["after"]["checkpoint_id"])
    assert kind_of(folder, "undo", "--yes") == (3, "nothing_to_undo")
    assert (folder / "a.txt").read_text() == "b\n"
