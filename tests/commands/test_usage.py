"""Options that exclude each other, commands that are none, and a bug: each has its own answer."""

import io
from contextlib import chdir, redirect_stdout
from pathlib import Path

import pytest

from mulligan.api.project import Project
from mulligan.cli.main import run
from tests.commands.program import ask, data_of
from tests.hostile.program import say

_CLASH = """\
name: clash
steps:
  - name: parts
    subplans:
      plans:
        - {name: mine, steps: [{tool: edit_file, args: {path: a.txt, old: one, new: two}}]}
        - {name: yours, steps: [{tool: edit_file, args: {path: a.txt, old: one, new: three}}]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("one\n")
    data_of(tmp_path, "init")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        "run -i --apply --keep -- true",
        "run --drop -- true",
        "run -i -- true",
        "run --message new -- true",
        "run --apply --no-commit --message new -- true",
        "plan resolve p a.txt b.txt --remove",
        "plan resolve p a.txt --remove --with a.txt",
        "plan",
        "plan nonsense",
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_happens(folder: Path, words: str) -> None:
    answer = ask(folder, *words.split())
    assert answer["error"]["kind"] == "usage_wrong", answer
    assert answer["error"]["hint"]
    assert data_of(folder, "plan", "list")["plans"] == []


def test_a_group_of_commands_shows_its_help(folder: Path) -> None:
    with chdir(folder), redirect_stdout(io.StringIO()) as shown:
        assert run(["plan", "--help"]) == 0
    assert "resolve" in shown.getvalue()
    with chdir(folder), redirect_stdout(io.StringIO()) as again:
        assert run(["--format", "plain", "plan"]) == 2
    assert again.getvalue() == shown.getvalue()


def test_a_file_in_conflict_gets_the_text_of_another_or_goes(folder: Path) -> None:
    (folder / "clash.yaml").write_text(_CLASH)
    assert ask(folder, "plan", "execute", "clash.yaml")["error"]["kind"] == "subplan_conflicts"
    (folder / "merged.txt").write_text("two and three\n")
    data_of(folder, "plan", "resolve", "clash", "a.txt", "--with", "merged.txt")
    sandbox = Path(data_of(folder, "plan", "status", "clash")["sandboxes"][0]["path"])
    assert (sandbox / "a.txt").read_text() == "two and three\n"


def test_a_bug_is_an_answer_with_its_traceback_beside_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Project, "plans", fail)
    answer = ask(folder, "plan", "list")
    assert answer["error"]["kind"] == "internal_error"
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_a_hook_in_a_folder_that_is_gone_lets_the_agent_go_on_unless_it_is_strict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    gone = tmp_path / "gone"
    for flags, code in ([], 0), (["--strict"], 2):
        gone.mkdir()
        monkeypatch.chdir(gone)
        gone.rmdir()
        assert run(["hook", *flags, "claude-code"]) == code
        monkeypatch.chdir(tmp_path)
        printed = capfd.readouterr()
        assert printed.out == ""
        assert printed.err


def test_a_stored_file_and_a_stored_link_are_written_as_they_are(folder: Path) -> None:
    (folder / "link").symlink_to("a.txt")
    (folder / "bytes").write_bytes(b"\xff\x00")
    data_of(folder, "run", "--name", "p", "--", "touch", "made")
    assert say(folder, "show", "p@1", "a.txt", format="plain").stdout == b"one\n"
    assert say(folder, "show", "p@1", "bytes", format="plain").stdout == b"\xff\x00"
    assert say(folder, "show", "p@1", "link", format="plain").stdout == b"a.txt\n"
    assert b"a.txt" in say(folder, "show", "p@1", ".", format="plain").stdout
