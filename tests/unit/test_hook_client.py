"""The client in C that hooks of agents start: it asks the server of the project, or runs the command it was given."""

import json
import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Thread

import pytest

from mulligan.adapters.local_server import frame_stream
from mulligan.adapters.local_server.frame_stream import FrameStream
from mulligan.adapters.local_server.server_place import HOOK_CLIENT
from mulligan.domain.agents.hook_payload import LARGEST
from mulligan.domain.server import frames
from mulligan.domain.server.words import Word
from tests.support.patience import PATIENCE

INSTEAD = ("/bin/sh", "-c", 'printf "instead:"; cat; exit 7')


@pytest.fixture
def short() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="mh-", dir="/tmp") as folder:
        (Path(folder) / "mulligan").mkdir(mode=0o700)
        yield Path(folder)


def project_at(folder: Path, home: Path, path: Path) -> None:
    (folder / ".mulligan").mkdir(parents=True)
    home.mkdir()
    (folder / ".mulligan" / "home.json").write_text(json.dumps({"home": str(home)}, separators=(",", ":")))
    (home / "server.json").write_text(json.dumps({"socket": str(path), "pid": 1}, separators=(",", ":")))


class Server:
    """One that answers the first request with these fields, or hangs up where there are none."""

    def __init__(self, path: Path, answer: Sequence[bytes]) -> None:
        self.asked: list[bytes] | None = None
        self._answer = answer
        self._listening = frame_stream.listen(path)
        self._thread = Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        connected, _ = self._listening.accept()
        with connected:
            stream = FrameStream(connected)
            self.asked = stream.receive()
            if self._answer:
                stream.send(self._answer)

    def close(self) -> None:
        self._thread.join(PATIENCE)
        self._listening.close()


def call(
    folder: Path, payload: bytes, words: Sequence[str] = INSTEAD, **variables: str
) -> "subprocess.CompletedProcess[bytes]":
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MULLIGAN_")}
    kept["XDG_RUNTIME_DIR"] = "/".join(str(folder).split("/")[:3])  # that of the fixture
    return subprocess.run(
        [HOOK_CLIENT, *words],
        cwd=folder,
        input=payload,
        capture_output=True,
        check=False,
        env=kept | variables,
    )


def test_the_server_gets_words_folder_settings_and_input_and_its_answer_is_printed(short: Path) -> None:
    folder, path = short / "p", short / "mulligan" / "s"
    project_at(folder, short / 'home "quoted"', path)
    (folder / "below").mkdir()
    server = Server(path, [Word.DONE, b"2", b"to the agent", b"to the user"])
    payload = os.urandom(300_000)
    words = ["/bin/false", "hook", "claude-code", "--strict"]
    called = call(folder / "below", payload, words, MULLIGAN_CORE_FORMAT="json")
    server.close()
    assert (called.returncode, called.stdout, called.stderr) == (2, b"to the agent", b"to the user")
    assert server.asked == [
        *(b"hook", os.fsencode(folder / "below"), b"MULLIGAN_CORE_FORMAT=json\0", payload),
        *(b"hook", b"claude-code", b"--strict"),
    ]


@pytest.mark.parametrize(
    "answer",
    [
        (),
        (Word.ELSEWHERE, b"reason"),
        (Word.DONE, b"0", b""),
        (Word.DONE, b"x", b"", b""),
        (Word.DONE, b"1234", b"", b""),
        (b"what", b"0", b"", b""),
    ],
)
def test_without_a_proper_answer_the_command_runs_with_the_same_input(
    short: Path, answer: Sequence[bytes]
) -> None:
    project_at(short / "p", short / "home", short / "mulligan" / "s")
    server = Server(short / "mulligan" / "s", answer)
    called = call(short / "p", b"input")
    server.close()
    assert (called.returncode, called.stdout) == (7, b"instead:input")


def test_without_a_server_the_command_runs(short: Path) -> None:
    assert call(short, b"input").stdout == b"instead:input"
    project_at(short / "p", short / "home", short / "mulligan" / "none")
    assert call(short / "p", b"input").stdout == b"instead:input"
    (short / "home" / "server.json").write_bytes(b'{"socket":"\\u0041"}')
    assert call(short / "p", b"input").stdout == b"instead:input"
    (short / "p" / ".mulligan" / "home.json").write_bytes(b'{"home":"cut off')
    assert call(short / "p", b"input").stdout == b"instead:input"


def test_a_server_that_sends_nonsense_is_not_believed(short: Path) -> None:
    project_at(short / "p", short / "home", short / "mulligan" / "s")
    for nonsense in (
        b"HTTP/1.1 400",
        b"mlg1\4\0\0\0\xff\xff\xff\xff",
        b"mlg1\4\0\0\0\4\0\0\0\xff\xff\xff\xff",
    ):
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(short / "mulligan" / "s"))
            listening.listen()

            def serve(listening: socket.socket = listening, nonsense: bytes = nonsense) -> None:
                connected, _ = listening.accept()
                with connected:
                    FrameStream(connected).receive()
                    connected.sendall(nonsense)

            thread = Thread(target=serve, daemon=True)
            thread.start()
            assert call(short / "p", b"input").stdout == b"instead:input"
            thread.join(PATIENCE)
        (short / "mulligan" / "s").unlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of another user")
def test_files_of_another_user_lead_nowhere(short: Path) -> None:
    project_at(short / "p", short / "home", short / "mulligan" / "s")
    server = Server(short / "mulligan" / "s", [Word.DONE, b"0", b"", b""])
    os.chown(short / "home" / "server.json", 65534, 65534)
    assert call(short / "p", b"input").stdout == b"instead:input"
    os.chown(short / "home" / "server.json", 0, 0)
    assert call(short / "p", b"input").returncode == 0
    server.close()


def test_input_without_end_and_none_at_all_are_left_to_the_command(short: Path) -> None:
    with Path("/dev/zero").open("rb") as endless:
        counted = subprocess.run(
            [HOOK_CLIENT, "/usr/bin/wc", "-c"], cwd=short, stdin=endless, capture_output=True, check=True
        )
    assert LARGEST < int(counted.stdout) < LARGEST + (1 << 20)
    closed = ["/bin/sh", "-c", 'exec "$@" <&-', "sh", str(HOOK_CLIENT), *INSTEAD]
    done = subprocess.run(closed, cwd=short, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (7, b"instead:", b"")


def test_its_own_failures_are_those_of_a_shell(short: Path) -> None:
    assert call(short, b"", []).returncode == 2
    assert call(short, b"", ["/nowhere/mulligan"]).returncode == 127
    assert call(short, b"", [str(short)]).returncode == 126


@pytest.mark.parametrize("open_to", [0o700, 0o755])
def test_a_socket_in_another_folder_is_not_believed(short: Path, open_to: int) -> None:
    """A repository may name any socket: prompts go to nobody but the server."""
    other = short / ("elsewhere" if open_to == 0o700 else "mulligan")
    other.mkdir(exist_ok=True)
    other.chmod(open_to)
    project_at(short / "p", short / "home", other / "s")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(other / "s"))
        listening.listen()
        assert call(short / "p", b"secret").stdout == b"instead:secret"
        listening.setblocking(False)
        with pytest.raises(BlockingIOError):
            listening.accept()


def test_an_answer_that_is_cut_off_anywhere_is_none(short: Path) -> None:
    """The server was killed while it answered; what came of the answer is not printed."""
    project_at(short / "p", short / "home", short / "mulligan" / "s")
    answer = frames.encode([Word.DONE, b"0", b"to the agent", b"to the user"])
    with frame_stream.listen(short / "mulligan" / "s") as listening:

        def serve() -> None:
            for length in range(len(answer)):
                connected, _ = listening.accept()
                with connected:
                    FrameStream(connected).receive()
                    connected.sendall(answer[:length])

        thread = Thread(target=serve, daemon=True)
        thread.start()
        for length in range(len(answer)):
            called = call(short / "p", b"input")
            assert (called.returncode, called.stdout) == (7, b"instead:input"), length
            assert called.stderr == b"", length
        thread.join(PATIENCE)


def test_a_server_that_was_stopped_is_not_waited_for(short: Path) -> None:
    """It would answer later, when the command has done what it was asked for."""
    project_at(short / "p", short / "home", short / "mulligan" / "s")
    with frame_stream.listen(short / "mulligan" / "s") as listening:
        pid = os.fork()
        if pid == 0:
            try:
                # Its own socket: the peer of a client is the process that called `listen`.
                (short / "mulligan" / "s").unlink()
                own = frame_stream.listen(short / "mulligan" / "s")
                os.kill(os.getpid(), signal.SIGSTOP)
                connected, _ = own.accept()
                os._exit(3 if connected.recv(1) else 0)
            finally:
                os._exit(1)
        try:
            os.waitid(os.P_PID, pid, os.WSTOPPED)
            assert call(short / "p", b"input").stdout == b"instead:input"
        finally:
            os.kill(pid, signal.SIGCONT)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, "nothing was asked"
        listening.close()
