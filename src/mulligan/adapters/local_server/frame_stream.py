"""Frames over a socket of this machine, and the user at its other end."""

import select
import socket
import struct
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from mulligan.domain.server import frames
from mulligan.domain.server.frames import FrameWrong

_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid


class FrameStream:
    """A connected socket that carries frames; OSError or FrameWrong where it breaks."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._end: float | None = None

    def send(self, fields: Sequence[bytes]) -> None:
        self._hurry()
        self._socket.sendall(frames.encode(fields))

    def receive(self) -> list[bytes] | None:
        """Return the fields of the next frame; None where the other end has closed the stream before one."""
        head = self._read(frames.HEAD_LENGTH)
        if not head:
            return None
        if len(head) < frames.HEAD_LENGTH:
            raise FrameWrong("it is cut off")
        return frames.decode(head, self._read(frames.body_length(head)))

    def peer(self) -> int | None:
        """Return the user at the other end; None where the system does not say."""
        found = self._peer()
        return found and found[1]

    def is_held_up(self) -> bool:
        """Return whether the process at the other end was stopped, and would not answer."""
        found = self._peer()
        try:
            state = Path(f"/proc/{found[0]}/stat").read_bytes() if found else b""
        except OSError:
            return False
        return state.rpartition(b")")[2].split()[:1] in ([b"T"], [b"t"])

    def is_awaited(self) -> bool:
        """Return whether the other end is there: a client that gave up does its work without an answer."""
        looking = select.poll()
        looking.register(self._socket, 0)  # that it hung up is always reported
        return not looking.poll(0)

    def _peer(self) -> tuple[int, int] | None:
        """Return process and user at the other end."""
        if sys.platform != "linux":  # pragma: no cover - the mode of the socket's folder has to do there
            return None
        found = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        pid, uid, _ = _CREDENTIALS.unpack(found)
        return pid, uid

    def wait_at_most(self, seconds: float | None) -> None:
        """Let every later call fail that takes longer."""
        self._socket.settimeout(seconds)

    def end_within(self, seconds: float) -> None:
        """Let all later calls together fail when they take longer."""
        self._end = time.monotonic() + seconds

    def close(self) -> None:
        self._socket.close()

    def _read(self, length: int) -> bytes:
        data = bytearray()
        while len(data) < length:
            self._hurry()
            more = self._socket.recv(min(length - len(data), 1 << 20))
            if not more:
                break
            data += more
        return bytes(data)

    def _hurry(self) -> None:
        if self._end is not None:
            left = self._end - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._socket.settimeout(left)


def connect(path: Path, seconds: float) -> FrameStream:
    """Connect to the socket of a server; OSError where nobody listens."""
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connected.settimeout(seconds)
        connected.connect(str(path))
    except BaseException:
        connected.close()
        raise
    return FrameStream(connected)


def listen(path: Path) -> socket.socket:
    """Listen at a path, in the place of a server that is gone; only this user can connect."""
    path.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.bind(str(path))
        path.chmod(0o600)
        listening.listen(64)
    except BaseException:
        listening.close()
        raise
    return listening
