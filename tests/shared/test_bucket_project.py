"""A shared project with its packs in a bucket: plans, ways back from the bucket alone, kills of its processes."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.program import ask, data_of
from tests.support.homes import home_of
from tests.support.s3_server import BUCKET, Failure, SmallStore, small_store
from tests.support.shared_database import is_whole_run

PLAN = """
name: edit
steps:
  - {name: change, tool: write_file, args: {path: notes.txt, content: second}}
  - {name: more, tool: write_file, args: {path: more.txt, content: third}}
"""
HERE_ALONE = ("-c", "core.store.grace=0")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallStore]:
    """A bucket whose credentials are in the environment."""
    with small_store() as server:
        for name, value in server.environ.items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.fixture
def bucket_project(server: SmallStore, address: str, tmp_path: Path) -> Path:
    """A shared project with a file, and its packs in a bucket."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "notes.txt").write_text("first\n")
    data_of(folder, "init", "--database", address, "--store", f"s3://{BUCKET}/one")
    assert "one/deployment" in server.objects
    return folder


def packs(server: SmallStore) -> set[str]:
    return {key for key in server.objects if "/packs/" in key}


def leave_nothing_here(project: Path) -> None:
    """Let the machine be another one, as far as packs are concerned."""
    shutil.rmtree(home_of(project) / "store")


def test_a_plan_runs_and_goes_back_from_the_bucket_alone(bucket_project: Path, server: SmallStore) -> None:
    project = bucket_project
    (project / "plan.yaml").write_text(PLAN)
    done = data_of(project, "plan", "execute", "plan.yaml")
    assert done["state"] == "complete"
    assert packs(server)
    assert not (home_of(project) / "store" / "packs").exists()
    leave_nothing_here(project)
    data_of(project, "plan", "rollback", "--yes", "edit", "@2")
    data_of(project, "resume", "edit")
    leave_nothing_here(project)
    data_of(project, "plan", "apply", "--yes", "edit")
    assert ((project / "notes.txt").read_text(), (project / "more.txt").read_text()) == ("second", "third")
    leave_nothing_here(project)
    data_of(project, "undo", "--yes")
    assert (project / "notes.txt").read_text() == "first\n"
    assert data_of(project, "checkpoint", "verify")["damaged"] == []
    assert data_of(project, "doctor")["findings"] == []


def test_a_command_in_place_is_undone_from_the_bucket_alone(bucket_project: Path) -> None:
    project = bucket_project
    data_of(
        project, "run", "--in-place", "--", "sh", "-c", "echo gone > notes.txt; mkdir new; echo n > new/file"
    )
    leave_nothing_here(project)
    data_of(project, "undo", "--yes")
    assert (project / "notes.txt").read_text() == "first\n"
    assert not (project / "new").exists()


def test_what_nothing_needs_is_swept_from_the_bucket(bucket_project: Path, server: SmallStore) -> None:
    project = bucket_project
    (project / "plan.yaml").write_text(PLAN)
    data_of(project, "plan", "execute", "plan.yaml")
    data_of(project, "plan", "apply", "--yes", "edit")
    data_of(project, "rm", "--yes", "edit")
    before = packs(server)
    assert data_of(project, "gc")["packs_removed"] == 0, "their grace begins"
    assert packs(server) == before
    assert data_of(project, *HERE_ALONE, "gc")["packs_removed"] == len(before)
    assert packs(server) == set()


def test_what_is_purged_and_still_in_the_bucket_is_named_until_it_is_gone(
    bucket_project: Path, server: SmallStore
) -> None:
    project, secret = bucket_project, os.urandom(4096)
    (project / "secret").write_bytes(secret)
    data_of(project, "run", "--", "rm", "secret")
    (project / "secret").unlink()

    def holding() -> list[str]:
        kept = [
            file for file in home_of(project).rglob("*") if file.is_file() and secret in file.read_bytes()
        ]
        return [*map(str, kept), *(key for key, (data, _) in server.objects.items() if secret in data)]

    [left] = data_of(project, "forget", "--yes", "secret")["remaining"]
    assert holding(), "another machine may be about to rely on its pack"
    assert (left["what"], "core.store.grace" in left["reason"], "gc" in left["remedy"]) == (
        "packs",
        True,
        True,
    )
    assert data_of(project, *HERE_ALONE, "gc")["packs_removed"] == 1
    assert holding() == []


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("--store", "s3://packs/one"), "store_not_shared"),
        (("--database", "ADDRESS", "--store", "s3://nobody/one"), "store_missing"),
        (("--database", "ADDRESS", "--store", "/some/folder"), "setting_invalid"),
    ],
)
def test_a_store_that_cannot_be_is_refused_by_name(
    server: SmallStore, address: str, tmp_path: Path, words: tuple[str, ...], kind: str
) -> None:
    given = [address if word == "ADDRESS" else word for word in words]
    assert ask(tmp_path, "init", *given)["error"]["kind"] == kind
    assert not packs(server)


def test_a_server_that_overwrites_is_refused_and_init_can_be_repeated(
    server: SmallStore, address: str, tmp_path: Path
) -> None:
    store = f"s3://{BUCKET}/one"
    server.honours_conditions = False
    assert (
        ask(tmp_path, "init", "--database", address, "--store", store)["error"]["kind"] == "store_unsuitable"
    )
    server.honours_conditions = True
    data_of(tmp_path, "init", "--database", address, "--store", store)
    again = ask(tmp_path, "init", "--database", address, "--store", f"s3://{BUCKET}/other")
    assert again["error"]["kind"] == "project_unusable"


def test_a_bucket_of_another_project_and_packs_that_are_here_are_refused(
    bucket_project: Path, address: str, tmp_path: Path
) -> None:
    other, third = tmp_path / "other", tmp_path / "third"
    for folder in (other, third):
        folder.mkdir()
    assert bucket_project
    taken = ask(other, "init", "--database", f"{address}_other", "--store", f"s3://{BUCKET}/one")
    assert taken["error"]["kind"] == "store_foreign"
    (third / "file").write_text("content")
    data_of(third, "init", "--database", f"{address}_third")
    data_of(third, "run", "--", "true")
    moved = ask(third, "init", "--database", f"{address}_third", "--store", f"s3://{BUCKET}/third")
    assert moved["error"]["kind"] == "not_built_yet"


def test_a_store_set_for_a_project_in_a_file_is_refused(server: SmallStore, tmp_path: Path) -> None:
    data_of(tmp_path, "init")
    refused = ask(tmp_path, "-c", f"core.store.url=s3://{BUCKET}/one", "run", "--", "true")
    assert refused["error"]["kind"] == "store_not_shared"
    assert not packs(server)


def test_wrong_credentials_are_told_and_nothing_of_them(bucket_project: Path, server: SmallStore) -> None:
    server.failures.append(Failure(status=403, code="InvalidAccessKeyId"))
    (bucket_project / "notes.txt").write_text("changed\n")
    answer = ask(bucket_project, "run", "--in-place", "--", "true")
    assert answer["exit_code"] != 0
    assert server.failed
    assert "secretsecret" not in str(answer)
    server.failures.clear()
    data_of(bucket_project, "run", "--in-place", "--", "true")


# Where a process is killed, and the command that it runs then; the first acts of an undisturbed run are others.
KILLS = [
    *((f"{when}:pack.upload:{number}", "run") for when in ("before", "after") for number in (1, 2)),
    *((f"{when}:{act}:1", "gc") for when in ("before", "after") for act in ("pack.doom",)),
    *(
        (f"{when}:{act}:1", "gc now")
        for when in ("before", "after")
        for act in ("pack.unlist", "pack.remove")
    ),
]


@pytest.mark.parametrize(("strike", "command"), KILLS if is_whole_run() else KILLS[1::4])
def test_a_killed_process_loses_nothing_and_the_next_one_goes_on(
    bucket_project: Path, server: SmallStore, strike: str, command: str
) -> None:
    project = bucket_project
    (project / "plan.yaml").write_text(PLAN)
    words = ["plan", "execute", "plan.yaml"]
    if command != "run":
        data_of(project, *words)
        data_of(project, "plan", "apply", "--yes", "edit")
        data_of(project, "run", "--in-place", "--", "sh", "-c", "echo fourth > notes.txt")
        data_of(project, "rm", "--yes", "edit")
        words = ["gc"] if command == "gc" else [*HERE_ALONE, "gc"]
    killed = subprocess.run(
        [sys.executable, "-m", "mulligan", *words],
        cwd=project,
        env={**os.environ, "MULLIGAN_FAULT": f"{strike}:SIGKILL"},
        capture_output=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    leave_nothing_here(project)
    if command == "run":
        found = data_of(project, "plan", "list")["plans"]
        data_of(project, *(["resume", found[0]["plan_id"]] if found else words))
        data_of(project, "plan", "apply", "--yes", "edit")
        assert ((project / "notes.txt").read_text(), (project / "more.txt").read_text()) == (
            "second",
            "third",
        )
    else:
        data_of(project, "undo", "--yes")
        assert (project / "notes.txt").read_text() == "second"
    assert data_of(project, "checkpoint", "verify")["damaged"] == []
    assert data_of(project, *HERE_ALONE, "gc")["packs_unreadable"] == 0
    server.ahead = 2 * 86_400.0
    data_of(project, *HERE_ALONE, "gc")
    named = packs(server)
    data_of(project, *HERE_ALONE, "gc")
    assert packs(server) == named, "nothing is left over"
    assert data_of(project, "checkpoint", "verify")["damaged"] == []
