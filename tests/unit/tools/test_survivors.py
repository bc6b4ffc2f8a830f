"""What is left when the runner is killed, alone or with its launcher, is ended: at once, or by the next run."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mulligan.adapters.tools.launcher.launcher import children_of
from mulligan.adapters.tools.process.command_runner import Launchers
from mulligan.adapters.tools.toolbox import LocalToolbox
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.resources.resource import ResourceType, Sandbox, Strategy
from mulligan.errors import ProcessSurvives
from tests.support.patience import PATIENCE, wait_until
from tests.support.recording_host import PLAN
from tests.unit.tools.daemons import is_gone, is_gone_or_zombie, start_daemon

RUNNER = """\
import os, sys
from pathlib import Path
from mulligan.adapters.tools.process.command_runner import Launchers
from mulligan.adapters.tools.toolbox import LocalToolbox
from mulligan.domain.resources.bounds import Bounds
from tests.support.confined import written_by_coverage
from tests.support.recording_host import RecordingHost, a_request
class Host(RecordingHost):
    def output(self, data):
        os.write(1, data)
root = Path(sys.argv[1])
launchers = Launchers(python=sys.executable, environment=dict(os.environ))
toolbox = LocalToolbox(launchers=launchers, scratch=root / "scratch")
writable = (str(root), "/dev/null", *written_by_coverage())
drawn = Bounds(writable=writable, sandboxes=(str(root),), missing=(), temporary=None)
bounds = drawn if sys.argv[6] == "confined" else None
request = a_request(root, {sys.argv[3]: sys.argv[4]}, plan_id=sys.argv[5], timeout=None, bounds=bounds)
toolbox.tool(sys.argv[2]).call(request, Host())
"""


def start_runner(
    root: Path, plan_id: str, tool: str, name: str, value: str, how: str = "unconfined"
) -> "subprocess.Popen[bytes]":
    """A process of its own that runs one tool; returns when the tool has printed something."""
    here = Path(__file__).parents[3]
    environment = os.environ | {"PYTHONPATH": f"{here / 'src'}:{here}"}
    argv = [sys.executable, "-c", RUNNER, str(root), tool, name, value, plan_id, how]
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


def test_killing_the_runner_ends_what_its_step_started(root):
    process = start_runner(
        root, f"plan-killed-{PLAN}", "shell", "command", start_daemon(root) + "; sleep 300"
    )
    assert not is_gone(root)
    kill(process)
    wait_until(lambda: is_gone(root), "the process is gone")


WIPED = (
    "env -i /usr/bin/setsid /bin/sh -c 'echo $$ > pid.new; mv pid.new pid; while :; do sleep 0.01; done' &"
)


@pytest.mark.parametrize("victims", ["launcher", "guardian", "runner and launcher", "runner and guardian"])
def test_no_two_deaths_leave_a_process_that_wiped_its_environment(toolbox, root, victims):
    until_it_runs = "while [ ! -e pid ]; do sleep 0.01; done; echo up; sleep 300"
    process = start_runner(root, f"plan-wiped-{PLAN}", "shell", "command", f"{WIPED} {until_it_runs}")
    (guardian,) = children_of(process.pid)
    pids = {"runner": process.pid, "guardian": guardian, "launcher": launcher_of(process)}
    assert not is_gone(root)
    for victim in victims.split(" and "):
        os.kill(pids[victim], signal.SIGKILL)
    wait_until(lambda: is_gone(root), "the process is gone")
    assert all(is_gone_or_zombie(pid) for pid in pids.values())
    kill(process)
    assert toolbox.end_survivors(f"plan-wiped-{PLAN}", ()) == ()


@pytest.mark.processes_measured
def test_killing_the_runner_ends_its_worker(root):
    (root / "module.py").write_text(
        "import os, time\ndef work(context):\n    open('pid', 'w').write(str(os.getpid()))\n"
        "    print('started', flush=True)\n    time.sleep(300)\n"
    )
    process = start_runner(root, f"plan-killed-{PLAN}", "python", "function", "module:work")
    kill(process)
    wait_until(lambda: is_gone(root), "the process is gone")


class TestSurvivors:
    def test_of_a_killed_runner_are_ended_and_described(self, toolbox, root):
        process = start_runner(root, f"plan-a-{PLAN}", "shell", "command", start_daemon(root) + "; sleep 300")
        kill_with_launcher(process)  # they cannot do their work: the next run has to
        found = toolbox.end_survivors(f"plan-a-{PLAN}", ())
        assert is_gone(root)
        assert any("daemon.py" in line for line in found)

    def test_a_launcher_that_hangs_is_killed_after_some_patience(self, toolbox, root, monkeypatch):
        monkeypatch.setattr("mulligan.adapters.tools.process.survivors.PATIENCE", 0.5)
        process = start_runner(root, f"plan-b-{PLAN}", "shell", "command", start_daemon(root) + "; sleep 300")
        launcher = launcher_of(process)
        os.kill(launcher, signal.SIGSTOP)
        kill(process)
        assert toolbox.end_survivors(f"plan-b-{PLAN}", ())
        assert is_gone(root)
        assert is_gone_or_zombie(launcher)

    def test_of_other_plans_are_left_alone(self, toolbox, root):
        process = start_runner(root, f"plan-c-{PLAN}", "shell", "command", "echo up; exec sleep 300")
        assert toolbox.end_survivors(f"plan-other-{PLAN}", ()) == ()
        assert process.poll() is None
        kill(process)
        toolbox.end_survivors(f"plan-c-{PLAN}", ())

    def test_the_looking_process_and_those_above_it_are_spared(self, call, root):
        """A step that calls mulligan on its own plan would otherwise end itself."""
        here = Path(__file__).parents[3] / "src"
        code = (
            f"import sys; sys.path.insert(0, {str(here)!r})\n"
            "from mulligan.adapters.tools.process.survivors import end_marked\n"
            f"print(end_marked('MULLIGAN_PLAN_ID', {PLAN!r}))\n"
        )
        (root / "look.py").write_text(code)
        assert call("shell", command=f"{sys.executable} look.py; echo on").output == "()\non"

    def test_one_that_cannot_be_ended_is_named(self, toolbox, monkeypatch):
        with subprocess.Popen(["sleep", "300"], env={"MULLIGAN_PLAN_ID": f"plan-d-{PLAN}"}) as process:
            with monkeypatch.context() as patch:
                patch.setattr("mulligan.adapters.tools.process.survivors.DEATH_PATIENCE", 0.2)
                patch.setattr(os, "kill", refuse)
                with pytest.raises(ProcessSurvives) as caught:
                    toolbox.end_survivors(f"plan-d-{PLAN}", ())
            assert (caught.value.facts["pid"], caught.value.facts["command"]) == (process.pid, "sleep 300")
            assert f"`kill -9 {process.pid}`" in caught.value.next_step
            assert len(toolbox.end_survivors(f"plan-d-{PLAN}", ())) == 1

    def test_that_wiped_its_environment_is_found_by_its_control_group(self, toolbox, root):
        process = start_wiped(root, f"plan-g-{PLAN}", "unconfined")
        if group_of(orphan_in(root)) == group_of(os.getpid()):
            kill(process)
            pytest.skip("no control group can be made")
        kill_with_launcher(process)
        found = toolbox.end_survivors(f"plan-g-{PLAN}", ())
        assert is_gone(root)
        assert any("sleep 0.01" in line for line in found)
        assert not list(Path(control_groups()).glob(f"**/mulligan-plan-g-{PLAN}-*"))

    def test_that_wiped_its_environment_is_found_in_its_sandbox(self, toolbox, root):
        process = start_wiped(root, f"plan-h-{PLAN}", "confined")
        kill_with_launcher(process)
        leave_control_group(orphan_in(root))
        toolbox.end_survivors(f"plan-h-{PLAN}", [a_sandbox(root.parent / "another")])
        assert not is_gone(root)
        found = toolbox.end_survivors(f"plan-h-{PLAN}", [a_sandbox(root, Strategy.IN_PLACE)])
        assert is_gone(root)
        assert any("sleep 0.01" in line for line in found)

    def test_of_a_plan_that_runs_are_left_alone_in_the_sandboxes_of_others(self, toolbox, root):
        process = start_wiped(root, f"plan-i-{PLAN}", "confined")
        assert toolbox.end_survivors(f"plan-other-{PLAN}", [a_sandbox(root)]) == ()
        assert not is_gone(root)
        kill(process)
        wait_until(lambda: is_gone(root), "the process is gone")

    def test_one_that_may_be_anothers_is_named(self, toolbox, root, monkeypatch):
        monkeypatch.setattr("mulligan.adapters.tools.process.survivors.PATIENCE", 0.2)
        wiped = {"PATH": os.defpath}
        with subprocess.Popen(["sleep", "300"], cwd=root, env=wiped, start_new_session=True) as process:
            with pytest.raises(ProcessSurvives) as caught:
                toolbox.end_survivors(f"plan-j-{PLAN}", [a_sandbox(root)])
            assert caught.value.facts["pid"] == process.pid
            assert f"`kill {process.pid}`" in caught.value.next_step
            # In the real folder, and with a home folder, it is the user's own.
            assert toolbox.end_survivors(f"plan-j-{PLAN}", [a_sandbox(root, Strategy.IN_PLACE)]) == ()
            process.kill()
        known = wiped | {"HOME": "/"}
        with subprocess.Popen(["sleep", "300"], cwd=root, env=known, start_new_session=True) as process:
            assert toolbox.end_survivors(f"plan-j-{PLAN}", [a_sandbox(root)]) == ()
            assert process.poll() is None
            process.kill()

    def test_without_proc_nothing_is_found(self, toolbox, monkeypatch):
        monkeypatch.setattr(os, "listdir", no_proc)
        assert toolbox.end_survivors(f"plan-e-{PLAN}", ()) == ()


def refuse(pid: int, number: int) -> None:
    raise PermissionError


def no_proc(path: str) -> list[str]:
    raise FileNotFoundError(path)


def start_wiped(root: Path, plan_id: str, how: str) -> "subprocess.Popen[bytes]":
    """A runner whose step left a process without any mark."""
    command = f"{WIPED} while [ ! -e pid ]; do sleep 0.01; done; echo up; sleep 300"
    return start_runner(root, plan_id, "shell", "command", command, how)


def orphan_in(root: Path) -> int:
    return int((root / "pid").read_text())


def group_of(pid: int) -> str:
    return next(
        line for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines() if line.startswith("0::")
    )


def control_groups() -> str:
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    return next(each[1] for each in mounts if each[2] == "cgroup2")


def leave_control_group(pid: int) -> None:
    """Put a process where no control group shows whose it is."""
    if group_of(pid) != group_of(os.getpid()):
        own = Path(control_groups(), group_of(os.getpid()).removeprefix("0::/"))
        (own / "cgroup.procs").write_text(str(pid))


def a_sandbox(path: Path, strategy: Strategy = Strategy.FILESYSTEM_COPY) -> Sandbox:
    return Sandbox(
        plan_id=PLAN,
        resource="r",
        type=ResourceType.FS_DIRECTORY,
        strategy=strategy,
        location=str(path if strategy is Strategy.IN_PLACE else path.parent / "real folder"),
        path=str(path),
        base=Snapshot(roots=()),
        excluded=(),
        branch=None,
        git_dir=None,
    )


@pytest.mark.processes_measured
def test_a_second_interrupt_gives_no_more_grace(root, tmp_path):
    """Ctrl-C twice: everything is killed at once, and the second one goes on."""
    toolbox = LocalToolbox(
        launchers=Launchers(python=sys.executable, environment=dict(os.environ)), scratch=tmp_path
    )
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
    argv = [
        sys.executable,
        "-c",
        code,
        str(root),
        "shell",
        "command",
        command,
        f"plan-f-{PLAN}",
        "unconfined",
    ]
    ended = subprocess.run(argv, capture_output=True, env=environment, check=False, timeout=PATIENCE)
    assert b"KeyboardInterrupt" in ended.stderr
    wait_until(lambda: is_gone(root), "the process is gone")
    assert toolbox.end_survivors(f"plan-f-{PLAN}", ()) == ()
