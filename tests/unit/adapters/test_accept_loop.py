"""The loop of a local server where the system refuses it something."""

import errno
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

import pytest

from mulligan.adapters.local_server import accept_loop
from mulligan.adapters.local_server.accept_loop import AcceptLoop
from mulligan.adapters.local_server.frame_stream import FrameStream, connect, listen
from tests.support.patience import PATIENCE, wait_until


class Listening:
    """A listening socket that the system gives no descriptor for a client, the first time."""

    def __init__(self, path: Path) -> None:
        self.refused = 0
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen()

    def settimeout(self, seconds: float) -> None:
        self._socket.settimeout(seconds)

    def accept(self) -> tuple[socket.socket, Any]:
        self.refused += 1
        if self.refused == 1:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return self._socket.accept()

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def path() -> Iterator[Path]:
    with TemporaryDirectory(prefix="ma-", dir="/tmp") as short:
        yield Path(short) / "s"


def test_a_client_that_gave_up_is_noticed(path: Path) -> None:
    listening, over = listen(path), False
    seen: list[bool] = []

    def answer(fields: list[bytes], is_awaited: Callable[[], bool]) -> list[bytes]:
        seen.append(is_awaited())
        if fields == [b"leaving"]:
            wait_until(lambda: not is_awaited(), "the client is gone")
            seen.append(is_awaited())
        return fields

    loop = AcceptLoop(listening=listening, answer=answer, uid=os.geteuid())
    server = Thread(target=loop.run, args=(lambda: over,))
    server.start()
    client = connect(path, PATIENCE)
    client.send([b"staying"])
    assert client.receive() == [b"staying"]
    client.send([b"leaving"])
    wait_until(lambda: len(seen) == 2, "the second request is being answered")
    client.close()
    wait_until(lambda: not loop.has_clients, "it was answered")
    over = True
    server.join(PATIENCE)
    listening.close()
    assert seen == [True, True, False]


def test_a_server_goes_on_without_descriptors_and_threads(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listening, over = Listening(path), False
    loop = AcceptLoop(listening=listening, answer=lambda fields, _: fields, uid=os.geteuid())  # pyright: ignore[reportArgumentType] - as far as it is used
    begun = 0

    class Refused(Thread):
        def start(self) -> None:
            nonlocal begun
            begun += 1
            if begun == 1:
                raise RuntimeError("can't start new thread")
            super().start()

    monkeypatch.setattr(accept_loop, "Thread", Refused)
    monkeypatch.setattr(accept_loop, "_TICK", 0.01)
    server = Thread(target=loop.run, args=(lambda: over,))
    server.start()
    turned_away = connect(path, PATIENCE)
    assert turned_away.receive() is None
    turned_away.close()
    answered = connect(path, PATIENCE)
    answered.send([b"hello"])
    assert answered.receive() == [b"hello"]
    answered.close()
    over = True
    server.join(PATIENCE)
    listening.close()
    assert (listening.refused > 1, begun, loop.requests) == (True, 2, 1)


@pytest.mark.parametrize("limit", ["others are served", "it is another user"])
def test_a_client_that_is_turned_away_finds_its_stream_closed(
    path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    if limit == "others are served":
        monkeypatch.setattr(accept_loop, "_MOST_CLIENTS", 0)
    else:
        monkeypatch.setattr(FrameStream, "peer", lambda _: 4242)
    listening, over = listen(path), False
    loop = AcceptLoop(listening=listening, answer=lambda fields, _: fields, uid=os.geteuid())
    server = Thread(target=loop.run, args=(lambda: over,))
    server.start()
    client = connect(path, PATIENCE)
    assert client.receive() is None
    client.close()
    wait_until(lambda: not loop.has_clients, "it is gone")
    over = True
    server.join(PATIENCE)
    listening.close()
    assert loop.requests == 0


def test_a_stream_ends_in_time_and_a_peer_that_is_gone_is_not_held_up(path: Path) -> None:
    with listen(path) as listening:
        pid = os.fork()
        if pid == 0:
            gone = connect(path, PATIENCE)
            gone.send([b"bye"])
            os._exit(0)
        accepted = FrameStream(listening.accept()[0])
        os.waitpid(pid, 0)
        assert not accepted.is_held_up()
        accepted.end_within(-1)
        with pytest.raises(TimeoutError):
            accepted.receive()
        accepted.close()


def test_a_socket_that_cannot_be_is_given_back(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="too long"):
        listen(tmp_path / ("x" * 200))
