"""What the tools do, through the SDK's own client, in both eras of the protocol."""

import os
import re
import threading
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from msgspec.structs import replace

import mulligan
from mulligan.mcp_server import protocol_calls
from mulligan.mcp_server.tool_table import TOOLS
from mulligan.mcp_server.tool_work import ToolWork
from tests.commands.program import ask, data_of
from tests.mcp_server.talk import ERAS, LEGACY, MODERN, Talk, talk

ADD = ["sh", "-c", "echo two >> a.txt; echo new > b.txt; echo printed; exit 0"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file, and no project yet."""
    place = tmp_path / "work"
    place.mkdir()
    (place / "a.txt").write_text("one\n")
    return place


def test_clients_are_told_honestly_what_each_tool_does(folder: Path) -> None:
    async def body(talk: Talk) -> list[types.Tool]:
        return (await talk.client.list_tools()).tools

    tools = {tool.name: tool for tool in talk(folder, body)}
    hints = {name: tool.annotations for name, tool in tools.items()}
    assert {name for name, hint in hints.items() if hint and hint.read_only_hint} == {
        "list_checkpoints",
        "show_changes",
    }
    destructive = {name for name, hint in hints.items() if hint and hint.destructive_hint}
    assert destructive == {"restore_files", "rewind", "apply"}
    assert {name for name, hint in hints.items() if hint and hint.open_world_hint} == {
        "run_in_sandbox",
        "try_variants",
    }
    for tool in tools.values():
        for schema in (tool.input_schema, tool.output_schema):
            assert schema is not None
            jsonschema.Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
            assert "$ref" not in str(schema)
        assert tool.input_schema["additionalProperties"] is False
    assert not any(word in name for name in tools for word in ("delete", "prune", "forget", "remove"))


@pytest.mark.parametrize("era", ERAS)
def test_a_command_is_tried_looked_at_applied_and_taken_back(folder: Path, era: str) -> None:
    async def body(talk: Talk) -> None:
        ran = await talk.call("run_in_sandbox", command=ADD)
        assert (ran["exit_status"], ran["stdout"], ran["state"]) == (0, "printed\n", "complete")
        assert {(each["path"], each["change"]) for each in ran["paths"]} == {
            ("a.txt", "modified"),
            ("b.txt", "added"),
        }
        assert (folder / "a.txt").read_text() == "one\n"
        shown = await talk.call("show_changes", plan=ran["plan"])
        assert "+two" in shown["patch"]
        assert shown["next_offset"] is None
        assert talk.questions == []

        looked = await talk.call("apply", dry_run=True)
        assert looked["dry_run"]
        assert (folder / "a.txt").read_text() == "one\n"
        applied = await talk.call("apply")
        assert applied["state"] == "applied"
        assert (folder / "b.txt").read_text() == "new\n"
        assert "a.txt" in talk.questions[0]

        listed = await talk.call("list_checkpoints")
        assert [(entry["kind"], entry["undone"]) for entry in listed["entries"]] == [
            ("apply", False),
            ("run", False),
        ]
        await talk.call("rewind", entry=listed["entries"][0]["entry"])
        assert (folder / "a.txt").read_text() == "one\n"
        assert not (folder / "b.txt").exists()

        back = await talk.call("restore_files", paths=["b.txt"], checkpoint=ran["checkpoint"])
        assert [each["path"] for each in back["paths"]] == ["b.txt"]
        assert back["kept"]
        assert (folder / "b.txt").read_text() == "new\n"
        assert len(talk.questions) == 3

        labelled = await talk.call("label_checkpoint", label="as it was")
        assert labelled["checkpoints"][0]["label"] == "as it was"
        found = await talk.call("list_checkpoints", plan=ran["plan"])
        assert found["checkpoints"][-1]["label"] == "as it was"

    talk(folder, body, era=era)


def test_a_plan_goes_on_and_goes_back_to_a_checkpoint(folder: Path) -> None:
    async def body(talk: Talk) -> None:
        first = await talk.call("run_in_sandbox", command=ADD, name="work")
        second = await talk.call("run_in_sandbox", command=["rm", "a.txt"], plan="work")
        assert second["plan"] == "work"
        both = await talk.call(
            "show_changes", from_checkpoint=first["checkpoint"], to_checkpoint=second["checkpoint"]
        )
        assert [(each["path"], each["change"]) for each in both["paths"]] == [("a.txt", "deleted")]
        since = await talk.call("show_changes", from_checkpoint=first["checkpoint"], paths=["a.*"])
        assert since["paths"] == both["paths"]
        back = await talk.call("rewind", checkpoint=first["checkpoint"])
        assert [each["path"] for each in back["paths"]] == ["a.txt"]
        assert back["kept"] == [f"work@{int(second['checkpoint'].split('@')[1]) + 1}"]
        assert (await talk.call("apply", dry_run=True))["paths_total"] == 2

    talk(folder, body)


def test_variants_are_tried_beside_each_other(folder: Path) -> None:
    async def body(talk: Talk) -> None:
        tried = await talk.call(
            "try_variants",
            variants={"good": "echo two >> a.txt", "bad": "echo three >> a.txt", "broken": "exit 3"},
            check="grep -q two a.txt",
            name="both",
        )
        assert tried["passed"] == 1
        variants = {each["variant"]: each for each in tried["variants"]}
        assert [variants[name]["passed"] for name in ("good", "bad", "broken")] == [True, False, False]
        assert (variants["good"]["files"], variants["broken"]["exit_status"]) == (1, 3)
        shown = await talk.call("show_changes", plan=variants["good"]["plan"])
        assert "+two" in shown["patch"]
        assert (folder / "a.txt").read_text() == "one\n"
        command = next(each for each in tried["next_step"].split("`") if each.startswith("mulligan "))
        data_of(folder, *command.replace("VARIANT", variants["good"]["plan"]).split()[1:])
        await talk.call("apply", plan=tried["plan"])
        assert (folder / "a.txt").read_text() == "one\ntwo\n"

    talk(folder, body)


def test_a_failed_command_is_an_answer_and_what_it_did_can_be_kept(folder: Path) -> None:
    async def body(talk: Talk) -> None:
        failed = await talk.call("run_in_sandbox", command=["sh", "-c", "echo no >&2; rm a.txt; exit 3"])
        assert (failed["exit_status"], failed["stderr"], failed["state"]) == (3, "no\n", "errored")
        assert failed["error"]
        kept = await talk.call("run_in_sandbox", command=["sh", "-c", "rm a.txt; exit 3"], keep=True)
        assert kept["state"] == "complete"
        assert ("a.txt", "deleted") in [(each["path"], each["change"]) for each in kept["paths"]]
        missing = await talk.refused("run_in_sandbox", command=["no-such-program"])
        assert (missing["kind"], missing["started"]) == ("step_failed", False)

    talk(folder, body)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("answer", ["decline", "cancel", None])
def test_nothing_real_changes_without_the_user(folder: Path, era: str, answer: str | None) -> None:
    kind = "confirmation_missing" if answer is None else "declined"

    async def body(talk: Talk) -> list[Any]:
        ran = await talk.call("run_in_sandbox", command=ADD)
        return [
            await talk.refused("apply"),
            await talk.refused("restore_files", paths=["a.txt"], checkpoint=ran["checkpoint"]),
            await talk.refused("rewind"),
            await talk.refused("rewind", checkpoint="@1"),
        ]

    answers = None if answer is None else lambda _: answer
    errors = talk(folder, body, answers=answers, era=era)
    assert [error["kind"] for error in errors] == [kind] * 4
    commands = [error["next_step"].split("`")[1].split()[:3] for error in errors]
    assert commands == [
        ["mulligan", "apply", "sh"],
        ["mulligan", "restore", "sh@3"],
        ["mulligan", "undo", "1"],
        ["mulligan", "rollback", "sh"],
    ]
    assert (folder / "a.txt").read_text() == "one\n"
    assert not (folder / "b.txt").exists()


@pytest.mark.parametrize("era", ERAS)
def test_the_user_is_asked_again_where_something_else_would_be_done(folder: Path, era: str) -> None:
    def change_meanwhile(number: int) -> str:
        if number == 1:
            (folder / "b.txt").write_text("new\n")  # the same as the result: it is not applied any longer
        return "accept"

    async def body(talk: Talk) -> list[str]:
        await talk.call("run_in_sandbox", command=ADD)
        await talk.call("apply")
        return talk.questions

    first, second = talk(folder, body, answers=change_meanwhile, era=era)
    assert "b.txt" in first
    assert "b.txt" not in second
    assert (folder / "a.txt").read_text() == "one\ntwo\n"


def test_what_differs_each_time_is_asked_a_few_times_only(folder: Path) -> None:
    """The user agrees, and each time something else would be done by then."""

    def change_meanwhile(number: int) -> str:
        if number % 2:
            (folder / "b.txt").write_text("new\n")
        else:
            (folder / "b.txt").unlink()
        return "accept"

    async def body(talk: Talk) -> str:
        await talk.call("run_in_sandbox", command=ADD)
        return (await talk.refused("apply"))["kind"]

    assert talk(folder, body, answers=change_meanwhile, era=LEGACY) == "confirmation_missing"
    assert (folder / "a.txt").read_text() == "one\n"


def test_an_answer_that_is_none_to_the_question_is_an_error_of_the_protocol(folder: Path) -> None:
    async def body(talk: Talk) -> int:
        await talk.call("run_in_sandbox", command=ADD)
        answer = types.ListRootsResult(roots=[])
        with pytest.raises(MCPError) as caught:
            await talk.client.session.call_tool("apply", {}, input_responses={"confirm": answer})
        return caught.value.error.code

    assert talk(folder, body) == types.INVALID_PARAMS
    assert not (folder / "b.txt").exists()


@pytest.mark.parametrize("era", ERAS)
def test_a_look_and_what_changes_nothing_ask_nobody(folder: Path, era: str) -> None:
    async def body(talk: Talk) -> None:
        ran = await talk.call("run_in_sandbox", command=ADD)
        looked = await talk.call("restore_files", paths=["b.txt"], checkpoint=ran["checkpoint"], dry_run=True)
        assert [each["path"] for each in looked["paths"]] == ["b.txt"]
        assert (await talk.call("rewind", checkpoint="@1", dry_run=True))["dry_run"]
        (folder / "a.txt").write_text("one\ntwo\n")
        (folder / "b.txt").write_text("new\n")
        back = await talk.call("restore_files", paths=["a.txt"], checkpoint=ran["checkpoint"])
        assert back["paths"] == []
        same = await talk.call("run_in_sandbox", command=["true"])
        assert (await talk.call("apply", plan=same["plan"]))["paths"] == []
        assert talk.questions == []

    talk(folder, body, answers=lambda _: "decline", era=era)


def test_what_others_changed_since_is_a_conflict_and_nobody_is_asked(folder: Path) -> None:
    async def body(talk: Talk) -> None:
        await talk.call("run_in_sandbox", command=ADD)
        (folder / "a.txt").write_text("another\n")
        assert (await talk.refused("apply"))["kind"] == "apply_conflicted"
        (folder / "a.txt").write_text("one\n")
        assert (await talk.call("apply"))["state"] == "applied"
        (folder / "a.txt").write_text("another\n")
        assert (await talk.refused("rewind"))["kind"] == "apply_conflicted"
        assert len(talk.questions) == 1

    talk(folder, body)
    assert (folder / "a.txt").read_text() == "another\n"


def test_a_plan_that_waits_for_something_else_runs_no_command(folder: Path) -> None:
    data_of(folder, "init")
    (folder / "plan.yaml").write_text("name: plan\nsteps: [{name: ask, decision: {question: Which?}}]\n")
    assert ask(folder, "plan", "execute", "plan.yaml")["error"]["kind"] == "question_open"

    async def body(talk: Talk) -> str:
        return (await talk.refused("run_in_sandbox", command=["true"], plan="plan"))["kind"]

    assert talk(folder, body) == "plan_not_ready"


def test_a_long_patch_comes_in_parts(folder: Path) -> None:
    lines = "".join(f"line {number} é\n" for number in range(500))
    one_line = "é€" * 3000 + "\n"

    async def body(talk: Talk) -> tuple[str, list[Any]]:
        (folder / "c.txt").write_text("")
        script = f"printf %s '{lines}' > a.txt; printf %s '{one_line}' > c.txt"
        await talk.call("run_in_sandbox", command=["sh", "-c", script])
        parts = [await talk.call("show_changes", limit=1000)]
        while (offset := parts[-1]["next_offset"]) is not None:
            parts.append(await talk.call("show_changes", limit=1000, offset=offset))
        whole = await talk.call("show_changes", limit=100_000)
        past = await talk.call("show_changes", offset=10_000_000)
        assert (past["patch"], past["next_offset"]) == ("", None)
        return whole["patch"], parts

    whole, parts = talk(folder, body)
    assert len(parts) > 10
    assert all(len(part["patch"].encode()) <= 1000 for part in parts)
    assert "".join(part["patch"] for part in parts) == whole
    assert lines.replace("\n", "\n+")[:-1] in whole
    assert one_line in whole


@pytest.mark.parametrize(
    ("tool", "arguments", "kind"),
    [
        ("show_changes", {"limit": "20"}, "usage_wrong"),
        ("show_changes", {"offset": -1}, "usage_wrong"),
        ("show_changes", {"unknown": 1}, "usage_wrong"),
        ("show_changes", {"entry": 1, "plan": "sh"}, "usage_wrong"),
        ("show_changes", {"plan": "--all"}, "plan_not_found"),
        ("show_changes", {"plan": "$(touch /tmp/x)"}, "plan_not_found"),
        ("show_changes", {"entry": 99}, "entry_not_found"),
        ("show_changes", {"from_checkpoint": "../../1", "to_checkpoint": "@1"}, "checkpoint_not_found"),
        ("list_checkpoints", {"limit": 0}, "usage_wrong"),
        ("list_checkpoints", {"plan": "a\0b"}, "plan_not_found"),
        ("restore_files", {"paths": []}, "usage_wrong"),
        ("restore_files", {"paths": ["../../etc/passwd"]}, "path_outside"),
        ("restore_files", {"paths": ["/etc/passwd"]}, "path_outside"),
        ("restore_files", {"paths": ["out/passwd"]}, "path_outside"),
        ("restore_files", {"paths": ["a\0b"]}, "path_nowhere"),
        ("restore_files", {"paths": ["a\0b"], "checkpoint": "@1"}, "path_not_in_checkpoint"),
        ("restore_files", {"paths": ["b" * 4000]}, "path_nowhere"),
        ("restore_files", {"paths": ["a.txt"], "entry": 1, "checkpoint": "@1"}, "usage_wrong"),
        ("rewind", {"entry": 1, "checkpoint": "@1"}, "usage_wrong"),
        ("rewind", {"checkpoint": "nothing"}, "checkpoint_not_found"),
        ("run_in_sandbox", {"command": []}, "usage_wrong"),
        ("run_in_sandbox", {"command": "rm -rf /"}, "usage_wrong"),
        ("run_in_sandbox", {"command": ["true"], "plan": "sh", "name": "x"}, "usage_wrong"),
        ("try_variants", {"variants": {}}, "usage_wrong"),
        ("try_variants", {"variants": {"a": "true"}, "from_checkpoint": "no@1"}, "plan_not_found"),
        ("apply", {"plan": "nothing"}, "plan_not_found"),
    ],
)
def test_wrong_and_hostile_arguments_are_refused(
    tried: Path, tool: str, arguments: dict[str, object], kind: str
) -> None:
    async def body(talk: Talk) -> Any:
        return await talk.refused(tool, **arguments)

    error = talk(tried, body)
    assert error["kind"] == kind
    assert error["message"]
    assert error["next_step"]
    assert (tried / "a.txt").read_text() == "one\n"


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a command ran in a sandbox, with a link that leads outside."""
    place = tmp_path_factory.mktemp("tried")
    (place / "a.txt").write_text("one\n")
    (place / "out").symlink_to("/etc")
    data_of(place, "run", "--", *ADD)
    return place


def test_next_steps_are_calls_of_tools_or_commands(tried: Path, tmp_path: Path) -> None:
    async def body(talk: Talk) -> str:
        return (await talk.refused("show_changes", plan="sh", to_checkpoint="nothing"))["next_step"]

    assert re.search(r'list_checkpoints\(plan="\w+", superseded=true\)', talk(tried, body))

    async def nowhere(talk: Talk) -> Any:
        return await talk.refused("list_checkpoints")

    error = talk(tmp_path, nowhere)
    assert error["kind"] == "project_not_found"
    assert "run_in_sandbox(command=...)" in error["next_step"]
    assert "`mulligan init`" in error["next_step"]


def test_an_unknown_tool_is_an_error_of_the_protocol(tried: Path) -> None:
    async def body(talk: Talk) -> None:
        with pytest.raises(MCPError) as caught:
            await talk.client.call_tool("delete_everything", {})
        assert caught.value.error.code == types.INVALID_PARAMS

    talk(tried, body)


def test_an_empty_project_lists_nothing(folder: Path) -> None:
    data_of(folder, "init")

    async def body(talk: Talk) -> Any:
        return await talk.call("list_checkpoints")

    listed = talk(folder, body)
    assert (listed["plan"], listed["checkpoints"], listed["entries"]) == (None, [], [])


def test_a_damaged_project_is_an_error_with_a_kind(folder: Path) -> None:
    database = Path(data_of(folder, "init")["database"])
    database.write_bytes(b"not a database" * 1000)

    async def body(talk: Talk) -> Any:
        return await talk.refused("list_checkpoints")

    assert talk(folder, body)["kind"] == "database_unusable"


def test_a_bug_is_an_error_for_the_agent_and_its_traceback_goes_elsewhere(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_words: object, **_options: object) -> None:
        raise RuntimeError("a bug")

    data_of(folder, "init")
    monkeypatch.setattr("mulligan.api.project.Project.timeline", broken)
    complaints: list[str] = []

    async def body(talk: Talk) -> Any:
        return await talk.refused("list_checkpoints")

    assert talk(folder, body, complaints=complaints)["kind"] == "internal_error"
    assert "RuntimeError: a bug" in complaints[0]


def test_a_call_that_is_ended_before_or_in_its_work_is_interrupted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data_of(folder, "init")

    def ended(*_words: object, **_options: object) -> None:
        raise KeyboardInterrupt

    async def body(talk: Talk) -> str:
        return (await talk.refused("list_checkpoints"))["kind"]

    with monkeypatch.context() as patch:
        patch.setattr("mulligan.api.project.Project.timeline", ended)
        assert talk(folder, body) == "interrupted"

    def ended_early(work: ToolWork, *words: object, **options: object) -> Any:
        work.interrupt()
        return project(work, *words, **options)

    project = ToolWork.project
    monkeypatch.setattr(ToolWork, "project", ended_early)
    assert talk(folder, body) == "interrupted"


def test_other_calls_are_answered_while_a_command_runs_and_progress_is_reported(
    folder: Path, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    script = f"echo waiting; while [ ! -e {go} ]; do sleep 0.05; done"
    heard: list[tuple[float, str | None]] = []
    waiting = threading.Event()

    async def progress(number: float, _total: float | None, message: str | None) -> None:
        heard.append((number, message))
        if message == "waiting":
            waiting.set()

    async def body(talk: Talk) -> None:
        await talk.call("run_in_sandbox", command=["true"], name="before")
        async with anyio.create_task_group() as group:

            async def run() -> None:
                arguments = {"command": ["sh", "-c", script], "name": "slow"}
                await talk.client.call_tool("run_in_sandbox", arguments, progress_callback=progress)

            group.start_soon(run)
            while not waiting.is_set():
                await anyio.sleep(0.02)
            listed = await talk.call("list_checkpoints")
            assert listed["plan"] == "slow"
            busy = await talk.refused("label_checkpoint", label="now", plan="slow")
            assert busy["kind"] == "plan_busy"
            await talk.call("run_in_sandbox", command=["true"], name="beside")
            go.touch()

    talk(folder, body, era=LEGACY)
    numbers = [number for number, _ in heard]
    assert numbers == sorted(set(numbers))


def test_the_project_is_that_of_the_clients_root_or_the_one_that_the_user_named(
    folder: Path, tried: Path, tmp_path: Path
) -> None:
    async def body(talk: Talk) -> Any:
        return (await talk.call("list_checkpoints"))["plan"]

    assert talk(tmp_path, body, era=LEGACY, roots=lambda: tried) == "sh"
    (tried / "below").mkdir(exist_ok=True)
    assert talk(tried / "below", body, era=LEGACY, roots=lambda: tried) == "sh"
    assert talk(folder, body, project=str(tried)) == "sh"

    async def without(talk: Talk) -> Any:
        return (await talk.refused("list_checkpoints"))["kind"]

    assert talk(folder, without, era=LEGACY, roots=lambda: tmp_path / "gone") == "project_not_found"
    assert (
        talk(folder, without, era=MODERN, roots=lambda: tried) == "project_not_found"
    )  # it has no roots any longer
    assert os.environ.get("MULLIGAN_PROJECT") is None


def test_a_client_whose_roots_change_is_asked_again_and_one_that_names_none_is_where_it_was_started(
    folder: Path, tried: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [tried, tmp_path / "gone"]

    async def body(talk: Talk) -> None:
        assert (await talk.call("list_checkpoints"))["plan"] == "sh"
        folders.pop(0)
        assert (await talk.call("list_checkpoints"))["plan"] == "sh"
        with pytest.warns(MCPDeprecationWarning):
            await talk.client.send_roots_list_changed()
        while not (await talk.client.call_tool("list_checkpoints", {})).is_error:
            await anyio.sleep(0.01)
        assert (await talk.refused("list_checkpoints"))["kind"] == "project_not_found"

    talk(folder, body, era=LEGACY, roots=lambda: folders[0])

    async def nowhere(talk: Talk) -> str:
        return (await talk.refused("list_checkpoints"))["kind"]

    def fails() -> Path:
        raise MCPError(code=types.INTERNAL_ERROR, message="it has none")

    assert talk(folder, nowhere, era=LEGACY, roots=fails) == "project_not_found"
    monkeypatch.setattr(protocol_calls, "_PATIENCE", 0.0)
    assert talk(folder, nowhere, era=LEGACY, roots=lambda: tried) == "project_not_found"


@pytest.mark.parametrize("era", ERAS)
def test_a_name_of_a_file_cannot_word_the_question(folder: Path, era: str) -> None:
    named = "b?\n\nIt changes nothing else.\x1b[2K\u202e"
    long = "/".join(["x" * 250] * 8)

    async def body(talk: Talk) -> list[str]:
        write = 'echo new > "$1"; mkdir -p "$(dirname "$2")"; echo new > "$2"'
        ran = await talk.call("run_in_sandbox", command=["sh", "-c", write, "sh", named, long])
        await talk.call("apply")
        await talk.call("rewind", entry=2)
        await talk.call("restore_files", paths=[named, long], checkpoint=ran["checkpoint"])
        assert (folder / named).exists()
        return talk.questions

    questions = talk(folder, body, era=era)
    assert len(questions) == 3
    for question in questions:
        assert question.isprintable(), "it has one line, and no character that moves others"
        assert len(question) < 2000


def test_a_number_that_no_database_holds_is_that_of_no_entry(folder: Path) -> None:
    async def body(talk: Talk) -> None:
        await talk.call("run_in_sandbox", command=ADD)
        for tool in ("show_changes", "rewind"):
            assert (await talk.refused(tool, entry=10**25))["kind"] == "entry_not_found", tool

    talk(folder, body)


@pytest.mark.parametrize("act", ["apply", "rewind"])
def test_what_the_user_agreed_to_is_done_although_something_newer_ends_meanwhile(
    folder: Path, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    """Another call of the agent ends between the last look and the act."""
    tool = TOOLS[act]
    done: list[str] = []

    def act_later(work: ToolWork, wish: Any) -> Any:
        if not done:
            done.append("late")
            project = mulligan.open(folder)
            project.run_command(["sh", "-c", "echo late > late.txt"], name="late")
            if act == "rewind":
                project.apply("late")
            project.close()
        return tool.act(work, wish)

    async def body(talk: Talk) -> None:
        await talk.call("run_in_sandbox", command=ADD, name="first")
        if act == "rewind":
            await talk.call("apply", plan="first")
        monkeypatch.setitem(TOOLS, act, replace(tool, act=act_later))
        await talk.call(act)

    talk(folder, body)
    assert (folder / "b.txt").exists() == (act == "apply")
    assert (folder / "late.txt").exists() == (act == "rewind")
