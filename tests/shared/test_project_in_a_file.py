"""A project goes from one machine to a server and its bucket, and back, in a file; a killed import is repeated."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.program import ask
from tests.support.homes import home_of
from tests.support.s3_server import BUCKET, SmallStore, small_store
from tests.support.shared_database import is_whole_run
from tests.support.simulated_hosts import SimulatedHost, simulated_host

PLAN = """
name: edit
steps:
  - {name: one, tool: write_file, args: {path: notes.txt, content: second}}
  - {name: choose, decision: {question: Which?, chosen: this, alternatives: [that]}}
  - {name: both, subplans: {plans: [{name: child, steps: [{name: c, tool: write_file, args: {path: c, content: c}}]}]}}
"""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallStore]:
    """A bucket whose credentials are in the environment."""
    with small_store() as server:
        for name, value in server.environ.items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.fixture
def embedded(tmp_path: Path) -> SimulatedHost:
    """A project of one machine: a plan with a child, one in place, one that was applied."""
    host = simulated_host(tmp_path / "a")
    (host.folder / "notes.txt").write_text("first\n")
    host.data("init")
    (host.folder / "plan.yaml").write_text(PLAN)
    host.data("plan", "execute", "plan.yaml")
    host.data("run", "--in-place", "--name", "there", "--", "sh", "-c", "echo changed > other.txt")
    host.data("run", "--name", "added", "--", "sh", "-c", "echo added > added.txt")
    host.data("apply", "--yes", "added")
    return host


def story(host: SimulatedHost) -> object:
    """Return what a project tells of its plans."""
    plans = host.data("list")["plans"]
    logs = {plan["handle"]: host.data("plan", "tree", plan["handle"]) for plan in plans}
    return [(plan["handle"], plan["phase"], plan["state"]) for plan in plans], logs


def test_there_and_back_again(
    embedded: SimulatedHost, server: SmallStore, address: str, tmp_path: Path
) -> None:
    told, file = story(embedded), str(tmp_path / "saved.mulligan")
    embedded.data("project", "export", file)
    shared = simulated_host(tmp_path / "b")
    store = ("--store", f"s3://{BUCKET}/moved")
    words = ("project", "import", file, "--database", address, *store)
    strikes = ("before:pack.upload:2", "after:rows.commit:3", "before:home.move:1")
    for strike in strikes if is_whole_run() else strikes[1:2]:
        killed = shared.run(*words, MULLIGAN_FAULT=f"{strike}:SIGKILL")
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert shared.ask("list")["exit_code"] != 0, "there is no project yet"
    assert shared.data(*words)["damaged"] == 0
    assert not (home_of(shared.folder) / "mulligan.db").exists()
    assert not list((home_of(shared.folder) / "store").glob("packs/*.pack"))
    assert any(key.startswith("moved/packs/") for key in server.objects)
    assert story(shared) == told
    assert all(finding["repaired"] for finding in shared.data("doctor")["findings"])
    third = simulated_host(tmp_path / "c")
    assert third.data("init", "--database", address, *store)["new"] is True
    assert story(third) == told
    shared.data("plan", "rollback", "--yes", "edit", "@1")
    shared.data("resume", "edit")
    back = str(tmp_path / "back.mulligan")
    shared.data("project", "export", back)
    told = story(shared)
    alone = simulated_host(tmp_path / "d")
    (alone.folder / "notes.txt").write_text("first\n")
    assert alone.data("project", "import", back)["damaged"] == 0
    assert (home_of(alone.folder) / "mulligan.db").exists()
    assert story(alone) == told
    assert alone.data("checkpoint", "verify")["damaged"] == []
    assert alone.data("apply", "--yes", "edit")["state"] == "applied"
    assert (alone.folder / "notes.txt").read_text() == "second"


@pytest.mark.usefixtures("whole_run")
def test_what_cannot_be_is_refused(embedded: SimulatedHost, address: str, tmp_path: Path) -> None:
    file = str(tmp_path / "saved.mulligan")
    embedded.data("project", "export", file)
    other = simulated_host(tmp_path / "b")
    for words, kind in (
        (("--store", f"s3://{BUCKET}/x"), "store_not_shared"),
        (("--database", "sqlite:///x.db"), "setting_invalid"),
        (("--database", f"postgresql:///x?host={tmp_path}"), "database_unusable"),
    ):
        assert other.ask("project", "import", file, *words)["error"]["kind"] == kind
        assert not (other.folder / ".mulligan").exists()
    other.data("project", "import", file, "--database", address)
    assert list((home_of(other.folder) / "store" / "packs").glob("*.pack")), (
        "without a bucket packs stay here"
    )
    again = simulated_host(tmp_path / "c")
    refused = again.ask("project", "import", file, "--database", address)
    assert refused["error"]["kind"] == "database_of_another_project", "another machine uses it"
    twice = other.root / "twice"
    twice.mkdir()
    with other.entered():
        refused = ask(twice, "project", "import", file, "--database", address)
    assert refused["error"]["kind"] == "host_has_home"
