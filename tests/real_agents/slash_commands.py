"""The slash commands of the plugin for Claude Code and the extension for Gemini CLI, in their real windows."""

import subprocess

from tests.real_agents.claude_terminal import claude
from tests.real_agents.conftest import Opened
from tests.real_agents.model_protocols import Turn
from tests.real_agents.terminals import gemini
from tests.real_agents.workplace import Workplace
from tests.support.page_examples import ROOT

PLUGINS = ROOT / "plugins"
BREAKS = "echo broken > a.txt; rm -r ignored .env"


def only_the_plugin(place: Workplace) -> None:
    """Take the installed hooks out, and let the model repeat what a command prints."""
    place.mulligan("agent", "uninstall", place.agent.name, "--yes")
    place.model.turns = {"Show this output": [Turn(text="There it is.")], **place.model.turns}


def asked(place: Workplace) -> str:
    """Return what the model was asked last, which holds what the command printed."""
    return place.model.conversations[-1].prompt


def test_commands_of_the_plugin_in_claude_code(at_work: Opened) -> None:
    with at_work("claude-code") as place:
        only_the_plugin(place)
        with claude(place, "--plugin-dir", str(PLUGINS / "claude-code")) as agent:
            before = place.seen()
            agent.say("break it", place.agent.shell(BREAKS))
            broken = place.seen()
            for number, (command, printed) in enumerate(
                (("log", "break it"), ("diff 1", "+broken"), ("undo", "a.txt")), 1
            ):
                agent.submit(f"/mulligan:{command}")
                agent.until(lambda number=number: agent.screen.count("There it is.") == number, command)
                agent.rest()
                assert printed in asked(place), command
            assert place.seen() == before
            place.mulligan("redo", "--yes")
            assert place.seen() == broken


def test_the_plugin_is_installed_as_its_page_says(at_work: Opened) -> None:
    page = (ROOT / "docs" / "reference" / "mcp.md").read_text("utf-8")
    commands = [
        line.partition("#")[0].split() for line in page.splitlines() if line.startswith("claude plugin")
    ]
    with at_work("claude-code") as place:
        for words in (*commands, ["claude", "plugin", "list"]):
            done = subprocess.run(
                [place.command()[0], *words[1:]],
                cwd=ROOT,
                env=place.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stdout
        assert "mulligan@mulligan" in done.stdout


def test_commands_of_the_extension_in_gemini_cli(at_work: Opened) -> None:
    with at_work("gemini-cli") as place:
        only_the_plugin(place)
        installed = subprocess.run(
            [place.command()[0], "extensions", "install", str(PLUGINS / "gemini-cli"), "--consent"],
            cwd=place.folder,
            env=place.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert installed.returncode == 0, installed.stdout
        with gemini(place) as agent:
            before = place.seen()
            place.plays("break it", place.agent.shell(BREAKS), ends="That was it.")
            agent.submit("break it")
            agent.until(lambda: "That was it." in agent.words, "the prompt is answered")
            agent.until(lambda: place.log()[0]["status"] == "done", "the prompt is over")
            for number, (command, printed) in enumerate(
                (("log", "break it"), ("diff 1", "+broken"), ("undo", "a.txt")), 1
            ):
                agent.submit(f"/mulligan:{command}")
                agent.until(lambda number=number: agent.words.count("There it is.") == number, command)
                assert printed in asked(place), command
            assert place.seen() == before
