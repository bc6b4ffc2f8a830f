"""What the shell is told when Tab is pressed: what the project knows, quickly, and never a complaint."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import click
import pytest

from mulligan.cli.main import program, run
from tests.commands.program import ask, data_of
from tests.reference_pages import commands
from tests.support.homes import home_of

PLAN = """
name: tour
steps:
  - {name: one, tool: write_file, args: {path: a.txt, content: "one\\n"}, checkpoint: draft}
  - {name: choose, decision: {question: Which?, chosen: this}}
  - {name: two, tool: write_file, args: {path: a.txt, content: "two\\n"}, checkpoint: before release}
"""
CLASH = """
name: clash
steps:
  - name: parts
    subplans:
      plans:
        - {name: mine, steps: [{tool: write_file, args: {path: a.txt, content: mine}}]}
        - {name: yours, steps: [{tool: write_file, args: {path: a.txt, content: yours}}]}
"""
TOOLS = "import mulligan\n@mulligan.tool\ndef deploy(context): ...\n"
# Texts that no project knows: someone has to think of them.
FREE = {
    "check",
    "choose",
    "database",
    "event",
    "guidance",
    "include",
    "label",
    "message",
    "name",
    "only",
    "plans",
    "queue",
    "queues",
    "rationale",
    "reason",
    "step",
    "store",
}

Complete = Callable[[str], dict[str, str]]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "a.txt").write_text("old\n")
    (folder / "tour.yaml").write_text(PLAN)
    (folder / "clash.yaml").write_text(CLASH)
    assert ask(folder, "plan", "execute", "clash.yaml")["exit_code"] == 4
    data_of(folder, "plan", "execute", "tour.yaml")
    return folder


@pytest.fixture
def complete(project: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]):
    """How the last word of a line may go on, in the project or elsewhere; what each word is."""

    def lines(line: str, folder: Path = project) -> dict[str, str]:
        monkeypatch.setenv("_MULLIGAN_COMPLETE", "zsh")
        monkeypatch.setenv("_MULLIGAN_LINE", line)
        with chdir(folder):
            assert run([]) == 0
        monkeypatch.delenv("_MULLIGAN_COMPLETE")
        printed = capfdbinary.readouterr()
        assert printed.err == b""
        fields = [line.split("\t") for line in printed.out.decode().splitlines()]
        return {word or f"<{kind}>": about for kind, word, about in fields}

    return lines


def test_commands_options_and_choices(complete: Complete) -> None:
    assert {"plan", "checkpoint", "config", "tool", "run", "undo", "init", "gc", "doctor"} <= set(
        complete("mulligan ")
    )
    assert list(complete("mulligan plan stat")) == ["status"]
    assert list(complete("mulligan plan rollback --dr")) == ["--dry-run"]
    assert list(complete("mulligan plan status --format ")) == ["rich", "plain", "json", "yaml"]
    assert list(complete("mulligan --format=j")) == ["--format=json"]
    assert "errored" in complete("mulligan plan list --state ")
    assert list(complete("mulligan completion z")) == ["zsh"]


def test_plans_by_handle_and_by_id_once_one_is_begun(project: Path, complete: Complete) -> None:
    plan_id = data_of(project, "plan", "status", "tour")["plan_id"]
    words = complete("mulligan plan status ")
    assert words["tour"] == "complete"
    assert words["clash"] == "waiting for you"
    assert "latest" in words
    assert plan_id not in words
    assert complete(f"mulligan plan apply --dry-run {plan_id[:25]}")[plan_id] == "tour, complete"
    assert "<file>" in complete("mulligan plan execute ")
    assert list(complete("mulligan plan execute to")) == ["<file>"], "it is complete"


def test_only_plans_that_the_command_can_be_done_to(complete: Complete, tmp_path: Path) -> None:
    (tmp_path / "tour.yaml").write_text(PLAN)
    (tmp_path / "clash.yaml").write_text(CLASH)
    for name, then in (("tour", ()), ("tour-2", ("apply", "--yes")), ("tour-3", ("cancel",))):
        data_of(tmp_path, "plan", "execute", "tour.yaml")
        if then:
            data_of(tmp_path, *then, name)
    data_of(tmp_path, "plan", "create", "tour.yaml")
    assert ask(tmp_path, "plan", "execute", "clash.yaml")["exit_code"] == 4

    def offered(line: str) -> set[str]:
        return set(complete(f"mulligan {line} ", tmp_path)) - {"latest", "<file>"}

    data_of(tmp_path, "run", "--name", "idle", "--", "true")
    assert offered("apply") == {"tour"}, "what changed nothing is not to be applied"
    data_of(tmp_path, "cancel", "idle")
    assert offered("unapply") == {"tour-2"}
    assert offered("resume") == offered("plan execute") == {"tour-4", "clash"}
    assert offered("rollback") == {"tour", "clash"}
    entries = {str(entry["number"]) for entry in data_of(tmp_path, "log")["entries"] if not entry["undone"]}
    assert offered("undo") == {"tour", "clash", *entries}
    assert offered("cancel") == {"tour", "tour-4", "clash"}
    assert offered("plan resolve") == {"clash"}
    assert offered("status") == {"tour", "tour-2", "tour-4", "clash"}, "neither cancelled nor children"
    assert set(complete("mulligan status clash.", tmp_path)) == {"clash.mine", "clash.yours"}
    assert "tour-3" in complete("mulligan status tour-", tmp_path)


def test_checkpoints_of_the_plan_that_is_named(project: Path, complete: Complete) -> None:
    numbers = {f"@{number}" for number in range(1, 9)}
    words = complete("mulligan plan rollback tour ")
    assert set(words) == {"latest", "first", "draft", "before release", *numbers}
    assert (words["@2"], words["@3"]) == ("before step 1", "your label 'draft'")
    assert set(complete("mulligan rollback tour@")) == {f"tour{number}" for number in numbers}
    assert complete("mulligan show tour@3") == {"tour@3": "your label 'draft'"}
    assert complete("mulligan diff --to @7") == {"@7": "your label 'before release'"}
    assert set(complete("mulligan rollback @")) == numbers, "of the newest plan"
    assert set(complete("mulligan show to")) == {"tour@"}
    assert complete("mulligan rollback nonsense@") == {}
    for typed in ("before\\ r", "'before r", '"before'):
        assert complete(f"mulligan plan rollback tour {typed}") == {"before release": "after step 3"}
    assert "draft" not in complete("mulligan plan rollback clash ")
    assert "draft" in complete("mulligan checkpoint show ")
    assert list(complete("mulligan plan diff latest --from=dr")) == ["--from=draft"]
    checkpoint = data_of(project, "checkpoint", "show", "draft")
    told = complete(f"mulligan checkpoint show {checkpoint['checkpoint_id'][:25]}")
    assert told[checkpoint["checkpoint_id"]] == "manual of workspace at step 1"
    plan_id = checkpoint["plan_id"]
    assert "draft" in complete(f"mulligan plan rollback {plan_id} ")


def test_each_of_several_plans_of_a_name_offers_its_own_labels(complete: Complete, tmp_path: Path) -> None:
    (tmp_path / "tour.yaml").write_text(PLAN)
    data_of(tmp_path, "plan", "execute", "tour.yaml")
    data_of(tmp_path, "plan", "create", "tour.yaml")
    every = complete("mulligan plan rollback tour ", tmp_path)
    words = {word: about for word, about in every.items() if "@" not in word}
    assert words == {
        "latest": "the newest checkpoint",
        "first": "the oldest checkpoint",
        "before release": "after step 3",
        "draft": "after step 1",
    }
    data_of(tmp_path, "plan", "cancel", "latest")
    assert set(complete("mulligan plan rollback nonsense ", tmp_path)) == {"latest", "first"}


def test_decisions_corrections_and_conflicts(project: Path, complete: Complete) -> None:
    ((decision, about),) = complete("mulligan plan correct --mode revert ").items()
    assert (decision, about) == ("tour/d1", "Which? this")
    words = ("plan", "correct", "--mode", "revert", "--guidance", "go on", "--yes", decision)
    correction = data_of(project, *words)["correction"]["correction_id"]
    assert complete("mulligan plan diff --correction ") == {"tour/c1": "attempt 2: go on"}
    assert correction in complete(f"mulligan plan diff --correction {correction[:20]}")
    ids = complete(f"mulligan plan correct {decision_id(project)[:25]}")
    assert decision_id(project) in ids
    assert list(complete("mulligan plan resolve clash ")) == ["a.txt"]


def decision_id(project: Path) -> str:
    events = data_of(project, "log", "tour")["events"]
    return [event["data"]["decision_id"] for event in events if event["type"] == "decision"][-1]


def test_settings_and_their_values(complete: Complete) -> None:
    assert "plan.max-parallel" in complete("mulligan config get ")
    assert list(complete("mulligan config set sandbox.isolate ")) == ["auto", "required", "off"]
    triggers = complete("mulligan config set sandbox.checkpoint.auto-create-on on_error,on_t")
    assert list(triggers) == ["on_error,on_tool_write", "on_error,on_tool_write_complete"]
    assert complete("mulligan config set plan.max-parallel ") == {}
    assert complete("mulligan config set nonsense ") == {}
    assert list(complete("mulligan -c sandbox.isol")) == ["sandbox.isolate="]
    assert list(complete("mulligan plan -c sandbox.isolate=o")) == ["sandbox.isolate=off"]


def test_tools_and_those_of_a_file_once_it_is_trusted(project: Path, complete: Complete) -> None:
    assert list(complete("mulligan tool show write")) == ["write_file"]
    file = home_of(project) / "tools.py"
    file.write_text(TOOLS)
    file.chmod(0o600)
    assert list(complete("mulligan tool show de")) == ["delete_file"]
    data_of(project, "tool", "trust", "--yes")
    assert complete("mulligan tool show dep") == {"deploy": "of tools.py"}
    file.unlink()


def test_files_and_folders_are_left_to_the_shell(complete: Complete) -> None:
    assert list(complete("mulligan plan create ")) == ["<file>"]
    assert list(complete("mulligan init ")) == ["<dir>"]
    assert list(complete("mulligan run --resource ")) == ["<dir>"]
    assert list(complete("mulligan run -- ca")) == ["<program>"]
    assert list(complete("mulligan run -- cat ")) == ["<file>"]
    assert list(complete("mulligan plan report --html ./")) == ["<file>"]


def test_another_project_can_be_named(project: Path, complete: Complete, tmp_path: Path) -> None:
    assert "tour" in complete(f"mulligan --project {project} plan status ", tmp_path)
    assert "tour" in complete(f"mulligan plan status --project {project} ", tmp_path)


def test_nothing_is_said_and_nothing_made_where_nothing_is_known(
    project: Path, complete: Complete, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert complete("mulligan plan status ", elsewhere) == {}
    assert list(elsewhere.iterdir()) == []
    home_of(elsewhere).mkdir()
    assert complete("mulligan plan status ", elsewhere) == {}
    assert list(home_of(elsewhere).iterdir()) == []
    database = home_of(elsewhere) / "mulligan.db"
    database.write_bytes(b"no database" * 1000)
    assert complete("mulligan plan status ", elsewhere) == {}
    (home_of(elsewhere) / "config.toml").write_text("[[[")
    assert complete("mulligan plan status ", elsewhere) == {}
    for line in (
        "mulligan nonsense ",
        "mulligan plan nonsense ",
        "mulligan plan --nonsense ",
        "",
        "mulligan",
    ):
        complete(line)
    assert "plan" in complete("mulligan ", elsewhere)


def test_a_database_is_never_changed(complete: Complete, project: Path, tmp_path: Path) -> None:
    shutil.copytree(home_of(project), home_of(tmp_path))
    database = home_of(tmp_path) / "mulligan.db"
    with sqlite3.connect(database) as db:
        db.execute("UPDATE schema_version SET version = 1")
    db.close()
    before = database.read_bytes()
    assert "tour" in complete("mulligan plan status ", tmp_path)
    assert database.read_bytes() == before
    assert not database.with_name("mulligan.db-wal").exists()
    with sqlite3.connect(database) as db:
        db.execute("ALTER TABLE plans RENAME COLUMN handle TO called")
    db.close()
    assert complete("mulligan plan status ", tmp_path) == {}


def test_every_word_that_names_something_can_be_completed() -> None:
    for words, command in {"": program, **commands()}.items():
        for parameter in command.params:
            is_flag = isinstance(parameter, click.Option) and parameter.is_flag
            if type(parameter.type) is type(click.STRING) and not is_flag:
                assert parameter.name in FREE, (words, parameter.name)


def test_bash_itself_completes(project: Path, tmp_path: Path) -> None:
    """The words as bash takes them apart: at = too, with quotes as they are typed."""
    (tmp_path / "mulligan").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mulligan "$@"\n')
    (tmp_path / "mulligan").chmod(0o755)
    script = """
        eval "$(mulligan completion bash)"
        compopt() { :; }  # needs someone who types
        complete -p mulligan
        asked() {
            COMP_LINE=$1 COMP_POINT=${#1}; shift
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
            _mulligan_completion mulligan
            printf '<%s>' "${COMPREPLY[@]}"; echo
        }
        asked 'mulligan plan rollback tour b' mulligan plan rollback tour b
        asked 'mulligan plan rollback tour "b' mulligan plan rollback tour '"b'
        asked 'mulligan rollback tour@' mulligan rollback tour @
        asked 'mulligan rollback tour@3' mulligan rollback tour @ 3
        asked 'mulligan rollback @3' mulligan rollback @ 3
        asked 'mulligan show tou' mulligan show tou
        asked 'mulligan restore tour@' mulligan restore tour @
        asked 'mulligan restore tou' mulligan restore tou
        asked 'mulligan undo 1' mulligan undo 1
        asked 'mulligan -c sandbox.isolate=o' mulligan -c sandbox.isolate = o
        asked 'mulligan config set sandbox.checkpoint.auto-create-on before_step,on_e' \
            mulligan config set sandbox.checkpoint.auto-create-on before_step,on_e
        asked 'mulligan plan create tou' mulligan plan create tou
        echo_line() { :; }  # a function is no program
        asked 'mulligan run -- mullig' mulligan run -- mullig
        asked 'mulligan run -- echo_l' mulligan run -- echo_l
        asked 'mulligan run -- cat tou' mulligan run -- cat tou
        asked 'mulligan plan create ' mulligan plan create '' | grep -c '<[.]mulligan>'
        asked 'mulligan plan create .m' mulligan plan create .m
        asked 'mulligan restore ' mulligan restore '' | grep -c '<[.]git>'
        _command_offset() { COMPREPLY=("${COMP_WORDS[$1]} itself"); }  # of the package bash-completion
        asked 'mulligan run -- git st' mulligan run -- git st
        asked 'mulligan run --name a git st' mulligan run --name a git st
    """
    shown = [each["number"] for each in data_of(project, "checkpoint", "list", "tour")["checkpoints"]][::-1]
    environ = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "--norc", "-c", script], cwd=project, env=environ, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "complete -o nosort -F _mulligan_completion mulligan",
        "<before\\ release>",
        "<before release>",
        "".join(f"<{number}>" for number in shown),
        "<3>",
        "<3>",
        "<tour@>",
        "".join(f"<{number}>" for number in shown),
        "<tour@><tour.yaml>",
        "<1>",
        "<off>",
        "<before_step,on_error>",
        "<tour.yaml>",
        "<mulligan>",
        "<>",
        "<tour.yaml>",
        "0",
        "<.mulligan>",
        "0",
        "<git itself>",
        "<git itself>",
    ]


@pytest.mark.parametrize(
    ("shell", "registers"),
    [
        ("bash", "complete -o nosort -F _mulligan_completion mulligan"),
        ("zsh", "compdef _mulligan_completion mulligan"),
        ("fish", "complete --no-files --keep-order --command mulligan"),
    ],
)
def test_the_script_is_printed_as_it_is(
    shell: str, registers: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run(["completion", shell]) == 0
    printed = capfdbinary.readouterr().out.decode()
    assert registers in printed
    assert printed == data_of(tmp_path, "completion", shell)["script"]
