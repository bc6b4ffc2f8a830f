"""Two machines share a project: plans go from one to the other, and what is real stays where it is."""

import json
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from mulligan.config.database_address import parts_of
from tests.remotes.remote_world import GIT_CONFIG, RemoteWorld
from tests.support.git_world import run_git
from tests.support.homes import home_of
from tests.support.patience import PATIENCE
from tests.support.s3_server import BUCKET, SmallStore, small_store
from tests.support.simulated_hosts import SimulatedHost, simulated_host

PLAN = """
name: edit
steps:
  - {name: one, tool: write_file, args: {path: one.txt, content: one}}
  - {name: two, tool: shell, args: {command: "echo two > two.txt"}}
  - {name: three, tool: write_file, args: {path: three.txt, content: three}}
"""
STORE = f"s3://{BUCKET}/one"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallStore]:
    """A bucket whose credentials are in the environment."""
    with small_store() as server:
        for name, value in server.environ.items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.fixture
def first(server: SmallStore, address: str, tmp_path: Path) -> SimulatedHost:
    """The machine that made the project."""
    assert server
    host = simulated_host(tmp_path / "a")
    (host.folder / "notes.txt").write_text("first\n")
    host.data("init", "--database", address, "--store", STORE)
    host.name("build-a")
    return host


@pytest.fixture
def second(first: SimulatedHost, address: str, tmp_path: Path) -> SimulatedHost:
    """A machine that joined it; its project folder has other files."""
    assert first
    host = simulated_host(tmp_path / "b")
    (host.folder / "other.txt").write_text("of b\n")
    assert host.data("init", "--database", address, "--store", STORE)["new"] is True
    host.name("build-b")
    return host


def rows(address: str, statement: str) -> list[tuple[object, ...]]:
    parts = parts_of(address)
    with psycopg.connect(parts.conninfo, options=f"-c search_path={parts.schema}", autocommit=True) as raw:
        return raw.execute(statement.encode()).fetchall()


def wait_until(fact: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not fact():
        assert time.monotonic() < until
        time.sleep(0.05)


def copies(host: SimulatedHost, plan_id: str) -> list[Path]:
    """Return the folders of sandboxes of a plan on a machine."""
    return sorted((home_of(host.folder) / "sandboxes" / plan_id).glob("*"))


def test_a_plan_that_was_killed_goes_on_elsewhere(
    first: SimulatedHost, second: SimulatedHost, address: str
) -> None:
    (first.folder / "plan.yaml").write_text(PLAN)
    killed = first.run("plan", "execute", "plan.yaml", MULLIGAN_FAULT="before:group.record:3:SIGKILL")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    listed = second.data("list")["plans"]
    assert [plan["handle"] for plan in listed] == ["edit"]
    plan_id = listed[0]["plan_id"]
    assert copies(first, plan_id)
    done = second.data("resume", "edit")
    assert done["state"] == "complete"
    [sandbox] = copies(second, plan_id)
    assert {path.name for path in sandbox.iterdir()} >= {"notes.txt", "one.txt", "two.txt", "three.txt"}
    assert not (sandbox / "other.txt").exists(), "nothing of this machine's own folder came into it"
    assert rows(address, "SELECT host, real_host FROM sandboxes") == [(second.host, first.host)]
    assert "build-a" in str(second.data("log", "edit"))
    # What is real is where the plan was made.
    refused = second.ask("apply", "--yes", "edit")
    assert (refused["exit_code"], refused["error"]["kind"]) == (3, "on_another_host")
    assert "build-a" in refused["error"]["message"]
    assert not (second.folder / "one.txt").exists()
    # The first machine comes back, and has no use for its folders.
    first.data("gc")
    assert copies(first, plan_id) == []
    first.data("apply", "--yes", "edit")
    assert (first.folder / "three.txt").read_text() == "three"
    assert (second.folder / "other.txt").exists()
    assert second.ask("unapply", "--yes", "edit")["error"]["kind"] == "on_another_host"
    first.data("unapply", "--yes", "edit")
    assert not (first.folder / "three.txt").exists()
    for host in (first, second):
        assert all(finding["repaired"] for finding in host.data("doctor")["findings"])
        host.data("gc")
        assert host.data("checkpoint", "verify")["damaged"] == []


def test_a_remote_branch_is_changed_from_any_machine(
    first: SimulatedHost, second: SimulatedHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", GIT_CONFIG)
    world = RemoteWorld(tmp_path / "w")
    world.root.mkdir()
    world.make_server()
    steps = [{"run": f"echo {each} >> notes.txt"} for each in ("four", "five")]
    document = {"name": "edit", "resources": {"site": world.resource()}, "steps": steps}
    (first.folder / "plan.yaml").write_text(json.dumps(document))
    killed = first.run("plan", "execute", "plan.yaml", MULLIGAN_FAULT="before:group.record:3:SIGKILL")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert second.data("resume", "edit")["state"] == "complete"
    killed = second.run("apply", "--yes", "edit", MULLIGAN_FAULT="after:ref.push:1:SIGKILL")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    first.data("apply", "--yes", "edit")
    assert world.commits() == ["edit", "of others"]
    assert world.text() == "one\ntwo\nthree\nfour\nfive\n"
    second.data("unapply", "--yes", "edit")
    assert world.text() == "one\ntwo\nthree\n"
    for host in (first, second):
        assert all(finding["repaired"] for finding in host.data("doctor")["findings"])
        assert host.data("checkpoint", "verify")["damaged"] == []


def test_edits_by_hand_stay_behind_when_a_plan_comes_back(
    first: SimulatedHost, second: SimulatedHost
) -> None:
    first.data("run", "--name", "work", "--", "sh", "-c", "echo a > of_a.txt")
    [sandbox] = copies(first, first.data("list")["plans"][0]["plan_id"])
    second.data("run", "--on", "work", "--", "sh", "-c", "echo b > of_b.txt")
    (sandbox / "by_hand.txt").write_text("hours of work\n")
    came = first.ask("checkpoint", "create", "work", "--label", "here")
    assert came["exit_code"] == 0
    assert (sandbox / "of_b.txt").exists()
    [kept] = first.root.rglob("by_hand.txt")
    assert str(kept.parent) in str(came["messages"])
    # What a checkpoint holds is not kept.
    second.data("run", "--on", "work", "--", "sh", "-c", "echo c > of_c.txt")
    assert "until the next gc" not in str(
        first.ask("checkpoint", "create", "work", "--label", "here")["messages"]
    )
    first.data("gc")
    assert not kept.exists()


def test_work_in_place_is_sent_to_its_machine(first: SimulatedHost, second: SimulatedHost) -> None:
    resources = "{data: {type: fs-directory, location: ., strategy: in_place}}"
    text = f"name: there\nresources: {resources}\nsteps: [{{run: 'true'}}, {{run: 'test -e go'}}]\n"
    (first.folder / "there.yaml").write_text(text)
    (second.folder / "here.yaml").write_text(text.replace("there", "here"))
    assert first.data("submit", "there.yaml")["queue"] == "host:build-a"
    assert second.data("submit", "here.yaml")["queue"] == "host:build-b"
    assert second.data("submit", "here.yaml", "--queue", "host:build-a")["queue"] == "host:build-a"
    first.run("plan", "execute", "there")
    assert second.data("status", "there")["state"] == "errored"
    assert second.data("submit", "there")["queue"] == "host:build-a"
    (first.folder / "copied.yaml").write_text("name: copied\nsteps: [{run: 'true'}]\n")
    assert first.data("submit", "copied.yaml")["queue"] == "default"


def test_work_in_place_stays_on_its_machine(first: SimulatedHost, second: SimulatedHost) -> None:
    first.data("run", "--in-place", "--name", "there", "--", "sh", "-c", "echo changed > notes.txt")
    for words in (
        ("plan", "rollback", "--yes", "there", "@1"),
        ("undo", "--yes", "there"),
        ("rm", "--yes", "there"),
    ):
        refused = second.ask(*words)
        assert (refused["exit_code"], refused["error"]["kind"]) == (3, "on_another_host"), words
        assert "build-a" in refused["error"]["message"]
    second.data("run", "--in-place", "--name", "here", "--", "sh", "-c", "echo changed > other.txt")
    first.data("undo", "--yes")
    assert (first.folder / "notes.txt").read_text() == "first\n", "its own, although another one is newer"
    second.data("undo", "--yes")
    assert (second.folder / "other.txt").read_text() == "of b\n"


def test_a_project_is_joined_once_by_each_machine(
    second: SimulatedHost, address: str, tmp_path: Path
) -> None:
    again = second.data("init", "--database", address, "--store", STORE)
    assert again["new"] is False
    other = second.root / "again"
    other.mkdir()
    with second.entered():
        from tests.commands.program import ask

        refused = ask(other, "init", "--database", address, "--store", STORE)
        assert refused["error"]["kind"] == "host_has_home"
        apart = ask(other, "-c", "core.host=another", "init", "--database", address, "--store", STORE)
        assert apart["exit_code"] == 0, apart
    assert not (tmp_path / "nothing").exists()


def test_the_bucket_of_a_project_is_asked_for(
    first: SimulatedHost, address: str, tmp_path: Path, server: SmallStore
) -> None:
    host = simulated_host(tmp_path / "c")
    for words, kind in (
        (["--database", address], "store_not_joinable"),
        (["--database", address, "--store", f"s3://{BUCKET}/empty"], "store_not_joinable"),
    ):
        refused = host.ask("init", *words)
        assert (refused["exit_code"], refused["error"]["kind"]) == (3, kind)
    assert not (host.folder / ".mulligan").exists()
    assert not any(key.startswith("empty/") for key in server.objects)
    assert first.data("list")["plans"] == []


@pytest.mark.usefixtures("whole_run")
def test_a_checkout_and_a_database_go_elsewhere(
    first: SimulatedHost, second: SimulatedHost, tmp_path: Path
) -> None:
    """The other machine needs a clone, which lends the objects of commits."""
    origin = tmp_path / "origin"
    origin.mkdir()
    (origin / "code.py").write_text("print(1)\n")
    run_git(origin, "init", "-q")
    run_git(origin, "add", ".")
    run_git(origin, "commit", "-qm", "start")
    for host in (first, second):
        run_git(tmp_path, "clone", "-q", str(origin), str(host.folder / "code"))
        for key, value in (("user.name", "me"), ("user.email", "me@here")):
            run_git(host.folder / "code", "config", key, value)
    with sqlite3.connect(first.folder / "data.db") as database:
        database.execute("CREATE TABLE things (name TEXT)")
    (first.folder / "plan.yaml").write_text(
        """
name: both
resources:
  code: {type: git-checkout, location: code}
  data: {type: sqlite, location: data.db}
steps:
  - name: write
    tool: shell
    resource: code
    args: {command: "echo 'print(2)' > code.py; git commit -qam two"}
  - {name: add, tool: sql, resource: data, args: {statements: ["INSERT INTO things VALUES ('one')"]}}
  - {name: stop, decision: {question: "Which?", alternatives: [a, b]}}
  - {name: more, tool: shell, resource: code, args: {command: git log --format=%s > log.txt}}
"""
    )
    waits = first.ask("plan", "execute", "plan.yaml")
    assert waits["error"]["kind"] == "question_open", waits["error"]
    done = second.data("answer", "both", "a")
    assert done["state"] == "complete"
    plan_id = done["plan_id"]
    folder = home_of(second.folder) / "sandboxes" / plan_id / "code"
    assert (folder / "log.txt").read_text().split() == ["two", "start"]
    run_git(folder, "fsck", "--strict")
    assert str(first.root) not in (folder / ".git" / "objects" / "info" / "alternates").read_text()
    second.data("plan", "rollback", "--yes", "both", "@1")
    assert (folder / "code.py").read_text() == "print(1)\n"
    assert first.ask("resume", "both")["error"]["kind"] == "question_open"
    first.data("answer", "both", "b")
    assert first.data("apply", "--yes", "both")["state"] == "applied"
    assert (first.folder / "code" / "code.py").read_text() == "print(2)\n"
    with sqlite3.connect(first.folder / "data.db") as database:
        assert database.execute("SELECT name FROM things").fetchall() == [("one",)]


@pytest.mark.usefixtures("whole_run")
def test_status_names_who_works_and_where(first: SimulatedHost, second: SimulatedHost) -> None:
    command = "while [ ! -e go ]; do sleep 0.05; done"
    (first.folder / "plan.yaml").write_text(
        f"name: slow\nsteps:\n  - {{name: wait, tool: shell, args: {{command: {command!r}}}}}\n"
    )
    working = first.start("plan", "execute", "plan.yaml")
    try:
        wait_until(lambda: bool(second.data("list")["plans"]))
        wait_until(lambda: second.data("status", "slow")["holder"] is not None)
        status = second.data("status", "slow")
        holder = status["holder"]
        assert (holder["host"], holder["pid"], holder["lease_seconds"]) == ("build-a", working.pid, 15.0)
        refused = second.ask("resume", "slow")
        assert (refused["error"]["kind"], refused["error"]["host"]) == ("plan_busy_elsewhere", "build-a")
        wait_until(lambda: bool(second.data("status", "slow")["sandboxes"]))
        [sandbox] = second.data("status", "slow")["sandboxes"]
        assert sandbox["host"] == "build-a"
        [folder] = copies(first, status["plan_id"])
        (folder / "go").touch()
        assert working.wait(PATIENCE) == 0
    finally:
        working.kill()
    done = second.data("status", "slow")
    assert (done["holder"], done["state"]) == (None, "complete")
