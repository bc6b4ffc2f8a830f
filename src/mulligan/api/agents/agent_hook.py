"""The operation behind an agent's hook: read the payload, find the project, record the event, word the answer.

It never fails: an agent does not stop because its checkpoints do, unless its hooks are strict.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import SubprocessError
from typing import TYPE_CHECKING, BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from mulligan.adapters.agents.event_notes import EventNote, EventNotes
from mulligan.adapters.agents.hook_pause import is_paused
from mulligan.adapters.homes.home_search import Standing
from mulligan.api.operations.command_words import in_commands
from mulligan.config import ServerStart
from mulligan.domain.agents.agent_event import AgentEvent, EventKind, HookAnswer
from mulligan.domain.agents.agent_table import Agent
from mulligan.domain.agents.hook_payload import LARGEST, read_event
from mulligan.domain.agents.hook_reply import HookReply, reply_of
from mulligan.errors import HookPayloadUnusable, MulliganError, ProjectNotFound
from mulligan.osfiles.folders import make_private_folder
from mulligan.ports import Unobserved
from mulligan.wiring.surroundings import index_of, locate
from mulligan.wiring.system_clock import SystemClock

if TYPE_CHECKING:
    from mulligan.api.project import Project
    from mulligan.wiring.surroundings import Surroundings

_TOLD = "told"  # in the folder of agents: one empty file for everything that was said and is not said again
_FORGOTTEN = 90 * 86400.0  # seconds after which something may be said again


class HookCall(Struct, frozen=True, kw_only=True):
    """A call of a hook, as its agent's configuration has it."""

    agent: Agent
    event: str | None  # the agent's name of the event; None: the payload has it
    strict: bool
    everywhere: bool


def answer_hook(around: Surroundings, call: HookCall, stdin: BinaryIO) -> HookReply:
    """Record what a hook reports, and return the reply for its agent."""
    kind, answer = _answered(
        around,
        call,
        lambda: hook_event(around, call, stdin.read(LARGEST + 1)),
        lambda event: _recorded(around, call, event),
    )
    return reply_of(call.agent, kind, answer)


def answer_in(project: Project, around: Surroundings, call: HookCall, event: AgentEvent) -> HookAnswer:
    """Record an event in a project that stays open, and return the answer."""
    return _answered(around, call, lambda: event, lambda each: _recorded_in(project, each))[1]


def _answered(
    around: Surroundings,
    call: HookCall,
    read: Callable[[], AgentEvent | None],
    record: Callable[[AgentEvent], HookAnswer],
) -> tuple[EventKind, HookAnswer]:
    """Record an event, whatever goes wrong, and note that it arrived; return its kind and the answer."""
    kind = call.agent.events.get(call.event or "", EventKind.SESSION_START)
    event: AgentEvent | None = None
    problem: str | None = None
    begun = time.monotonic()
    try:
        event = read()
        if event is None:
            return kind, HookAnswer()
        kind = event.kind
        answer = record(event)
        if answer.message is not None:
            answer = replace(answer, message=in_commands(answer.message))
    except Exception as exc:  # noqa: BLE001 - whatever it is must not stop the agent
        problem = _text_of(exc)
        answer = _failed(around, call, event, exc)
    _leave_note(around, call, event, kind, time.monotonic() - begun, problem)
    return kind, answer


def _leave_note(
    around: Surroundings,
    call: HookCall,
    event: AgentEvent | None,
    kind: EventKind,
    seconds: float,
    problem: str | None,
) -> None:
    """Note that an event arrived, for people who ask whether the hooks work."""
    note = EventNote(
        agent=call.agent.name,
        kind=kind.value,
        session=event.session if event is not None else "",
        folder=event.folder if event is not None else str(around.folder),
        at=SystemClock().now(),
        took_ms=round(seconds * 1000),
        problem=problem,
    )
    EventNotes(index_of(around).root / "agents").leave(note)


def hook_event(around: Surroundings, call: HookCall, payload: bytes) -> AgentEvent | None:
    """Return the event in the payload of a hook; None where mulligan has no part in it: a call that only reads."""
    if len(payload) > LARGEST:
        raise HookPayloadUnusable(agent=call.agent.name, reason=f"is larger than {LARGEST} bytes")
    folder = str(around.folder)
    event = read_event(call.agent, payload, event=call.event, folder=folder, strict=call.strict)
    return event if event is None or event.may_write else None


def is_of_project(home: Path, around: Surroundings, event: AgentEvent) -> bool:
    """Return whether an event belongs to the project with that home, which is where it was."""
    try:
        place = locate(replace(around, folder=Path(event.folder)), None)
    except MulliganError:
        return False  # the hook itself says what is wrong
    return place.home == home and place.standing is Standing.SETTLED and index_of(around).holds(home)


def _recorded_in(project: Project, event: AgentEvent) -> HookAnswer:
    return HookAnswer() if is_paused(project.home) else project.agent_event(event)


def _recorded(around: Surroundings, call: HookCall, event: AgentEvent) -> HookAnswer:
    there = replace(around, folder=Path(event.folder))
    try:
        opened = _opened(there, call, event)
    except ProjectNotFound:
        if event.kind is not EventKind.SESSION_START or not _first_time(around, f"off {event.folder}"):
            return HookAnswer()
        return HookAnswer(message="mulligan is not on in this folder; to switch it on: mulligan init")
    with _closed(opened) as project:
        answer = _recorded_in(project, event)
        if event.kind is not EventKind.SESSION_END:
            _start_server(project, around)
        return answer


def _start_server(project: Project, around: Surroundings) -> None:
    """Start the local server if none runs and the settings do not forbid it.

    The event is recorded: that the server cannot be started does not make the hook fail. The next one tries again.
    """
    from mulligan.adapters.local_server.server_place import is_served

    if project.config.get("server.start").value != ServerStart.AUTO.value:
        return
    with suppress(OSError, SubprocessError):
        if not is_served(project.home):
            from mulligan.api.local_server.server_operations import launch_server  # here: few hooks start one

            launch_server(project.folder, project.home, around)


@contextmanager
def _closed(project: Project) -> Generator[Project]:
    try:
        yield project
    finally:
        project.close()


def _opened(around: Surroundings, call: HookCall, event: AgentEvent) -> Project:
    """Open the project that an event belongs to; with `everywhere` make one in a checkout without any."""
    from mulligan.api.entrance import make_project, open_project

    try:
        return open_project(_at_project(around, call), None, Unobserved())
    except ProjectNotFound:
        from mulligan.adapters.sandboxes.agent_workplace import checkout_around

        top = checkout_around(Path("/"), Path(event.folder)) if call.everywhere else None
        if top is None or top in (Path("/"), Path(around.environ.get("HOME", "/"))):
            raise
        return make_project(around, str(top), Unobserved())[0]


def _at_project(around: Surroundings, call: HookCall) -> Surroundings:
    """Return the surroundings in a folder of the project: that of the agent's working directory.

    Where there is none, the agent went elsewhere, and its work belongs to the project that it was started in.
    """
    begun = Path(around.environ.get(call.agent.project_variable or "", ""))
    places = (around, replace(around, folder=begun)) if begun.is_absolute() else (around,)
    for place in places:
        with suppress(ProjectNotFound):
            if index_of(place).holds(locate(place, None).home):
                return place
    raise ProjectNotFound(path=str(around.folder), searched="among the homes that mulligan made")


def _failed(around: Surroundings, call: HookCall, event: AgentEvent | None, exc: Exception) -> HookAnswer:
    text = _text_of(exc)
    hint = (
        in_commands(exc.next_step) if isinstance(exc, MulliganError) else "look at it with: mulligan doctor"
    )
    if call.strict:
        return HookAnswer(block=f"mulligan could not take a checkpoint: {text}; {hint}")
    session = event.session if event is not None else ""
    if not _first_time(around, f"failed {call.agent.name} {session}"):
        return HookAnswer()
    return HookAnswer(message=f"mulligan could not take a checkpoint, and the agent goes on: {text}; {hint}")


def _text_of(exc: Exception) -> str:
    return exc.text if isinstance(exc, MulliganError) else f"{type(exc).__name__}: {exc}"


def _first_time(around: Surroundings, words: str) -> bool:
    """Return whether something was not said yet, and remember that it is said now."""
    folder = index_of(around).root / "agents" / _TOLD
    file = folder / hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    with suppress(OSError):
        make_private_folder(folder.parent)
        make_private_folder(folder)
        file.touch(mode=0o600, exist_ok=False)
        now = file.stat().st_mtime
        for old in folder.iterdir():
            if old.stat().st_mtime < now - _FORGOTTEN:
                old.unlink(missing_ok=True)
        return True
    return not file.exists()
