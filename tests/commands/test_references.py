"""Words that name plans, checkpoints and entries: the same word means the same thing to every command."""

import os
from contextlib import chdir
from pathlib import Path

import pytest

from mulligan.cli.main import run
from tests.commands.program import ask, data_of

PLAN = """
name: tour
steps:
  - {name: one, tool: write_file, args: {path: a.txt, content: "one\\n"}}
  - {name: two, tool: write_file, args: {path: a.txt, content: "two\\n"}}
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("references") / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("old\n")
    (folder / "tour.yaml").write_text(PLAN)
    data_of(folder, "plan", "execute", "tour.yaml")  # entries 1 and 2
    data_of(folder, "run", "--name", "12", "--", "sed", "-i", "s/old/sed/", "a.txt")  # entry 3
    return folder


def test_digits_alone_are_never_a_handle(project: Path) -> None:
    handles = [plan["handle"] for plan in data_of(project, "list")["plans"]]
    assert handles == ["tour", "plan-12"]
    assert data_of(project, "status", "plan-12")["name"] == "12"
    assert data_of(project, "status", "12")["handle"] == "plan-12", "a name names it too"


def test_an_entry_that_is_not_there_is_refused_as_one(project: Path) -> None:
    for words in (("undo", "999"), ("undo", "0"), ("diff", "999"), ("show", "999"), ("list", "999")):
        assert ask(project, *words)["error"]["kind"] == "entry_not_found", words
    refused = ask(project, "redo", "49")
    assert (refused["error"]["kind"], refused["exit_code"]) == ("nothing_to_redo", 3)
    assert ask(project, "redo", "tour")["exit_code"] == 2


def test_redo_by_number_is_the_entry_that_was_undone_last(project: Path) -> None:
    data_of(project, "undo", "--yes", "3")
    assert ask(project, "redo", "--yes", "2")["error"]["kind"] == "nothing_to_redo"
    assert data_of(project, "redo", "--yes", "3")["entry"]["number"] == 3


def test_a_diff_names_checkpoints_by_their_numbers(project: Path) -> None:
    def groups(*words: str) -> list[str]:
        found = data_of(project, "diff", *words)
        return [found[side]["group_id"] for side in ("old", "new")]

    assert groups("tour@3") == groups("tour", "--to", "@3") == groups("tour", "@3")
    assert (
        groups("tour@1", "tour@3") == groups("tour@1", "@3") == groups("tour", "--from", "@1", "--to", "@3")
    )
    assert groups("@1", "@-1")[1] == data_of(project, "show", "plan-12")["group_id"]
    for words in (
        ("tour@1", "--to", "@3"),
        ("tour@1", "tour@2", "--from", "@1"),
        ("tour@1", "@2", "--correction", "x"),
    ):
        assert ask(project, "diff", *words)["exit_code"] == 2, words


def test_two_words_that_are_no_checkpoints_are_refused_with_what_works(project: Path) -> None:
    for words, meant in (
        (("tour", "plan-12"), "mulligan diff tour@-1 plan-12@-1"),
        (("tour", "a.txt"), "mulligan diff tour -- a.txt"),
    ):
        refused = ask(project, "diff", *words)
        assert refused["exit_code"] == 2
        assert f"`{meant}`" in refused["error"]["hint"]
    assert data_of(project, "diff", "tour@-1", "plan-12@-1")["files"]


def test_show_and_list_accept_a_plan_an_entry_and_nothing(project: Path) -> None:
    newest = data_of(project, "show", "tour@-1")
    assert data_of(project, "show", "tour") == newest
    assert data_of(project, "show") == data_of(project, "show", "plan-12@-1")
    assert data_of(project, "list", "tour") == data_of(project, "list", "tour@-1")
    assert data_of(project, "show", "1", "a.txt")["content"] == "one\n"
    assert data_of(project, "show", "tour", "a.txt")["content"] == "two\n"
    after = data_of(project, "log")["entries"][-1]["after"]["number"]
    assert data_of(project, "list", "1")["number"] == data_of(project, "show", "1")["number"] == after


def test_a_command_that_did_not_start_is_no_write_that_was_stopped(project: Path) -> None:
    outside = project.parent / "outside.yaml"
    outside.write_text(PLAN)
    refused = ask(project, "run", "../outside.yaml")
    assert refused["exit_code"] == 126
    assert "stopped" not in refused["error"]["message"]
    assert "`mulligan plan execute ../outside.yaml`" in refused["error"]["hint"]


def test_what_stopped_a_plan_is_shown_in_lines(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "a.txt").touch()
    assert (
        ask(tmp_path, "run", "--name", "no", "--", "sh", "-c", "echo one >&2; echo two >&2; exit 1")[
            "exit_code"
        ]
        == 1
    )
    capfdbinary.readouterr()
    with chdir(tmp_path):
        assert run(["status", "--format", "plain"]) == 0
    shown = capfdbinary.readouterr().out.decode()
    assert "\\n" not in shown
    assert "  two\n" in shown


@pytest.mark.parametrize("folder", ["/", "/etc", "/usr/lib", "~"])
def test_a_folder_of_the_system_becomes_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    place = Path(folder).expanduser()
    refused = ask(tmp_path, "init", str(place))
    assert (refused["error"]["kind"], refused["exit_code"]) == ("project_unusable", 3)
    assert not os.path.lexists(place / ".mulligan")


def test_where_there_is_no_project_the_everyday_way_is_named(tmp_path: Path) -> None:
    for command in ("status", "log", "undo", "diff"):
        hint = ask(tmp_path, command)["error"]["hint"]
        assert "`mulligan run -- COMMAND`" in hint
        assert "`mulligan init`" in hint


def test_words_labels_and_ids_name_checkpoints_to_compare(project: Path) -> None:
    data_of(project, "checkpoint", "create", "tour", "--label", "my draft")
    one, two = (data_of(project, "show", f"tour@{number}")["checkpoint_id"] for number in (1, -1))
    between = data_of(project, "diff", "tour@1", "tour@-1")["files"]
    assert [file["path"] for file in between] == ["a.txt"]
    for words in (("tour@1", "my draft"), (one, two), (one, "my draft"), ("tour", "my draft"), ("tour", two)):
        assert data_of(project, "diff", *words)["files"] == between, words
    assert (
        data_of(project, "diff", "first", "latest")["files"] == data_of(project, "diff", "plan-12")["files"]
    )
    assert ask(project, "diff", "nonsense", "tour@1")["error"]["kind"] == "checkpoint_not_found"
