"""What a failed command did, and how the user gets it: shown, taken, applied."""

from pathlib import Path
from typing import Any

import pytest

from mulligan.cli.main import run
from tests.commands.program import ask, data_of

FIX = "for n in 1 2; do echo fixed > f$n; done; exit 1"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("f1", "f2"):
        (tmp_path / name).write_text("broken\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def failed(folder: Path) -> Path:
    assert ask(folder, "run", "--name", "fix", "--", "sh", "-c", FIX)["exit_code"] == 1
    return folder


def shown(capfd: pytest.CaptureFixture[str], *words: str) -> str:
    """Run a command for people, and return all that they see."""
    capfd.readouterr()
    run(list(words))
    seen = capfd.readouterr()
    return seen.out + seen.err


def test_what_a_failed_command_did_is_named_where_the_user_looks_for_it(failed: Path) -> None:
    differs = ask(failed, "diff")
    assert differs["data"]["files"] == []
    look, take = "mulligan diff fix --to @3", "mulligan accept fix"
    assert any(look in text and take in text for text in differs["messages"])
    refused = ask(failed, "apply", "--yes")
    assert (refused["exit_code"], refused["error"]["kind"]) == (3, "no_plan_suits")
    assert take in refused["error"]["hint"]
    hint = data_of(failed, "status")["error"]["hint"]
    assert take in hint
    assert "mulligan resume" in hint
    assert "--plan" not in hint  # a command has no plan file
    assert len(data_of(failed, "diff", "fix", "--to", "@3")["files"]) == 2


def test_accept_without_a_checkpoint_takes_what_the_only_step_did(
    failed: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    taken = data_of(failed, "accept")
    assert taken["accepted"]["taken"] == [f"sh -c '{FIX}'"]
    assert (taken["accepted"]["at"], taken["accepted"]["not_run"]) == (3, [])
    assert taken["execution"]["files_modified"] == 2
    (step,) = data_of(failed, "status")["steps"]
    assert (step["status"], step["taken"], step["exit_status"]) == ("failed", True, 1)
    (line,) = data_of(failed, "list")["plans"]
    assert (line["steps_done"], line["steps_total"]) == (1, 1)
    (entry,) = data_of(failed, "log")["entries"]
    assert (entry["status"], entry["taken"]) == ("failed", True)
    for words in (("status",), ("log",)):
        text = shown(capfd, *words)
        assert "taken" in text
        assert "failed" not in text
    data_of(failed, "apply", "--yes")
    assert (failed / "f2").read_text() == "fixed\n"


def test_a_step_is_no_longer_taken_where_the_plan_went_back(failed: Path) -> None:
    data_of(failed, "accept", "--at", "@3")
    data_of(failed, "undo", "--yes")
    (step,) = data_of(failed, "status")["steps"]
    assert (step["status"], step["taken"]) == ("pending", False)
    data_of(failed, "redo", "--yes")
    assert data_of(failed, "status")["steps"][0]["taken"] is True


def test_accept_takes_the_sandbox_where_someone_worked_in_it_or_a_step_is_done(failed: Path) -> None:
    status = data_of(failed, "status")
    (Path(status["sandboxes"][0]["path"]) / "f1").write_text("by hand\n")
    assert data_of(failed, "accept")["accepted"]["at"] is None
    data_of(failed, "apply", "--yes")
    assert [(failed / name).read_text() for name in ("f1", "f2")] == ["by hand\n", "broken\n"]
    (failed / "half.yaml").write_text(
        "name: half\nsteps: [{name: good, run: touch good}, {name: bad, run: touch bad; exit 1}]\n"
    )
    ask(failed, "plan", "execute", "half.yaml")
    hint = data_of(failed, "status")["error"]["hint"]
    assert "mulligan accept half --at @4" in hint
    assert "--plan FILE" in hint
    accepted = data_of(failed, "accept")["accepted"]
    assert (accepted["at"], accepted["taken"], accepted["not_run"]) == (None, [], ["bad"])


def test_a_failed_command_that_is_kept_is_taken(folder: Path) -> None:
    ask(folder, "run", "--keep", "--name", "fix", "--", "sh", "-c", FIX)
    (step,) = data_of(folder, "status")["steps"]
    assert (step["status"], step["taken"]) == ("failed", True)
    assert data_of(folder, "list")["plans"][0]["steps_done"] == 1


def test_in_place_nothing_real_changes_without_a_checkpoint(folder: Path) -> None:
    ask(folder, "run", "--in-place", "--name", "fix", "--", "sh", "-c", FIX)
    assert "mulligan accept fix --at @3" in data_of(folder, "status")["error"]["hint"]
    assert data_of(folder, "accept")["accepted"]["at"] is None
    assert (folder / "f1").read_text() == "broken\n"


def test_a_command_that_left_nothing_offers_nothing_to_take(folder: Path) -> None:
    hints: list[Any] = [ask(folder, "run", "--", "false")["error"]["hint"]]
    hints.append(data_of(folder, "status")["error"]["hint"])
    assert not any("accept" in hint for hint in hints)
    assert not any("accept" in text for text in ask(folder, "diff")["messages"])


def test_a_command_that_changed_nothing_does_not_hide_the_one_before_it(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    data_of(folder, "run", "--", "sed", "-i", "s/broken/whole/", "f1")
    assert "mulligan apply" not in shown(capfd, "run", "--", "cat", "f1")
    differs = data_of(folder, "diff")
    assert [file["path"] for file in differs["files"]] == ["f1"]
    assert data_of(folder, "apply", "--yes")["handle"] == "sed"
    assert (folder / "f1").read_text() == "whole\n"
    assert data_of(folder, "apply", "--yes")["handle"] == "cat"  # no other is left


def test_nothing_to_undo_is_about_the_folder_where_no_plan_is_named(folder: Path) -> None:
    data_of(folder, "run", "--", "true")
    everywhere, named = ask(folder, "undo", "--yes")["error"], ask(folder, "undo", "--yes", "true")["error"]
    assert (everywhere["kind"], named["kind"]) == ("nothing_to_undo", "nothing_to_undo")
    assert "plan" not in everywhere["message"]
