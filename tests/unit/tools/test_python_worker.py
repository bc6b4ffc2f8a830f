"""The worker behind the tool `python`: kept between calls, and ended with all it started."""

import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from mulligan.adapters.tools.launcher.launcher import is_zombie
from mulligan.errors import ToolFailed
from tests.support.patience import PATIENCE
from tests.support.raised import raises
from tests.support.recording_host import RecordingHost, a_request
from tests.unit.tools.timeouts import timed_out

PREAMBLE = "import os, subprocess, sys, threading, time\n"


@pytest.fixture
def module(root):
    """Write the module `work` of the sandbox."""

    def write(body: str) -> None:
        (root / "work.py").write_text(PREAMBLE + body)

    return write


def is_gone(root: Path) -> bool:
    return is_zombie(int((root / "pid").read_text()))


def test_a_worker_is_kept_for_the_next_call(call, module):
    module("calls = []\ndef f(context):\n    calls.append(1)\n    return [os.getpid(), len(calls)]\n")
    first, second = call("python", function="work:f").output, call("python", function="work:f").output
    assert first[0] == second[0]
    assert (first[1], second[1]) == (1, 2)


def test_every_call_begins_alike(call, module, root):
    module(
        "def f(context):\n"
        "    seen = [os.getcwd(), os.environ.get('LEFT'), os.environ['MULLIGAN_VAR_N'], len(sys.path)]\n"
        "    os.environ['LEFT'] = 'x'; sys.path.append('y'); os.chdir('/')\n"
        "    return seen\n"
    )
    first = call("python", function="work:f", _environment={"MULLIGAN_VAR_N": "1"}).output
    second = call("python", function="work:f", _environment={"MULLIGAN_VAR_N": "2"}).output
    assert first == [str(root), None, "1", first[3]]
    assert second == [str(root), None, "2", first[3]]


@pytest.mark.processes_measured
def test_a_worker_is_not_kept_when_a_file_it_imported_changed(call, module, root):
    (root / "part.py").write_text("VALUE = 1\n")
    module("import part\ndef f(context): return [os.getpid(), part.VALUE]\n")
    first = call("python", function="work:f").output
    (root / "part.py").write_text("VALUE = 2\n")
    second = call("python", function="work:f").output
    assert (first[1], second[1]) == (1, 2)
    assert first[0] != second[0]
    (root / "part.py").unlink()
    with pytest.raises(ToolFailed, match="ModuleNotFoundError"):
        call("python", function="work:f")


def test_a_module_that_another_finder_loaded_is_watched_too(call, module, root):
    (root / "odd").mkdir()
    (root / "odd" / "strange.py").write_text("VALUE = 1\n")
    module(
        "import importlib.util\n"
        "spec = importlib.util.spec_from_file_location('strange', 'odd/strange.py')\n"
        "strange = importlib.util.module_from_spec(spec)\n"
        "strange.__file__ = os.path.abspath('odd/strange.py')\n"
        "sys.modules['strange'] = strange\n"
        "spec.loader.exec_module(strange)\n"
        "def f(context): return strange.VALUE\n"
    )
    assert [call("python", function="work:f").output for _ in range(2)] == [1, 1]
    (root / "odd" / "strange.py").write_text("VALUE = 2\n")
    assert call("python", function="work:f").output == 2


def test_a_new_module_is_found_by_a_kept_worker(call, module, root):
    module("def f(context):\n    import later\n    return later.VALUE\ndef g(context): return 0\n")
    call("python", function="work:g")
    (root / "later.py").write_text("VALUE = 5\n")
    assert call("python", function="work:f").output == 5


def test_no_worker_is_kept_over_a_restore(call, toolbox, module):
    module("def f(context): return os.getpid()\n")
    first = call("python", function="work:f").output
    toolbox.forget_processes()
    assert is_zombie(first)
    assert call("python", function="work:f").output != first


def test_a_worker_serves_one_sandbox_of_one_plan(call, toolbox, module, tmp_path, root):
    module("def f(context): return os.getpid()\n")
    other = tmp_path / "other"
    other.mkdir()
    (other / "work.py").write_text(PREAMBLE + "def f(context): return os.getpid()\n")
    pids = [
        call("python", function="work:f").output,
        call("python", function="work:f", _root=other).output,
        call("python", function="work:f", _plan_id="another").output,
    ]
    assert len(set(pids)) == 3
    toolbox.end_survivors("another", ())
    assert [is_zombie(pid) for pid in pids] == [False, False, True]


def test_importing_leaves_nothing_in_the_sandbox(call, module, root):
    module("def f(context): pass\n")
    call("python", function="work:f")
    assert list(root.iterdir()) == [root / "work.py"]


def test_a_timeout_ends_the_worker_and_what_it_started(call, module, root):
    module(
        "def f(context):\n"
        "    child = subprocess.Popen(['sleep', '300'], start_new_session=True)\n"
        "    open('pid', 'w').write(str(child.pid))\n"
        "    time.sleep(300)\n"
    )
    late = timed_out(lambda timeout: call("python", function="work:f", _timeout=timeout), root / "pid")
    assert late.facts["tool"] == "python"
    assert is_gone(root)


def test_the_time_a_checkpoint_takes_is_not_the_functions(toolbox, module, call, root, monkeypatch):
    late = 0.0

    class SlowHost(RecordingHost):
        def checkpoint(self, label, metadata):
            nonlocal late
            late += 3600
            return super().checkpoint(label, metadata)

    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + late)
    for name in ("worker.worker_calls", "process.launcher_client"):
        monkeypatch.setattr(f"mulligan.adapters.tools.{name}.time", clock)
    module("def f(context): return context.checkpoint('slow')\n")
    request = a_request(root, {"function": "work:f"}, timeout=PATIENCE)
    assert toolbox.tool("python").call(request, SlowHost()).output == "group-1"


def test_processes_left_running_are_ended_and_reported(call, module, root):
    module(
        "def f(context):\n"
        "    child = subprocess.Popen(['sleep', '300'], start_new_session=True)\n"
        "    open('pid', 'w').write(str(child.pid))\n"
        "    return 'done'\n"
    )
    result = call("python", function="work:f")
    assert result.output == "done"
    assert is_gone(root)
    assert [leftover["command"] for leftover in result.detail["leftovers"]] == ["sleep 300"]
    assert "sleep 300" in result.messages[0]


@pytest.mark.processes_measured
def test_orphans_left_running_are_ended_and_reported(call, module, root):
    module(
        "def f(context):\n"
        "    subprocess.run('setsid sleep 300 & echo $! > pid', shell=True)\n"
        "    raise ValueError('after that')\n"
    )
    with pytest.raises(ToolFailed, match="after that") as failed:
        call("python", function="work:f")
    assert is_gone(root)
    assert len(failed.value.facts["leftovers"]) == 1


def test_finished_children_that_nobody_waited_for_are_no_leftovers(call, module):
    module(
        "def f(context):\n"
        "    child = subprocess.Popen(['true'])\n"
        "    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)\n"
        "    return os.getpid()\n"
    )
    first = call("python", function="work:f")
    assert first.messages == ()
    assert call("python", function="work:f").output == first.output


@pytest.mark.processes_measured
def test_threads_left_running_end_with_their_worker(call, module, root):
    module(
        "def beat():\n    while True:\n        open('beat', 'a').write('x')\n        time.sleep(0.005)\n"
        "def f(context):\n    threading.Thread(target=beat, name='beater').start()\n"
        "    while not os.path.exists('beat'): time.sleep(0.01)\n    return 1\n"
    )
    result = call("python", function="work:f")
    size = (root / "beat").stat().st_size
    time.sleep(0.1)
    assert (root / "beat").stat().st_size == size
    assert result.detail["threads"] == ["beater"]
    assert "thread beater" in result.messages[0]


def test_a_function_may_ask_from_several_threads(call, module, host):
    module(
        "def f(context):\n"
        "    threads = [threading.Thread(target=context.log, args=(str(n),)) for n in range(8)]\n"
        "    [t.start() for t in threads]; [t.join() for t in threads]\n"
    )
    call("python", function="work:f")
    assert sorted(host.lines) == list("01234567")


@pytest.mark.parametrize(
    ("line", "status"), [("os._exit(4)", "status 4"), ("os.kill(os.getpid(), 9)", "status -9")]
)
def test_a_function_that_ends_its_process(call, module, line, status):
    module(f"def f(context):\n    os.write(2, b'last words')\n    {line}\n")
    with pytest.raises(ToolFailed, match=status) as failed:
        call("python", function="work:f")
    assert failed.value.facts["stderr"] == "last words"
    module("def f(context): return 'well again'\n")
    assert call("python", function="work:f").output == "well again"


def test_a_kept_worker_that_died_meanwhile(call, module):
    module("def f(context): return os.getpid()\n")
    os.kill(call("python", function="work:f").output, 9)
    with pytest.raises(ToolFailed, match="ended its process"):
        call("python", function="work:f")


def test_a_large_request_to_a_worker_that_died_meanwhile_hangs_nothing(call, module):
    module("def f(context, text): return os.getpid()\n")
    text = "x" * 1_000_000
    os.kill(call("python", function="work:f", kwargs={"text": text}).output, 9)
    with raises(ToolFailed, tool="python"):
        call("python", function="work:f", kwargs={"text": text})


def test_a_launcher_that_was_killed(call, module, root):
    module(
        "def f(context):\n    open('pid', 'w').write(str(os.getpid()))\n"
        "    os.kill(os.getppid(), 9)\n    time.sleep(300)\n"
    )
    with raises(ToolFailed, tool="python"):
        call("python", function="work:f")
    assert is_gone(root)


@pytest.mark.processes_measured
def test_a_launcher_that_is_killed_as_the_function_returns(call, module, root):
    module(
        "def f(context):\n    open('pid', 'w').write(str(os.getpid()))\n"
        "    context.state['x'] = 'y' * 200\n    os.kill(os.getppid(), 19)\n"
        "    threading.Timer(0.3, lambda: os.kill(os.getppid(), 9)).start()\n    return 1\n"
    )
    with raises(ToolFailed, tool="python"):
        call("python", function="work:f")
    assert is_gone(root)
