"""The tool `python`: a function in a worker process, and its StepContext."""

import gc
import os
import sys
from pathlib import Path

import pytest

from mulligan.adapters.tools.launcher.launcher import is_zombie
from mulligan.adapters.tools.process.command_runner import Launchers
from mulligan.adapters.tools.toolbox import LocalToolbox
from mulligan.domain.views.printed import Printed, printed_in
from mulligan.errors import CheckpointFailed, ToolFailed
from tests.support.recording_host import a_request

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
    assert (result.detail["leftovers"], result.detail["threads"]) == ([], [])
    assert printed_in(result.detail, result.output) == Printed(stdout=b"live\n", stderr=b"")
    assert result.messages == ()


def test_names_may_be_dotted(call, root):
    (root / "pack").mkdir()
    (root / "pack" / "inner.py").write_text(
        "class A:\n    @staticmethod\n    def f(context): return 'here'\n"
    )
    assert call("python", function="pack.inner:A.f").output == "here"


@pytest.mark.processes_measured
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


@pytest.mark.processes_measured
def test_an_unknown_resource_is_named_with_those_there_are(call, module):
    module("def f(context): return str(context.path('nonesuch'))\n")
    with pytest.raises(ToolFailed, match="no resource 'nonesuch'; it has: workspace"):
        call("python", function="work:f")


@pytest.mark.processes_measured
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


@pytest.mark.processes_measured
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("context.record_decision(1, chosen='a')", "question must be a text, not int"),
        ("context.record_decision('q', chosen='a', alternatives='b')", "a list of texts, not one text"),
        ("context.record_decision('q', chosen='a', alternatives=[1])", "alternatives[0] must be a text"),
        ("context.record_decision('q', chosen='a', rationale=False)", "rationale must be a text, not bool"),
        ("context.checkpoint(None)", "label must be a text"),
        ("context.checkpoint('x', what={1, 2})", "an argument cannot be converted to JSON"),
        ("context.state['x'] = object()", "StepContext.state cannot be converted to JSON"),
        ("return {1, 2}", "the result of the function cannot be converted to JSON"),
        ("return float('nan')", "the result of the function cannot be converted to JSON"),
        ("return '\\udc80'", "the result of the function cannot be converted to JSON"),
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
    if "to JSON" not in message:
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


@pytest.mark.processes_measured
def test_spawning_is_the_hosts_to_do(call, module, host):
    module(
        "def f(context):\n"
        "    return context.spawn(({'name': 'a', 'steps': []},), mode='sequential', max_parallel=2)[0]['outputs']\n"
    )
    assert call("python", function="work:f").output == {"s": "done"}
    assert host.spawned == [
        {
            "mode": "sequential",
            "max_parallel": 2,
            "merge_strategy": "three_way",
            "fail_fast": False,
            "max_retries": 0,
            "plans": [{"name": "a", "steps": []}],
        }
    ]


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
        "from mulligan.adapters.tools.worker.step_context import StepContext\n"
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


@pytest.mark.processes_measured
def test_a_nul_in_the_environment_is_refused(call, module):
    module("def f(context): pass\n")
    with pytest.raises(ToolFailed, match="NUL"):
        call("python", function="work:f", _environment={"MULLIGAN_VAR_A": "a\0b"})
    call("python", function="work:f")
    with pytest.raises(ToolFailed, match="null byte"):
        call("python", function="work:f", _environment={"MULLIGAN_VAR_A": "a\0b"})


@pytest.mark.processes_measured
def test_a_sandbox_that_is_gone(call, root):
    with pytest.raises(ToolFailed, match="could not be started"):
        call("python", function="work:f", _root=root / "gone" / "away")


def test_no_descriptor_is_left_open(root, tmp_path, host):
    (root / "work.py").write_text("def f(context): pass\ndef g(context): raise ValueError\n")
    gc.collect()  # what other tests left may be closed at any moment
    before = len(list(Path("/proc/self/fd").iterdir()))
    toolbox = LocalToolbox(
        launchers=Launchers(python=sys.executable, environment=dict(os.environ)), scratch=tmp_path
    )
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
