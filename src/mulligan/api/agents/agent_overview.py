"""Operations that look at the hooks of coding agents: which are installed, and whether they work."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from mulligan.adapters.agents.agent_files import AgentFile
from mulligan.adapters.agents.event_notes import EventNote, EventNotes
from mulligan.api.agents.agent_places import (
    base_folder,
    is_found,
    named_agents,
    own_program,
    records_of,
    scope_root,
    user_root,
)
from mulligan.domain.agents.agent_event import EventKind
from mulligan.domain.agents.agent_table import AGENTS, Agent
from mulligan.domain.agents.hook_entries import (
    GOES_ON,
    HookOptions,
    Place,
    Scope,
    entries_of,
    own_text,
    places_of,
)
from mulligan.domain.agents.hook_text import FoundHooks, found_hooks
from mulligan.domain.text.json_edit import JsonTextInvalid
from mulligan.errors import AgentFileUnusable, AgentPlaceUnsuitable, HooksUnwell, MulliganError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mulligan.wiring.surroundings import Surroundings

_TEST_SECONDS = 60
_TEST_SESSION = "mulligan-doctor"


class InstalledHooks(Struct, frozen=True, kw_only=True):
    """Our hooks in one place of an agent."""

    scope: Scope
    file: str
    strict: bool
    everywhere: bool
    trusted: bool | None  # None: the agent does not ask for trust, or keeps it to itself


class AgentView(Struct, frozen=True, kw_only=True):
    """An agent, and its hooks."""

    agent: str
    title: str
    found: bool
    from_documentation: bool
    installed: Sequence[InstalledHooks]
    last_event: EventNote | None
    problem: str | None  # why its configuration cannot be read


class AgentList(Struct, frozen=True, kw_only=True):
    """All agents that mulligan knows."""

    agents: Sequence[AgentView]


class HookTest(Struct, frozen=True, kw_only=True):
    """A test event that went through an installed hook."""

    agent: str
    scope: Scope
    file: str
    works: bool
    took_ms: int
    said: str  # what mulligan answered, or what went wrong
    trusted: bool | None


class HookTests(Struct, frozen=True, kw_only=True):
    """The answer of `agent doctor`."""

    tests: Sequence[HookTest]
    error: MulliganError | None


def list_agents(around: Surroundings) -> AgentList:
    """Return every agent with its hooks."""
    notes = EventNotes(records_of(around).root)
    return AgentList(agents=[_view(around, agent, notes) for agent in AGENTS.values()])


def try_hooks(around: Surroundings, names: Sequence[str]) -> HookTests:
    """Send a test event through the hooks of these agents, or of all that have some, from a folder of its own."""
    tests: list[HookTest] = []
    for agent in named_agents(names or list(AGENTS)):
        places = list(_places(around, agent))
        found = [
            (scope, file, hooks) for scope, place, file in places if (hooks := _hooks(agent, place, file))
        ]
        tests += [_tested(around, agent, scope, file, hooks) for scope, file, hooks in found]
        if names and not found:
            scope, _, file = places[-1]
            tests.append(_failed(agent, scope, file, "no hook is installed"))
    wrong = sum(not test.works for test in tests)
    return HookTests(tests=tests, error=HooksUnwell(failed=wrong, tested=len(tests)) if wrong else None)


def _view(around: Surroundings, agent: Agent, notes: EventNotes) -> AgentView:
    installed: list[InstalledHooks] = []
    problem = None
    try:
        for scope, place, file in _places(around, agent):
            hooks = _hooks(agent, place, file)
            if hooks is not None:
                installed.append(
                    InstalledHooks(
                        scope=scope,
                        file=str(file.path),
                        strict=hooks.strict,
                        everywhere=hooks.everywhere,
                        trusted=_trusted(around, agent, file, hooks),
                    )
                )
    except MulliganError as exc:
        problem = exc.text
    return AgentView(
        agent=agent.name,
        title=agent.title,
        found=is_found(around, agent),
        from_documentation=agent.from_documentation,
        installed=installed,
        last_event=notes.newest(agent.name),
        problem=problem,
    )


def _places(around: Surroundings, agent: Agent) -> Iterator[tuple[Scope, Place, AgentFile]]:
    """Return the files in which the hooks of an agent can be; the last one of each scope has them."""
    for scope in Scope:
        try:
            root = scope_root(around, scope)
        except AgentPlaceUnsuitable:
            continue
        place = places_of(agent, scope)[-1]
        yield scope, place, AgentFile(base_folder(around, place, root) / place.name)


def _hooks(agent: Agent, place: Place, file: AgentFile) -> FoundHooks | None:
    data = file.read()
    try:
        return None if data is None else found_hooks(data.decode(), agent, place)
    except JsonTextInvalid as error:
        raise AgentFileUnusable(file=str(file.path), line=error.line, reason=error.reason) from error
    except UnicodeDecodeError as error:
        raise AgentFileUnusable(file=str(file.path), line=1, reason="is not UTF-8 text") from error


def _trusted(around: Surroundings, agent: Agent, file: AgentFile, hooks: FoundHooks) -> bool | None:
    """Return whether the user approved the hooks, for the agent that asks for it and writes it down."""
    if agent.name != "codex":
        return None
    import tomllib

    settings = base_folder(around, places_of(agent, Scope.USER)[-1], user_root(around)) / "config.toml"
    try:
        section = tomllib.loads(settings.read_text("utf-8")).get("hooks")
    except (OSError, ValueError, RecursionError):
        return False
    state = cast("Mapping[str, object]", section).get("state") if isinstance(section, dict) else None
    approved = set(cast("Mapping[str, object]", state)) if isinstance(state, dict) else set[str]()
    return all(
        f"{file.path}:{_snake(event)}:{at}:{inner}" in approved for event, at, inner in hooks.positions
    )


def _snake(event: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in event).lstrip("_")


def _tested(around: Surroundings, agent: Agent, scope: Scope, file: AgentFile, hooks: FoundHooks) -> HookTest:
    event = next(name for name, kind in agent.events.items() if kind is EventKind.SESSION_START)
    command = _test_command(agent, event, hooks)
    if scope is Scope.PROJECT and not _is_installed(agent, hooks):
        said = (
            "the command is not one that this mulligan installs, so it was not run; install again to renew it"
        )
        return _failed(agent, scope, file, said)
    with tempfile.TemporaryDirectory(prefix="mulligan-doctor-") as folder:
        payload = json.dumps(_payload(agent, event, folder)).encode()
        started = time.monotonic()
        try:
            done = subprocess.run(
                ["/bin/sh", "-c", command],
                input=payload,
                capture_output=True,
                cwd=folder,
                env=dict(around.environ),
                timeout=_TEST_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return _failed(agent, scope, file, str(error))
    took = int((time.monotonic() - started) * 1000)
    said = (done.stdout or done.stderr).decode("utf-8", "replace").strip()
    works = done.returncode == 0 and _is_answer(done.stdout)
    if not works:
        said = f"exit code {done.returncode}: {said}"
    trusted = _trusted(around, agent, file, hooks)
    return HookTest(
        agent=agent.name,
        scope=scope,
        file=str(file.path),
        works=works,
        took_ms=took,
        said=said[:1000],
        trusted=trusted,
    )


def _is_installed(agent: Agent, hooks: FoundHooks) -> bool:
    """Return whether the commands of hooks are exactly ours: a file in a repository may hold any others."""
    options = HookOptions(
        program=own_program(), strict=hooks.strict, everywhere=hooks.everywhere, version=None
    )
    written = {own_text(agent, options)} if agent.name == "opencode" else _commands(agent, options)
    return all(command in written for command in hooks.commands)


def _commands(agent: Agent, options: HookOptions) -> set[str]:
    """Return every command line in the entries that install writes."""
    found: set[str] = set()
    pending: list[object] = [entry.value for entry in entries_of(agent, options)]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            members = cast("Mapping[str, object]", value)
            found |= {str(members[key]) for key in ("command", "bash") if key in members}
            pending += members.values()
        elif isinstance(value, list):
            pending += cast("list[object]", value)
    return found


def _test_command(agent: Agent, event: str, hooks: FoundHooks) -> str:
    """Return the command line of a hook as its agent would run it."""
    if agent.name == "opencode":
        line = next(line for line in hooks.commands[0].splitlines() if line.startswith("const COMMAND = "))
        return shlex.join([*json.loads(line.partition("= ")[2]), event])
    if not agent.names_events:
        at = next((i for i, (name, _, _) in enumerate(hooks.positions) if name == event), 0)
        return hooks.commands[at].removesuffix(GOES_ON)  # which would hide that it fails
    return hooks.commands[0]


def _payload(agent: Agent, event: str, folder: str) -> dict[str, object]:
    if agent.name == "opencode":
        return {"hook": event, "session": _TEST_SESSION, "directory": folder}
    session = {"cursor": "conversation_id", "copilot-cli": "sessionId"}.get(agent.name, "session_id")
    named = "event" if agent.name == "goose" else "hook_event_name"
    return {named: event, session: _TEST_SESSION, "cwd": folder, "source": "startup"}


def _is_answer(stdout: bytes) -> bool:
    """Return whether an agent can read this: nothing, or a JSON object."""
    try:
        return not stdout.strip() or isinstance(json.loads(stdout), dict)
    except ValueError:
        return False


def _failed(agent: Agent, scope: Scope, file: AgentFile, said: str) -> HookTest:
    return HookTest(
        agent=agent.name,
        scope=scope,
        file=os.fspath(file.path),
        works=False,
        took_ms=0,
        said=said,
        trusted=None,
    )
