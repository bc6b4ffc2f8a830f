"""What a stranger types wrong, and what the program says to that: what happened, and a command that would work."""

import os
import re
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from mulligan.cli.main import run
from tests.commands.program import ask, data_of
from tests.reference_pages import commands
from tests.support.homes import home_of
from tests.support.ordinary_user import as_ordinary_user

PLAN = """
name: tour
steps:
  - {name: one, tool: write_file, args: {path: a.txt, content: "one\\n"}, checkpoint: draft}
  - {name: choose, decision: {question: Which?, chosen: this}}
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "tour.yaml").write_text(PLAN)
    data_of(folder, "plan", "execute", "tour.yaml")
    return folder


def refused(folder: Path, *words: str, code: int = 3) -> dict[str, Any]:
    """The error of a command that must not succeed."""
    answer = ask(folder, *words)
    assert answer["exit_code"] == code, answer
    return answer["error"]


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("stauts", "`mulligan status`"),
        ("plan undo", "`mulligan undo`"),
        ("plan verify", "`mulligan checkpoint verify`"),
        ("prune", "`mulligan checkpoint prune`"),
        ("pln status", "`mulligan plan`"),
        ("plan satus", "`mulligan plan status`"),
        ("plan show", "`mulligan plan status`"),
        ("checkpoint ls", "`mulligan checkpoint list`"),
        ("trust", "`mulligan tool trust`"),
        ("rnu", "`mulligan run`"),
        ("version", "`mulligan --version`"),
        ("drop", "`mulligan rm` or `mulligan cancel`"),
        ("discard", "`mulligan rm` or `mulligan cancel`"),
        ("revert", "`mulligan undo` or `mulligan unapply`"),
        ("rewind", "`mulligan undo` or `mulligan rollback`"),
        ("snapshots", "`mulligan checkpoint list`"),
        ("commit", "`mulligan apply` or `mulligan checkpoint create`"),
        ("reset", "`mulligan undo` or `mulligan rollback`"),
        ("stash", "`mulligan run` or `mulligan shell`"),
        ("exec", "`mulligan run`"),
        ("ps", "`mulligan list`"),
        ("ls", "`mulligan list`"),
        ("plan help", "`mulligan help`"),
        ("hlep", "`mulligan help`"),
        ("help plan aplpy", "`mulligan plan apply`"),
    ],
)
def test_a_command_is_found_wherever_it_stands(tmp_path: Path, words: str, meant: str) -> None:
    error = refused(tmp_path, *words.split(), code=2)
    assert (error["kind"], error["hint"]) == ("usage_wrong", f"did you mean {meant}?")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("edit@1..edit@2", "edit@1 edit@2"),
        ("@1...@2", "@1 @2"),
        ("a b..c", "'a b' c"),
        ("edit@1..", "edit@1"),
    ],
)
def test_two_checkpoints_in_one_word_are_two_words(tmp_path: Path, word: str, meant: str) -> None:
    data_of(tmp_path, "run", "--name", "edit", "--", "true")
    error = refused(tmp_path, "diff", word)
    assert error["kind"] == "plan_not_found"
    assert error["hint"] == f"the two sides are words of their own: `mulligan diff {meant}`"
    data_of(tmp_path, "run", "--name", "a..b", "--", "true")
    assert data_of(tmp_path, "diff", "a..b")["files"] == []


def test_a_program_of_the_user_is_one_to_run(tmp_path: Path) -> None:
    assert refused(tmp_path, "sed", "-i", "s/a b/c/", "f", code=2)["hint"] == (
        "`mulligan run -- sed -i 's/a b/c/' f` runs that program in a sandbox"
    )
    assert refused(tmp_path, "no-such-program", code=2)["hint"] == "see `mulligan --help`"
    assert refused(tmp_path, "plan", "sed", code=2)["hint"] == "see `mulligan plan --help`"


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        ("plan status --formt json", "there is no option --formt", "did you mean `--format`? "),
        ("plan status --yes", "there is no option --yes", "see `mulligan plan status --help`"),  # not `--ids`
        ("plan status --nonsense", "there is no option --nonsense", "see `mulligan plan status --help`"),
        ("plan list --state compleet", "--state cannot be 'compleet'", "did you mean `complete`? allowed: "),
        ("completion tcsh", "SHELL cannot be 'tcsh'", "allowed: bash, zsh, fish"),
        ("plan list --limit many", "--limit: 'many' is not a whole number from 1 up", "see `mulligan plan"),
        ("plan rollback", "CHECKPOINT is missing", "`mulligan checkpoint list PLAN` shows"),
        (
            "plan cancel",
            "PLAN is missing",
            "`latest` names the newest plan; for example: `mulligan plan cancel ",
        ),
        ("plan correct", "DECISION is missing", "for example: `mulligan plan correct "),
        ("plan status my plan", "too many words: plan", "put quotes around a name that has spaces in it"),
        ("plan list --limit", "option '--limit' requires an argument", "see `mulligan plan list --help`"),
        ("config", "a command is missing", "see `mulligan config --help`"),
    ],
)
def test_a_wrong_line_is_told_in_a_sentence(tmp_path: Path, words: str, message: str, hint: str) -> None:
    error = refused(tmp_path, *words.split(), code=2)
    assert error["message"] == message
    assert error["hint"].startswith(hint)


def test_a_wrong_line_of_a_wrapper_is_told_with_its_own_code(tmp_path: Path) -> None:
    error = refused(tmp_path, "run", code=125)
    assert error["message"] == "COMMAND is missing"
    assert error["hint"].startswith("for example: `mulligan run -- ")


def test_help_is_a_command_too(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for words in ((), ("plan",), ("plan", "apply"), ("apply",)):
        with chdir(tmp_path):
            assert run(["help", *words, "--format", "plain"]) == 0
            shown = capfd.readouterr().out
            assert run([*words, "--help"]) == 0
        assert capfd.readouterr().out == shown
    shown = data_of(tmp_path, "help", "run")
    assert shown["command"] == "mulligan run"
    assert "Exit codes:" in shown["help"]
    assert refused(tmp_path, "help", "undo", "it", code=2)["hint"] == "see `mulligan undo --help`"


def test_what_was_probably_meant_is_named(project: Path) -> None:
    for words, meant in (
        (("status", "tuor"), "did you mean `tour`? "),
        (("show", "drfat"), "did you mean 'draft'? "),
        (("correct", "chose", "--mode", "revert", "--guidance", "g", "--yes"), "did you mean 'choose'? "),
    ):
        assert refused(project, *words)["hint"].startswith(meant), words


def test_a_file_that_is_not_there_makes_no_project_and_the_nearest_is_named(tmp_path: Path) -> None:
    for words in (("plan", "execute", "turo.yaml"), ("plan", "create", "turo.yaml")):
        assert refused(tmp_path, *words, code=2)["hint"] == "name a plan file that can be read"
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "tour.yaml").write_text(PLAN)
    assert refused(tmp_path, "plan", "execute", "turo.yaml", code=2)["hint"] == "did you mean `tour.yaml`?"
    hint = refused(tmp_path, "plan", "execute", "tour")["hint"]
    assert hint.startswith("did you mean the file `tour.yaml`? `mulligan run -- COMMAND` runs a command")
    assert refused(tmp_path, "plan", "create", "no/such.yaml", code=2)["hint"]
    assert not home_of(tmp_path).exists()
    data_of(tmp_path, "init")
    error = refused(tmp_path, "plan", "execute", "tuor")
    assert error["kind"] == "plan_not_found"
    assert error["hint"] == "did you mean the file `tour.yaml`? `mulligan list` shows all plans"


def test_a_project_needs_a_folder(tmp_path: Path) -> None:
    error = refused(tmp_path, "init", "a/b")
    assert error["kind"] == "project_unusable"
    assert error["hint"] == f"make the folder first: `mkdir -p {tmp_path / 'a' / 'b'}`"
    (tmp_path / "file").touch()
    assert refused(tmp_path, "init", "file")["reason"] == f"{tmp_path / 'file'} is not a folder"
    (tmp_path / "a").mkdir()
    assert "mulligan init" in refused(tmp_path, "--project", "a", "plan", "list")["hint"]
    error = refused(tmp_path, "--project", "b", "plan", "list")
    assert error["message"] == f"no project in {tmp_path / 'b'}: there is no such folder"
    assert "or any folder above it" in refused(tmp_path, "plan", "list")["message"]


def test_where_there_is_no_plan_yet_nobody_is_told_of_a_word_they_did_not_type(tmp_path: Path) -> None:
    data_of(tmp_path, "init")
    error = refused(tmp_path, "undo")
    assert error["message"] == "there are no plans yet"
    assert "mulligan run -- COMMAND" in error["hint"]


def test_an_id_of_another_kind_is_told_for_what_it_is(project: Path) -> None:
    shown = data_of(project, "checkpoint", "show", "draft")
    plan, checkpoint, group = (shown[f"{kind}_id"] for kind in ("plan", "checkpoint", "group"))
    events = data_of(project, "plan", "log")["events"]
    decision = next(e["data"]["decision_id"] for e in events if e["type"] == "decision")
    correct = ("plan", "correct", "--mode", "revert", "--guidance", "x", "--yes")
    for words, wanted in (
        (
            ("plan", "status", checkpoint),
            f"a checkpoint of plan 'tour': `mulligan show {checkpoint}`",
        ),
        (("plan", "status", group), f"a checkpoint group of plan 'tour': `mulligan show {group}`"),
        (
            ("plan", "status", decision),
            f"a decision of plan 'tour': `mulligan correct {decision} --mode revert ",
        ),
        (("checkpoint", "verify", plan), f"plan 'tour': `mulligan plan tree {plan}` shows its decisions"),
        (("plan", "rollback", "--yes", "tour", decision), "a decision of plan 'tour'"),
        ((*correct, plan), f"plan 'tour': `mulligan plan tree {plan}` shows its decisions"),
        (("plan", "diff", "--correction", checkpoint), "a checkpoint of plan 'tour'"),
    ):
        assert refused(project, *words)["hint"].startswith(f"that is {wanted}")
    assert "that is" not in refused(project, "plan", "status", plan[:10] + "Z" * 16)["hint"]
    assert "that is" not in refused(project, "checkpoint", "show", "01ZZ")["hint"]


def test_the_list_that_is_named_is_the_one_that_has_it(project: Path) -> None:
    plan_id = data_of(project, "plan", "status")["plan_id"]
    error = refused(project, "plan", "rollback", "--yes", "tour", "nothing")
    assert f"`mulligan checkpoint list {plan_id} --all`" in error["hint"]
    assert "PLAN --all` those of another" in refused(project, "checkpoint", "show", "nothing")["hint"]


def test_a_plan_that_takes_no_checkpoints_is_told_so(project: Path, tmp_path: Path) -> None:
    text = PLAN.replace("name: tour", "name: none\nrollback_policy: {enabled: false}").replace(
        ", checkpoint: draft", ""
    )
    (tmp_path / "none.yaml").write_text(text)
    data_of(tmp_path, "plan", "execute", "none.yaml")
    assert (
        "takes none, its rollback_policy is disabled"
        in refused(tmp_path, "checkpoint", "show", "latest")["hint"]
    )


def test_a_misspelt_tool_is_answered_with_the_nearest(project: Path) -> None:
    error = refused(project, "tool", "show", "wirte_file")
    assert error["hint"].startswith("did you mean `write_file`? known tools: shell, ")
    assert refused(project, "tool", "show", "qqq")["hint"].startswith("known tools: shell, ")


def test_a_tools_file_is_trusted_with_a_word_that_exists(tmp_path: Path) -> None:
    data_of(tmp_path, "init")
    file = home_of(tmp_path) / "tools.py"
    file.write_text("import mulligan\n")
    file.chmod(0o600)
    assert refused(tmp_path, "tool", "trust")["hint"].endswith("`mulligan tool trust --yes`")


def test_a_command_that_is_not_there_and_a_line_of_shell_are_not_the_same(project: Path) -> None:
    hint = refused(project, "run", "--", "no-such-program", "-x", code=127)["hint"]
    assert "is no-such-program the right name?" in hint
    hint = refused(project, "run", "--", "ls -l | wc", code=127)["hint"]
    assert "`mulligan run -- sh -c 'ls -l | wc'`" in hint


def test_a_file_of_settings_that_is_wrong_is_mended_in_the_file(tmp_path: Path) -> None:
    data_of(tmp_path, "init")
    file = home_of(tmp_path) / "config.toml"
    file.write_text("sandbox.isolat = 'off'\n")
    hint = refused(tmp_path, "config", "list", code=2)["hint"]
    assert hint.startswith("did you mean `sandbox.isolate`? correct or remove it there; known: sandbox.")
    file.write_text("sandbox.isolate = 'of'\n")
    hint = refused(tmp_path, "config", "list", code=2)["hint"]
    assert hint == "did you mean `off`? allowed: auto, required, off; correct it in that file"
    file.write_text("")
    assert "config list" in refused(tmp_path, "config", "get", "nothing", code=2)["hint"]


def test_a_damaged_database_is_put_back_and_not_made_writable(project: Path, tmp_path: Path) -> None:
    data_of(tmp_path, "init")
    (home_of(tmp_path) / "mulligan.db").write_bytes(b"nonsense" * 1000)
    hint = refused(tmp_path, "plan", "list", code=1)["hint"]
    assert hint == f"put back a copy of the file; to start over instead, move {home_of(tmp_path)} away"


def test_a_plan_that_is_taken_back_twice_says_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "tour.yaml").write_text(PLAN)
    data_of(tmp_path, "plan", "execute", "tour.yaml")
    assert "mulligan apply" in refused(tmp_path, "plan", "resume", "tour")["hint"]
    data_of(tmp_path, "plan", "apply", "--yes", "tour")
    data_of(tmp_path, "plan", "unapply", "--yes", "tour")
    error = refused(tmp_path, "plan", "unapply", "--yes", "tour")
    assert error["kind"] == "nothing_applied"
    assert "the real resources do not contain its result" in error["message"]


def test_a_current_folder_that_is_gone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    back = Path.cwd()
    os.chdir(gone)
    gone.rmdir()
    try:
        assert run(["plan", "list"]) == 1
    finally:
        os.chdir(back)
    told = capfd.readouterr().err
    assert told.startswith("error: the current folder: it was removed")
    assert "hint: change to a folder that exists" in told


def test_what_the_system_refuses_is_told_with_what_helps(tmp_path: Path) -> None:
    def check(folder: Path) -> None:
        (folder / "closed").mkdir(mode=0o500)
        error = refused(folder / "closed", "init", code=1)
        assert error["hint"].startswith(f"`ls -ld {folder / 'closed' / '.mulligan'}` shows its owner")

    as_ordinary_user(tmp_path, check)


def test_in_place_nothing_is_said_to_be_copied(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with chdir(tmp_path):
        assert run(["run", "--in-place", "--", "true"]) == 0
    assert "workspace: 0 files, 0 bytes to read, and to work on in place\n" in capfd.readouterr().err


def test_a_failed_step_says_what_helps_and_how_to_go_on_with_a_mended_file(tmp_path: Path) -> None:
    step = "{name: s, tool: delete_file, args: {path: folder}}"
    (tmp_path / "folder").mkdir()
    (tmp_path / "tour.yaml").write_text(f"name: tour\nsteps:\n  - {step}\n")
    error = refused(tmp_path, "plan", "execute", "tour.yaml", code=1)
    plan_id = error["plan_id"]
    assert error["hint"].startswith(
        f"delete a folder with the tool `shell` (`rm -r`); then `mulligan resume {plan_id}` tries it again"
    )
    assert "(with a corrected plan file: `--plan FILE`)" in error["hint"]
    told = data_of(tmp_path, "plan", "status")["error"]["hint"]
    assert told == f"run on with `mulligan resume {plan_id}` (with a corrected plan file: `--plan FILE`)"
    (tmp_path / "tour.yaml").write_text(
        "name: tour\nsteps:\n  - {name: s, tool: shell, args: {command: rm -r folder}}\n"
    )
    assert data_of(tmp_path, "plan", "resume", "tour", "--plan", "tour.yaml")["state"] == "complete"


def test_a_function_that_is_not_there_is_told_without_the_insides_of_python(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(
        "name: p\nsteps:\n  - {name: s, tool: python, args: {function: 'nowhere:f'}}\n"
    )
    message = refused(tmp_path, "plan", "execute", "p.yaml", code=1)["message"]
    assert message == "step 's' failed: python: ModuleNotFoundError: No module named 'nowhere'"


@pytest.mark.parametrize("words", ["", *commands()])
def test_every_help_has_an_example_and_the_exit_codes(words: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run([*words.split(), "--help"]) == 0
    shown = capfd.readouterr().out
    assert f"Usage: mulligan {words}" in shown
    assert "--format" in shown
    assert re.search(f"\n  Example:\n    mulligan {words}", shown), shown
    codes = re.findall(r"^    (\d+) +\S", shown.partition("Exit codes:\n")[2], re.MULTILINE)
    assert codes[:1] == ["0"]
    own = (
        {"125"}
        if words in ("run", "shell")
        else {"1", "2"} - ({"1"} if words in ("completion", "help", "mcp") else set())
    )
    assert own <= set(codes)


@pytest.mark.parametrize("words", ["", "plan", "checkpoint"])
def test_lists_of_commands_cut_no_sentence(words: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run([*words.split(), "--help"]) == 0
    listed = capfd.readouterr().out.partition("\nCommands:\n")[2]
    assert listed
    assert "..." not in listed.partition("\n\n")[0]


def test_lines_that_are_to_be_copied_stay_lines(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", "--help"]) == 0
    shown = capfd.readouterr().out
    for shell in ("bash", "zsh", "fish"):
        assert re.search(
            rf"^  {shell}: +(eval .*|mulligan completion fish \| source) +in ~/", shown, re.MULTILINE
        )
    assert "\\b" not in shown


def test_a_project_that_a_plan_file_made_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    made = [tmp_path / word for word in ("created", "executed", "shown")]
    for folder in made:
        folder.mkdir()
        (folder / "tour.yaml").write_text(PLAN)
    for folder, word in zip(made, ("create", "execute"), strict=False):
        told = ask(folder, "plan", word, "tour.yaml")["messages"]
        assert told == [f"made a project: {home_of(folder)} keeps plans and checkpoints"]
        assert ask(folder, "plan", word, "tour.yaml")["messages"] == []
    capfd.readouterr()
    with chdir(made[2]):
        assert run(["plan", "create", "tour.yaml"]) == 0
    assert capfd.readouterr().err.startswith(f"note: made a project: {home_of(made[2])} ")


def test_a_plan_that_was_only_recorded_says_how_it_is_run_and_which_one_a_name_means(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tour.yaml").write_text(PLAN)
    with chdir(tmp_path):
        assert run(["plan", "create", "tour.yaml"]) == 0
        shown = capfd.readouterr().out
        first = data_of(tmp_path, "plan", "status")["plan_id"]
        assert shown == "tour: ready to run\nnext: run it with `mulligan plan execute tour`\n"
        second = data_of(tmp_path, "plan", "execute", "tour.yaml")["plan_id"]
        assert run(["plan", "status", "latest"]) == 0
        assert "plan execute" not in capfd.readouterr().out
    assert data_of(tmp_path, "plan", "status", "tour")["plan_id"] == first
    assert data_of(tmp_path, "plan", "status", "tour-2")["plan_id"] == second
    assert [plan["handle"] for plan in data_of(tmp_path, "plan", "list")["plans"]] == ["tour", "tour-2"]


def test_a_mended_file_that_is_not_the_plans_is_told_what_to_put_back(tmp_path: Path) -> None:
    failing = "name: slow\nsteps:\n  - {name: s, tool: shell, args: {command: 'false'}}\n"
    (tmp_path / "slow.yaml").write_text(failing)
    refused(tmp_path, "plan", "execute", "slow.yaml", code=1)
    for mended, hint in {
        failing.replace("slow", "slow2"): "put `name: slow` back in the file, ",
        failing + "resources: {other: {type: fs-directory, location: .}}\n": "put its `resources:` back",
    }.items():
        (tmp_path / "slow.yaml").write_text(mended)
        error = refused(tmp_path, "plan", "resume", "--plan", "slow.yaml", "slow")
        assert error["kind"] == "plan_file_differs"
        assert error["hint"].startswith(hint)
