"""What every tool of every toolbox promises, whatever it does."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from mulligan.adapters.tools.launcher.launcher import children_of
from mulligan.adapters.tools.process.command_runner import Launchers
from mulligan.adapters.tools.toolbox import LocalToolbox
from mulligan.domain.plans.tool import ToolResult, Undo
from mulligan.domain.text.json_value import canonical_json
from mulligan.errors import MulliganError, ToolFailed, ToolUnknown
from tests.support.recording_host import RecordingHost, a_request

# For each tool: arguments that work, and arguments that fail.
CALLS = {
    "shell": ({"command": "echo hi > made"}, {"command": "sleep 300 & exit 1"}),
    "write_file": ({"path": "made", "content": "hi"}, {"path": "folder", "content": "hi"}),
    "delete_file": ({"path": "file"}, {"path": "folder"}),
    "edit_file": ({"path": "file", "old": "old", "new": "new"}, {"path": "file", "old": "x", "new": "y"}),
    "move_file": ({"path": "file", "to": "made"}, {"path": "missing", "to": "made"}),
    "apply_patch": (
        {"patch": "--- a/file\n+++ b/file\n@@ -1 +1 @@\n-old\n+new\n"},
        {"patch": "--- a/file\n+++ b/file\n@@ -1 +1 @@\n-odd\n+new\n"},
    ),
    "sql": ({"statements": ["CREATE TABLE t (a)"]}, {"statements": ["INSERT INTO missing VALUES (1)"]}),
    "python": ({"function": "module:good"}, {"function": "module:bad"}),
}
MODULE = """\
import subprocess
def good(context):
    context.path().joinpath("made").write_text("hi")
def bad(context):
    subprocess.Popen(["sleep", "300"])
    raise ValueError("no")
"""


@pytest.fixture
def toolbox(tmp_path):
    made = LocalToolbox(
        launchers=Launchers(python=sys.executable, environment=dict(os.environ)), scratch=tmp_path / "scratch"
    )
    yield made
    made.forget_processes()


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "sandbox"
    (folder / "folder").mkdir(parents=True)
    (folder / "file").write_text("old\n")
    (folder / "module.py").write_text(MODULE)
    return folder


def place(root, name):
    """The sandbox of the tool's resource: a folder, or a database file."""
    return root / "app.db" if name == "sql" else root


def contents(root):
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(root.rglob("*"))}


def test_every_built_in_tool_is_tried_here(toolbox):
    assert set(toolbox.declarations()) == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
class TestEveryTool:
    def test_declares_itself(self, toolbox, name):
        declaration = toolbox.declarations()[name]
        assert toolbox.tool(name).declaration is declaration
        assert declaration.name == name
        assert declaration.summary
        assert declaration.writes
        assert declaration.checkpointable
        assert not declaration.read_only
        assert declaration.undo is Undo.NOT_NEEDED
        assert declaration.resource_types
        assert set(declaration.exactly_one_of) <= {argument.name for argument in declaration.arguments}
        assert {name for args in CALLS[name] for name in args} <= {a.name for a in declaration.arguments}

    def test_does_its_work_and_gives_json(self, toolbox, root, name):
        before = contents(root)
        result = toolbox.tool(name).call(a_request(place(root, name), CALLS[name][0]), RecordingHost())
        assert isinstance(result, ToolResult)
        assert canonical_json([result.output, result.detail])
        assert result.messages == ()
        assert contents(root) != before

    def test_is_idempotent_where_it_says_so(self, toolbox, root, name):
        request = a_request(place(root, name), CALLS[name][0])
        if toolbox.declarations()[name].idempotent:
            toolbox.tool(name).call(request, RecordingHost())
            once = contents(root)
            toolbox.tool(name).call(request, RecordingHost())
            assert contents(root) == once

    def test_fails_with_a_reason_and_a_next_step(self, toolbox, root, name):
        before = contents(root)
        with pytest.raises(ToolFailed) as failed:
            toolbox.tool(name).call(a_request(place(root, name), CALLS[name][1]), RecordingHost())
        assert failed.value.text.startswith(f"{name}: ")
        assert failed.value.next_step
        assert failed.value.facts["tool"] == name
        assert canonical_json(failed.value.facts)
        assert contents(root) == before

    @pytest.mark.parametrize("which", [0, 1])
    def test_leaves_no_process_but_what_is_kept_for_the_next_call(self, toolbox, root, name, which):
        before = set(children_of(os.getpid()))
        try:
            toolbox.tool(name).call(a_request(place(root, name), CALLS[name][which]), RecordingHost())
        except MulliganError:
            assert which == 1
        toolbox.forget_processes()
        assert set(children_of(os.getpid())) <= before
        assert toolbox.end_survivors(a_request(place(root, name), {}).plan_id, ()) == ()


def test_a_tool_nobody_knows_is_refused_with_those_there_are(toolbox):
    with pytest.raises(ToolUnknown, match="no tool 'nonesuch'") as unknown:
        toolbox.tool("nonesuch")
    assert "apply_patch" in unknown.value.next_step


def test_declaring_tools_starts_nothing_and_imports_nothing_slow():
    """Commands that only check a plan need the declarations."""
    code = (
        "import sys, pathlib\nfrom mulligan.adapters.tools.toolbox import Launchers, LocalToolbox\n"
        "launchers = Launchers(python='none', environment={})\n"
        "LocalToolbox(launchers=launchers, scratch=pathlib.Path('/nowhere')).declarations()\n"
        "print(sorted({'subprocess', 'selectors', 'ctypes', 'socket', 'tempfile'} & set(sys.modules)))\n"
    )
    folders = [Path(__file__).parents[2] / "src", Path(msgspec.__file__).parents[1]]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(map(str, folders))}
    found = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert found.stdout == "[]\n"
