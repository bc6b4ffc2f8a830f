"""The cost of an agent's hook: one event before a tool call, with five files changed since the last one."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.compare.contest import copy_tree
from benchmarks.compare.processes import run, surroundings
from benchmarks.compare.results import Work
from benchmarks.compare.works.bench import Bench, Tally
from mulligan.adapters.local_server.server_place import HOOK_CLIENT

_CHANGES = 5


def hooks(bench: Bench) -> Work:
    """A `PreToolUse` of Claude Code through the local server and without one, beside the interpreter alone."""
    return _measure(bench, "hooks", "in place", checkout=False)


def hooks_git(bench: Bench) -> Work:
    """The same in a git checkout."""
    return _measure(bench, "hooks-git", "in place, in a git checkout", checkout=True)


def _measure(bench: Bench, key: str, where: str, *, checkout: bool) -> Work:
    tally = Tally()
    with tally.part("hooks"):
        _run(bench, tally, checkout=checkout)
    return Work(
        key=key,
        title=f"an event before a tool call, {where}, 5 files changed since the last one",
        files=bench.files,
        sides=tally.sides(),
        how="mulligan-hook with the payload of a PreToolUse on stdin, with the local server running and without it, in"
        " turns with python -c pass; cold is the first event of an agent without a server, which starts one, in a"
        " project that has a snapshot already",
        failures=tally.failures,
    )


def _run(bench: Bench, tally: Tally, *, checkout: bool) -> None:
    assert bench.repository is not None
    project = bench.place / "project"
    if checkout:
        bench.make_checkout(project)
    else:
        copy_tree(bench.repository.folder, project, bench.budget)
    bench.mulligan(project, "init")
    bench.mulligan(project, "config", "set", "server.start", "never")
    agent = _Agent(bench, project, [project / path for path in bench.repository.sources])
    agent.call("SessionStart", source="startup")
    agent.call("UserPromptSubmit", prompt="measure", prompt_id="p1")
    for served in (False, True):
        if served:
            bench.mulligan(project, "serve", "--detach")
            agent.call("UserPromptSubmit", prompt="measure again", prompt_id="p2")
        for _ in range(max(5, 2 * bench.repeats)):
            agent.change()
            side = "hook, server running" if served else "hook, no server"
            tally.add(side, agent.call("PreToolUse", tool_name="Bash", tool_input={"command": "make"}))
            tally.add("python", run([sys.executable, "-c", "pass"], bench.budget).seconds)
    bench.mulligan(project, "config", "unset", "server.start")
    for number in range(bench.repeats):
        bench.mulligan(project, "serve", "--stop")
        tally.add("hook, cold", agent.call("SessionStart", source="startup", session_id=f"cold {number}"))
    bench.mulligan(project, "serve", "--stop")


class _Agent:
    """The hooks of an agent at work in a project."""

    def __init__(self, bench: Bench, project: Path, files: Sequence[Path]) -> None:
        self._bench, self._project, self._files = bench, project, files
        self._words = [
            str(HOOK_CLIENT),
            str(Path(sys.executable).with_name("mulligan")),
            "hook",
            "claude-code",
        ]
        kept = {name: value for name, value in surroundings().items() if not name.startswith("MULLIGAN_")}
        self._environment = {**kept, "MULLIGAN_HOME": str(bench.homes)}
        self._count = 0

    def change(self) -> None:
        """Write to some files, others each time."""
        for _ in range(_CHANGES):
            self._count += 1
            file = self._files[self._count % len(self._files)]
            file.write_text(f"changed {self._count}\n")

    def call(self, event: str, **fields: object) -> float:
        """Report an event; return the seconds that the hook took."""
        payload = {"session_id": "s", "cwd": str(self._project), "hook_event_name": event} | fields
        if "tool_name" in fields:
            payload["tool_use_id"] = f"c{self._count}"
        given = self._bench.place / "payload.json"
        given.write_text(json.dumps(payload))
        return run(
            self._words, self._bench.budget, cwd=self._project, env=self._environment, given=given
        ).seconds
