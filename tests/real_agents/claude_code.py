"""Claude Code as people use it, on a terminal: whatever ends, overlaps or goes back in it can be taken back."""

import os
import re
import shlex
import signal

import pytest

from tests.real_agents.claude_terminal import claude, processes_of
from tests.real_agents.conftest import Opened
from tests.real_agents.model_protocols import Call, Turn
from tests.real_agents.workplace import until

NAME = "claude-code"
DESTROYS = "echo begun > begun.txt; rm -r ignored .env; "
OFFERED = re.compile(r"to take it back: `mulligan (undo --only \d+ --only \d+)")


def test_what_a_call_did_before_esc_is_taken_back(at_work: Opened) -> None:
    with at_work(NAME) as place, claude(place) as agent:
        before = place.seen()
        agent.type("work slowly", place.agent.shell(f"{DESTROYS} sleep 600"))
        until(lambda: not (place.folder / ".env").exists(), "the call works")
        agent.press("Escape")
        until(lambda: "Interrupted" in agent.screen, "the call was interrupted")
        place.mulligan("undo", "--yes")
        assert place.seen() == before
        agent.say("work more", place.agent.shell("echo more > more.txt"))
        assert [entry["title"] for entry in place.log()] == ["work more", "work slowly"]
        asked = next(each for each in reversed(place.model.conversations) if "work more" in each.prompt)
        assert ".env" in asked.context, "the agent was not told which files came back"


def test_what_a_call_did_before_ctrl_c_ended_the_agent_is_taken_back(at_work: Opened) -> None:
    with at_work(NAME) as place, claude(place) as agent:
        before = place.seen()
        agent.type("work slowly", place.agent.shell(f"{DESTROYS} sleep 600"))
        until(lambda: not (place.folder / ".env").exists(), "the call works")
        agent.press("C-c")
        until(lambda: "Interrupted" in agent.screen, "the call was interrupted")
        agent.leave()
        place.mulligan("undo", "--yes")
        assert place.seen() == before


def test_what_a_command_did_that_outlived_its_killed_agent_is_taken_back(at_work: Opened) -> None:
    with at_work(NAME) as place, claude(place) as agent:
        before = place.seen()
        agent.type("work slowly", place.agent.shell(f"{DESTROYS} sleep 3; echo orphan > orphan.txt"))
        until(lambda: not (place.folder / ".env").exists(), "the call works")
        killed = processes_of(place)
        assert killed
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        until((place.folder / "orphan.txt").exists, "the command goes on without its agent")
        place.mulligan("undo", "--yes")
        assert place.seen() == before


def test_two_subagents_at_once_are_taken_back_together(at_work: Opened) -> None:
    with at_work(NAME) as place, claude(place) as agent:
        before = place.seen()
        for word in ("left", "right"):
            command = f"sleep 1; echo {word} > {word}.txt; rm -f .env; sleep 1; echo more >> {word}.txt"
            place.model.turns[f"the {word} half"] = [
                Turn(calls=(place.agent.shell(command),)),
                Turn(text=f"The {word} half is done."),
            ]
        facts = {"subagent_type": "general-purpose", "run_in_background": False}
        calls = tuple(
            Call("Agent", {"description": word, "prompt": f"Do the {word} half.", **facts})
            for word in ("left", "right")
        )
        agent.say("do both", Turn(calls=calls))
        until(  # on a terminal they run in the background
            lambda: all(f'Agent "{word}" finished' in agent.screen for word in ("left", "right")),
            "both have ended",
        )
        agent.rest()
        for word in ("left", "right"):
            assert (place.folder / f"{word}.txt").read_text() == f"{word}\nmore\n"
        assert [entry["title"] for entry in place.log()] == ["do both"]
        place.mulligan("undo", "--yes")
        assert place.seen() == before


def test_what_a_background_task_did_belongs_to_its_prompt(at_work: Opened) -> None:
    with at_work(NAME) as place, claude(place) as agent:
        before = place.seen()
        begun = Call(
            "Bash",
            {"command": "sleep 3; echo later > later.txt", "description": "Later", "run_in_background": True},
        )
        agent.say("begin something", begun, place.agent.shell("echo now > now.txt"))
        until((place.folder / "later.txt").exists, "the task works")
        until(lambda: "completed (exit code 0)" in agent.screen, "the agent hears of it")
        agent.rest()
        assert [entry["title"] for entry in place.log()] == ["begin something"]
        place.mulligan("undo", "--yes")
        assert place.seen() == before


def test_a_background_task_is_ended_with_the_undo_of_its_prompt(at_work: Opened) -> None:
    with at_work(NAME) as place, claude(place) as agent:
        before = place.seen()
        spills = "rm .env; sleep 3600"
        begun = Call("Bash", {"command": spills, "description": "Spill", "run_in_background": True})
        agent.say("begin something", begun)
        until(lambda: not (place.folder / ".env").exists(), "the task works")
        preview = place.mulligan("undo", "--dry-run")["processes"]
        assert preview
        assert not any(process["ended"] for process in preview)
        done = place.mulligan("undo", "--end-processes", "--yes")
        assert {process["call"] for process in done["processes"]} == {"1.1"}
        assert all(process["ended"] for process in done["processes"])
        assert place.seen() == before


def test_what_a_rewind_in_the_agent_leaves_is_taken_back(at_work: Opened) -> None:
    with at_work(NAME) as place, claude(place) as agent:
        before = place.seen()
        file = place.folder / "a.txt"
        agent.say("change it", place.agent.shell(f"{DESTROYS} true"), place.agent.edit(file, "one", "two"))
        agent.say("run it", place.agent.shell("echo run > run.txt; sed -i s/bee/wasp/ b.txt"))
        offered = agent.rewind_to("change it")
        assert "No code changes" in offered  # for the prompt that only ran a command
        assert file.read_text() == "one\n"
        assert (place.folder / "run.txt").exists()
        assert not (place.folder / ".env").exists()
        agent.say("go on", place.agent.shell("true"))
        titles = [entry["title"] for entry in place.log()]
        assert titles[-2:] == ["run it", "change it"]
        while (answer := place.ask("undo", "--yes"))["exit_code"] == 0:
            pass
        assert answer["error"]["kind"] == "nothing_to_undo"
        assert place.seen() == before


@pytest.mark.parametrize("follows", [True, False], ids=["files follow", "an undo is offered"])
def test_files_follow_a_rewind_in_the_agent_or_its_undo_is_offered(follows: bool, at_work: Opened) -> None:
    with at_work(NAME) as place:
        place.mulligan("config", "set", "agent.follow-conversation", str(follows).lower())
        with claude(place) as agent:
            before = place.seen()
            file = place.folder / "a.txt"
            agent.say(
                "change it", place.agent.shell(f"{DESTROYS} true"), place.agent.edit(file, "one", "two")
            )
            agent.say("run it", place.agent.shell("echo run > run.txt; sed -i s/bee/wasp/ b.txt"))
            agent.rewind_to("change it")
            assert (place.folder / "run.txt").exists(), "the agent itself leaves what commands did"
            agent.say("go on", place.agent.shell("true"))
            if not follows:
                (offered,) = set(OFFERED.findall(agent.words))
                assert (place.folder / "run.txt").exists()
                assert not (place.folder / ".env").exists()
                place.mulligan(*shlex.split(offered), "--yes")
            else:
                assert "mulligan: the conversation went back, and" in agent.words
            assert place.seen() == before
            place.mulligan("redo", "--yes")
            assert (place.folder / "run.txt").exists()


def test_of_two_agents_in_one_folder_each_is_taken_back_alone(at_work: Opened) -> None:
    with at_work(NAME) as place:
        before = place.seen()
        for word in ("left", "right"):
            command = f"sleep 1; echo {word} > {word}.txt; sleep 1; echo more >> {word}.txt"
            place.model.turns[f"work {word}"] = [
                Turn(calls=(place.agent.shell(command),)),
                Turn(text="All done."),
            ]
        agents = [place.start("-p", f"work {word}") for word in ("left", "right")]
        for each in agents:
            each.communicate(timeout=240)
        titles = {entry["title"]: entry["number"] for entry in place.log()}
        assert sorted(titles) == ["work left", "work right"]
        assert (place.folder / "left.txt").exists()
        assert (place.folder / "right.txt").exists()
        for _ in range(2):
            place.mulligan("undo", "--yes")
        assert place.seen() == before
