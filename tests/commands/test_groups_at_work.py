"""Checkpoints that are taken while the programs of a step are at work: on_quiet and on_interval."""

import errno
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import mulligan
from mulligan.adapters.engine.side_thread import SideThreads
from mulligan.adapters.snapshots.watch.inotify import Inotify
from mulligan.cli.main import run
from mulligan.errors import PlanTakenOver
from tests.commands.program import ask, data_of
from tests.commands.running import on_a_terminal
from tests.support.git_world import GIT_ENVIRONMENT
from tests.support.homes import home_of
from tests.support.usher import until, ushered, wait_in_python

QUIET = {
    "sandbox.checkpoint.auto-create-on": ["before_step", "on_quiet"],
    "sandbox.checkpoint.quiet-seconds": "200ms",
}
OFTEN = {
    "sandbox.checkpoint.auto-create-on": ["before_step", "on_interval"],
    "sandbox.checkpoint.interval-seconds": 0.2,
}


@pytest.fixture(autouse=True)
def git_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", GIT_ENVIRONMENT["GIT_CONFIG_GLOBAL"])


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    made = tmp_path / "work"
    made.mkdir()
    (made / "a").write_text("old\n")
    with ushered(made):
        yield made


def plan(folder: Path, config: dict[str, Any], *steps: dict[str, Any], **more: Any) -> str:
    """Write a plan file; JSON is YAML."""
    document = {"name": "long", "config": config, "steps": [*steps], **more}
    (folder / "plan.yaml").write_text(json.dumps(document))
    return "plan.yaml"


def shell(*lines: str, name: str = "work", **more: Any) -> dict[str, Any]:
    return {"name": name, "run": "\n".join(lines), "timeout": 120, **more}


def groups(folder: Path, *types: str, name: str = "long") -> list[dict[str, Any]]:
    found = data_of(folder, "checkpoint", "list", name, "--all")["checkpoints"]
    return [each for each in found if each["checkpoint_type"] in (types or ("on_quiet", "on_interval"))]


def held(folder: Path, number: int, path: str, *, name: str = "long") -> str:
    """Return what a checkpoint has at a path."""
    target = folder.parent / f"out-{name}-{number}"
    if not target.exists():
        data_of(folder, "checkpoint", "restore", f"{name}@{number}", "--to", str(target))
    (file,) = target.glob(f"*/{path}")
    return file.read_text()


class TestInTheMiddleOfAStep:
    def test_a_quiet_moment_is_kept_with_the_plan_as_the_step_found_it(self, folder: Path) -> None:
        work = shell("echo half > a", until(folder, 1), "echo done > a")
        data = data_of(folder, "plan", "execute", plan(folder, QUIET, work))
        group = groups(folder)[
            0
        ]  # a machine that is busy may need long enough to end the step for another one
        assert data["state"] == "complete"
        assert held(folder, group["number"], "a") == "half\n"
        assert (group["checkpoint_type"], group["step_index"], group["modified"]) == ("on_quiet", 0, True)
        assert group["metadata"] == {
            "reason": "on_quiet",
            "phase": "execute",
            "step": "work",
            "tool": "shell",
            "at_work": True,
        }

    def test_at_intervals_something_is_kept_only_if_it_changed(self, folder: Path) -> None:
        lines = ("echo 1 > a", until(folder, 1), "sleep 0.7", "echo 2 > a", until(folder, 2))
        data_of(folder, "plan", "execute", plan(folder, OFTEN, shell(*lines)))
        one, two = groups(folder)
        assert [held(folder, each["number"], "a") for each in (one, two)] == ["1\n", "2\n"]

    def test_its_order_is_that_of_the_log(self, folder: Path) -> None:
        work = shell("echo half > a", until(folder, 1))
        data_of(folder, "plan", "execute", plan(folder, QUIET, work))
        events = data_of(folder, "log", "long")["events"]
        kinds = [
            event["data"]["checkpoint_type"] if event["type"] == "checkpoint" else event["type"]
            for event in events
        ]
        assert kinds.index("step_started") < kinds.index("on_quiet") < kinds.index("step_done")
        numbers = [event["data"]["number"] for event in events if event["type"] == "checkpoint"]
        assert numbers == sorted(numbers)

    def test_what_is_written_in_a_new_folder_is_noticed(self, folder: Path) -> None:
        """It is watched at once: no quiet moment is seen while a program writes there.

        Unless the machine is so busy that the program itself pauses for as long: then it is tried again.
        """
        busy = "for n in 1 2 3 4 5 6 7 8 9 10 11 12; do date +%s.%N >> new/deep/log; sleep 0.1; done"
        slow = QUIET | {"sandbox.checkpoint.quiet-seconds": "1s"}
        taken = 0
        for name in ("one", "two", "three", "four", "five"):
            work = shell("mkdir -p new/deep", busy, until(folder, taken + 1))
            data_of(folder, "plan", "execute", plan(folder, slow, work, name=name))
            first, *others = groups(folder, name=name)
            log = Path(data_of(folder, "status", name)["sandboxes"][0]["path"], "new", "deep", "log")
            times = [float(line) for line in log.read_text().splitlines()]
            if max(later - earlier for earlier, later in pairwise(times)) < 0.9:
                break
            taken += 1 + len(others)
        assert held(folder, first["number"], "new/deep/log", name=name) == log.read_text()

    def test_excluded_files_are_not_waited_for(self, folder: Path) -> None:
        config = QUIET | {"sandbox.exclude": ["*.log"]}
        work = shell("echo half > a", f"while [ ! -e {folder}.group1 ]; do echo . >> x.log; sleep 0.05; done")
        data_of(folder, "plan", "execute", plan(folder, config, work))
        assert len(groups(folder)) == 1

    def test_a_file_that_never_holds_still_is_named(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        read = os.read

        def reading(fd: int, length: int) -> bytes:
            """Let the file grow each time that it is read."""
            data = read(fd, length)
            if (path := os.readlink(f"/proc/self/fd/{fd}")).endswith("/workspace/log") and not over.exists():
                with open(path, "a") as file:
                    file.write("line\n")
            return data

        over = Path(f"{folder}.group1")
        monkeypatch.setattr(os, "read", reading)
        work = shell("echo line > log", "echo still > a", until(folder, 1))
        data = data_of(folder, "plan", "execute", plan(folder, OFTEN, work))
        first = groups(folder)[0]
        assert first["metadata"]["busy"] == [{"resource": "workspace", "path": "log"}]
        assert first["metadata"]["still"] is False
        assert held(folder, first["number"], "a") == "still\n"
        assert set(held(folder, first["number"], "log").splitlines()) == {"line"}
        assert not any("log" in text for text in data["messages"]), "it is the nature of such a group"
        answer = ask(folder, "plan", "rollback", "--dry-run", "long", f"@{first['number']}")
        assert any("never held still" in text and "workspace: log" in text for text in answer["messages"])

    def test_a_program_that_prints_without_end_is_not_kept_waiting(self, folder: Path) -> None:
        """Its output is read while the group is taken: it would fill the pipe otherwise."""
        flood = "while [ ! -e GO ]; do printf '%080d\\n' 1; done".replace("GO", f"{folder}.group1")
        data_of(folder, "plan", "execute", plan(folder, QUIET, shell("echo half > a", flood)))
        assert len(groups(folder)) == 1

    def test_nothing_is_taken_unless_it_is_asked_for(self, folder: Path) -> None:
        usual = {"sandbox.checkpoint.quiet-seconds": 0.1, "sandbox.checkpoint.interval-seconds": 0.1}
        data_of(folder, "plan", "execute", plan(folder, usual, shell("echo 1 > a", "sleep 0.5")))
        assert groups(folder) == []

    def test_a_plan_without_checkpoints_takes_none(self, folder: Path) -> None:
        file = plan(folder, OFTEN, shell("echo 1 > a", "sleep 0.5"), rollback_policy={"enabled": False})
        assert data_of(folder, "plan", "execute", file)["state"] == "complete"


class TestEveryTool:
    def test_of_a_function(self, folder: Path) -> None:
        code = f"def main(context):\n    open('a', 'w').write('half')\n{_indented(folder)}    context.log('on')\n"
        (folder / "tool.py").write_text(code)
        step = {"name": "work", "tool": "python", "args": {"function": "tool:main"}}
        data_of(folder, "plan", "execute", plan(folder, QUIET, step))
        (group,) = groups(folder)
        assert (group["metadata"]["tool"], held(folder, group["number"], "a")) == ("python", "half")

    def test_of_a_command(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("MULLIGAN_SANDBOX_CHECKPOINT_AUTO_CREATE_ON", "on_quiet")
        monkeypatch.setenv("MULLIGAN_SANDBOX_CHECKPOINT_QUIET_SECONDS", "0.2")
        words = f"echo half > a; {until(folder, 1)}; exit 3"
        assert ask(folder, "run", "--name", "long", "--", "sh", "-c", words)["exit_code"] == 3
        (group,) = groups(folder)
        assert held(folder, group["number"], "a") == "half\n"

    def test_of_an_interactive_program_whose_terminal_stays_its_own(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MULLIGAN_SANDBOX_CHECKPOINT_AUTO_CREATE_ON", "on_quiet")
        monkeypatch.setenv("MULLIGAN_SANDBOX_CHECKPOINT_QUIET_SECONDS", "200ms")
        words = f"echo half > a; {until(folder, 1)}; printf 'one\\ntwo'"
        _, shown = on_a_terminal(
            folder, "-v", "run", "-i", "--name", "long", "--", "sh", "-c", words, typed=(b"drop?", b"k\r")
        )
        assert "one\ntwo" in shown
        assert shown.index("two") < shown.index("in a quiet moment of step 1")
        (group,) = groups(folder)
        assert held(folder, group["number"], "a") == "half\n"

    def test_of_child_plans_each_its_own(self, folder: Path) -> None:
        children = [
            {"name": f"c{n}", "steps": [shell(f"echo half > f{n}", until(folder, 2), name="s")]}
            for n in (1, 2)
        ]
        step = {"name": "split", "subplans": {"plans": children}}
        data_of(folder, "plan", "execute", plan(folder, QUIET, step))
        for n in (1, 2):
            (group,) = groups(folder, name=f"long.c{n}")
            assert held(folder, group["number"], f"f{n}", name=f"long.c{n}") == "half\n"
        assert groups(folder) == [], "nobody writes to the sandbox of the parent"

    def test_of_a_plan_in_place(self, folder: Path) -> None:
        config = QUIET | {"sandbox.strategy": "in_place"}
        file = plan(folder, config, shell("echo half > a", until(folder, 1), "echo done > a"))
        data_of(folder, "plan", "execute", file)
        group = groups(folder)[0]
        assert held(folder, group["number"], "a") == "half\n"
        data_of(folder, "undo", "--yes")
        assert (folder / "a").read_text() == "old\n", "an undo takes back the whole step"


def _indented(folder: Path) -> str:
    return "".join(f"    {line}\n" for line in wait_in_python(folder, 1).splitlines())


class TestGitCheckouts:
    def test_a_commit_in_the_middle_is_whole(self, folder: Path) -> None:
        for words in ("init -q -b main", "add -A", "commit -q -m one"):
            subprocess.run(["git", *words.split()], cwd=folder, check=True)
        work = shell(
            "echo half > a", "git commit -q -am half", until(folder, 1), "git commit -q --amend -m done"
        )
        slow = QUIET | {"sandbox.checkpoint.quiet-seconds": "2s"}  # git may pause between two writes
        data_of(folder, "plan", "execute", plan(folder, slow, work))
        group = groups(folder)[0]
        assert data_of(folder, "checkpoint", "verify", f"long@{group['number']}")["damaged"] == []
        data_of(folder, "plan", "rollback", "--yes", "long", f"@{group['number']}")
        path = data_of(folder, "status", "long")["sandboxes"][0]["path"]
        subject = subprocess.run(
            ["git", "log", "-1", "--format=%s"], cwd=path, check=True, capture_output=True, text=True
        )
        assert subject.stdout == "half\n"


WRITER = """
import sqlite3
db = sqlite3.connect("data.db", isolation_level=None, timeout=0)
db.execute("PRAGMA journal_mode = {mode}")
db.execute("INSERT INTO t VALUES ('committed')")
db.execute("PRAGMA cache_size = {cache}")
db.execute("BEGIN IMMEDIATE")
for _ in range(2000):
    db.execute("INSERT INTO t VALUES (?)", ("open" * 100,))
open("mark", "w").write("x")
{wait}
db.execute("COMMIT")
"""


class TestDatabases:
    @pytest.fixture
    def database(self, folder: Path) -> Path:
        with closing(sqlite3.connect(folder / "data.db")) as made:
            made.execute("CREATE TABLE t (x)")
        return folder

    def execute(self, folder: Path, mode: str, cache: int) -> dict[str, Any]:
        (folder / "writer.py").write_text(
            WRITER.format(mode=mode, cache=cache, wait=wait_in_python(folder, 1))
        )
        resources = {
            "files": {"type": "fs-directory", "location": "."},
            "data": {"type": "sqlite", "location": "data.db"},
        }
        step = shell(f"{sys.executable} writer.py")
        return data_of(folder, "plan", "execute", plan(folder, OFTEN, step, resources=resources))

    def rows(self, folder: Path, number: int) -> list[str]:
        target = folder.parent / "look"
        data_of(folder, "checkpoint", "restore", f"long@{number}", "--to", str(target))
        with closing(sqlite3.connect(target / "data" / "data.db")) as found:
            return [row[0] for row in found.execute("SELECT x FROM t")]

    @pytest.mark.parametrize(
        ("mode", "cache"), [("DELETE", -2000), ("DELETE", 1), ("TRUNCATE", 1), ("WAL", -2000)]
    )
    def test_what_is_committed_is_held_and_the_writer_never_waits(
        self, database: Path, mode: str, cache: int
    ) -> None:
        """With a timeout of 0 a lock of ours would fail its COMMIT."""
        assert self.execute(database, mode, cache)["state"] == "complete"
        group = groups(database)[0]
        assert "busy" not in group["metadata"]
        assert self.rows(database, group["number"]) == ["committed"]

    def test_one_without_a_journal_on_the_disk_is_named_and_held_as_before(self, database: Path) -> None:
        assert self.execute(database, "MEMORY", 1)["state"] == "complete"
        group = groups(database)[0]
        assert group["metadata"]["busy"] == [{"resource": "data", "path": "data.db"}]
        assert self.rows(database, group["number"]) == []


class TestWhatItIsGoodFor:
    @pytest.fixture
    def failed(self, folder: Path) -> tuple[Path, str]:
        """A plan whose second step failed after a group was taken inside it."""
        lines = (
            "test -e half || { echo half > half; WAIT; }",
            'echo "$(cat half) $(ls)" > seen',
            "test -e ok",
        )
        work = shell(*(line.replace("WAIT", until(folder, 1)) for line in lines))
        file = plan(folder, QUIET, shell("echo first > first", name="begin"), work)
        assert ask(folder, "plan", "execute", file)["exit_code"] == 1
        group = groups(folder)[0]
        assert group["superseded"], "the step was taken back"
        return folder, f"@{group['number']}"

    def test_a_rollback_to_it_says_that_the_step_is_not_done(self, failed: tuple[Path, str]) -> None:
        folder, word = failed
        for answer in (
            ask(folder, "plan", "rollback", "--dry-run", "long", word),
            ask(folder, "plan", "rollback", "--yes", "long", word),
        ):
            (said,) = (text for text in answer["messages"] if "was at work" in text)
            assert "step 2 (work)" in said
            assert "a resume runs it again on these files" in said
            assert answer["data"]["post_rollback_state"]["step_index"] == 1
        assert [step["status"] for step in data_of(folder, "status", "long")["steps"]] == ["done", "pending"]

    def test_a_resume_from_it_runs_the_step_again_on_its_files(self, failed: tuple[Path, str]) -> None:
        folder, word = failed
        answer = ask(folder, "resume", "long", "--from", word)
        assert answer["exit_code"] == 1, "the step fails as before"
        assert any("was at work" in text for text in answer["messages"])
        path = Path(data_of(folder, "status", "long")["sandboxes"][0]["path"])
        assert (path / "half").read_text() == "half\n"

    def test_a_resume_without_it_starts_before_the_step(self, failed: tuple[Path, str]) -> None:
        folder, _ = failed
        path = Path(data_of(folder, "status", "long")["sandboxes"][0]["path"])
        assert not (path / "half").exists()
        preview = ask(folder, "resume", "long", "--dry-run")
        assert preview["data"]["resumed_from"]["step_index"] == 1

    def test_accept_takes_what_the_step_had_done_by_then(self, failed: tuple[Path, str]) -> None:
        folder, word = failed
        taken = data_of(folder, "accept", "long", "--at", word)
        assert taken["accepted"]["taken"] == ["work"]
        assert taken["state"] == "complete"
        data_of(folder, "apply", "--yes", "long")
        assert (folder / "half").read_text() == "half\n"
        assert not (folder / "seen").exists()

    def test_no_word_means_it(self, failed: tuple[Path, str]) -> None:
        folder, word = failed
        data_of(folder, "plan", "rollback", "--yes", "long", word)
        assert f"@{data_of(folder, 'checkpoint', 'show', 'latest')['number']}" == word, "the plan rests there"

    def test_while_the_step_is_at_work_latest_is_from_before_it(self, folder: Path) -> None:
        program = f"{sys.executable} -m mulligan --format json --project {folder} checkpoint show"
        look = f"{program} latest > {folder}.latest; {program} @-1 > {folder}.newest"
        config = QUIET | {"sandbox.at": "own-path", "sandbox.isolate": "off"}
        data_of(
            folder, "plan", "execute", plan(folder, config, shell("echo half > a", until(folder, 1), look))
        )
        shown = [json.loads(Path(f"{folder}.{word}").read_text())["data"] for word in ("latest", "newest")]
        assert [each["checkpoint_type"] for each in shown] == ["before_step", "on_quiet"]


def test_others_do_not_go_because_of_them(folder: Path) -> None:
    """Of groups within the limit those of work are the first to go, and none of the others goes for one."""
    lines = [line for n in range(1, 7) for line in (f"echo {n} > a", until(folder, n))]
    config = OFTEN | {"sandbox.checkpoint.max-checkpoints-per-plan": 4}
    file = plan(folder, config, shell("echo x > x", name="one", checkpoint="mine"), shell(*lines))
    data_of(folder, "plan", "execute", file)
    left = [each["checkpoint_type"] for each in data_of(folder, "checkpoint", "list", "long")["checkpoints"]]
    assert left == ["pre_execute", "manual", "before_step", "on_interval", "post_execute"]


def test_a_session_says_that_they_never_fire(folder: Path) -> None:
    data_of(folder, "init")
    config: dict[str, Any] = {"sandbox.checkpoint.auto-create-on": ["on_quiet", "on_interval"]}
    with mulligan.open(folder).session("s", config=config) as session:
        (said,) = session.messages
    assert said.startswith(
        "on_quiet and on_interval never fire in a session; `session.checkpoint(LABEL)` takes"
    )


def test_people_see_them_only_if_they_ask(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = plan(folder, QUIET, shell("echo half > a", until(folder, 1)))
    monkeypatch.chdir(folder)
    run(["plan", "execute", file])
    assert "quiet" not in "".join(capfd.readouterr())
    run(["checkpoint", "list", "long"])
    assert "in a quiet moment of step 1" in capfd.readouterr().out


def till(sign: Path) -> str:
    """The words of a shell that wait for a file."""
    return f"until [ -e {sign} ]; do sleep 0.02; done"


def till_in_python(sign: Path) -> str:
    """The same, in the body of a function."""
    return f"    while not os.path.exists({str(sign)!r}):\n        time.sleep(0.02)\n"


class Late:
    """Work that is under way until its caller waits for it."""

    is_over = False

    def __init__(self, work: Callable[[], object]) -> None:
        self.finish = work


class TestTheEndOfTheStep:
    """A group that is being taken when the step ends is complete before the end is recorded."""

    @pytest.fixture(autouse=True)
    def begun(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """The file that appears when a group is begun, and will be taken when the step ends."""
        sign = Path(f"{folder}.begun")

        def begin(_self: SideThreads, work: Callable[[], object]) -> Late:
            sign.touch()
            return Late(work)

        monkeypatch.setattr(SideThreads, "begin", begin)
        return sign

    @pytest.mark.parametrize(("end", "after"), [("true", "step_done"), ("false", "step_failed")])
    def test_it_comes_before_the_end(self, folder: Path, begun: Path, end: str, after: str) -> None:
        ask(folder, "plan", "execute", plan(folder, OFTEN, shell("echo half > a", till(begun), end)))
        events = data_of(folder, "log", "long")["events"]
        words = [event["data"].get("checkpoint_type", event["type"]) for event in events]
        assert words.index("step_started") < words.index("on_interval") < words.index(after)
        numbers = [
            each["number"] for each in data_of(folder, "checkpoint", "list", "long", "--all")["checkpoints"]
        ]
        assert numbers == sorted(numbers)

    def test_a_request_of_the_tool_waits_for_it(self, folder: Path, begun: Path) -> None:
        code = (
            f"import os, time\ndef main(context):\n    open('a', 'w').write('half')\n{till_in_python(begun)}"
            "    context.checkpoint('mine')\n    context.log('on')\n"
        )
        (folder / "tool.py").write_text(code)
        step = {"name": "work", "tool": "python", "args": {"function": "tool:main"}}
        data_of(folder, "plan", "execute", plan(folder, OFTEN, step))
        found = groups(folder, "on_interval", "manual")
        assert [each["checkpoint_type"] for each in found][:2] == ["on_interval", "manual"]
        assert found[1]["modified"] is False

    def test_the_look_at_what_a_tool_should_not_have_changed_waits_for_it(
        self, folder: Path, begun: Path
    ) -> None:
        data_of(folder, "init")
        body = f"    open('a', 'w').write('half')\n{till_in_python(begun)}"
        tools = f"import os\nimport time\nimport mulligan\n\n@mulligan.tool(writes=False)\ndef look(context):\n{body}"
        (home_of(folder) / "tools.py").write_text(tools)
        data_of(folder, "tool", "trust", "--yes")
        answer = ask(folder, "plan", "execute", plan(folder, OFTEN, {"name": "work", "tool": "look"}))
        assert "declares that it does not write, but changed workspace: a" in answer["error"]["message"]
        assert [each["metadata"]["tool"] for each in groups(folder)] == ["look"]

    def test_a_plan_that_was_taken_over_ends_there(
        self, folder: Path, begun: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def taken() -> None:
            raise PlanTakenOver(plan_id="p")

        begin = SideThreads.begin
        monkeypatch.setattr(SideThreads, "begin", lambda self, _work: begin(self, taken))
        answer = ask(folder, "plan", "execute", plan(folder, OFTEN, shell("echo half > a", till(begun))))
        assert answer["error"]["kind"] == "plan_taken_over"


class TestWithoutAWatch:
    @pytest.fixture(autouse=True)
    def none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def none(self: Inotify) -> None:
            raise OSError(errno.EMFILE, "Too many open files")

        monkeypatch.setattr(Inotify, "__init__", none)

    def test_on_quiet_says_that_it_cannot_fire(self, folder: Path) -> None:
        steps = (shell("echo half > a", "sleep 0.5"), shell("echo more > a", "sleep 0.5", name="next"))
        answer = ask(folder, "plan", "execute", plan(folder, QUIET, *steps))
        (said,) = (text for text in answer["messages"] if "on_quiet" in text)
        assert said.startswith("workspace: on_quiet cannot fire (the system has no watches: ")
        assert said.endswith("on_interval works without a watch")
        assert groups(folder) == []

    def test_on_interval_works_by_scans(self, folder: Path) -> None:
        work = shell("echo half > a", until(folder, 1), "echo done > a")
        data_of(folder, "plan", "execute", plan(folder, OFTEN, work))
        assert held(folder, groups(folder)[0]["number"], "a") == "half\n"

    def test_the_doctor_says_so(self, folder: Path) -> None:
        data_of(folder, "init")
        (said,) = (text for text in data_of(folder, "doctor")["system"] if "scanned" in text)
        assert "on_quiet cannot fire: the system has no watches" in said
