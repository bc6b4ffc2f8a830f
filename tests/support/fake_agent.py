"""A coding agent for tests: its hooks call the program as recorded with the real ones, in processes of their own.

Calls overlap or have no end where the test says so; what they do to files the test does itself, between their events.
"""

import json
import os
import subprocess
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.forked_program import start_program
from tests.support.homes import homes_for

_GIT_USER = {
    **{
        f"GIT_{who}_{what}": f"{who.lower()}@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    },
    "GIT_CONFIG_NOSYSTEM": "1",
}


class FakeAgent:
    """A session of an agent that speaks as Claude Code does."""

    def __init__(self, folder: Path, session: str = "s1", agent: str = "claude-code", *flags: str) -> None:
        self.folder = folder  # the one that it was started in
        self.working = folder  # the one that it went to since
        self.session = session
        self.words = ("hook", *flags, agent)
        self.prompts = 0
        self.calls = 0
        self.surroundings: Mapping[str, str] = os.environ
        self.log: Path | None = None  # gets the boundaries that hooks pass

    def hook(self, event: str, *, fault: str = "", **fields: object) -> tuple[int, dict[str, Any]]:
        """Report an event; return the exit code and the answer."""
        payload = {"session_id": self.session, "cwd": str(self.working), "hook_event_name": event, **fields}
        code, out, err = run_with_input(
            self.words, json.dumps(payload).encode(), self.working, self.environment(fault)
        )
        assert b"Traceback" not in err, err.decode()
        return code, json.loads(out) if out.strip() else {}

    def start(self, source: str = "startup") -> dict[str, Any]:
        """Begin the session."""
        return self._answer("SessionStart", source=source)

    def prompt(self, text: str) -> dict[str, Any]:
        """Let the user type something."""
        self.prompts += 1
        return self._answer("UserPromptSubmit", prompt=text, prompt_id=f"{self.session}-p{self.prompts}")

    def before(self, command: str, *, fault: str = "", subagent: str = "") -> str:
        """Announce a call of the shell; return its id."""
        return self.begin("Bash", {"command": command}, fault=fault, subagent=subagent)

    def after(
        self, call: str, command: str, *, fault: str = "", subagent: str = "", **answer: object
    ) -> None:
        """Report the end of a call."""
        self.finish(call, "Bash", {"command": command}, fault=fault, subagent=subagent, **answer)

    def before_edit(self, path: Path) -> str:
        """Announce an edit of a file; return the id of the call."""
        return self.begin("Edit", {"file_path": str(path)})

    def after_edit(self, call: str, path: Path) -> None:
        """Report the end of an edit."""
        self.finish(call, "Edit", {"file_path": str(path)})

    def begin(self, tool: str, given: dict[str, object], *, fault: str = "", subagent: str = "") -> str:
        """Announce a call of a tool; return its id."""
        self.calls += 1
        call = f"{self.session}-c{self.calls}"
        who = {"agent_id": subagent} if subagent else {}
        self.hook("PreToolUse", tool_name=tool, tool_use_id=call, tool_input=given, fault=fault, **who)
        return call

    def finish(
        self,
        call: str,
        tool: str,
        given: dict[str, object],
        *,
        fault: str = "",
        subagent: str = "",
        **answer: object,
    ) -> None:
        """Report the end of a call of a tool."""
        who = {"agent_id": subagent} if subagent else {}
        said = {"tool_name": tool, "tool_use_id": call, "tool_input": given, **who}
        self.hook("PostToolUse", tool_response={"stdout": "", **answer}, fault=fault, **said)

    def shell(self, command: str) -> None:
        """Make a call of the shell, from before to after."""
        call = self.before(command)
        self.run(command)
        self.after(call, command)

    def run(self, command: str) -> None:
        """Do what a call of the shell does, without a hook."""
        environment = {**os.environ, **_GIT_USER}
        subprocess.run(
            ["/bin/sh", "-c", command], cwd=self.folder, env=environment, check=True, capture_output=True
        )

    def stop(self) -> None:
        """Finish the answer to a prompt."""
        self._answer("Stop", stop_hook_active=False, background_tasks=[])

    def end(self) -> None:
        """End the session."""
        self._answer("SessionEnd", reason="prompt_input_exit")

    @contextmanager
    def prompted(self, text: str) -> Generator[None]:
        """Answer a prompt, from its beginning to the stop."""
        self.prompt(text)
        yield
        self.stop()

    def _answer(self, event: str, **fields: object) -> dict[str, Any]:
        code, answer = self.hook(event, **fields)
        assert code == 0, answer
        return answer

    def environment(self, fault: str) -> dict[str, str]:
        """Return the variables that its hooks have; with a fault, it strikes in them."""
        environment = {**self.surroundings, **_GIT_USER}
        if self.surroundings is os.environ:
            environment["MULLIGAN_HOME"] = homes_for(self.folder)
        environment["CLAUDE_PROJECT_DIR"] = str(self.folder)
        environment["MULLIGAN_SERVER_START"] = "never"  # tests of the server start it themselves
        if fault:
            environment["MULLIGAN_FAULT"] = fault
        if self.log is not None:
            environment["MULLIGAN_FAULT_LOG"] = str(self.log)
        return environment


def run_with_input(
    words: tuple[str, ...], data: bytes, folder: Path, environment: Mapping[str, str]
) -> tuple[int, bytes, bytes]:
    """Run the program with this input; return the exit code and what it wrote to stdout and stderr."""
    import tempfile

    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(data)
        given.seek(0)
        streams = given.fileno(), out.fileno(), err.fileno()
        code = start_program(words, folder=folder, environment=environment, streams=streams).wait()
        out.seek(0)
        err.seek(0)
        return code, out.read(), err.read()
