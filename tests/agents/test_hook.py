"""The command `hook`: what agents report is kept, and each prompt can be taken back by one command, byte for byte."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.commands.program import ask, data_of
from tests.faults.trials import picture_without_times
from tests.support.fake_agent import FakeAgent
from tests.support.git_world import run_git

DAMAGES = {
    "edit": "sed -i s/one/two/ a.txt; echo new > new.txt; chmod 600 sub/deep",
    "clean": "git clean -fdx",
    "clean twice": "git clean -ffdx",
    "remove": "rm -rf *",
    "reset": "echo lost >> a.txt; git reset -q --hard; git checkout -q -b other; git rm -q a.txt; git commit -qm gone",
    "commit": "echo more >> a.txt; git add -A; git commit -qm more",
    "environment": "rm -rf ignored .env; mv sub moved; ln -s nowhere link",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A project that is a git checkout, with ignored files, a file that is not committed and a database."""
    folder = tmp_path / "checkout"
    (folder / "sub").mkdir(parents=True)
    (folder / "ignored").mkdir()
    (folder / "a.txt").write_text("one\n")
    (folder / "sub" / "deep").write_text("deep\n")
    (folder / ".gitignore").write_text("ignored/\n.env\n*.db\n")
    run_git(folder, "init", "-q", "-b", "main")
    run_git(folder, "add", "-A")
    run_git(folder, "commit", "-qm", "first")
    (folder / "ignored" / "data").write_bytes(bytes(range(256)))
    (folder / ".env").write_text("SECRET=1\n")
    (folder / "untracked").write_text("not committed\n")
    with closing(sqlite3.connect(folder / "app.db")) as database:
        database.executescript("CREATE TABLE t (x); INSERT INTO t VALUES (1), (2);")
    data_of(folder, "init")
    return folder


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A project that is a plain folder."""
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    data_of(folder, "init")
    return folder


def seen(folder: Path) -> dict[Any, Any]:
    """What is in the folder, but for the small folder of the project, which commands write again."""
    found = picture_without_times(folder)
    ours = (b"./.mulligan", b"./.git/")
    state = {name: what for name, what in found.items() if not name.startswith(ours) and name != b"."}
    if (folder / ".git").exists():
        for words in ("rev-parse HEAD", "symbolic-ref HEAD", "status --porcelain"):
            state[words] = run_git(folder, *words.split())
    return state


def entries(folder: Path) -> list[dict[str, Any]]:
    return list(data_of(folder, "log")["entries"])


def test_one_command_takes_a_prompt_back_byte_for_byte(checkout: Path) -> None:
    agent = FakeAgent(checkout)
    agent.start()
    before = seen(checkout)
    for name, damage in DAMAGES.items():
        agent.prompt(name)
        agent.shell(damage)
        assert seen(checkout) != before, name
        data_of(checkout, "undo", "--yes")
        assert seen(checkout) == before, name


@pytest.mark.parametrize("damage", ["remove", "commit"])
def test_a_call_without_an_end_is_taken_back_with_all_it_did(checkout: Path, damage: str) -> None:
    agent = FakeAgent(checkout)
    agent.start()
    before = seen(checkout)
    agent.prompt("clean up")
    agent.before(DAMAGES[damage])
    agent.run(DAMAGES[damage])  # then the agent is killed, or the user presses Esc
    (entry,) = entries(checkout)
    assert (entry["kind"], entry["title"], entry["status"]) == ("prompt", "clean up", "running")
    data_of(checkout, "undo", "--yes")
    assert seen(checkout) == before


def test_a_dropped_table_comes_back(checkout: Path) -> None:
    data_of(checkout, "config", "set", "agent.databases", "*.db")
    agent = FakeAgent(checkout)
    agent.start()
    with agent.prompted("tidy the database"), closing(sqlite3.connect(checkout / "app.db")) as database:
        call = agent.before("python -c ...")
        database.executescript("DROP TABLE t")
        agent.after(call, "python -c ...")
    data_of(checkout, "undo", "--yes")
    with closing(sqlite3.connect(checkout / "app.db")) as database:
        assert database.execute("SELECT x FROM t").fetchall() == [(1,), (2,)]


def test_a_prompt_is_an_entry_named_by_its_first_line(plain: Path) -> None:
    agent = FakeAgent(plain)
    agent.start()
    with agent.prompted("\n  write b\nand more"):
        agent.shell("echo b > b.txt")
        agent.shell("echo c > c.txt")
    (entry,) = entries(plain)
    assert (entry["kind"], entry["title"], entry["files"], entry["in_place"]) == (
        "prompt",
        "write b",
        2,
        True,
    )
    assert entry["handle"] == "claude-code"
    status = data_of(plain, "status", "claude-code")
    assert [(s["name"], s["status"]) for s in status["steps"]] == [("write b", "done")]


def test_events_that_find_nothing_changed_take_no_group(plain: Path) -> None:
    agent = FakeAgent(plain)
    agent.start()
    with agent.prompted("look"):
        agent.shell("true")
    agent.prompt("look again")
    assert [c["checkpoint_type"] for c in checkpoints(plain)] == ["pre_execute"]
    answer = ask(plain, "undo", "--yes")
    assert answer["error"]["kind"] == "nothing_to_undo"


def checkpoints(folder: Path, plan: str = "claude-code") -> list[dict[str, Any]]:
    return list(data_of(folder, "checkpoint", "list", plan)["checkpoints"])


def test_what_changed_outside_of_calls_is_found_and_stays(plain: Path) -> None:
    agent = FakeAgent(plain)
    agent.start()
    with agent.prompted("write b"):
        agent.shell("echo b > b.txt")
    (plain / "mine.txt").write_text("the user's\n")
    with agent.prompted("write c"):
        agent.shell("echo c > c.txt")
    types = [c["checkpoint_type"] for c in checkpoints(plain)]
    assert types == ["pre_execute", "on_tool_write_complete", "found", "on_tool_write_complete"]
    assert [e["title"] for e in entries(plain)] == ["write c", "write b"]
    data_of(plain, "undo", "--yes")
    data_of(plain, "undo", "--yes")
    assert not (plain / "b.txt").exists()
    assert not (plain / "c.txt").exists()
    assert (plain / "mine.txt").read_text() == "the user's\n"
    data_of(plain, "redo", "--yes")
    assert (plain / "b.txt").exists()
    assert not (plain / "c.txt").exists()


def test_what_a_cut_off_call_did_ends_with_the_next_event(plain: Path) -> None:
    agent = FakeAgent(plain)
    agent.start()
    agent.prompt("first")
    agent.before("sleep")
    agent.run("echo cut off > b.txt")
    agent.prompt("second")
    (plain / "mine.txt").write_text("later\n")
    newest, oldest = entries(plain)
    assert (oldest["status"], oldest["files"], newest["status"]) == ("interrupted", 1, "running")
    data_of(plain, "undo", str(oldest["number"]), "--yes")
    assert not (plain / "b.txt").exists()
    assert (plain / "mine.txt").exists()


def test_what_goes_on_after_the_answer_belongs_to_its_prompt(plain: Path) -> None:
    """Subagents and commands that run in the background: Claude Code stops before they do, and again after them."""
    agent = FakeAgent(plain)
    agent.start()
    agent.prompt("do both")
    agent.shell("echo now > now.txt")
    launched = {"tool_name": "Agent", "tool_use_id": "a1", "tool_input": {"prompt": "the left half"}}
    agent.hook("PreToolUse", **launched)
    agent.hook("PostToolUse", tool_response={"isAsync": True, "status": "async_launched"}, **launched)
    agent.hook("Stop", background_tasks=[{"id": "b1", "type": "subagent", "status": "running"}])
    agent.shell("echo of a subagent > b.txt")
    agent.run("echo later > later.txt")
    agent.hook("Stop", background_tasks=[])
    (entry,) = entries(plain)
    assert (entry["title"], entry["status"], entry["files"]) == ("do both", "done", 3)
    data_of(plain, "undo", "--yes")
    assert sorted(p.name for p in plain.iterdir()) == [".mulligan", "a.txt"]


def test_a_patch_that_did_not_fit_has_no_end_and_leaves_the_prompt_done(plain: Path) -> None:
    """Codex reports no end of it, nor opencode that of an edit that failed; the agent goes on, and stops on its own."""
    agent = FakeAgent(plain, "c1", "codex")
    agent.hook("SessionStart", source="startup")
    agent.hook("UserPromptSubmit", prompt="patch it", turn_id="t1")
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-never there\n+two\n*** End Patch"
    agent.hook("PreToolUse", tool_name="apply_patch", tool_use_id="p1", tool_input={"command": patch})
    agent.shell("echo b > b.txt")
    agent.hook("Stop", turn_id="t1")
    (entry,) = entries(plain)
    assert (entry["status"], entry["files"]) == ("done", 1)
    events = data_of(plain, "log", "codex")["events"]
    assert [e["data"]["status"] for e in events if e["type"] == "tool_called"] == ["done"]


def test_overlapping_calls_end_the_entry_with_the_last_of_them(plain: Path) -> None:
    agent = FakeAgent(plain)
    agent.start()
    agent.prompt("two at once")
    one, two = agent.before("one"), agent.before("two")
    agent.run("echo 1 > one")
    agent.after(one, "one")
    assert entries(plain)[0]["after"] is None
    agent.run("echo 2 > two")
    agent.after(two, "two")
    agent.stop()
    assert entries(plain)[0]["files"] == 2
    data_of(plain, "undo", "--yes")
    assert sorted(p.name for p in plain.iterdir()) == [".mulligan", "a.txt"]


def test_calls_without_ids_are_paired_by_tool_and_input(plain: Path) -> None:
    agent = FakeAgent(plain, "g1", "gemini-cli")
    agent.hook("SessionStart")
    agent.hook("BeforeAgent", prompt="write")
    given = [
        {"tool_name": "run_shell_command", "tool_input": {"command": word}} for word in ("one", "two", "one")
    ]
    for call in given:
        agent.hook("BeforeTool", **call)
    agent.run("echo b > b.txt")
    agent.hook("AfterTool", **given[1])
    agent.hook("AfterTool", **given[0])
    agent.hook("AfterAgent", prompt="write")
    events = data_of(plain, "log", "gemini-cli")["events"]
    assert [e["data"]["status"] for e in events if e["type"] == "tool_called"] == ["done", "done"]
    assert entries(plain)[0]["status"] == "interrupted"  # one call was never ended


def test_the_agent_learns_what_an_undo_changed(plain: Path) -> None:
    agent = FakeAgent(plain)
    agent.start()
    with agent.prompted("write b"):
        agent.shell("echo b > b.txt; echo two > a.txt")
    data_of(plain, "undo", "--yes")
    answer = agent.prompt("go on")
    context = answer["hookSpecificOutput"]["additionalContext"]
    assert "- a.txt" in context
    assert "- b.txt (removed)" in context
    agent.stop()
    assert agent.prompt("and on") == {}


def test_a_session_goes_on_after_an_undo_of_its_present_prompt(plain: Path) -> None:
    agent = FakeAgent(plain)
    agent.start()
    agent.prompt("write")
    agent.shell("echo b > b.txt")
    data_of(plain, "undo", "--yes")
    agent.shell("echo c > c.txt")
    agent.stop()
    assert [(e["title"], e["undone"]) for e in entries(plain)] == [("write", False), ("write", True)]
    data_of(plain, "undo", "--yes")
    assert sorted(p.name for p in plain.iterdir()) == [".mulligan", "a.txt"]


def test_a_resumed_session_goes_on_with_its_plan(plain: Path) -> None:
    first = FakeAgent(plain)
    first.start()
    with first.prompted("one"):
        first.shell("echo b > b.txt")
    first.end()
    first.start("resume")
    with first.prompted("two"):
        first.shell("echo c > c.txt")
    assert {e["handle"] for e in entries(plain)} == {"claude-code"}
    assert len(data_of(plain, "list")["plans"]) == 1


def test_two_agents_share_a_folder(plain: Path) -> None:
    one, two = FakeAgent(plain, "s1"), FakeAgent(plain, "x1", "codex")
    one.start()
    two.start()
    one.prompt("one")
    two.hook("UserPromptSubmit", prompt="two", turn_id="t1")
    first = one.before("build")
    one.run("echo 1 > one")
    two.shell("echo 2 > two")
    one.run("echo 3 > three")
    one.after(first, "build")
    two.stop()
    one.stop()
    by_title = {e["title"]: e for e in entries(plain)}
    assert {title: e["handle"] for title, e in by_title.items()} == {"one": "claude-code", "two": "codex"}
    data_of(plain, "undo", str(by_title["two"]["number"]), "--yes")
    assert not (plain / "two").exists()
    assert (plain / "three").exists()
    data_of(plain, "undo", str(by_title["one"]["number"]), "--yes")
    assert sorted(p.name for p in plain.iterdir()) == [".mulligan", "a.txt"]


def test_a_run_in_place_between_two_prompts_is_an_entry_of_its_own(plain: Path) -> None:
    agent = FakeAgent(plain)
    agent.start()
    with agent.prompted("one"):
        agent.shell("echo b > b.txt")
    ask(plain, "run", "--in-place", "--", "sh", "-c", "echo r > r.txt")
    with agent.prompted("two"):
        agent.shell("echo c > c.txt")
    assert [e["kind"] for e in entries(plain)] == ["prompt", "run", "prompt"]
    for _ in range(3):
        data_of(plain, "undo", "--yes")
    assert sorted(p.name for p in plain.iterdir()) == [".mulligan", "a.txt"]


def test_a_failure_lets_the_agent_go_on_and_is_said_once(plain: Path) -> None:
    agent = FakeAgent(plain)
    agent.start()
    database = Path(data_of(plain, "config", "get", "core.database.url")["value"].removeprefix("sqlite:///"))
    database.write_bytes(b"this is not a database" * 100)
    code, answer = agent.hook("UserPromptSubmit", prompt="hello", prompt_id="p")
    assert code == 0
    assert "goes on" in answer["systemMessage"]
    assert "project." not in answer["systemMessage"], "it names commands"
    assert agent.hook("PreToolUse", tool_name="Bash", tool_use_id="c", tool_input={"command": "x"}) == (0, {})
    strict = FakeAgent(plain, "s1", "claude-code", "--strict")
    assert strict.hook("PreToolUse", tool_name="Bash", tool_use_id="c", tool_input={})[0] == 2


def test_a_payload_that_makes_no_sense_does_no_harm(plain: Path) -> None:
    agent = FakeAgent(plain)
    assert agent.hook("UserPromptSubmit", session_id=None)[0] == 0
    assert agent.hook("NoSuchEvent") == (0, {})
    assert entries(plain) == []


def test_a_folder_without_a_project_is_left_alone_and_that_is_said_once(tmp_path: Path) -> None:
    agent = FakeAgent(tmp_path)
    assert "mulligan init" in agent.start()["systemMessage"]
    assert agent.start() == {}
    assert agent.prompt("hello") == {}
    assert list(tmp_path.iterdir()) == []


def test_an_agent_that_went_elsewhere_is_still_at_work_in_its_project(plain: Path, tmp_path: Path) -> None:
    before = seen(plain)
    agent = FakeAgent(plain)
    agent.start()
    with agent.prompted("first"):
        agent.shell("echo 1 > first.txt")
        agent.working = tmp_path / "elsewhere"
        agent.working.mkdir()
        agent.shell("rm a.txt")
    between = seen(plain)
    with agent.prompted("second"):
        agent.shell("rm first.txt")
    assert [(entry["title"], entry["status"]) for entry in entries(plain)] == [
        ("second", "done"),
        ("first", "done"),
    ]
    for expected in (between, before):
        data_of(plain, "undo", "--yes")
        assert seen(plain) == expected
    assert not list(agent.working.iterdir())


def test_hooks_do_nothing_while_they_are_paused(plain: Path) -> None:
    agent = FakeAgent(plain)
    agent.start()
    data_of(plain, "pause")
    agent.prompt("one")
    assert entries(plain) == []
    data_of(plain, "unpause")
    agent.prompt("two")
    assert [e["title"] for e in entries(plain)] == ["two"]


def test_calls_of_tools_that_only_read_leave_nothing(plain: Path) -> None:
    agent = FakeAgent(plain)
    assert agent.hook("PreToolUse", tool_name="Read", tool_use_id="c", tool_input={"file_path": "a.txt"}) == (
        0,
        {},
    )
    assert data_of(plain, "list")["plans"] == []


def test_a_call_that_no_prompt_came_before_is_kept(plain: Path) -> None:
    agent = FakeAgent(plain)
    agent.shell("echo b > b.txt")
    agent.after("never begun", "x")
    assert [e["files"] for e in entries(plain)] == [1]


def test_everywhere_makes_a_project_in_a_checkout(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q")
    (tmp_path / "sub").mkdir()
    agent = FakeAgent(tmp_path / "sub", "s1", "claude-code", "--everywhere")
    assert agent.start() == {}
    assert (tmp_path / ".mulligan").is_dir()


def test_commits_can_be_kept(checkout: Path) -> None:
    agent = FakeAgent(checkout)
    agent.start()
    with agent.prompted("commit"):
        agent.shell(DAMAGES["commit"])
    made = run_git(checkout, "rev-parse", "HEAD")
    data_of(checkout, "undo", "--yes", "--keep-commits")
    assert (checkout / "a.txt").read_text() == "one\n"
    assert run_git(checkout, "rev-parse", "HEAD") == made


def test_commits_of_a_sandbox_are_its_own(plain: Path) -> None:
    ask(plain, "run", "--", "sh", "-c", "echo r > r.txt")
    assert ask(plain, "undo", "--yes", "--keep-commits")["exit_code"] == 2
    data_of(plain, "apply", "--yes")
    assert ask(plain, "undo", "--yes", "--keep-commits")["exit_code"] == 2


def test_a_call_that_is_reported_twice_is_one_call(plain: Path) -> None:
    agent = FakeAgent(plain)
    agent.start()
    agent.prompt("write")
    given: dict[str, Any] = {"tool_name": "Bash", "tool_use_id": "c1", "tool_input": {"command": "x"}}
    for event in ("PreToolUse", "PreToolUse"):  # the answer to the first was lost
        agent.hook(event, **given)
    agent.run("echo two > a.txt")
    agent.hook("PostToolUse", tool_response={"stdout": ""}, **given)
    (plain / "mine").write_text("the user's")
    agent.stop()
    (entry,) = entries(plain)
    assert entry["status"] == "done"
    data_of(plain, "undo", "--yes")
    assert ((plain / "a.txt").read_text(), (plain / "mine").exists()) == ("one\n", True)


def test_a_home_that_came_with_a_repository_decides_nothing(tmp_path: Path) -> None:
    clone, home = tmp_path / "clone", tmp_path / "clone" / "vendor" / "h"
    (clone / "sub" / ".mulligan").mkdir(parents=True)
    (home / "mulligan").mkdir(parents=True)
    (home / "mulligan" / "__init__.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    (home / "server.log").symlink_to(tmp_path / "precious")
    (tmp_path / "precious").write_text("precious")
    gone = {"folder": "/gone/x", "identity": {"device": 1, "inode": 1, "made_ns": 1}}
    (home / "project.json").write_text(json.dumps(gone))
    link = {"home": "/proc/self/cwd/../vendor/h", **gone}
    (clone / "sub" / ".mulligan" / "home.json").write_text(json.dumps(link))
    agent = FakeAgent(clone / "sub")
    agent.start()
    agent.prompt("anything")
    assert not (tmp_path / "ran").exists()
    assert (tmp_path / "precious").read_text() == "precious"
    assert sorted(path.name for path in home.iterdir()) == ["mulligan", "project.json", "server.log"]


def test_an_undo_keeps_what_others_did_between_two_calls_of_the_prompt(plain: Path) -> None:
    one, other = FakeAgent(plain, "s1"), FakeAgent(plain, "s2")
    for agent in (one, other):
        agent.start()
        agent.prompt(f"of {agent.session}")
    one.shell("echo 1 > a1")
    other.shell("echo 1 > b1")
    (plain / "mine").write_text("the user's")
    data_of(plain, "run", "--in-place", "--", "touch", "by-a-run")
    one.shell("echo 2 > a2")
    one.stop()
    other.stop()
    assert [entry["title"] for entry in entries(plain)][:1] == ["of s1"]
    newest, first = (e["number"] for e in entries(plain) if e["title"] == "of s1")
    data_of(plain, "undo", "--yes", str(newest))
    data_of(plain, "undo", "--yes", str(first))
    assert sorted(path.name for path in plain.iterdir()) == [".mulligan", "a.txt", "b1", "by-a-run", "mine"]


@pytest.mark.parametrize(("flags", "code"), [((), 0), (("--strict",), 2)])
def test_a_folder_that_is_gone_stops_no_agent(tmp_path: Path, flags: tuple[str, ...], code: int) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    words = [sys.executable, "-m", "mulligan", "hook", *flags, "claude-code"]
    script = 'rmdir "$PWD"; exec "$@"'
    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", *words], cwd=gone, input=b"{}", capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, b"removed" in done.stderr) == (code, b"", True)


def test_a_database_behind_a_symlink_refuses_no_session(checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    for name in ("elsewhere/x.db", "elsewhere/y.db"):
        with closing(sqlite3.connect(tmp_path / name)) as database:
            database.executescript("CREATE TABLE t (x)")
    (checkout / "linked").symlink_to(tmp_path / "elsewhere")
    (checkout / "y.db").symlink_to(tmp_path / "elsewhere/y.db")
    for pattern in ("*.db", "*/*.db"):
        data_of(checkout, "config", "set", "--add", "agent.databases", pattern)
    agent = FakeAgent(checkout)
    assert agent.start() == {}
    sandboxes = data_of(checkout, "status", "claude-code")["sandboxes"]
    assert [s["resource"] for s in sandboxes] == ["workspace", "database-1"]
