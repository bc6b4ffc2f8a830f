"""A step is over when all its processes are: what a tool leaves running is ended and reported."""

import os
import signal
import subprocess
import sys
import time

import pytest

from mulligan.adapters.tools.launcher.launcher import below, children_of, command_line, scanned_children
from mulligan.adapters.tools.process.command_runner import Command, Launchers
from mulligan.adapters.tools.process.tool_output import Recorded
from tests.support.recording_host import RecordingHost, a_request
from tests.unit.tools.daemons import is_gone, is_gone_or_zombie, start_daemon
from tests.unit.tools.timeouts import timed_out


def test_a_daemon_is_ended_and_reported(call, root):
    result = call("shell", command=start_daemon(root))
    assert result.output == "started"
    assert is_gone(root)
    size = (root / "beat").stat().st_size
    time.sleep(0.05)
    assert (root / "beat").stat().st_size == size
    (leftover,) = result.detail["leftovers"]
    assert leftover["pid"] == int((root / "pid").read_text())
    assert "daemon.py" in leftover["command"]
    assert "left running and ended" in result.messages[0]


def test_a_daemon_that_wiped_its_environment_and_ignores_sigterm(call, root):
    command = start_daemon(root, "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)")
    result = call("shell", command="env -i " + command)
    assert is_gone(root)
    assert len(result.detail["leftovers"]) == 1


def test_a_failing_command_reports_its_leftovers_too(call, root):
    with pytest.raises(Exception, match="exit status 7") as failed:
        call("shell", command=start_daemon(root) + "; exit 7")
    assert is_gone(root)
    assert len(failed.value.facts["leftovers"]) == 1


def test_a_timeout_reaches_daemons(call, root):
    command = start_daemon(root) + "; sleep 300"
    timed_out(lambda timeout: call("shell", command=command, _timeout=timeout), root / "pid")
    assert is_gone(root)


def test_an_escaped_child_that_holds_the_output_open_hangs_nothing(call):
    before = time.monotonic()
    assert call("shell", command="setsid sleep 300 & echo out").output == "out"
    assert time.monotonic() - before < 200


def test_what_ends_by_itself_at_once_is_no_leftover(call):
    """On a busy machine it may take longer to end than leftovers are given: then it is tried again."""
    for _ in range(50):
        result = call("shell", command="(sleep 0.03; echo late) & echo early")
        if result.messages == ():
            break
    assert (result.output, result.messages) == ("early\nlate", ())


def test_processes_that_fork_all_the_time_are_caught(call, root):
    (root / "hydra.sh").write_text("trap '' TERM\necho x >> beat\nsetsid sh hydra.sh & sleep 0.02\n")
    call("shell", command="setsid sh hydra.sh & sleep 0.3")
    size = (root / "beat").stat().st_size
    time.sleep(0.2)
    assert (root / "beat").stat().st_size == size


def test_no_descriptor_of_the_runner_reaches_a_tool(call):
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    try:
        found = call("shell", command="ls -l /proc/self/fd").output
    finally:
        os.close(reader)
        os.close(writer)
    names = [line.split(" -> ")[1] for line in found.splitlines()[1:]]
    assert len(names) == 4, names  # stdin, stdout, stderr, and the folder that ls reads
    assert names[0] == "/dev/null"


def test_signals_are_as_a_terminal_has_them(call):
    ignored = call("shell", argv=["grep", "-E", "SigIgn|SigBlk", "/proc/self/status"]).output
    masks = [int(line.split()[1], 16) for line in ignored.splitlines()]
    assert [mask & 0x7FFFFFFF for mask in masks] == [0, 0]  # 32 and 33 are the C library's own


def test_output_that_a_command_left_nonblocking_is_mended(call):
    (code,) = ["import os; os.set_blocking(1, False)"]
    call("shell", argv=[sys.executable, "-S", "-c", code])
    check = "import os; print(os.get_blocking(1))"
    assert call("shell", argv=[sys.executable, "-S", "-c", check]).output == "True"


def test_the_callers_umask_holds(call, root):
    before = os.umask(0o027)
    try:
        call("shell", command="touch made")
    finally:
        os.umask(before)
    assert (root / "made").stat().st_mode & 0o777 == 0o640


class TestWithoutSubreaper:
    """Systems that have none: the command's process group is what can be ended."""

    @pytest.fixture
    def launchers(self):
        made = Launchers(python=sys.executable, environment=dict(os.environ), how="group")
        yield made
        made.forget(None)

    def run(self, launchers, root, command, timeout=30.0):
        made = Command(
            argv=("/bin/sh", "-c", command),
            folder=root,
            environment=dict(os.environ),
            bounds=None,
            appearance=None,
        )
        request = a_request(root, {}, timeout=timeout)
        return launchers.run("shell", request, made, Recorded("shell", lambda _: None), RecordingHost())

    def test_a_command_runs(self, launchers, root):
        assert self.run(launchers, root, "echo hi").printed.stdout == b"hi\n"

    @pytest.mark.processes_measured
    def test_what_stays_in_the_group_is_ended(self, launchers, root):
        outcome = self.run(launchers, root, "sleep 300 & echo $! > pid")
        assert is_gone_or_zombie(int((root / "pid").read_text()))
        assert len(outcome.leftovers) == 1

    def test_a_timeout_ends_the_group(self, launchers, root):
        command = "trap '' TERM; sleep 300 & echo $! > pid; sleep 300"
        timed_out(lambda timeout: self.run(launchers, root, command, timeout), root / "pid")
        assert is_gone_or_zombie(int((root / "pid").read_text()))


def test_children_are_found_with_and_without_the_kernels_list():
    with subprocess.Popen(["sh", "-c", "sleep 300 & wait"]) as process:
        while not any(command_line(child) == b"sleep 300" for child in children_of(process.pid)):
            time.sleep(0.01)  # born as a copy of its parent, it becomes a command of its own a moment later
        assert process.pid in scanned_children(os.getpid())
        assert scanned_children(process.pid) == children_of(process.pid)
        (child,) = below(process.pid)
        assert command_line(child) == b"sleep 300"
        os.kill(child, signal.SIGKILL)
        process.kill()
    assert children_of(process.pid) == []
    assert command_line(process.pid) == b"?"
