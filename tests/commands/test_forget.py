"""`mulligan forget PATH…`: a path is purged from all checkpoints, and its bytes from the store."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mulligan
from mulligan.adapters.local_packs.pack_folder import PackFolder
from mulligan.adapters.snapshots.packs.objects import Objects
from mulligan.osfiles.tempdirs import Rooms
from tests.commands.program import answer_of, ask, data_of, start
from tests.commands.running import on_a_terminal, sandbox
from tests.support.forked_program import run_program
from tests.support.homes import home_of

SECRET = b"password: correct horse battery staple\n" * 3
LARGE = os.urandom(1 << 20) * 3  # is stored in chunks


def stored(folder: Path) -> Iterator[bytes]:
    """Every object that is in a pack, needed or not."""
    store = home_of(folder) / "store"
    objects = Objects(PackFolder(store / "packs", Rooms(store / "rooms")))
    objects.refresh()
    for pack in objects.packs():
        for object_id in pack.ids:
            yield objects.read(object_id)


def holds(folder: Path, secret: bytes = SECRET) -> bool:
    """Whether the bytes are anywhere in the store."""
    return any(secret in data for data in stored(folder))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / ".env").write_bytes(SECRET)
    (tmp_path / "a").write_text("one\n")
    for number in range(200):  # so that the secret is a small part of its pack
        (tmp_path / f"file{number}").write_bytes(os.urandom(300))
    data_of(tmp_path, "run", "--name", "tune", "--", "sh", "-c", "echo two > a; echo more >> conf/.env")
    return tmp_path


def what_remains(data: dict[str, Any]) -> list[str]:
    return sorted(each["what"] for each in data["remaining"])


def test_what_steps_printed_of_it_is_named(project: Path) -> None:
    data_of(project, "run", "--name", "look", "--", "cat", "conf/.env")
    data_of(project, "run", "--name", "part", "--", "grep", "-m1", "-o", "password.*", "conf/.env")
    data_of(project, "run", "--name", "other", "--", "cat", "a")
    for words in (("--dry-run",), ("--yes",)):
        remaining = data_of(project, "forget", *words, "conf/.env")["remaining"]
        recorded = [each for each in remaining if each["what"] == "outputs"]
        assert [each["handle"] for each in recorded] == ["look", "part"]
        assert "`mulligan rm look`" in recorded[0]["remedy"]


def in_the_home(folder: Path, word: bytes) -> bool:
    """Whether a file of the home, the database included, has it."""
    return any(word in path.read_bytes() for path in home_of(folder).rglob("*") if path.is_file())


def test_the_named_command_removes_what_steps_printed_of_it(project: Path) -> None:
    (project / "large").write_bytes(b"a telling line of it\n" * 60_000)
    data_of(project, "run", "--name", "look", "--", "cat", "conf/.env")
    data_of(project, "run", "--name", "start", "--", "head", "-n1", "large")
    remaining = data_of(project, "forget", "--yes", "conf/.env", "large")["remaining"]
    named = {each["handle"]: each["remedy"] for each in remaining if each["what"] == "outputs"}
    assert set(named) == {"look", "start"}
    for path in ("conf/.env", "large"):
        (project / path).unlink()
    for each in remaining:
        if each["what"] == "sandbox":
            Path(each["path"]).unlink()
    assert in_the_home(project, SECRET.strip().splitlines()[0])
    assert in_the_home(project, b"a telling line")
    for remedy in named.values():
        words = remedy.partition("`")[2].partition("`")[0].split()
        data_of(project, *words[1:], "--yes")
    assert not in_the_home(project, SECRET.strip().splitlines()[0])
    assert not in_the_home(project, b"a telling line")


def test_the_bytes_are_gone_and_all_else_is_as_it_was(project: Path) -> None:
    before = data_of(project, "list", "tune@1", "--recursive")["entries"]
    assert holds(project)
    done = data_of(project, "forget", "--yes", "conf/.env")
    assert [(plan["handle"], plan["checkpoints"]) for plan in done["plans"]] == [("tune", [1, 2, 3])]
    assert done["bytes_freed"] > 0
    assert not holds(project)
    after = data_of(project, "list", "tune@1", "--recursive")["entries"]
    assert after == [line for line in before if line["path"] != "conf/.env"]
    assert data_of(project, "checkpoint", "verify")["damaged"] == []
    assert data_of(project, "doctor")["findings"] == []
    for words in (("show", "tune@1", "conf/.env"), ("restore", "--yes", "tune@1", "conf/.env")):
        refused = ask(project, *words)
        assert (refused["exit_code"], refused["error"]["kind"]) == (3, "path_forgotten")
    assert data_of(project, "show", "tune@1")["metadata"]["forgotten"] == ["conf/.env"]
    assert (project / "conf" / ".env").read_bytes() == SECRET
    assert what_remains(done) == ["real_folder", "sandbox"]
    # Once more: nothing is left to do.
    assert data_of(project, "forget", "--yes", "conf/.env")["plans"] == []


def test_large_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "keys" / "deep").mkdir(parents=True)
    (tmp_path / "keys" / "large").write_bytes(LARGE)
    (tmp_path / "keys" / "deep" / "small").write_bytes(SECRET)
    (tmp_path / "kept").write_text("kept")
    data_of(tmp_path, "run", "--name", "tune", "--", "true")
    assert holds(tmp_path, LARGE[:1000])
    data_of(tmp_path, "forget", "--yes", "keys")
    assert not holds(tmp_path, LARGE[:1000])
    assert not holds(tmp_path)
    assert [e["path"] for e in data_of(tmp_path, "list", "tune@1")["entries"]] == ["kept"]


def test_the_sandbox_goes_on_without_it(project: Path) -> None:
    copy = sandbox(data_of(project, "status", "tune"))
    data_of(project, "forget", "--yes", "conf/.env")
    data_of(project, "rollback", "--yes", "tune", "first")
    assert (copy / "conf" / ".env").read_bytes().startswith(SECRET)  # neither restored nor removed
    assert (copy / "a").read_text() == "one\n"
    data_of(project, "resume", "tune")
    assert (copy / "a").read_text() == "two\n"
    assert not holds(project)  # later checkpoints of the plan do not hold it either
    data_of(project, "apply", "--yes", "tune")
    assert (project / "conf" / ".env").read_bytes() == SECRET
    assert (project / "a").read_text() == "two\n"
    assert not holds(project)
    data_of(project, "unapply", "--yes", "tune")
    assert (project / "conf" / ".env").read_bytes() == SECRET
    assert (project / "a").read_text() == "one\n"


def test_what_was_applied_is_purged_too(project: Path) -> None:
    data_of(project, "apply", "--yes", "tune")
    data_of(project, "forget", "--yes", "conf/.env")
    assert not holds(project)
    data_of(project, "unapply", "--yes", "tune")
    assert (project / "a").read_text() == "one\n"
    assert (project / "conf" / ".env").read_bytes().startswith(SECRET)
    assert not holds(project)


def test_in_place_a_rollback_does_not_delete_the_users_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(SECRET)
    (tmp_path / "a").write_text("one\n")
    (tmp_path / "plan.yaml").write_text(
        "name: here\nresources: {all: {type: fs-directory, location: ., strategy: in_place}}\n"
        "steps:\n"
        "  - {name: change, tool: shell, args: {command: echo two > a}}\n"
        "  - {name: fail, tool: shell, args: {command: 'false'}}\n"
    )
    ask(tmp_path, "plan", "execute", "plan.yaml")
    data_of(tmp_path, "forget", "--yes", ".env")
    assert not holds(tmp_path)
    data_of(tmp_path, "rollback", "--yes", "here", "first")
    assert (tmp_path / "a").read_text() == "one\n"
    assert (tmp_path / ".env").read_bytes() == SECRET
    assert not holds(tmp_path)
    # Nor does a restore of the whole folder that removes what the checkpoint does not have.
    data_of(tmp_path, "plan", "cancel", "here")
    (tmp_path / "new").touch()
    data_of(tmp_path, "restore", "--yes", "--delete", "here@1", ".")
    assert (tmp_path / ".env").read_bytes() == SECRET
    assert not (tmp_path / "new").exists()


def test_all_plans_at_once_and_a_later_one_keeps_it_again(project: Path) -> None:
    data_of(project, "run", "--name", "second", "--", "true")
    (project / "children.yaml").write_text(
        "name: family\nsteps:\n  - {name: parts, subplans: {plans: ["
        "{name: one, steps: [{tool: shell, args: {command: echo 1 > one}}]}]}}\n"
    )
    data_of(project, "plan", "execute", "children.yaml")
    done = data_of(project, "forget", "--yes", "conf/.env")
    assert [plan["handle"] for plan in done["plans"]] == ["tune", "second", "family", "family.one"]
    assert not holds(project)
    data_of(project, "run", "--name", "third", "--", "true")
    assert holds(project)
    assert [plan["handle"] for plan in data_of(project, "forget", "--yes", "conf/.env")["plans"]] == ["third"]
    assert not holds(project)


def test_the_same_bytes_under_another_name_are_named(project: Path) -> None:
    (project / "copy").write_bytes(SECRET)
    data_of(project, "run", "--name", "second", "--", "true")
    done = data_of(project, "forget", "--yes", "conf/.env")
    (same,) = [each for each in done["remaining"] if each["what"] == "same_bytes"]
    assert same["path"] == "copy"
    assert "mulligan forget copy" in same["remedy"]
    assert holds(project)
    done = data_of(project, "forget", "--yes", "copy")
    assert not holds(project)


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=n", "-c", "user.email=e", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


_COMMIT = "git add . && git -c user.name=n -c user.email=e commit -qm x"


@pytest.mark.parametrize(
    ("act", "committed"),
    [("echo two >> file", False), (_COMMIT, True), (f"{_COMMIT} && git repack -adq", True)],
    ids=["untracked", "loose", "packed"],
)
def test_in_a_checkout_commits_of_checkpoints_are_made_again(
    tmp_path: Path, act: str, committed: bool
) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "file").write_text("one\n")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-qm", "first")
    (tmp_path / ".env").write_bytes(SECRET)
    data_of(tmp_path, "run", "--name", "tune", "--", "sh", "-c", act)
    (repository,) = (home_of(tmp_path) / "git").glob("*/*.git")
    blob = git(tmp_path, "hash-object", ".env").strip()
    assert blob in git(repository, "rev-list", "--all", "--objects")
    done = data_of(tmp_path, "forget", "--yes", ".env")
    assert blob not in git(repository, "rev-list", "--all", "--objects")
    assert subprocess.run(["git", "cat-file", "-e", blob], cwd=repository, check=False).returncode
    refs = {
        c["checkpoint_id"]: c["sandbox_ref"] for c in data_of(tmp_path, "checkpoint", "list")["checkpoints"]
    }
    listed = git(repository, "for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/checkpoints")
    assert dict(line.split() for line in listed.splitlines()) == refs
    assert ("git_objects" in what_remains(done)) is committed
    if committed:
        (left,) = [each for each in done["remaining"] if each["what"] == "git_objects"]
        assert (left["handle"], left["path"].split(", ")[-1]) == ("tune", "@3")
    assert data_of(tmp_path, "doctor")["findings"] == []
    assert data_of(tmp_path, "checkpoint", "verify")["damaged"] == []
    data_of(tmp_path, "rollback", "--yes", "tune", "first")
    assert (tmp_path / ".env").read_bytes() == SECRET


def test_staged_in_a_checkout_in_place_is_named(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "file").write_text("one\n")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-qm", "first")
    (tmp_path / ".env").write_bytes(SECRET)
    git(tmp_path, "add", ".env")
    data_of(tmp_path, "run", "--in-place", "--name", "tune", "--", "sh", "-c", "echo two >> file")
    done = data_of(tmp_path, "forget", "--yes", ".env")
    assert "git_objects" in what_remains(done)


def test_a_whole_resource_and_a_database_are_refused(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "file").write_bytes(SECRET)
    (tmp_path / "plan.yaml").write_text(
        "name: several\nresources:\n"
        "  texts: {type: fs-directory, location: texts}\n"
        "  rows: {type: sqlite, location: texts/rows.db, create: true}\n"
        "steps: [{tool: sql, resource: rows, args: {statements: [create table t (x)]}}]\n"
    )
    data_of(tmp_path, "plan", "execute", "plan.yaml")
    for path in (".", "texts", "texts/rows.db"):
        refused = ask(tmp_path, "forget", "--yes", path)
        assert (refused["exit_code"], refused["error"]["kind"]) == (3, "path_not_forgettable")
        assert "`mulligan rm several`" in refused["error"]["hint"]
    data_of(tmp_path, "forget", "--yes", "texts/file")
    assert not holds(tmp_path)
    assert ask(tmp_path, "forget", "--yes", "../elsewhere")["error"]["kind"] == "path_outside"


def test_it_asks_and_shows_where_the_path_is(project: Path) -> None:
    refused = ask(project, "forget", "conf/.env")
    assert (refused["exit_code"], refused["error"]["kind"]) == (3, "confirmation_missing")
    preview = data_of(project, "forget", "--dry-run", "conf/.env")
    assert (preview["plans"][0]["checkpoints"], preview["bytes_freed"]) == ([1, 2, 3], None)
    code, shown = on_a_terminal(project, "forget", "conf/.env", typed=(b"[y/N]", b"n\n"))
    assert (code, "@1 @2 @3" in shown) == (3, True)
    assert holds(project)
    code, _ = on_a_terminal(project, "forget", "conf/.env", typed=(b"[y/N]", b"y\n"))
    assert (code, holds(project)) == (0, False)


def test_while_a_plan_is_at_work_it_is_refused(project: Path) -> None:
    (project / "plan.yaml").write_text("name: busy\nsteps: [{tool: shell, args: {command: sleep 30}}]\n")
    process = start(project, "plan", "execute", "plan.yaml")
    try:
        while ask(project, "show", "busy@2")["exit_code"]:
            pass
        refused = ask(project, "forget", "--yes", "conf/.env")
        assert (refused["exit_code"], refused["error"]["kind"]) == (3, "plan_busy")
    finally:
        process.terminate()
        answer_of(process)
    data_of(project, "forget", "--yes", "conf/.env")
    assert not holds(project)


def test_the_same_from_python(project: Path) -> None:
    opened = mulligan.open(project)
    assert opened.forget(["conf/.env"], dry_run=True).plans[0].handle == "tune"
    assert opened.forget(["conf/.env"]).plans[0].checkpoints == (1, 2, 3)
    opened.close()
    assert not holds(project)


def killed(folder: Path, fault: str, *words: str) -> None:
    """Run a command that a fault ends."""
    done = run_program(words, folder=folder, environment={**os.environ, "MULLIGAN_FAULT": fault})
    assert done.returncode == -9, done.stderr


def test_what_a_child_is_to_be_forked_from_is_purged_too(project: Path) -> None:
    (project / "children.yaml").write_text(
        "name: family\nsteps:\n  - {name: parts, subplans: {plans: ["
        "{name: one, steps: [{tool: shell, args: {command: echo 1 > one}}]}]}}\n"
    )
    killed(project, "after:subplan.spawn:1:SIGKILL", "plan", "execute", "children.yaml")
    data_of(project, "forget", "--yes", "conf/.env")
    assert not holds(project)
    data_of(project, "resume", "family")
    assert data_of(project, "doctor")["findings"] == []
    assert (sandbox(data_of(project, "status", "family")) / "one").read_text() == "1\n"


def test_commits_that_cannot_be_made_again_are_named(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / ".env").write_bytes(SECRET)
    git(tmp_path, "add", ".env")
    git(tmp_path, "commit", "-qm", "first")
    data_of(tmp_path, "run", "--name", "tune", "--", "sh", "-c", "echo two >> file")
    (tmp_path / ".git").rename(tmp_path / "away")
    done = data_of(tmp_path, "forget", "--yes", ".env")
    (left,) = [each for each in done["remaining"] if each["what"] == "commits"]
    assert left["handle"] == "tune"
    assert "`mulligan rm tune`" in left["remedy"]
    (tmp_path / "away").rename(tmp_path / ".git")
    assert "commits" not in what_remains(data_of(tmp_path, "forget", "--yes", ".env"))
    assert data_of(tmp_path, "doctor")["findings"] == []


def test_a_tracked_file_is_not_deleted_by_an_apply(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "config", "user.name", "n")
    git(tmp_path, "config", "user.email", "e")
    (tmp_path / ".env").write_bytes(SECRET)
    (tmp_path / "file").write_text("one\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    data_of(tmp_path, "run", "--name", "tune", "--", "sh", "-c", "echo two >> file")
    data_of(tmp_path, "forget", "--yes", ".env")
    data_of(tmp_path, "apply", "--yes", "tune")
    assert git(tmp_path, "show", "--name-only", "--format=", "HEAD").split() == ["file"]
    assert git(tmp_path, "status", "--short") == ""
    assert (tmp_path / ".env").read_bytes() == SECRET
