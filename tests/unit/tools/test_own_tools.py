"""Tools of the user's own: found, trusted, loaded in a worker, called and undone."""

import hashlib
import json
import os
import stat
import sys
from pathlib import Path

import pytest

from mulligan.adapters.tools.user_tools.tools_file import LARGEST, RECORD, read_tools_file
from mulligan.errors import (
    SystemFailed,
    ToolFailed,
    ToolsInvalid,
    ToolsUnsafe,
    ToolsUntrusted,
    ToolTimedOut,
    ToolUnknown,
)
from tests.support.raised import raises
from tests.support.recording_host import RecordingHost, a_request
from tests.unit.tools.project_homes import GREET, HEAD, Home

# --- trust -------------------------------------------------------------------------------------------------


def test_without_a_tools_file_there_are_the_built_in_tools(home):
    box = home.box()
    assert box.own.look().status == "missing"
    assert "shell" in box.declarations()
    assert "greet" not in box.declarations()
    assert len(box.declarations()) == len(box.built_in.declarations())
    with pytest.raises(ToolUnknown, match="no tool 'greet'"):
        box.tool("greet")


def test_an_untrusted_file_is_refused_and_not_run(home):
    home.file.write_text(GREET + f"open({str(home.folder / 'ran')!r}, 'w')\n")
    box = home.box()
    assert box.tool("shell").declaration.name == "shell"
    for ask in (box.tool, box.require, box.declarations().get):
        with pytest.raises(ToolsUntrusted, match="is not trusted yet, and the tool 'greet' is not built in"):
            ask("greet")
    assert box.own.standing().status == "untrusted"
    assert box.own.all() == ([], [])
    assert not (home.folder / "ran").exists()


def test_trust_is_for_one_content(home, root):
    box = home.trusted(GREET)
    assert (
        home.box().tool("greet").call(a_request(root, {"who": "Ada"}), RecordingHost()).output == "hello Ada"
    )
    home.file.write_text(GREET + "\n")
    assert box.tool("greet").declaration.name == "greet"  # a running process keeps what it has read
    with raises(ToolsUntrusted, path=str(home.file)):
        home.box().tool("greet")
    assert home.box().own.standing().status == "changed"


def test_a_file_that_changed_while_it_was_looked_at_is_not_trusted(home):
    home.file.write_text(GREET)
    seen = home.box().own.look().sha256
    home.file.write_text(GREET + "\n")
    with pytest.raises(ToolsUntrusted, match="is not what you looked at"):
        home.box().own.trust(seen)
    home.file.unlink()
    with raises(ToolsUntrusted, path=str(home.file)):
        home.box().own.trust(seen)


def test_the_record_is_the_owners_and_counts_only_where_it_was_made(home, tmp_path):
    home.trusted(GREET)
    record = home.home / RECORD
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    assert home.box().own.standing().status == "trusted"
    assert home.box(machine="elsewhere").own.standing().status == "untrusted"
    other = Home(tmp_path / "other")
    other.file.write_bytes(home.file.read_bytes())
    (other.home / RECORD).write_bytes(record.read_bytes())
    assert other.box().own.standing().status == "untrusted"


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"seal": 1}', "\x00"])
def test_a_record_that_is_none_counts_for_nothing(home, content):
    home.trusted(GREET)
    (home.home / RECORD).write_text(content)
    assert home.box().own.standing().status == "untrusted"


def test_a_record_that_was_changed_counts_for_nothing(home):
    home.trusted(GREET)
    record = json.loads((home.home / RECORD).read_text())
    record["tools"][0]["writes"] = False
    (home.home / RECORD).write_text(json.dumps(record))
    assert home.box().own.standing().status == "untrusted"


def test_what_tools_declare_is_asked_once_per_content_and_interpreter(home, monkeypatch):
    count = f"open({str(home.folder / 'loads')!r}, 'a').write('x')\n"
    home.trusted(GREET + count)
    assert home.box().declarations()["greet"].summary == ""
    assert (home.folder / "loads").read_text() == "x"
    monkeypatch.setattr(sys, "version", "another")
    assert "greet" in home.box().declarations()
    assert "greet" in home.box().declarations()
    assert (home.folder / "loads").read_text() == "xx"


@pytest.mark.parametrize(
    ("mode", "problem"), [(0o646, "everyone may write it"), (0o664, None), (0o600, None)]
)
def test_a_file_that_everyone_may_write_is_refused(home, mode, problem):
    home.trusted(GREET)
    home.file.chmod(mode)
    box = home.box()
    if problem is None:
        assert box.tool("greet")
        return
    with pytest.raises(ToolsUnsafe, match=problem):
        box.tool("greet")
    assert problem in box.own.standing().problem
    assert box.own.all() == ([], [])


def test_a_folder_a_giant_and_another_users_file_are_refused(home, monkeypatch):
    home.file.mkdir()
    with pytest.raises(ToolsUnsafe, match="it is not a file"):
        read_tools_file(home.file)
    home.file.rmdir()
    home.file.write_bytes(b"#" * (LARGEST + 1))
    with pytest.raises(ToolsUnsafe, match="larger than"):
        read_tools_file(home.file)
    home.file.write_text(GREET)
    uid = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: uid + 1)
    with pytest.raises(ToolsUnsafe, match=f"another user \\(uid {uid}\\)"):
        read_tools_file(home.file)


def test_a_file_or_record_that_cannot_be_reached_is_told(home):
    home.file.symlink_to(home.file.name)
    with pytest.raises(SystemFailed, match="symbolic links"):
        read_tools_file(home.file)
    home.file.unlink()
    home.trusted(GREET)
    (home.home / RECORD).unlink()
    (home.home / RECORD).mkdir()
    with pytest.raises(SystemFailed, match="directory"):
        home.box().own.look()
    with pytest.raises(SystemFailed, match="directory"):
        home.box().own.trust(hashlib.sha256(GREET.encode()).hexdigest())


# --- loading -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def broken(:\n", "line 1: SyntaxError"),
        ("import mulligan\n\n1 / 0\n", "line 3: ZeroDivisionError"),
        ("import nowhere_to_be_found\n", "line 1: ModuleNotFoundError"),
        ("raise SystemExit(3)\n", "line 1: SystemExit: 3"),
        ("import os; os._exit(3)\n", "cannot be loaded: the function ended its process"),
        (HEAD + "@mulligan.tool\ndef shell(context): ...\n", "'shell' is the name of a built-in tool"),
        ("# coding: nonesuch\n", "cannot be decoded"),
    ],
)
def test_a_file_that_cannot_be_loaded_is_refused_with_the_line(home, text, reason):
    with pytest.raises(ToolsInvalid, match=reason) as refusal:
        home.trusted(text)
    assert refusal.value.exit_code == 2
    assert not (home.home / RECORD).exists()


def test_a_file_that_broke_since_it_was_trusted_is_told(home, monkeypatch):
    home.trusted(GREET + f"if os.path.exists({str(home.folder / 'broken')!r}): raise OSError('gone')\n")
    (home.folder / "broken").touch()
    monkeypatch.setattr(sys, "version", "another")
    with pytest.raises(ToolsInvalid, match="OSError: gone"):
        home.box().tool("greet")
    assert home.box().own.all()[1] == [f"{home.file}: line 6: OSError: gone"]
    home.box().require("greet")  # whoever uses it hears of it


def test_loading_is_given_up_in_time(home, monkeypatch):
    monkeypatch.setattr("mulligan.adapters.tools.user_tools.tool_discovery.PATIENCE", 0.5)
    with pytest.raises(ToolsInvalid, match="took longer than"):
        home.trusted("import time; time.sleep(60)\n")


def test_nothing_is_looked_for_in_sandboxes_or_the_project_home(home, root):
    (root / "planted.py").write_text("raise SystemExit('planted code ran')\n")
    (home.home / "planted.py").write_text("raise SystemExit('planted code ran')\n")
    (home.folder / "planted.py").write_text("raise SystemExit('planted code ran')\n")
    box = home.trusted(
        HEAD + "@mulligan.tool\ndef look(context):\n    import planted\n"
        "@mulligan.tool\ndef where(context):\n    return [os.getcwd(), *sys.path, mulligan.__file__]\n"
    )
    with pytest.raises(ToolFailed, match="ModuleNotFoundError"):
        box.tool("look").call(a_request(root, {}), RecordingHost())
    cwd, *path, package = box.tool("where").call(a_request(root, {}), RecordingHost()).output
    assert cwd == str(root)
    assert str(root) not in path
    assert package.startswith(str(Path(__file__).parents[3] / "src"))


def test_relative_folders_of_a_pythonpath_are_meant_from_the_project(home, root):
    (root / "lib").mkdir()
    (root / "lib" / "part.py").write_text("VALUE = 'planted'\n")
    (home.folder / "lib").mkdir()
    (home.folder / "lib" / "part.py").write_text("VALUE = 'mine'\n")
    home.file.write_text(HEAD + "import part\n@mulligan.tool\ndef tell(context): return part.VALUE\n")
    box = home.box(PYTHONPATH="lib")
    box.own.trust(box.own.look().sha256)
    assert box.tool("tell").call(a_request(root, {}), RecordingHost()).output == "mine"


# --- calling and undoing -----------------------------------------------------------------------------------

SITE = (
    HEAD
    + """
from dataclasses import dataclass

@dataclass
class Page:
    title: str

def undo(context, arguments, result):
    context.log(f"{arguments} {result} {context.path().name} {dict(context.variables)}")
    if arguments.get("ask"):
        getattr(context, arguments["ask"])("a word", **({"chosen": "x"} if arguments["ask"] != "checkpoint" else {}))
    time.sleep(arguments.get("sleep", 0))
    context.state["changed"] = True

@mulligan.tool(side_effects=["external"], undo=undo, timeout=300)
def publish(context: mulligan.StepContext, title: str, sleep: float = 0, ask: str = ""):
    assert isinstance(context, mulligan.StepContext)
    context.state["n"] = 1
    print("live")
    return Page(title).title.upper()
"""
)


@pytest.mark.processes_measured
def test_a_call_and_its_undo(home, root):
    box, host = home.trusted(SITE), RecordingHost()
    request = a_request(root, {"title": "one"})
    assert box.tool("publish").call(request, host).output == "ONE"
    assert (host.memories, host.shown) == ([{"n": 1}], b"live\n")
    box.undo("publish", request, "ONE", host)
    assert host.lines == ["{'title': 'one'} ONE sandbox {'version': '2.0'}"]
    assert box.declarations()["publish"].timeout == 300


def test_an_undo_is_ended_after_the_tools_own_timeout(home, root):
    box = home.trusted(SITE.replace("timeout=300", "timeout=0.5"))
    with raises(ToolTimedOut, tool="publish", timeout=0.5):
        box.undo("publish", a_request(root, {"title": "one", "sleep": 60}), "ONE", RecordingHost())


def test_an_undo_that_is_no_more_is_told(home, root):
    box = home.trusted(GREET)
    with pytest.raises(ToolFailed, match="greet no longer has an undo"):
        box.undo("greet", a_request(root, {}), None, RecordingHost())
    with raises(ToolUnknown, tool="publish"):
        box.undo("publish", a_request(root, {}), None, RecordingHost())


def test_a_tool_that_went_since_it_was_asked_for_is_told(home, root):
    box = home.trusted(GREET + f"if os.path.exists({str(root / 'gone')!r}): del greet\n")
    (root / "gone").touch()
    with pytest.raises(ToolFailed, match=r"tools\.py has no tool 'greet'"):
        box.tool("greet").call(a_request(root, {"who": "Ada"}), RecordingHost())
