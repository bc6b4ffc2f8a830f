"""The command `mulligan ui` in a process of its own: its address, live changes, Ctrl-C, and what it needs."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from tests.commands.program import ask, data_of
from tests.page.worlds import simple_project
from tests.support.ordinary_user import as_ordinary_user
from tests.support.patience import PATIENCE

UI = [sys.executable, "-m", "mulligan", "ui", "--no-open"]


def entered(address: str) -> tuple[http.client.HTTPConnection, dict[str, str]]:
    """Open the address that was printed, as a browser does."""
    port = int(address.split(":")[2].partition("/")[0])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("GET", "/?" + address.partition("?")[2])
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 200
    return connection, {"Cookie": str(answer.headers["set-cookie"]).partition(";")[0]}


@pytest.mark.processes_measured
def test_it_serves_until_ctrl_c_and_tells_browsers_of_changes(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    project = simple_project(folder)
    (folder / "long.yaml").write_text("name: long\nsteps:\n  - {name: wait, run: 'sleep 600'}\n")
    project.create(folder / "long.yaml")
    project.close()
    server = subprocess.Popen(UI, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    opened: list[Any] = []
    try:
        assert server.stdout is not None
        connection, cookie = entered(server.stdout.readline().strip())
        stream = http.client.HTTPConnection("127.0.0.1", connection.port, timeout=PATIENCE)
        stream.request("GET", "/events", headers=cookie)
        events = stream.getresponse()
        assert events.headers["content-type"].startswith("text/event-stream")
        assert [events.readline() for _ in range(4)][1] == b"event: hello\n"
        data_of(folder, "run", "--", "touch", "made")  # another process would be no different
        while events.readline() != b"event: changed\n":
            assert server.poll() is None
        # An act at work is interrupted with the page, and its plan can be resumed.
        connection.request("GET", "/api/session", headers=cookie)
        token = json.loads(connection.getresponse().read())
        acting = cookie | {token["header"]: token["token"]}
        waiting = http.client.HTTPConnection("127.0.0.1", connection.port, timeout=PATIENCE)
        opened += [connection, stream, waiting, events]
        waiting.request("POST", "/api/acts/resume", body='{"plan": "long"}', headers=acting)
        while data_of(folder, "status", "long")["state"] != "processing":
            assert server.poll() is None
        server.send_signal(signal.SIGINT)
        _, said = server.communicate(timeout=PATIENCE)
    finally:
        server.kill()
        server.communicate()
        for each in opened:
            each.close()
    assert server.returncode == 0, said
    assert "the page has ended" in said
    assert "Traceback" not in said
    assert data_of(folder, "status", "long")["state"] == "queued"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_who_knows_the_address_is_refused_and_does_not_use_it_up(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    simple_project(folder).close()

    def ask(answer: str) -> None:
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as client:
            client.sendall(
                f"GET /?{address.partition('?')[2]} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
            )
            assert client.recv(12).decode() == f"HTTP/1.1 {answer}"

    server = subprocess.Popen(UI, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        port = int(address.split(":")[2].partition("/")[0])
        as_ordinary_user(tmp_path, lambda _: ask("403"))
        ask("200")
    finally:
        server.kill()
        server.communicate()


def test_a_port_that_is_taken_is_refused_by_name(tmp_path: Path) -> None:
    simple_project(tmp_path / "work").close()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        command = [*UI, "--port", str(port)]
        done = subprocess.run(
            command, cwd=tmp_path / "work", capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    assert done.returncode == 1
    assert f"127.0.0.1:{port}" in done.stderr
    assert "--port" in done.stderr


def test_it_is_refused_by_name_without_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = metadata.version

    def version(name: str) -> str:
        if name == "starlette":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "version", version)
    simple_project(tmp_path / "work").close()
    answer = ask(tmp_path / "work", "ui")
    assert (answer["exit_code"], answer["error"]["kind"]) == (3, "extra_missing")
    assert "pip install" in answer["error"]["hint"]
    assert "starlette" in answer["error"]["hint"]


def test_it_has_nothing_to_say_as_a_document(tmp_path: Path) -> None:
    simple_project(tmp_path / "work").close()
    assert ask(tmp_path / "work", "ui")["error"]["kind"] == "usage_wrong"


def test_short_commands_load_none_of_it(tmp_path: Path) -> None:
    simple_project(tmp_path / "work").close()
    script = (
        "import sys; from mulligan.cli.main import run; run(['log']); run(['list']);"
        "print([m for m in sys.modules if m.partition('.')[0] in "
        "('starlette', 'uvicorn', 'jinja2', 'pygments', 'markupsafe', 'anyio') or m.startswith('mulligan.page')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path / "work", capture_output=True, text=True, check=True
    )
    loaded = done.stdout.strip().splitlines()[-1]
    assert loaded in ("[]", "['pygments']"), loaded
