"""The tool `python`: a function in a worker process, and its StepContext."""

import os
import sys
import time
from pathlib import Path

import pytest

from mulligan.adapters.tools.launcher import is_zombie
from mulligan.adapters.tools.toolbox import LocalToolbox
from mulligan.errors import CheckpointFailed, NotBuiltYet, ToolFailed, ToolTimedOut
from tests.recording_host import RecordingHost, a_request

PREAMBLE = "import os, subprocess, sys, threading, time\n"


@pytest.fixture
def module(root):
    """Write the module `work` of the sandbox."""

    def write(body: str) -> None:
        (root / "work.py").write_text(PREAMBLE + body)

    return write


def is_gone(root: Path) -> bool:
    return is_zombie(int((root / "pid").read_text()))


def test_a_function_gets_its_arguments_and_gives_its_result(call, module, host):
    module("def f(context, a, b=1):\n    print('live')\n    return {'sum': a + b, 'list': (1, None)}\n")
    result = call("python", function="work:f", kwargs={"a": 2})
    assert result.output == {"sum": 3, "list": [1, None]}
    assert host.shown == b"live\n"
    assert result.detail == {"leftovers": [], "threads": []}
    assert result.messages == ()


def test_names_may_be_dotted(call, root):
    (root / "pack").mkdir()
    (root / "pack" / "inner.py").write_text(
        "class A:\n    @staticmethod\n    def f(context): return 'here'\n"
    )
    assert call("python", function="pack.inner:A.f").output == "here"


def test_the_context_tells_of_the_plan(call, module, root, tmp_path):
    module(
        "def f(context):\n"
        "    return [str(context.path()), str(context.path('data')), dict(context.variables),\n"
        "            dict(context.outputs), context.state, context.guidance, os.getcwd(), sys.path[0]]\n"
    )
    sandboxes = {"workspace": root, "data": tmp_path / "app.db"}
    output = call("python", function="work:f", _memory={"n": 1}, _sandboxes=sandboxes).output
    earlier = {"earlier": {"answer": 42}}
    assert output == [
        *(str(root), str(tmp_path / "app.db"), {"version": "2.0"}, earlier, {"n": 1}, "be brief"),
        *(str(root), str(root)),
    ]


def test_an_unknown_resource_is_named_with_those_there_are(call, module):
    module("def f(context): return str(context.path('nonesuch'))\n")
    with pytest.raises(ToolFailed, match="no resource 'nonesuch'; it has: workspace"):
        call("python", function="work:f")


def test_decisions_checkpoints_and_lines_reach_the_host_with_the_state(call, module, host):
    module(
        "def f(context):\n"
        "    context.state['step'] = 1\n"
        "    d = context.record_decision('Which?', chosen='a', alternatives=('b',), rationale='r', cost=3)\n"
        "    context.state['step'] = 2\n"
        "    g = context.checkpoint('half', of='two')\n"
        "    context.log('a line')\n"
        "    context.state = {'step': 3}\n"
        "    return [d, g]\n"
    )
    assert call("python", function="work:f").output == ["decision-1", "group-1"]
    ((choice, metadata),) = host.decisions
    assert (choice.question, choice.chosen, choice.alternatives) == ("Which?", "a", ("b",))
    assert (choice.rationale, metadata) == ("r", {"cost": 3})
    assert host.labels == [("half", {"of": "two"})]
    assert host.lines == ["a line"]
    assert [memory["step"] for memory in host.memories] == [1, 2, 2, 3]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("context.record_decision(1, chosen='a')", "question must be a text, not int"),
        ("context.record_decision('q', chosen='a', alternatives='b')", "a list of texts, not one text"),
        ("context.record_decision('q', chosen='a', alternatives=[1])", "alternatives[0] must be a text"),
        ("context.checkpoint(None)", "label must be a text"),
        ("context.checkpoint('x', what={1, 2})", "no JSON"),
        ("context.state['x'] = object()", "StepContext.state is no JSON"),
        ("return {1, 2}", "the function returned no JSON"),
        ("return float('nan')", "the function returned no JSON"),
        ("return '\\udc80'", "the function returned no JSON"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("raise ValueError('because')", "ValueError: because"),
        ("nonesuch()", "NameError"),
    ],
)
def test_a_failing_function_tells_why_and_where(call, module, line, message):
    module(f"def f(context):\n    {line}\n")
    with pytest.raises(ToolFailed) as failed:
        call("python", function="work:f")
    assert message in failed.value.text
    if "no JSON" not in message:
        assert any("work.py:" in frame and "in f" in frame for frame in failed.value.facts["traceback"])


@pytest.mark.parametrize("function", ["nonesuch:f", "work:nonesuch", "broken:f"])
def test_a_function_that_is_not_there(call, module, root, function):
    module("")
    (root / "broken.py").write_text("def f(:\n")
    with pytest.raises(ToolFailed, match=r"ModuleNotFoundError|AttributeError|SyntaxError"):
        call("python", function=function)


def test_arguments_that_do_not_fit(call, module):
    module("def f(context, a): pass\n")
    with pytest.raises(ToolFailed, match="TypeError"):
        call("python", function="work:f", kwargs={"b": 1})
    for args in ({"function": 1}, {"function": "work:f", "kwargs": [1]}):
        with pytest.raises(ToolFailed, match="is needed"):
            call("python", **args)


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
    toolbox.end_survivors("another")
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
    with pytest.raises(ToolTimedOut, match="python: took longer than 1 s"):
        call("python", function="work:f", _timeout=1.0)
    assert is_gone(root)


def test_the_time_a_checkpoint_takes_is_not_the_functions(toolbox, module, root):
    class SlowHost(RecordingHost):
        def checkpoint(self, label, metadata):
            time.sleep(1.5)
            return super().checkpoint(label, metadata)

    module("def f(context): return context.checkpoint('slow')\n")
    request = a_request(root, {"function": "work:f"}, timeout=1.2)
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
    module("def f(context):\n    subprocess.Popen(['true'])\n    time.sleep(0.1)\n    return os.getpid()\n")
    first = call("python", function="work:f")
    assert first.messages == ()
    assert call("python", function="work:f").output == first.output


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
    with pytest.raises(ToolFailed, match="ended its process"):
        call("python", function="work:f", kwargs={"text": text})


def test_a_launcher_that_was_killed(call, module, root):
    module(
        "def f(context):\n    open('pid', 'w').write(str(os.getpid()))\n"
        "    os.kill(os.getppid(), 9)\n    time.sleep(300)\n"
    )
    with pytest.raises(ToolFailed, match="launcher was killed"):
        call("python", function="work:f")
    assert is_gone(root)


def test_a_launcher_that_is_killed_as_the_function_returns(call, module, root):
    module(
        "def f(context):\n    open('pid', 'w').write(str(os.getpid()))\n"
        "    context.state['x'] = 'y' * 200\n    os.kill(os.getppid(), 19)\n"
        "    threading.Timer(0.3, lambda: os.kill(os.getppid(), 9)).start()\n    return 1\n"
    )
    with pytest.raises(ToolFailed, match="launcher was killed"):
        call("python", function="work:f")
    assert is_gone(root)


@pytest.mark.parametrize("what", ["record_decision('q', chosen='a')", "checkpoint('x')"])
def test_when_the_host_fails_its_error_is_what_comes_out(call, module, host, what, root):
    module(
        "def f(context):\n    open('pid', 'w').write(str(os.getpid()))\n"
        f"    try:\n        context.{what}\n    finally:\n        open('after', 'w').close()\n"
    )
    host.failure = CheckpointFailed(checkpoint_type="manual", plan_id="p", reason="disk full")
    with pytest.raises(CheckpointFailed):
        call("python", function="work:f")
    assert is_gone(root)
    assert not (root / "after").exists()


def test_interrupting_the_runner_ends_the_worker(call, module, root):
    module(
        "def f(context):\n    open('pid', 'w').write(str(os.getpid()))\n"
        "    print('interrupt me')\n    time.sleep(300)\n"
    )
    with pytest.raises(KeyboardInterrupt):
        call("python", function="work:f")
    assert is_gone(root)


def test_spawning_is_refused_by_name(call, module):
    module("def f(context): context.spawn([])\n")
    with pytest.raises(NotBuiltYet, match=r"StepContext\.spawn is not built yet"):
        call("python", function="work:f")


def test_too_large_a_result_is_refused_with_the_limit(call, module):
    module("def f(context): return 'x' * 17_000_000\n")
    with pytest.raises(ToolFailed, match="more than 16 MiB"):
        call("python", function="work:f")


def test_a_large_request_and_result_arrive(call, module):
    module("def f(context, text): return text + '!'\n")
    assert call("python", function="work:f", kwargs={"text": "ä" * 500_000}).output == "ä" * 500_000 + "!"


def test_printed_words_are_utf8_and_in_order(call, module, host):
    module("def f(context):\n    print('grün \\udcff')\n    sys.stdout.write('tail')\n    context.log('x')\n")
    call("python", function="work:f")
    assert host.shown == "grün \\udcff\ntail".encode()


def test_users_can_import_the_type_and_it_is_the_same(call, module, root):
    source = str(Path(__file__).parents[3] / "src")
    module(
        f"sys.path.append({source!r})\n"
        "from mulligan.adapters.tools.step_context import StepContext\n"
        "def f(context: StepContext): return isinstance(context, StepContext)\n"
    )
    assert call("python", function="work:f").output is True


def test_descriptors_of_the_worker_reach_no_child(call, module):
    module(
        "def f(context):\n    command = 'ls /proc/self/fd | wc -l'\n"
        "    return subprocess.check_output(command, shell=True, close_fds=False).decode()\n"
    )
    assert int(call("python", function="work:f").output) == 4


def test_a_sandbox_that_is_a_database_file(call, module, root):
    module("def f(context): return [str(context.path()), os.getcwd()]\n")
    (root / "app.db").write_bytes(b"")
    assert call("python", function="work:f", _root=root / "app.db").output == [
        str(root / "app.db"),
        str(root),
    ]


def test_a_nul_in_the_environment_is_refused(call, module):
    module("def f(context): pass\n")
    with pytest.raises(ToolFailed, match="NUL"):
        call("python", function="work:f", _environment={"MULLIGAN_VAR_A": "a\0b"})
    call("python", function="work:f")
    with pytest.raises(ToolFailed, match="null byte"):
        call("python", function="work:f", _environment={"MULLIGAN_VAR_A": "a\0b"})


def test_a_sandbox_that_is_gone(call, root):
    with pytest.raises(ToolFailed, match="could not be started"):
        call("python", function="work:f", _root=root / "gone" / "away")


def test_no_descriptor_is_left_open(root, tmp_path, host):
    (root / "work.py").write_text("def f(context): pass\ndef g(context): raise ValueError\n")
    before = len(list(Path("/proc/self/fd").iterdir()))
    toolbox = LocalToolbox(python=sys.executable, base_environment=dict(os.environ), scratch=tmp_path)
    for name, args in (
        ("shell", {"command": "true"}),
        ("shell", {"command": "false"}),
        ("python", {"function": "work:f"}),
        ("python", {"function": "work:g"}),
        ("write_file", {"path": "a/b/c", "content": ""}),
        ("edit_file", {"path": "a", "old": "x", "new": "y"}),
    ):
        try:
            toolbox.tool(name).call(a_request(root, args), host)
        except ToolFailed:
            continue
    toolbox.forget_processes()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
