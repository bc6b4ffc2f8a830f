"""The command `mulligan mcp` in a process of its own: its streams, its end, and calls that are cut off."""

import json
import os
import signal
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

from tests.commands.program import ask, data_of
from tests.support.patience import PATIENCE

COMMAND = [sys.executable, "-m", "mulligan", "mcp"]
HELLO = {
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def start(folder: Path) -> "subprocess.Popen[str]":
    pipe = subprocess.PIPE
    return subprocess.Popen(COMMAND, cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def send(server: "subprocess.Popen[str]", number: int | None, **message: object) -> None:
    assert server.stdin is not None
    identity = {} if number is None else {"id": number}
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **identity, **message}) + "\n")
    server.stdin.flush()


def receive(server: "subprocess.Popen[str]") -> Any:
    assert server.stdout is not None
    return json.loads(server.stdout.readline())


def begin(server: "subprocess.Popen[str]") -> None:
    send(server, 1, **HELLO)
    assert receive(server)["result"]["serverInfo"]["name"] == "mulligan"
    send(server, None, method="notifications/initialized")


def call(number: int, tool: str, **arguments: object) -> dict[str, Any]:
    return {"number": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def lasting(sign: Path) -> list[str]:
    """A command that does not end while a file is missing, with a word by which it is known."""
    return ["sh", "-c", f"echo begun > made.txt; [ -e {sign} ] || sleep {PATIENCE * 10}", str(sign)]


def runs(sign: Path) -> bool:
    """Whether a process has these words."""
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and str(sign).encode() in (entry / "cmdline").read_bytes():
                return True
        except OSError:
            continue
    return False


def wait_until(reached: Any) -> None:
    deadline = time.monotonic() + PATIENCE
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.processes_measured
def test_only_the_protocol_is_on_stdout_whatever_comes_in(tmp_path: Path) -> None:
    server = start(tmp_path)
    begin(server)
    assert server.stdin is not None
    server.stdin.write("this is not JSON\n\n[1, 2]\n\xff\n")
    noise = ["sh", "-c", "seq 1 20000; seq 1 20000 >&2; cat; echo end"]
    send(server, **call(2, "run_in_sandbox", command=noise))
    answer = receive(server)
    while answer.get("id") != 2:
        answer = receive(server)
    ran = answer["result"]["structuredContent"]
    assert ran["exit_status"] == 0
    assert ran["stdout"].endswith("20000\nend\n")
    assert ran["stdout_omitted"] > 0
    assert len(json.dumps(ran)) < 100_000
    send(server, 3, method="no/such/method")
    assert "error" in receive(server)
    rest, complaints = server.communicate(timeout=PATIENCE)
    assert [json.loads(line) for line in rest.splitlines()] == []
    assert (server.returncode, "Traceback" in complaints) == (0, False)


@pytest.mark.processes_measured
@pytest.mark.parametrize("way", ["closes", "terminates"])
def test_a_command_ends_with_its_client_and_its_plan_can_be_resumed(tmp_path: Path, way: str) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    sign = tmp_path / way
    with start(folder) as server:
        begin(server)
        send(server, **call(2, "run_in_sandbox", command=lasting(sign), name="lasting"))
        wait_until(lambda: runs(sign))
        if way == "terminates":
            server.send_signal(signal.SIGTERM)
            assert server.wait(PATIENCE) == 130
        else:
            server.communicate(timeout=PATIENCE)
            assert server.returncode == 0
    assert not runs(sign)
    assert data_of(folder, "status", "lasting")["state"] == "queued"
    sign.touch()
    assert data_of(folder, "resume", "lasting")["state"] == "complete"


@pytest.mark.processes_measured
@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
def test_a_cancelled_command_is_ended_and_the_server_goes_on(tmp_path: Path, era: str) -> None:
    sign = tmp_path / "cancelled"
    parameters = StdioServerParameters(
        command=COMMAND[0], args=COMMAND[1:], cwd=tmp_path, env=dict(os.environ)
    )

    async def main() -> Any:
        async with Client(parameters, mode=era) as client:
            async with anyio.create_task_group() as group:
                arguments = {"command": lasting(sign), "name": "lasting"}
                group.start_soon(client.call_tool, "run_in_sandbox", arguments)
                while not runs(sign):
                    await anyio.sleep(0.05)
                group.cancel_scope.cancel()
            while runs(sign):
                await anyio.sleep(0.05)
            while True:  # until what ended it is recorded
                listed = await client.call_tool("list_checkpoints", {})
                if listed.structured_content["entries"][0]["status"] == "interrupted":
                    return listed.structured_content
                await anyio.sleep(0.05)

    listed = anyio.run(main)
    assert listed["plan"] == "lasting"
    assert data_of(tmp_path, "status", "lasting")["state"] == "queued"


@pytest.mark.processes_measured
def test_a_client_that_is_gone_is_no_failure(tmp_path: Path) -> None:
    with start(tmp_path) as server:
        begin(server)
        assert server.stdout is not None
        server.stdout.close()
        send(server, **call(2, "list_checkpoints"))
        assert server.stdin is not None
        assert server.stderr is not None
        server.stdin.close()
        assert (server.wait(PATIENCE), server.stderr.read()) == (0, "")


def test_two_clients_work_on_one_project(tmp_path: Path) -> None:
    data_of(tmp_path, "init")
    servers = [start(tmp_path), start(tmp_path)]
    for server in servers:
        begin(server)
    for number, server in enumerate(servers):
        send(server, **call(2, "run_in_sandbox", command=["touch", f"{number}.txt"], name=f"n{number}"))
    for number, server in enumerate(servers):
        ran = receive(server)["result"]["structuredContent"]
        assert (ran["plan"], ran["exit_status"]) == (f"n{number}", 0)
        assert [each["path"] for each in ran["paths"] if each["path"].endswith(".txt")] == [f"{number}.txt"]
    for server in servers:
        send(server, **call(3, "list_checkpoints"))
        assert len(receive(server)["result"]["structuredContent"]["entries"]) == 2
        server.communicate(timeout=PATIENCE)


def test_without_the_extra_it_is_refused_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = metadata.version

    def version(name: str) -> str:
        if name == "mcp":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "version", version)
    error = ask(tmp_path, "mcp")["error"]
    assert (error["kind"], error["extra"]) == ("extra_missing", "mcp")
    assert error["command"].split()[1:4] == ["-m", "pip", "install"]
    assert "mcp<3" in error["command"]
    monkeypatch.setattr(metadata, "version", lambda name: "1.30.0" if name == "mcp" else real(name))
    assert ask(tmp_path, "mcp")["error"]["kind"] == "extra_missing"  # that one has another interface
    monkeypatch.undo()
    assert ask(tmp_path, "mcp")["error"]["kind"] == "usage_wrong"  # stdout is for the protocol
