"""The local server of a project: started, found, asked, ended, killed, replaced; everything works without it."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

import mulligan
from mulligan.adapters.local_server import server_place
from mulligan.adapters.local_server.frame_stream import FrameStream, connect, listen
from mulligan.adapters.local_server.server_place import ServerPlace, ServerRecord
from mulligan.domain.server.frames import encode
from mulligan.domain.server.words import Request, Word
from mulligan.errors import SystemFailed
from tests.commands.program import ask, data_of
from tests.support.homes import home_of
from tests.support.ordinary_user import as_ordinary_user
from tests.support.patience import PATIENCE, wait_until


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("MULLIGAN_HOME", str(tmp_path / "homes"))
    with tempfile.TemporaryDirectory(prefix="mr-", dir="/tmp") as short:
        monkeypatch.setenv("XDG_RUNTIME_DIR", short)
        yield Path(short)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    data_of(folder, "init")
    yield folder
    if (folder / ".mulligan").is_dir():
        data_of(folder, "serve", "--stop")


def place_of(project: Path) -> ServerPlace:
    return ServerPlace(home=home_of(project), environ=os.environ)


def socket_of(project: Path) -> Path:
    record = place_of(project).read()
    assert record is not None
    return Path(record.socket)


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def servers_of(project: Path) -> int:
    """Return how many servers of a project run; the process that has everything loaded is one of each."""
    words = ["pgrep", "-c", "-f", f"mulligan --project {project} serve"]
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    return int(found.stdout) // 2


def started(project: Path) -> dict[str, Any]:
    status = data_of(project, "serve", "--detach")
    assert status["running"]
    return status


class TestLife:
    def test_a_server_is_started_once_described_and_ended(self, project: Path) -> None:
        assert data_of(project, "serve", "--status") == {"running": False}
        first = started(project)
        assert started(project)["pid"] == first["pid"]
        status = data_of(project, "serve", "--status")
        assert (status["pid"], status["requests"] > 0) == (first["pid"], True)
        assert data_of(project, "serve", "--stop") == {"running": False, "stopped": True}
        wait_until(lambda: is_gone(first["pid"]), "the server ended")
        assert data_of(project, "serve", "--stop") == {"running": False, "stopped": False}
        assert not socket_of_home(project).exists()

    @pytest.mark.processes_measured
    def test_in_the_foreground_it_serves_until_it_is_interrupted(self, project: Path) -> None:
        command = [sys.executable, "-m", "mulligan", "serve"]
        server = subprocess.Popen(
            command, cwd=project, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert server.stderr is not None
        assert str(project) in server.stderr.readline()
        assert data_of(project, "serve", "--status")["pid"] == server.pid
        again = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
        assert (again.returncode, "already" in again.stdout) == (0, True)
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=PATIENCE)
        assert server.returncode == 130
        assert data_of(project, "serve", "--status") == {"running": False}

    def test_it_ends_when_nobody_calls(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MULLIGAN_SERVER_IDLE_TIMEOUT", "1s")
        pid = started(project)["pid"]
        wait_until(lambda: is_gone(pid), "the server ended")

    def test_it_ends_when_its_folder_is_moved(self, project: Path) -> None:
        pid = started(project)["pid"]
        moved = project.rename(project.with_name("moved"))
        wait_until(lambda: is_gone(pid), "the server ended")
        assert data_of(moved, "list")["plans"] == []
        moved.rename(project)

    def test_it_ends_when_its_home_is_removed(self, project: Path) -> None:
        pid = started(project)["pid"]
        shutil.rmtree(home_of(project))
        wait_until(lambda: is_gone(pid), "the server ended")
        shutil.rmtree(project / ".mulligan")

    def test_it_ends_when_the_program_is_replaced(self, project: Path, tmp_path: Path) -> None:
        package = tmp_path / "installed" / "mulligan"
        shutil.copytree(Path(mulligan.__file__).parent, package)
        environment = {**os.environ, "PYTHONPATH": str(package.parent)}
        command = [sys.executable, "-m", "mulligan", "serve", "--detach"]
        subprocess.run(command, cwd=project, env=environment, check=True, capture_output=True)
        pid = data_of(project, "serve", "--status")["pid"]
        (package / "__init__.py").write_text((package / "__init__.py").read_text() + "\n")
        wait_until(lambda: is_gone(pid), "the server ended")

    def test_as_a_document_it_has_nothing_to_say(self, project: Path) -> None:
        assert ask(project, "serve")["error"]["kind"] == "usage_wrong"

    def test_without_a_project_there_is_nothing_to_serve(self, tmp_path: Path) -> None:
        assert ask(tmp_path, "serve", "--status")["error"]["kind"] == "project_not_found"


def socket_of_home(project: Path) -> Path:
    return place_of(project).socket()


def received(client: socket.socket) -> bytes:
    try:
        return client.recv(100)
    except ConnectionResetError:  # it hung up before it had read all
        return b""


class TestFaults:
    def test_one_that_was_killed_is_replaced(self, project: Path) -> None:
        pid = started(project)["pid"]
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: is_gone(pid), "the server ended")
        assert socket_of(project).exists(), "it was killed: its socket stays"
        assert data_of(project, "serve", "--status") == {"running": False}
        assert data_of(project, "serve", "--stop") == {"running": False, "stopped": False}
        assert started(project)["pid"] != pid

    def test_of_several_that_start_at_once_one_serves(self, project: Path) -> None:
        command = [sys.executable, "-m", "mulligan", "serve", "--detach", "--format", "json"]
        starts = [
            subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for _ in range(4)
        ]
        assert [start.communicate(timeout=PATIENCE)[1] for start in starts] == [b""] * 4
        assert {start.returncode for start in starts} == {0}
        assert data_of(project, "serve", "--status")["running"]
        wait_until(lambda: servers_of(project) == 1, "the others have given up")

    def test_bytes_that_are_no_request_harm_nobody(self, project: Path) -> None:
        pid = started(project)["pid"]
        cut_off = b"mlg1\1\0\0\0\4\0\0\0\xff\xff\xff\xff"
        for sent in (b"", b"GET / HTTP/1.1\r\n\r\n", b"mlg1", b"mlg1" + b"\xff" * 8, cut_off):
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(socket_of(project)))
                with suppress(OSError):  # it hung up before it had read all
                    client.sendall(sent)
                    client.shutdown(socket.SHUT_WR)
                assert received(client) == b""
        assert data_of(project, "serve", "--status")["pid"] == pid

    def test_a_request_of_another_version_is_left_to_the_client(self, project: Path) -> None:
        started(project)
        stream = connect(socket_of(project), PATIENCE)
        stream.send([b"from the future"])
        answer = stream.receive()
        stream.close()
        assert answer is not None
        assert answer[0] == Word.ELSEWHERE

    def test_clients_beyond_the_limit_are_turned_away(self, project: Path) -> None:
        started(project)
        streams: list[FrameStream] = []
        try:
            for _ in range(64):
                streams.append(connect(socket_of(project), PATIENCE))
                streams[-1].send([Request.STATUS])
                assert streams[-1].receive() is not None
            one_more = connect(socket_of(project), PATIENCE)
            streams.append(one_more)
            assert one_more.receive() is None
        finally:
            for stream in streams:
                stream.close()

    def test_a_record_that_is_damaged_leads_nowhere(self, project: Path) -> None:
        started(project)
        record = home_of(project) / "server.json"
        good = record.read_bytes()
        record.write_bytes(b'{"socket": 7}')
        assert data_of(project, "serve", "--status") == {"running": False}
        record.write_bytes(good)

    def test_a_folder_for_sockets_that_is_not_ours_is_not_used(
        self, project: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (runtime / "mulligan").symlink_to(project)
        monkeypatch.setattr(tempfile, "tempdir", str(runtime))
        (runtime / f"mulligan-{os.geteuid()}").write_text("in the way")
        found = place_of(project).socket()
        assert found.parent == Path(f"/tmp/mulligan-{os.geteuid()}")
        assert (found.parent.stat().st_mode & 0o777, found.parent.stat().st_uid) == (0o700, os.geteuid())
        monkeypatch.setattr(server_place, "_SHORT_PLACE", str(runtime))
        with pytest.raises(SystemFailed):
            place_of(project).socket()
        assert not list(project.glob("*.sock"))


class TestOthers:
    def test_only_this_user_reaches_the_socket(self, project: Path) -> None:
        started(project)
        path = socket_of(project)
        assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
    def test_a_peer_of_another_user_gets_no_answer(
        self, project: Path, tmp_path: Path, runtime: Path
    ) -> None:
        started(project)
        path = socket_of(project)
        for each in (path, path.parent, runtime):  # as if someone had opened the way
            each.chmod(0o777)

        def ask_as_another(_: Path) -> None:
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(path))
                with suppress(BrokenPipeError):
                    client.sendall(encode([Request.STATUS]))
                assert received(client) == b""

        as_ordinary_user(tmp_path, ask_as_another)

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
    def test_the_place_for_sockets_of_another_user_is_left_to_that_user(
        self, project: Path, runtime: Path
    ) -> None:
        os.chown(runtime, 12345, -1)  # as after `su`, which hands the variable on
        assert not place_of(project).socket().is_relative_to(runtime)
        assert list(runtime.iterdir()) == []

    def test_a_folder_for_sockets_that_others_can_enter_is_closed(self, project: Path, runtime: Path) -> None:
        (runtime / "mulligan").mkdir()
        (runtime / "mulligan").chmod(0o755)
        assert place_of(project).socket().parent == runtime / "mulligan"
        assert (runtime / "mulligan").stat().st_mode & 0o777 == 0o700

    def test_a_status_of_another_version_is_that_of_no_server(self, project: Path, runtime: Path) -> None:
        def answer() -> None:
            connected, _ = listening.accept()
            with connected:
                connected.sendall(encode([Word.DONE, b'{"pid": 1}']))

        with listen(runtime / "other") as listening:
            server = Thread(target=answer)
            server.start()
            place_of(project).write(ServerRecord(socket=str(runtime / "other"), pid=1))
            assert data_of(project, "serve", "--status") == {"running": False}
            server.join(PATIENCE)

    def test_a_server_that_takes_the_place_of_a_stopped_one_is_stopped_too(
        self, project: Path, runtime: Path
    ) -> None:
        """One that was started at the same time waits for the place, and has it before anyone looks."""
        asked: list[bytes] = []

        def answer() -> None:
            with place_of(project).held():
                held.set()
                for _ in range(2):
                    connected, _ = listening.accept()
                    with connected:
                        asked.append(connected.recv(100))
                        connected.sendall(encode([Word.DONE]))

        held = Event()
        with listen(runtime / "others") as listening:
            servers = Thread(target=answer)
            servers.start()
            assert held.wait(PATIENCE)
            place_of(project).write(ServerRecord(socket=str(runtime / "others"), pid=1))
            assert data_of(project, "serve", "--stop") == {"running": False, "stopped": True}
            servers.join(PATIENCE)
        assert asked == [encode([Request.STOP])] * 2

    def test_a_long_path_for_sockets_is_not_used(
        self, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        long = tmp_path / ("x" * 90)
        long.mkdir()
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
        started(project)
        assert not socket_of(project).is_relative_to(long)
        assert data_of(project, "serve", "--status")["running"]
