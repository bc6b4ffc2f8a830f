"""Short commands that the local server's warm process runs: nobody can tell, but for the time.

The outcome is the same when anything is killed or stopped, and a process that may do less than the server works itself.
"""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from mulligan.adapters.local_server.command_client import interpreter
from mulligan.adapters.local_server.installation import installation
from mulligan.adapters.local_server.server_place import ServerPlace
from mulligan.domain.server import frames
from tests.commands.program import data_of
from tests.support.homes import home_of
from tests.support.patience import PATIENCE, wait_until

pytestmark = pytest.mark.processes_measured

_PLAN = {
    "name": "p",
    "steps": [
        {"name": "one", "tool": "write_file", "args": {"path": "a.txt", "content": "1"}},
        {"name": "two", "tool": "write_file", "args": {"path": "a.txt", "content": "2"}},
    ],
}


# As an installation has it, but for its patience with a machine that is busy.
_PROGRAM = f"""
from mulligan.__main__ import main
from mulligan.adapters.local_server import command_client
command_client._PATIENCE = {PATIENCE}
main()
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project with a plan, a server, and the program as an installation has it."""
    place = tmp_path_factory.mktemp("handed")
    with (
        pytest.MonkeyPatch.context() as patch,
        tempfile.TemporaryDirectory(prefix="mr-", dir="/tmp") as short,
    ):
        patch.setenv("MULLIGAN_HOME", str(place / "homes"))
        patch.setenv("XDG_RUNTIME_DIR", short)
        (place / "mulligan").write_text(_PROGRAM)
        project = place / "project"
        project.mkdir()
        (project / "plan.json").write_text(json.dumps(_PLAN))
        data_of(project, "plan", "execute", "plan.json")
        yield place
        data_of(project, "serve", "--stop")


@pytest.fixture
def project(place: Path) -> Path:
    data_of(place / "project", "serve", "--detach")
    return place / "project"


def command_of(project: Path, *words: str) -> list[str]:
    return [sys.executable, str(project.parent / "mulligan"), *words]


def run(project: Path, *words: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    options = {"cwd": project, "stdin": subprocess.DEVNULL, "capture_output": True, "text": True, **options}
    return subprocess.run(command_of(project, *words), check=False, timeout=PATIENCE, **options)


def handed_over(project: Path) -> int:
    """The number of commands that the warm process ran so far."""
    found: int = data_of(project, "serve", "--status")["commands"]
    return found


def status_of(project: Path) -> dict[str, Any]:
    return data_of(project, "status", "p")


def warm_process(project: Path) -> int:
    pid = data_of(project, "serve", "--status")["pid"]
    return next(
        int(child)
        for thread in Path(f"/proc/{pid}/task").iterdir()
        for child in (thread / "children").read_text().split()
    )


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def sandbox_file(project: Path) -> Path:
    return Path(status_of(project)["sandboxes"][0]["path"]) / "a.txt"


def same(one: "subprocess.CompletedProcess[str]", other: "subprocess.CompletedProcess[str]") -> bool:
    return (one.returncode, one.stdout, one.stderr) == (other.returncode, other.stdout, other.stderr)


@pytest.mark.parametrize(
    "words",
    [
        ("status", "p"),
        ("log",),
        ("list", "--ids"),
        ("show", "p@1"),
        ("diff", "p@1", "p"),
        ("rollback", "p", "nowhere"),
    ],
)
def test_a_command_that_is_handed_over_answers_as_in_a_process_of_its_own(
    project: Path, words: Sequence[str]
) -> None:
    before = handed_over(project)
    there = run(project, *words)
    assert handed_over(project) == before + 1
    here = run(project, *words, env={**os.environ, "PYTHONHASHSEED": "7"})
    assert handed_over(project) == before + 1, "with another Python in the environment it works itself"
    assert same(there, here)


def test_a_rollback_and_a_checkpoint_are_handed_over(project: Path) -> None:
    before = handed_over(project)
    assert run(project, "rollback", "--yes", "p", "@2").returncode == 0
    assert not sandbox_file(project).exists()
    taken = run(project, "checkpoint", "create", "p", "--label", "mine", "--format", "json")
    assert json.loads(taken.stdout)["data"]["label"] == "mine"
    assert run(project, "rollback", "--yes", "p", "latest").returncode == 0
    assert handed_over(project) == before + 3


def test_an_apply_and_what_takes_it_back_are_handed_over(project: Path) -> None:
    (project.parent / "other.json").write_text(json.dumps({**_PLAN, "name": "applied"}))
    data_of(project, "plan", "execute", "../other.json")
    before = handed_over(project)
    assert run(project, "apply", "--yes", "applied").returncode == 0
    assert (project / "a.txt").read_text() == "2"
    assert run(project, "plan", "unapply", "--yes", "applied").returncode == 0
    assert not (project / "a.txt").exists()
    assert handed_over(project) == before + 2


def test_a_command_sees_folder_variables_and_streams_of_its_caller(project: Path, tmp_path: Path) -> None:
    inner = project / "inner"
    inner.mkdir(exist_ok=True)
    before, out = handed_over(project), tmp_path / "out"
    with out.open("w") as stdout:
        done = subprocess.run(
            command_of(project, "status"),
            cwd=inner,
            env={**os.environ, "MULLIGAN_CORE_FORMAT": "json"},
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.STDOUT,
            check=False,
        )
    assert (done.returncode, json.loads(out.read_text())["command"]) == (0, "plan status")
    assert handed_over(project) == before + 1


def test_limits_of_the_caller_hold(project: Path) -> None:
    def confine() -> None:
        os.umask(0o027)
        os.nice(3)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, 300))
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])

    client, fork = start_and_stop(project, "limits", preexec_fn=confine)
    for pid in (fork, client.pid):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        found = dict(line.split(":\t", 1) for line in lines)
        assert (int(found["Umask"], 8), int(found["SigIgn"], 16) & 1) == (0o027, 1)
        assert os.getpriority(os.PRIO_PROCESS, pid) == os.getpriority(os.PRIO_PROCESS, 0) + 3
        assert resource.prlimit(pid, resource.RLIMIT_NOFILE) == (200, 300)
        assert len(os.sched_getaffinity(pid)) == 1
    os.kill(fork, signal.SIGCONT)
    client.communicate(timeout=PATIENCE)
    assert client.returncode == 0


def test_a_command_whose_files_may_not_grow_fails_as_it_would_by_itself(project: Path) -> None:
    """A full disk, as far as this process is concerned."""
    sandbox_file(project).write_text("no room")
    answers: list[tuple[int, str]] = []
    for environment in (os.environ, {**os.environ, "PYTHONHASHSEED": "7"}):
        done = run(
            project,
            *("checkpoint", "create", "p", "--label", "no room", "--format", "json"),
            env=environment,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
        )
        answers.append((done.returncode, json.loads(done.stdout)["error"]["kind"]))
    assert answers[0] == answers[1]
    assert answers[0][0] != 0
    assert "no room" not in labels(project)


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def stopped_fork(project: Path, client: int) -> int:
    """Wait until a command that was handed over has stopped itself."""
    warm, found = warm_process(project), list[int]()

    def is_stopped() -> bool:
        assert state_of(client) not in "TZ", "it works itself"
        found.extend(child for child in children_of(warm) if state_of(child) == "T")
        return bool(found)

    wait_until(is_stopped, "the command stopped itself")
    return found[0]


def start_and_stop(project: Path, label: str, **options: Any) -> "tuple[subprocess.Popen[bytes], int]":
    """Start a checkpoint that is handed over, and stops in the middle; return its client and the fork."""
    sandbox_file(project).write_text(label)
    words = command_of(project, "checkpoint", "create", "p", "--label", label, "--format", "json")
    client = subprocess.Popen(
        words,
        cwd=project,
        env={**os.environ, "MULLIGAN_FAULT": "before:pack.sync:1:SIGSTOP"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )
    return client, stopped_fork(project, client.pid)


def signal_and_continue(client: "subprocess.Popen[bytes]", fork: int, number: signal.Signals) -> None:
    """Send a signal to the client, and let the fork go on once the client has passed it on."""

    def is_passed_on() -> bool:
        status = Path(f"/proc/{fork}/status").read_text()
        pending = next(line for line in status.splitlines() if line.startswith("ShdPnd:")).split()[1]
        return bool(int(pending, 16) >> (number - 1) & 1)

    client.send_signal(number)
    wait_until(is_passed_on, "the client passed the signal on")
    os.kill(fork, signal.SIGCONT)


def labels(project: Path) -> list[str]:
    return [
        each["label"] for each in data_of(project, "checkpoint", "list", "p")["checkpoints"] if each["label"]
    ]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_reaches_the_command(project: Path, number: signal.Signals) -> None:
    client, fork = start_and_stop(project, number.name)
    signal_and_continue(client, fork, number)
    printed, _ = client.communicate(timeout=PATIENCE)
    assert (client.returncode, json.loads(printed)["error"]["kind"]) == (130, "interrupted")
    assert number.name not in labels(project)


def test_a_signal_that_ends_the_command_ends_its_caller_in_the_same_way(project: Path) -> None:
    client, fork = start_and_stop(project, "hangup")
    signal_and_continue(client, fork, signal.SIGHUP)
    client.communicate(timeout=PATIENCE)
    assert client.returncode == -signal.SIGHUP
    assert "hangup" not in labels(project)


def test_a_caller_that_is_killed_takes_the_command_with_it(project: Path) -> None:
    client, fork = start_and_stop(project, "killed caller")
    client.kill()
    client.communicate(timeout=PATIENCE)
    wait_until(lambda: is_gone(fork), "the command is gone")
    assert "killed caller" not in labels(project)
    assert run(project, "checkpoint", "create", "p", "--label", "after").returncode == 0


def test_a_command_that_is_killed_is_not_done_again(project: Path) -> None:
    client, fork = start_and_stop(project, "killed command")
    os.kill(fork, signal.SIGKILL)
    client.communicate(timeout=PATIENCE)
    assert client.returncode == -signal.SIGKILL
    assert "killed command" not in labels(project)


@pytest.mark.parametrize("victims", ["server", "warm process", "both"])
def test_a_command_goes_on_when_the_server_is_killed(project: Path, victims: str) -> None:
    label = f"without {victims}"
    warm, server = warm_process(project), data_of(project, "serve", "--status")["pid"]
    client, fork = start_and_stop(project, label)
    for name, pid in (("server", server), ("warm process", warm)):
        if victims in (name, "both"):
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda pid=pid: is_gone(pid), "it is gone")
    os.kill(fork, signal.SIGCONT)
    printed, complaints = client.communicate(timeout=PATIENCE)
    assert client.returncode == 0, (printed, complaints)
    assert labels(project).count(label) == 1
    if victims == "warm process":
        assert run(project, "status").returncode == 0, "a command works itself"
        data_of(project, "serve", "--stop")
    wait_until(lambda: is_gone(warm), "the warm process ends with its server")


def test_a_warm_process_that_is_stopped_is_not_waited_for_and_does_nothing_later(project: Path) -> None:
    run(project, "status")
    warm = warm_process(project)
    os.kill(warm, signal.SIGSTOP)
    try:
        before = handed_over(project)
        assert run(project, "checkpoint", "create", "p", "--label", "stopped").returncode == 0
    finally:
        os.kill(warm, signal.SIGCONT)
    wait_until(lambda: not children_of(warm), "no command is at work")
    assert handed_over(project) == before
    assert labels(project).count("stopped") == 1


def test_a_caller_that_loses_patience_works_itself_and_the_command_is_not_begun(project: Path) -> None:
    """The fork waits for a word of the caller, which went without."""
    before = handed_over(project)
    record = ServerPlace(home=home_of(project), environ=os.environ).read()
    assert record is not None
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(record.commands)
        send_request(caller, project, ["checkpoint", "create", "p", "--label", "too late"])
        assert caller.recv(4) == b"redy"
    wait_until(lambda: not children_of(warm_process(project)), "the fork has ended")
    assert handed_over(project) == before
    assert "too late" not in labels(project)


def send_request(caller: socket.socket, folder: Path, words: Sequence[str], **changed: bytes) -> None:
    fields = {
        "word": b"command",
        "program": b" ".join(b"%d" % each for each in installation()),
        "python": interpreter(),
        "words": b"\0".join(map(os.fsencode, words)),
        "environ": b"\0".join(b"%s=%s" % pair for pair in os.environb.items()),
    } | changed
    here, nowhere = os.open(folder, os.O_RDONLY), os.open(os.devnull, os.O_RDWR)
    try:
        socket.send_fds(caller, [frames.encode(list(fields.values()))], [nowhere, nowhere, nowhere, here])
    finally:
        os.close(here)
        os.close(nowhere)


@pytest.mark.parametrize(
    "changed",
    [
        {"word": b"nonsense"},
        {"program": b"1 2 3"},
        {"python": b"another"},
        {"environ": b"no variable"},
        {"environ": b"PYTHONPATH=/elsewhere"},
    ],
    ids=" ".join,
)
def test_another_program_or_nonsense_is_left_alone(project: Path, changed: dict[str, bytes]) -> None:
    before = handed_over(project)
    record = ServerPlace(home=home_of(project), environ=os.environ).read()
    assert record is not None
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(record.commands)
        send_request(caller, project, ["status"], **changed)
        assert caller.recv(4) == b""
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(record.commands)
        caller.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert caller.recv(4) == b""
    assert handed_over(project) == before


def test_a_process_that_is_confined_works_itself(project: Path) -> None:
    """What it may not do the server could."""
    before = handed_over(project)
    program = (
        "import ctypes, runpy, sys; ctypes.CDLL(None).prctl(38, 1, 0, 0, 0);"  # PR_SET_NO_NEW_PRIVS
        f"sys.argv = [{str(project.parent / 'mulligan')!r}, 'status']; runpy.run_path(sys.argv[0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert handed_over(project) == before


def test_a_terminal_and_streams_that_are_closed_stay_with_the_caller(project: Path) -> None:
    before = handed_over(project)
    main, terminal = os.openpty()
    try:
        assert run(project, "status", stdin=terminal).returncode == 0
    finally:
        os.close(main)
        os.close(terminal)
    closed = subprocess.run(
        ["/bin/sh", "-c", '"$@" <&-', "sh", *command_of(project, "status")],
        cwd=project,
        capture_output=True,
        check=False,
    )
    assert closed.returncode == 0, closed.stderr
    assert handed_over(project) == before


@pytest.mark.parametrize("words", [("run", "--", "true"), ("status", "--project", "."), ("list", "--help")])
def test_only_short_commands_are_handed_over(project: Path, words: Sequence[str]) -> None:
    before = handed_over(project)
    assert run(project, *words).returncode == 0
    assert handed_over(project) == before + (words[-1] == "--help")


@pytest.mark.parametrize("hazard", ["open folder", "another folder", "no server", "nonsense"])
def test_a_socket_that_is_not_this_users_own_is_not_believed(
    project: Path, tmp_path: Path, hazard: str
) -> None:
    home = home_of(project)
    record = home / "server.json"
    kept = record.read_text()
    socket_path = Path(json.loads(kept)["commands"])
    before = handed_over(project)
    try:
        match hazard:
            case "open folder":
                socket_path.parent.chmod(0o750)
            case "another folder":
                other = tmp_path / socket_path.name
                record.write_text(kept.replace(str(socket_path), str(other)))
            case "no server":
                record.write_text(kept.replace(socket_path.name, "0.run"))
            case _:
                record.write_text("{")
        assert run(project, "status").returncode == 0
    finally:
        socket_path.parent.chmod(0o700)
        record.write_text(kept)
    assert handed_over(project) == before


def test_a_full_disk_below_stdout_is_an_error_in_both(project: Path) -> None:
    with open("/dev/full", "w") as full:
        assert run(project, "log", capture_output=False, stdout=full, stderr=subprocess.PIPE).returncode != 0


def test_what_a_command_loads_the_next_one_finds(project: Path) -> None:
    warm = warm_process(project)
    run(project, "log")

    def has_it() -> bool:
        return "_sqlite3" in Path(f"/proc/{warm}/maps").read_text()

    wait_until(has_it, "the warm process has loaded what the command used")


def is_gone(pid: int) -> bool:
    try:
        return state_of(pid) == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_command_that_is_paused_and_goes_on_takes_its_command_along(project: Path) -> None:
    client, fork = start_and_stop(project, "paused")
    os.kill(fork, signal.SIGCONT)
    client.send_signal(signal.SIGTSTP)
    deadline = time.monotonic() + PATIENCE
    while client.poll() is None and time.monotonic() < deadline:
        client.send_signal(signal.SIGCONT)
        time.sleep(0.01)
    client.communicate(timeout=PATIENCE)
    assert client.returncode == 0
    assert labels(project).count("paused") == 1
