"""The protocols between agents and models: Messages, Responses, Chat Completions and Gemini's.

Each reads from a request which prompt is being answered, and how far, and writes a turn of the script as an answer.
"""

import itertools
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

Object: TypeAlias = Mapping[str, Any]
_numbers = itertools.count(int(time.time()) % 100_000 * 1000)  # agents keep ids of earlier runs
_ASIDE = ("<system-reminder", "[Request interrupted")  # texts that agents put beside what the user typed
_CALLS = ("function_call", "custom_tool_call", "local_shell_call", "tool_search_call")
SEARCH = "tool_search"  # of Codex, which tells a model of most tools only when it searches for them


@dataclass(frozen=True)
class Call:
    """A call of one of the agent's tools."""

    tool: str
    arguments: Mapping[str, object] | str  # a text for a tool that takes a text
    namespace: str | None = None  # that the tool is in, where the protocol has such


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What the model says at once."""

    text: str = ""
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """What a request says of the conversation."""

    prompt: str  # what the user said last
    turns: int  # of the model since then
    tools: bool  # whether it may call any
    context: str = ""  # the whole request, with what hooks told the model


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A stream of events."""

    events: Sequence[tuple[str, Object]]
    says_done: bool = False


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """How requests are read and answered."""

    read: Callable[[Object], Conversation]
    reply: Callable[[Object, str, Turn], Reply | Object]


def _text_of(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = cast("Sequence[Object]", content if isinstance(content, list) else ())
    return "\n".join(part.get("text") or "" for part in parts)


# --- Messages ------------------------------------------------------------------------------------------------------


def _read_messages(body: Object) -> Conversation:
    turns, prompt = 0, ""
    for message in body.get("messages", ()):
        if message["role"] == "assistant":
            turns += 1
        if message["role"] != "user":  # it may also be "system", in the middle
            continue
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        texts = [block["text"] for block in blocks if block.get("type") == "text"]
        typed = [text for text in texts if not text.lstrip().startswith(_ASIDE)]
        if typed:
            turns, prompt = 0, "\n".join(typed)
    return Conversation(prompt=prompt, turns=turns, tools=bool(body.get("tools")), context=json.dumps(body))


def _reply_messages(body: Object, path: str, turn: Turn) -> Reply | Object:
    number = next(_numbers)
    blocks: list[dict[str, Any]] = [{"type": "text", "text": turn.text}] if turn.text else []
    blocks += [
        {"type": "tool_use", "id": f"toolu_{number}_{index}", "name": call.tool, "input": call.arguments}
        for index, call in enumerate(turn.calls)
    ]
    ends = {"stop_reason": "tool_use" if turn.calls else "end_turn", "stop_sequence": None}
    usage = dict.fromkeys(("input_tokens", "output_tokens"), 10)
    usage |= dict.fromkeys(("cache_creation_input_tokens", "cache_read_input_tokens"), 0)
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": body.get("model")}
    if not body.get("stream"):
        return {**message, "content": blocks, "usage": usage, **ends}
    begun: Object = {**message, "content": [], "usage": usage, "stop_reason": None, "stop_sequence": None}
    events: list[tuple[str, Object]] = [("message_start", {"message": begun})]
    empty: Object
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            empty = {**block, "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            given = json.dumps(block["input"])
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": given}
        events.append(("content_block_start", {"index": index, "content_block": empty}))
        events.append(("content_block_delta", {"index": index, "delta": delta}))
        events.append(("content_block_stop", {"index": index}))
    events.append(("message_delta", {"delta": ends, "usage": {"output_tokens": 10}}))
    events.append(("message_stop", {}))
    return Reply(events=[(name, {"type": name, **data}) for name, data in events])


# --- Responses -----------------------------------------------------------------------------------------------------


def _read_responses(body: Object) -> Conversation:
    turns, prompt, is_open = 0, "", False
    given = body.get("input")
    items = cast("Sequence[Object]", given if isinstance(given, list) else ())
    for item in items:
        kind = item.get("type", "message")
        if kind == "message" and item.get("role") == "user":
            turns, prompt, is_open = 0, _text_of(item.get("content")), False
        elif kind.endswith("_output"):
            is_open = False
        elif (kind in _CALLS or item.get("role") == "assistant") and not is_open:
            turns, is_open = turns + 1, True  # the items of one answer
    return Conversation(prompt=prompt, turns=turns, tools=bool(body.get("tools")))


def _reply_responses(body: Object, path: str, turn: Turn) -> Reply | Object:
    number = next(_numbers)
    items: list[dict[str, Any]] = []
    if turn.text:
        content: list[Object] = [{"type": "output_text", "text": turn.text, "annotations": []}]
        items.append({"type": "message", "role": "assistant", "id": f"msg_{number}", "content": content})
    for index, call in enumerate(turn.calls):
        item = {"id": f"fc_{number}_{index}", "call_id": f"call_{number}_{index}", "name": call.tool}
        if call.namespace is not None:
            item["namespace"] = call.namespace
        if call.tool == SEARCH:
            del item["name"]
            search = {"type": "tool_search_call", "execution": "client", "arguments": call.arguments}
            items.append({**item, **search})
        elif isinstance(call.arguments, str):
            items.append({"type": "custom_tool_call", **item, "input": call.arguments})
        else:
            items.append({"type": "function_call", **item, "arguments": json.dumps(call.arguments)})
    items = [{**item, "status": "completed"} for item in items]
    begun = {"id": f"resp_{number}", "object": "response", "created_at": int(time.time())}
    begun |= {"status": "in_progress", "model": body.get("model"), "output": []}
    usage = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20}
    ended = {**begun, "status": "completed", "output": items, "usage": usage}
    if not body.get("stream"):
        return ended
    events: list[tuple[str, Object]] = [("response.created", {"response": begun})]
    for index, item in enumerate(items):
        events.append(("response.output_item.added", {"output_index": index, "item": item}))
        events.append(("response.output_item.done", {"output_index": index, "item": item}))
    events.append(("response.completed", {"response": ended}))
    return Reply(events=[(name, {"type": name, **data}) for name, data in events])


# --- Chat Completions ----------------------------------------------------------------------------------------------


def _read_chat(body: Object) -> Conversation:
    turns, prompt = 0, ""
    for message in body.get("messages", ()):
        if message["role"] == "assistant":
            turns += 1
        elif message["role"] == "user":
            turns, prompt = 0, _text_of(message.get("content"))
    return Conversation(prompt=prompt, turns=turns, tools=bool(body.get("tools")))


def _reply_chat(body: Object, path: str, turn: Turn) -> Reply | Object:
    number = next(_numbers)
    calls = [
        {
            "index": index,
            "id": f"call_{number}_{index}",
            "type": "function",
            "function": {"name": call.tool, "arguments": json.dumps(call.arguments)},
        }
        for index, call in enumerate(turn.calls)
    ]
    ends = "tool_calls" if calls else "stop"
    answer = {"id": f"chat_{number}", "created": int(time.time()), "model": body.get("model")}
    usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    message = {"role": "assistant", "content": turn.text or None, **({"tool_calls": calls} if calls else {})}
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": ends}
        return {**answer, "object": "chat.completion", "usage": usage, "choices": [choice]}
    chunk = {**answer, "object": "chat.completion.chunk"}
    said = {"index": 0, "delta": message, "finish_reason": None}
    ended: Object = {"index": 0, "delta": {}, "finish_reason": ends}
    events: list[tuple[str, Object]] = [
        ("", {**chunk, "choices": [said]}),
        ("", {**chunk, "choices": [ended], "usage": usage}),
    ]
    return Reply(events=events, says_done=True)


# --- Gemini --------------------------------------------------------------------------------------------------------


def _read_gemini(body: Object) -> Conversation:
    turns, prompt = 0, ""
    for content in body.get("contents", ()):
        parts = content.get("parts", [])
        if content.get("role") == "model":
            turns += 1
        elif not any("functionResponse" in part for part in parts):
            turns, prompt = 0, _text_of(parts)
    return Conversation(prompt=prompt, turns=turns, tools=bool(body.get("tools")))


def _reply_gemini(body: Object, path: str, turn: Turn) -> Reply | Object:
    number = next(_numbers)
    parts: list[Object] = [{"text": turn.text}] if turn.text else []
    parts += [
        {"functionCall": {"id": f"call_{number}_{index}", "name": call.tool, "args": call.arguments}}
        for index, call in enumerate(turn.calls)
    ]
    said = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}
    answer = {"candidates": [said], "usageMetadata": usage, "modelVersion": "scripted"}
    return Reply(events=[("", answer)]) if "stream" in path else answer


def _each(endings: Iterable[str], protocol: Protocol) -> dict[str, Protocol]:
    return dict.fromkeys(endings, protocol)


PROTOCOLS: Mapping[str, Protocol] = {  # by how the path of a request ends
    **_each(["/messages"], Protocol(read=_read_messages, reply=_reply_messages)),
    **_each(["/responses"], Protocol(read=_read_responses, reply=_reply_responses)),
    **_each(["/chat/completions"], Protocol(read=_read_chat, reply=_reply_chat)),
    **_each([":generateContent", ":streamGenerateContent"], Protocol(read=_read_gemini, reply=_reply_gemini)),
}
