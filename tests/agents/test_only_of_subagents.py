"""The command `undo --only`: calls of subagents, runs in place beside calls, and what is not known any longer."""

import shutil
from pathlib import Path
from typing import Any

from tests.agents.test_hook import plain
from tests.agents.test_hook_answers import bash, hook, no_server
from tests.commands.program import ask, data_of
from tests.support.homes import home_of

__all__ = ["no_server", "plain"]  # fixtures


def task(call: str) -> dict[str, Any]:
    return {"tool_name": "Task", "tool_use_id": call, "tool_input": {"prompt": "look into it"}}


def begin(folder: Path, call: dict[str, Any], subagent: str = "") -> None:
    hook(folder, "PreToolUse", **call, **({"agent_id": subagent} if subagent else {}))


def end(folder: Path, call: dict[str, Any], subagent: str = "", **response: object) -> None:
    who = {"agent_id": subagent} if subagent else {}
    hook(folder, "PostToolUse", tool_response={"stdout": "", **response}, **call, **who)


def work(folder: Path, call: str, name: str, subagent: str = "") -> None:
    begin(folder, bash(call), subagent)
    (folder / name).write_text(name)
    end(folder, bash(call), subagent)


def prompt(folder: Path, number: int = 1) -> None:
    hook(folder, "UserPromptSubmit", prompt=f"prompt {number}", prompt_id=f"p{number}")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != ".mulligan")


def test_a_call_takes_the_work_of_its_subagent_with_it(plain: Path) -> None:
    prompt(plain)
    work(plain, "c1", "before")
    begin(plain, task("t"))
    work(plain, "c2", "one", "sub")
    work(plain, "c3", "two", "sub")
    end(plain, task("t"))
    work(plain, "c4", "after")
    hook(plain, "Stop", background_tasks=[])
    calls = data_of(plain, "log", "1")["calls"]
    assert [(call["name"], call["tool"], call["subagent"], call["files"]) for call in calls] == [
        ("1.1", "Bash", None, 1),
        ("1.2", "Task", None, 0),
        ("1.3", "Bash", "sub", 1),
        ("1.4", "Bash", "sub", 1),
        ("1.5", "Bash", None, 1),
    ]
    data_of(plain, "undo", "--yes", "--only", "1.3")
    assert names(plain) == ["a.txt", "after", "before", "two"]
    data_of(plain, "undo", "--yes", "--only", "1.2")
    assert names(plain) == ["a.txt", "after", "before"]


def two_at_once(folder: Path, **response: str) -> None:
    begin(folder, task("t1"))
    begin(folder, task("t2"))
    work(folder, "c1", "one", "first")
    work(folder, "c2", "two", "second")
    end(folder, task("t1"), **({"agentId": "first"} if response else {}))
    end(folder, task("t2"), **response)
    hook(folder, "Stop", background_tasks=[])


def test_calls_of_subagents_at_once_are_told_apart_by_what_the_agent_reports(plain: Path) -> None:
    prompt(plain)
    two_at_once(plain, agentId="second")
    data_of(plain, "undo", "--yes", "--only", "1.2")
    assert names(plain) == ["a.txt", "one"]


def test_a_call_of_which_the_subagent_is_not_known_is_refused_with_their_own_calls(plain: Path) -> None:
    prompt(plain)
    two_at_once(plain)
    refused = ask(plain, "undo", "--yes", "--only", "1.1")
    assert (refused["exit_code"], refused["error"]["kind"]) == (2, "usage_wrong")
    assert "`mulligan log 1`" in refused["error"]["hint"]
    assert names(plain) == ["a.txt", "one", "two"]
    data_of(plain, "undo", "--yes", "--only", "1.3")
    assert names(plain) == ["a.txt", "two"]


def test_beside_a_run_in_place_a_call_is_refused_and_its_prompt_can_be_undone(plain: Path) -> None:
    prompt(plain)
    begin(plain, bash("c1"))
    (plain / "one").write_text("one")
    data_of(plain, "run", "--in-place", "--", "sh", "-c", "echo mine > mine")
    (plain / "two").write_text("two")
    end(plain, bash("c1"))
    hook(plain, "Stop", background_tasks=[])
    refused = ask(plain, "undo", "--yes", "--only", "1.1")
    assert (refused["exit_code"], refused["error"]["kind"], refused["error"]["others"]) == (
        4,
        "undo_shared",
        "sh",
    )
    hint = refused["error"]["hint"]
    assert "`mulligan undo 1` takes back the whole prompt" in hint
    assert "--only" not in hint
    data_of(plain, "undo", "--yes", "1")
    assert names(plain) == ["a.txt", "mine"]


def test_a_prompt_that_was_undone_is_not_undone_again(plain: Path) -> None:
    prompt(plain)
    work(plain, "c1", "one")
    hook(plain, "Stop", background_tasks=[])
    data_of(plain, "undo", "--yes", "--only", "1")
    assert names(plain) == ["a.txt"]
    data_of(plain, "redo", "--yes")
    data_of(plain, "undo", "--yes", "1")
    for word in ("1", "1.1", str(plain)):
        assert ask(plain, "undo", "--yes", "--only", word)["error"]["kind"] in (
            "nothing_to_undo",
            "plan_not_found",
        )


def test_the_files_of_a_call_at_work_and_of_a_damaged_store_are_not_known(plain: Path) -> None:
    prompt(plain)
    begin(plain, bash("c1"))
    (plain / "one").write_text("one")
    (call,) = data_of(plain, "log", "1")["calls"]
    assert (call["status"], call["files"]) == ("running", None)
    end(plain, bash("c1"))
    hook(plain, "Stop", background_tasks=[])
    (call,) = data_of(plain, "log", "1")["calls"]
    assert call["files"] == 1
    shutil.rmtree(home_of(plain) / "store" / "packs")
    (call,) = data_of(plain, "log", "1")["calls"]
    assert call["files"] is None
