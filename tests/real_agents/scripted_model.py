"""A server on this machine in place of a model: what it answers is written in a script.

It speaks the four protocols of `model_protocols.py`. It keeps nothing between two requests: which turn of the script
comes next follows from how many turns the conversation in the request already has.
"""

import json
import threading
import time
import zlib
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.real_agents.model_protocols import PROTOCOLS, Conversation, Reply, Turn

NOTHING_TO_DO = (Turn(text="There is nothing to do."),)
_ASIDES = {
    "title": "A title",
    "reasoning": "It is short.",
    "model_choice": "flash",
    "next_speaker": "user",
    "complexity_reasoning": "It is short.",
    "complexity_score": 1,
}
_SHORT = Turn(
    text=json.dumps(_ASIDES)
)  # for requests that offer no tools: titles, and which model is to answer


@dataclass
class ScriptedModel:
    """The script, and what was asked."""

    turns: dict[str, Sequence[Turn]] = field(default_factory=dict)  # by words that the prompt contains
    conversations: list[Conversation] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)  # whole, as they came
    arrivals: list[float] = field(default_factory=list)  # when each was asked for a turn
    unknown: list[str] = field(default_factory=list)  # paths that were asked for and mean nothing here
    url: str = ""

    def plays(self, **turns: Sequence[Turn]) -> None:
        """Replace the script: a keyword is in the prompt that its turns answer."""
        self.turns = dict(turns)

    def turn(self, conversation: Conversation) -> Turn:
        """Return the next turn of a conversation."""
        if not conversation.tools:
            return _SHORT
        self.conversations.append(conversation)
        self.arrivals.append(time.monotonic())
        turns = next((turns for words, turns in self.turns.items() if words in conversation.prompt), None)
        turns = turns or NOTHING_TO_DO
        return turns[min(conversation.turns, len(turns) - 1)]


@contextmanager
def scripted_model() -> Generator[ScriptedModel]:
    """Serve a script on a port of its own, to this machine only."""
    model = ScriptedModel()

    class Handler(_Handler):
        script = model

    server = _Server(("127.0.0.1", 0), Handler)
    model.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    request_queue_size = 64
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of agents that were killed in the middle of an answer."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    script: ScriptedModel

    def do_GET(self) -> None:
        self._send({"object": "list", "data": [{"id": "scripted", "object": "model"}], "models": []})

    def do_HEAD(self) -> None:
        self._send({})

    def do_POST(self) -> None:
        path = self.path.partition("?")[0]
        body = self._body()
        if path.endswith("/count_tokens"):
            return self._send({"input_tokens": 100})
        if path.endswith(":countTokens"):
            return self._send({"totalTokens": 100})
        protocol = next((each for ending, each in PROTOCOLS.items() if path.endswith(ending)), None)
        if protocol is None:
            self.script.unknown.append(path)
            return self._send({})
        self.script.requests.append(json.dumps(body))
        conversation = protocol.read(body)
        reply = protocol.reply(body, path, self.script.turn(conversation))
        return self._stream(reply) if isinstance(reply, Reply) else self._send(reply)

    def _body(self) -> Mapping[str, Any]:
        if self.headers.get("transfer-encoding") == "chunked":
            raw = b"".join(iter(self._chunk, b""))
        else:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "gzip":
            raw = zlib.decompress(raw, wbits=31)
        try:
            body: dict[str, Any] = json.loads(raw or b"{}")
        except ValueError:
            return {}
        return body

    def _chunk(self) -> bytes:
        chunk = self.rfile.read(int(self.rfile.readline().strip() or b"0", 16))
        self.rfile.readline()
        return chunk

    def _send(self, answer: object) -> None:
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _stream(self, reply: Reply) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for name, data in reply.events:
            head = f"event: {name}\n" if name else ""
            self.wfile.write(f"{head}data: {json.dumps(data)}\n\n".encode())
            self.wfile.flush()
        if reply.says_done:
            self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: the output is that of the tests."""
