"""`show CHECKPOINT PATH` and `list CHECKPOINT [PATH]`: what a checkpoint holds, without restoring it."""

import base64
import os
import subprocess
from pathlib import Path

import pytest

import mulligan
from mulligan.errors import PathIsFolder, PathNotInCheckpoint, PathOutside
from tests.commands.program import ask, data_of
from tests.commands.running import on_a_terminal, script
from tests.support.forked_program import run_program

BINARY = bytes(range(256)) * 5000  # larger than one object of the store


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "src" / "a.py").write_text("one\n")
    (tmp_path / "src" / "deep" / "b").write_text("b")
    (tmp_path / "run.sh").write_text("#!/bin/sh\n")
    (tmp_path / "run.sh").chmod(0o755)
    (tmp_path / "image").write_bytes(BINARY)
    (tmp_path / "link").symlink_to("src/a.py")
    data_of(tmp_path, "run", "--name", "tune", "--", "sh", "-c", "echo two >> src/a.py; rm image")
    return tmp_path


def program(folder: Path, *words: str) -> "subprocess.CompletedProcess[bytes]":
    return run_program(words, folder=folder, environment=os.environ)


def test_a_file_is_printed_byte_by_byte(project: Path) -> None:
    assert program(project, "show", "tune@1", "src/a.py").stdout == b"one\n"
    assert program(project, "show", "tune@3", "src/a.py").stdout == b"one\ntwo\n"
    assert program(project, "show", "@1", "image").stdout == BINARY
    assert program(project, "show", "@1", "link").stdout == b"src/a.py\n"
    assert program(project / "src", "show", "@1", "a.py").stdout == b"one\n"


def test_in_json_a_file_is_text_or_base64(project: Path) -> None:
    text = data_of(project, "show", "@1", "src/a.py")
    assert (text["encoding"], text["content"], text["path"]) == ("utf-8", "one\n", "src/a.py")
    assert (text["handle"], text["number"], text["mode"], text["size_bytes"]) == ("tune", 1, "0644", 4)
    other = data_of(project, "show", "@1", "image")
    assert (other["encoding"], base64.b64decode(other["content"])) == ("base64", BINARY)
    link = data_of(project, "show", "@1", "link")
    assert (link["type"], link["target"], link["content"]) == ("symlink", "src/a.py", "src/a.py")


@pytest.mark.processes_measured
def test_a_terminal_gets_a_description_of_what_is_not_text(project: Path) -> None:
    code, shown = on_a_terminal(project, "show", "@1", "image")
    assert code == 0
    assert "1,280,000" in shown or "1280000" in shown
    assert "mulligan show tune@1 image > FILE" in shown
    code, shown = on_a_terminal(project, "show", "@3", "src/a.py")
    assert (code, shown) == (0, "one\ntwo\n")
    code, shown = on_a_terminal(project, "show", "@1", "link")
    assert (code, shown) == (0, "src/a.py\n")


def test_an_empty_file_shows_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    data_of(tmp_path, *script("true"))
    assert on_a_terminal(tmp_path, "show", "@1", "empty") == (0, "")
    assert program(tmp_path, "show", "@1", "empty").stdout == b""


def test_a_list_has_names_modes_and_sizes(project: Path) -> None:
    listed = data_of(project, "list", "tune@1")
    assert (listed["handle"], listed["number"], listed["path"]) == ("tune", 1, ".")
    lines = {each["path"]: each for each in listed["entries"]}
    assert sorted(lines) == ["image", "link", "run.sh", "src"]
    assert (lines["run.sh"]["mode"], lines["run.sh"]["size_bytes"]) == ("0755", 10)
    assert (lines["src"]["type"], lines["src"]["size_bytes"]) == ("folder", None)
    assert (lines["link"]["type"], lines["link"]["target"]) == ("symlink", "src/a.py")
    assert "image" not in {each["path"] for each in data_of(project, "list", "@3")["entries"]}


def test_a_list_of_a_folder_and_of_all_below(project: Path) -> None:
    below = data_of(project, "list", "@1", "src", "--recursive")["entries"]
    assert [each["path"] for each in below] == ["src/a.py", "src/deep", "src/deep/b"]
    only = data_of(project, "list", "@1", "src/")["entries"]
    assert [each["path"] for each in only] == ["src/a.py", "src/deep"]
    assert data_of(project, "show", "@1", "src")["entries"] == only
    assert [each["path"] for each in data_of(project, "list", "@1", "run.sh")["entries"]] == ["run.sh"]


def test_paths_are_shown_as_one_types_them_here(project: Path) -> None:
    shown = program(project / "src", "list", "@1", "--recursive").stdout.decode()
    assert "../run.sh" in shown
    assert "deep/b" in shown.split()


@pytest.mark.processes_measured
def test_a_long_list_is_cut_on_a_terminal_only(tmp_path: Path) -> None:
    for number in range(250):
        (tmp_path / f"file{number:03}").touch()
    data_of(tmp_path, *script("true"))
    _, shown = on_a_terminal(tmp_path, "list", "@1")
    assert "file199" in shown
    assert "file200" not in shown
    assert "50 more" in shown
    assert "file249" in program(tmp_path, "list", "@1").stdout.decode()


def test_what_is_not_there_is_refused_by_name(project: Path) -> None:
    missing = ask(project, "show", "@3", "image")
    assert (missing["exit_code"], missing["error"]["kind"]) == (3, "path_not_in_checkpoint")
    assert (missing["error"]["path"], missing["error"]["checkpoint"]) == ("image", "tune@3")
    assert "`mulligan list tune@3`" in missing["error"]["hint"]
    assert ask(project, "list", "@1", "run.sh/x")["error"]["kind"] == "path_not_in_checkpoint"
    assert ask(project, "list", "@1", "/etc")["error"]["kind"] == "path_outside"
    assert ask(project, "list", "@1", "..")["error"]["kind"] == "path_outside"
    assert ask(project, "list", "nobody")["error"]["kind"] == "checkpoint_not_found"


@pytest.mark.parametrize(
    "words",
    [("list", "@1", "--state", "complete"), ("list", "@1", "--limit", "3"), ("list", "--recursive")],
)
def test_options_of_the_other_list_are_refused(project: Path, words: tuple[str, ...]) -> None:
    assert ask(project, *words)["error"]["kind"] == "usage_wrong"


def test_several_resources_and_a_database(tmp_path: Path) -> None:
    for name in ("texts", "images"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    (tmp_path / "plan.yaml").write_text(
        "name: several\n"
        "resources:\n"
        "  texts: {type: fs-directory, location: texts}\n"
        "  images: {type: fs-directory, location: images}\n"
        "  rows: {type: sqlite, location: texts/rows.db, create: true}\n"
        "steps: [{tool: sql, resource: rows, args: {statements: [create table t (x)]}}]\n"
    )
    data_of(tmp_path, "plan", "execute", "plan.yaml")
    entries = data_of(tmp_path, "list", "@-1")["entries"]
    assert [(e["resource"], e["path"]) for e in entries] == [
        ("texts", "texts/file"),
        ("images", "images/file"),
        ("rows", "texts/rows.db"),
    ]
    assert [e["path"] for e in data_of(tmp_path, "list", "@-1", "texts")["entries"]] == [
        "texts/file",
        "texts/rows.db",
    ]
    assert program(tmp_path, "show", "@-1", "texts/rows.db").stdout.startswith(b"SQLite format 3\0")
    assert ask(tmp_path, "show", "first", "texts/rows.db")["error"]["kind"] == "path_not_in_checkpoint"
    one = data_of(tmp_path, "checkpoint", "list", "several")["checkpoints"][0]["checkpoint_id"]
    assert [e["path"] for e in data_of(tmp_path, "list", one)["entries"]] == ["texts/file"]
    assert ask(tmp_path, "list", one, "images")["error"]["kind"] == "path_not_in_checkpoint"


def test_the_same_from_python(project: Path) -> None:
    opened = mulligan.open(project)
    assert opened.read_path("tune@1", "src/a.py") == b"one\n"
    assert opened.read_path("tune@1", project / "link") == b"src/a.py"
    assert opened.list_tree("tune@1", "src").entries[0].path == "src/a.py"
    with pytest.raises(PathIsFolder):
        opened.read_path("tune@1", "src")
    with pytest.raises(PathNotInCheckpoint):
        opened.read_path("tune@1", "nothing")
    with pytest.raises(PathOutside):
        opened.read_path("tune@1", "../x")
    opened.close()


def test_names_and_times_that_no_calendar_has(tmp_path: Path) -> None:
    odd = os.fsencode(tmp_path) + b"/odd \xff name"
    Path(os.fsdecode(odd)).write_bytes(b"odd")
    os.utime(odd, ns=(0, -(1 << 40) * 1_000_000_000))
    data_of(tmp_path, *script("true"))
    assert program(tmp_path, "show", "@1", os.fsdecode(b"odd \xff name")).stdout == b"odd"
    (line,) = data_of(tmp_path, "list", "@1")["entries"]
    assert line["modified_at"]
