"""The payload that an agent hands to its hook, read as an event. Whatever is in it does no harm."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, cast

import msgspec

from mulligan.domain.agents.agent_event import AgentEvent, EventKind
from mulligan.domain.agents.agent_table import Agent
from mulligan.domain.text.inert_text import harmless, spell
from mulligan.errors import HookPayloadUnusable

LARGEST = 64 * 1024 * 1024  # bytes of a payload: an agent may write a large file in one call
_TEXT = 16 * 1024  # characters of a prompt
_SUMMARY = 200
_WORD = 200  # characters of an id or of the name of a tool
_PATH = 4096
_PATHS = 100

_Fields: TypeAlias = "Mapping[str, object]"
_SOURCES = {"new": "startup", **{word: word for word in ("startup", "resume", "fork", "clear", "compact")}}
_NOT_TYPED = ("<task-notification>",)  # prompts that begin so come from the agent itself
_PATCH_HEADERS = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")
_PATH_KEYS = ("file_path", "filePath", "path", "notebook_path")


def read_event(
    agent: Agent, payload: bytes, *, event: str | None, folder: str, strict: bool
) -> AgentEvent | None:
    """Return the event in a payload; None where mulligan has no part in it.

    `event` is its name where the hook was called with one, and `folder` the working directory where the payload
    names none. Raise HookPayloadUnusable where the payload is not one of that agent.
    """
    fields = _fields_of(agent, payload)
    if agent.name == "opencode":
        fields = _flat_plugin_fields(fields)
    name = event or _word(fields, "hook_event_name", "event", "hookName") or ""
    kind = agent.events.get(name)
    if kind is None:
        return None
    session = _word(fields, "session_id", "sessionId", "conversation_id")
    if session is None:
        raise HookPayloadUnusable(agent=agent.name, reason=f"{name} names no session")
    text = _prompt_text(agent, fields) if kind is EventKind.PROMPT else None
    if kind is EventKind.PROMPT and text is None:
        return None
    if kind is EventKind.WENT_BACK and not fields.get("prompt_id"):
        return None
    child = _word(fields, "child_session")  # of an agent whose subagents are sessions of their own
    if child is not None and kind in (EventKind.PROMPT, EventKind.SESSION_START):
        return None
    if child is not None and kind is EventKind.STOP:
        kind = EventKind.SUBAGENT_STOP
    called = kind in (EventKind.BEFORE_CALL, EventKind.AFTER_CALL)
    tool = _word(fields, "tool_name", "toolName") if called else None
    given = _object(fields, "tool_input", "toolArgs")
    result = _object(fields, "tool_response", "toolResult")
    paths = tuple(_paths(agent, tool, given)) if called else ()
    return AgentEvent(
        agent=agent.name,
        kind=kind,
        session=session,
        folder=_folder(fields) or folder,
        source=_SOURCES.get(_word(fields, "source") or "") if kind is EventKind.SESSION_START else None,
        parent_session=_word(fields, "parent_session_id", "forked_from"),
        prompt=_word(fields, "prompt_id", "turn_id", "generation_id"),
        text=text,
        call=_word(fields, "tool_use_id", "tool_call_id") if called else None,
        tool=tool,
        summary=_summary(given, paths) if called else None,
        paths=paths,
        may_write=not called or tool not in agent.readers,
        failed=kind is EventKind.AFTER_CALL and (name in agent.failures or _failed(result)),
        background=_goes_on(kind, fields, given, result),
        subagent=child or _word(fields, "agent_id", "subagent_id"),
        delegate=_word(result, "agentId") if kind is EventKind.AFTER_CALL else None,
        transcript=_path(fields, "transcript_path", "transcriptPath"),
        strict=strict,
    )


def _fields_of(agent: Agent, payload: bytes) -> _Fields:
    if len(payload) > LARGEST:
        raise HookPayloadUnusable(agent=agent.name, reason=f"has more than {LARGEST} bytes")
    try:
        decoded: object = _decoded(payload)
    except (ValueError, RecursionError) as error:
        raise HookPayloadUnusable(agent=agent.name, reason="is not JSON") from error
    if not isinstance(decoded, dict):
        raise HookPayloadUnusable(agent=agent.name, reason="is not a JSON object")
    return cast("_Fields", decoded)


def _decoded(payload: bytes) -> object:
    try:
        return msgspec.json.decode(payload)
    except msgspec.DecodeError:
        import json  # here: it accepts half a character, which agents cut from their texts

        return json.loads(payload)


def _flat_plugin_fields(sent: _Fields) -> _Fields:
    """Return what the plugin of opencode sends under the names that other agents use."""
    given, output, properties = _object(sent, "input"), _object(sent, "output"), _object(sent, "properties")
    info, message = _object(properties, "info"), _object(output, "message")
    texts = [_object(part).get("text") for part in _list(output, "parts")]
    child = sent.get("child") or (info.get("id") if info.get("parentID") else None)
    return {
        "hook_event_name": sent.get("hook") or sent.get("type"),
        "session_id": sent.get("session") or given.get("sessionID") or properties.get("sessionID"),
        "child_session": child,
        "cwd": sent.get("directory") or info.get("directory"),
        "source": "startup",
        "prompt_id": message.get("id") or _object(info, "revert").get("messageID"),
        "prompt": _unquoted("\n".join(text for text in texts if isinstance(text, str))),
        "tool_name": given.get("tool"),
        "tool_use_id": given.get("callID"),
        "tool_input": output.get("args") or given.get("args"),
        "tool_response": output.get("metadata"),
    }


def _unquoted(text: str) -> str:
    """Return what the user typed after `opencode run`, which quotes a prompt of several words."""
    inner = text[1:-1]
    return inner if text == f'"{inner}"' and '"' not in inner else text


def _prompt_text(agent: Agent, fields: _Fields) -> str | None:
    """Return what the user typed; None where the agent reports a prompt of its own."""
    own = agent.name == "qwen-code" and not fields.get(
        "submitted_prompt"
    )  # it reports every turn of the model
    text = next((found for key in ("prompt", "message") if isinstance(found := fields.get(key), str)), "")
    if own or not text.strip() or text.lstrip().startswith(_NOT_TYPED):
        return None
    return spell(text[:_TEXT])


def _paths(agent: Agent, tool: str | None, given: _Fields) -> Iterator[str]:
    if tool in agent.editors:
        yield from (found for key in _PATH_KEYS if (found := _path(given, key)) is not None)
    if tool in agent.patchers:
        patch = next((text for text in given.values() if isinstance(text, str) and "*** " in text), "")
        found = 0
        for line in patch.splitlines():
            header = next((words for words in _PATCH_HEADERS if line.startswith(words)), None)
            named = None if header is None else _path({"": line.removeprefix(header).strip()}, "")
            if named is not None and found < _PATHS:
                found += 1
                yield named


def _summary(given: _Fields, paths: Sequence[str]) -> str | None:
    """Return one line that says what a call does."""
    if paths:
        return harmless(", ".join(paths))[:_SUMMARY]
    command = given.get("command")
    if isinstance(command, list):
        command = " ".join(word for word in cast("list[object]", command) if isinstance(word, str))
    for text in (command, *(given.get(key) for key in ("cmd", "description", "url", "query"))):
        if isinstance(text, str) and text.strip():
            return harmless(text.strip()[: _SUMMARY * 8].splitlines()[0])[:_SUMMARY]
    return None


def _failed(result: _Fields) -> bool:
    """Return whether the result of a call says that it failed, in the words of any agent."""
    status = result.get("exit")
    return (
        bool(result.get("error"))
        or result.get("interrupted") is True
        or result.get("resultType") not in (None, "success")
        or (isinstance(status, int) and status != 0)
    )


def _goes_on(kind: EventKind, fields: _Fields, given: _Fields, result: _Fields) -> bool:
    if kind in (EventKind.STOP, EventKind.SUBAGENT_STOP):
        return bool(_list(fields, "background_tasks"))
    begun = result.get("backgroundTaskId") or result.get("isAsync") or given.get("is_background")
    return kind is EventKind.AFTER_CALL and bool(begun)


def _folder(fields: _Fields) -> str | None:
    roots = _list(fields, "workspace_roots")
    for found in (_path(fields, "cwd", "working_dir"), _path({"": roots[0]}, "") if roots else None):
        if found is not None and found.startswith("/"):
            return found
    return None


def _word(fields: _Fields, *keys: str) -> str | None:
    """Return the first of these fields that has text, inert and on one line."""
    for key in keys:
        value = fields.get(key)
        if isinstance(value, str) and value:
            return harmless(value[:_WORD])
    return None


def _path(fields: _Fields, *keys: str) -> str | None:
    """Return the first of these fields that can be a path, as the agent spells it."""
    for key in keys:
        value = fields.get(key)
        if isinstance(value, str) and value and len(value) <= _PATH and "\0" not in value:
            return spell(value)
    return None


def _object(fields: object, *keys: str) -> _Fields:
    """Return the first of these fields that is an object, or an empty one; without keys, the value itself."""
    values = [cast("_Fields", fields).get(key) for key in keys] if keys else [fields]
    for value in values:
        if isinstance(value, dict):
            return cast("_Fields", value)
    return {}


def _list(fields: _Fields, key: str) -> Sequence[object]:
    value = fields.get(key)
    return cast("Sequence[object]", value) if isinstance(value, list) else ()
