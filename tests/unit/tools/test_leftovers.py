"""A step is over when all its processes are: what a tool leaves running is ended and reported."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mulligan.adapters.tools.launcher import below, children_of, command_line, is_zombie, scanned_children
from mulligan.adapters.tools.printed import Recorded
from mulligan.adapters.tools.processes import Command, Launchers
from mulligan.adapters.tools.toolbox import LocalToolbox
from mulligan.errors import SystemFailed
from tests.recording_host import PLAN
from tests.unit.tools.timeouts import timed_out

DAEMON = """\
import os, sys, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
open("pid", "w").write(str(os.getpid()))
{before}
while True:
    open("beat", "a").write("x")
    time.sleep(0.005)
"""


def start_daemon(root: Path, before: str = "") -> str:
    """A command that leaves a double-forked process of another session behind, which keeps writing."""
    (root / "daemon.py").write_text(DAEMON.format(before=before))
    return f"{sys.executable} -S daemon.py; while [ ! -s beat ]; do sleep 0.01; done; echo started"


def is_gone(root: Path) -> bool:
    """Gone, or at most not yet reaped by whoever adopted it."""
    return is_zombie(int((root / "pid").read_text()))


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
    result = call("shell", command="(sleep 0.03; echo late) & echo early")
    assert result.output == "early\nlate"
    assert result.messages == ()


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
            argv=("/bin/sh", "-c", command), folder=root, environment=dict(os.environ), bounds=None
        )
        return launchers.run("shell", PLAN, "call", made, timeout, Recorded("shell", lambda _: None))

    def test_a_command_runs(self, launchers, root):
        assert self.run(launchers, root, "echo hi").stdout == b"hi\n"

    def test_what_stays_in_the_group_is_ended(self, launchers, root):
        outcome = self.run(launchers, root, "sleep 300 & echo $! > pid")
        assert is_gone_or_zombie(int((root / "pid").read_text()))
        assert len(outcome.leftovers) == 1

    def test_a_timeout_ends_the_group(self, launchers, root):
        command = "trap '' TERM; sleep 300 & echo $! > pid; sleep 300"
        timed_out(lambda timeout: self.run(launchers, root, command, timeout), root / "pid")
        assert is_gone_or_zombie(int((root / "pid").read_text()))


def is_gone_or_zombie(pid: int) -> bool:
    """Whoever adopted it may not have reaped it yet."""
    limit = time.monotonic() + 30
    while not is_zombie(pid) and time.monotonic() < limit:
        time.sleep(0.01)
    return is_zombie(pid)


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


RUNNER = """\
import os, sys
from pathlib import Path
from mulligan.adapters.tools.toolbox import LocalToolbox
from tests.recording_host import RecordingHost, a_request
class Host(RecordingHost):
    def output(self, data):
        os.write(1, data)
root = Path(sys.argv[1])
toolbox = LocalToolbox(python=sys.executable, base_environment=dict(os.environ), scratch=root / "scratch")
request = a_request(root, {sys.argv[3]: sys.argv[4]}, plan_id=sys.argv[5], timeout=None)
toolbox.tool(sys.argv[2]).call(request, Host())
"""


def start_runner(root: Path, plan_id: str, tool: str, name: str, value: str) -> "subprocess.Popen[bytes]":
    """A process of its own that runs one tool; returns when the tool has printed something."""
    here = Path(__file__).parents[3]
    environment = os.environ | {"PYTHONPATH": f"{here / 'src'}:{here}"}
    argv = [sys.executable, "-c", RUNNER, str(root), tool, name, value, plan_id]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, env=environment)
    assert process.stdout
    process.stdout.readline()
    return process


def kill(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()
    process.stdout.close()


def launcher_of(process: "subprocess.Popen[bytes]") -> int:
    (guardian,) = children_of(process.pid)
    (launcher,) = children_of(guardian)
    return launcher


def kill_with_launcher(process: "subprocess.Popen[bytes]") -> None:
    """Kill the runner, the guardian and the launcher, none of which learns of the death of another."""
    both = [*children_of(process.pid), launcher_of(process)]
    for pid in both:
        os.kill(pid, signal.SIGSTOP)
    kill(process)
    for pid in both:
        os.kill(pid, signal.SIGKILL)


def wait_until(condition) -> bool:
    limit = time.monotonic() + 30
    while not condition() and time.monotonic() < limit:
        time.sleep(0.01)
    return condition()


def test_killing_the_runner_ends_what_its_step_started(root):
    process = start_runner(
        root, f"plan-killed-{PLAN}", "shell", "command", start_daemon(root) + "; sleep 300"
    )
    assert not is_gone(root)
    kill(process)
    assert wait_until(lambda: is_gone(root))


WIPED = (
    "env -i /usr/bin/setsid /bin/sh -c 'echo $$ > pid.new; mv pid.new pid; while :; do sleep 0.01; done' &"
)


@pytest.mark.parametrize("victims", ["launcher", "guardian", "runner and launcher", "runner and guardian"])
def test_no_two_deaths_leave_a_process_that_wiped_its_environment(root, victims):
    until_it_runs = "while [ ! -e pid ]; do sleep 0.01; done; echo up; sleep 300"
    process = start_runner(root, f"plan-wiped-{PLAN}", "shell", "command", f"{WIPED} {until_it_runs}")
    (guardian,) = children_of(process.pid)
    pids = {"runner": process.pid, "guardian": guardian, "launcher": launcher_of(process)}
    assert not is_gone(root)
    for victim in victims.split(" and "):
        os.kill(pids[victim], signal.SIGKILL)
    assert wait_until(lambda: is_gone(root))
    assert wait_until(lambda: all(is_gone_or_zombie(pid) for pid in pids.values()))
    kill(process)


def test_killing_the_runner_ends_its_worker(root):
    (root / "module.py").write_text(
        "import os, time\ndef work(context):\n    open('pid', 'w').write(str(os.getpid()))\n"
        "    print('started', flush=True)\n    time.sleep(300)\n"
    )
    process = start_runner(root, f"plan-killed-{PLAN}", "python", "function", "module:work")
    kill(process)
    assert wait_until(lambda: is_gone(root))


class TestSurvivors:
    def test_of_a_killed_runner_are_ended_and_described(self, toolbox, root):
        process = start_runner(root, f"plan-a-{PLAN}", "shell", "command", start_daemon(root) + "; sleep 300")
        kill_with_launcher(process)  # they cannot do their work: the next run has to
        found = toolbox.end_survivors(f"plan-a-{PLAN}")
        assert is_gone(root)
        assert any("daemon.py" in line for line in found)

    def test_a_launcher_that_hangs_is_killed_after_some_patience(self, toolbox, root, monkeypatch):
        monkeypatch.setattr("mulligan.adapters.tools.survivors.PATIENCE", 0.5)
        process = start_runner(root, f"plan-b-{PLAN}", "shell", "command", start_daemon(root) + "; sleep 300")
        launcher = launcher_of(process)
        os.kill(launcher, signal.SIGSTOP)
        kill(process)
        assert toolbox.end_survivors(f"plan-b-{PLAN}")
        assert is_gone(root)
        assert is_gone_or_zombie(launcher)

    def test_of_other_plans_are_left_alone(self, toolbox, root):
        process = start_runner(root, f"plan-c-{PLAN}", "shell", "command", "echo up; exec sleep 300")
        assert toolbox.end_survivors(f"plan-other-{PLAN}") == ()
        assert process.poll() is None
        kill(process)
        toolbox.end_survivors(f"plan-c-{PLAN}")

    def test_the_looking_process_and_those_above_it_are_spared(self, call, root):
        """A step that calls mulligan on its own plan would otherwise end itself."""
        here = Path(__file__).parents[3] / "src"
        code = (
            f"import sys; sys.path.insert(0, {str(here)!r})\n"
            "from mulligan.adapters.tools.survivors import end_marked\n"
            f"print(end_marked('MULLIGAN_PLAN_ID', {PLAN!r}))\n"
        )
        (root / "look.py").write_text(code)
        assert call("shell", command=f"{sys.executable} look.py; echo on").output == "()\non"

    def test_one_that_cannot_be_ended_is_named(self, toolbox, monkeypatch):
        monkeypatch.setattr("mulligan.adapters.tools.survivors.PATIENCE", 0.2)
        with subprocess.Popen(["sleep", "300"], env={"MULLIGAN_PLAN_ID": f"plan-d-{PLAN}"}) as process:
            real = os.kill
            monkeypatch.setattr(os, "kill", refuse)
            with pytest.raises(SystemFailed, match=f"process {process.pid}"):
                toolbox.end_survivors(f"plan-d-{PLAN}")
            monkeypatch.setattr(os, "kill", real)
            assert len(toolbox.end_survivors(f"plan-d-{PLAN}")) == 1

    def test_without_proc_nothing_is_found(self, toolbox, monkeypatch):
        monkeypatch.setattr(os, "listdir", no_proc)
        assert toolbox.end_survivors(f"plan-e-{PLAN}") == ()


def refuse(pid: int, number: int) -> None:
    raise PermissionError


def no_proc(path: str) -> list[str]:
    raise FileNotFoundError(path)


def test_a_second_interrupt_gives_no_more_grace(root, tmp_path):
    """Ctrl-C twice: everything is killed at once, and the second one goes on."""
    toolbox = LocalToolbox(python=sys.executable, base_environment=dict(os.environ), scratch=tmp_path)
    code = "import os, signal, sys, threading, time\n" + RUNNER.replace(
        "toolbox.tool(",
        "ready = True\ndef twice():\n    while not (root / 'pid').exists(): time.sleep(0.01)\n"
        "    for _ in range(2):\n        os.kill(os.getpid(), signal.SIGINT); time.sleep(0.3)\n"
        "threading.Thread(target=twice).start()\ntoolbox.tool(",
        1,
    )
    here = Path(__file__).parents[3]
    environment = os.environ | {"PYTHONPATH": f"{here / 'src'}:{here}"}
    command = "trap '' TERM INT; echo $$ > pid.new; mv pid.new pid; while :; do sleep 0.05; done"
    argv = [sys.executable, "-c", code, str(root), "shell", "command", command, f"plan-f-{PLAN}"]
    before = time.monotonic()
    ended = subprocess.run(argv, capture_output=True, env=environment, check=False, timeout=60)
    assert b"KeyboardInterrupt" in ended.stderr
    assert wait_until(lambda: is_gone(root))
    assert time.monotonic() - before < 20
    assert toolbox.end_survivors(f"plan-f-{PLAN}") == ()
