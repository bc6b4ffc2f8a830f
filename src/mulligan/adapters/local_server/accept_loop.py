"""The loop of a server: accepts connections, answers one request after the other on each, and ends when it may."""

import socket
import time
from collections.abc import Callable, Sequence
from threading import Lock, Thread

from mulligan.adapters.local_server.frame_stream import FrameStream
from mulligan.domain.server.frames import FrameWrong

_TICK = 0.5  # seconds between two looks at whether to end
_PATIENCE = 10.0  # seconds that a client has for its request
_MOST_CLIENTS = 64

# Returns the fields of an answer to those of a request; the function says whether the client still waits for it.
Answer = Callable[[list[bytes], Callable[[], bool]], Sequence[bytes]]


class AcceptLoop:
    """A server at work. `uid` and root are the only users that it answers."""

    def __init__(self, *, listening: socket.socket, answer: Answer, uid: int) -> None:
        self._listening = listening
        self._answer = answer
        self._users = (uid, 0)
        self._lock = Lock()
        self._clients = 0
        self._used = time.monotonic()
        self.requests = 0

    @property
    def idle_seconds(self) -> float:
        """The time since a client last left."""
        return time.monotonic() - self._used

    def note_use(self) -> None:
        """Take note that another process of this server was used."""
        with self._lock:
            self._used = time.monotonic()

    @property
    def has_clients(self) -> bool:
        """Return whether a client is connected."""
        return self._clients > 0

    def run(self, is_over: Callable[[], bool]) -> None:
        """Serve until it is over; a client that is connected then gets no answer."""
        self._listening.settimeout(_TICK)
        while not is_over():
            try:
                connected, _ = self._listening.accept()
            except TimeoutError:
                continue
            except (
                OSError
            ):  # the client is gone already, or there is no descriptor for it: it works without the server
                time.sleep(_TICK)
                continue
            if not self._admit():
                connected.close()
                continue
            try:
                Thread(target=self._serve, args=(FrameStream(connected),), daemon=True).start()
            except RuntimeError:  # the system allows no more threads
                connected.close()
                self._dismiss()

    def _admit(self) -> bool:
        with self._lock:
            if self._clients >= _MOST_CLIENTS:
                return False
            self._clients += 1
            return True

    def _serve(self, stream: FrameStream) -> None:
        try:
            if (user := stream.peer()) is None or user in self._users:
                self._converse(stream)
        except (OSError, FrameWrong):
            return  # the client is gone, or speaks another protocol: it notices that the stream ends
        finally:
            stream.close()
            self._dismiss()

    def _dismiss(self) -> None:
        with self._lock:
            self._clients -= 1
            self._used = time.monotonic()

    def _converse(self, stream: FrameStream) -> None:
        stream.wait_at_most(_PATIENCE)
        while (fields := stream.receive()) is not None:
            answer = self._answer(fields, stream.is_awaited)
            with self._lock:
                self.requests += 1
            stream.send(answer)
