"""`mulligan restore PATH…`: single paths back from a checkpoint, into the real folder or a sandbox."""

import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import mulligan
from mulligan.errors import PathNotInCheckpoint
from tests.commands.program import answer_of, ask, data_of, start
from tests.commands.running import on_a_terminal, sandbox, script


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "src" / "a.py").write_text("one\n")
    (tmp_path / "src" / "deep" / "b").write_text("b")
    (tmp_path / "notes.md").write_text("notes\n")
    (tmp_path / "run.sh").write_text("#!/bin/sh\n")
    (tmp_path / "run.sh").chmod(0o750)
    (tmp_path / "link").symlink_to("notes.md")
    data_of(tmp_path, "run", "--name", "tune", "--", "sh", "-c", "echo two >> src/a.py; echo made > made")
    return tmp_path


def restored(data: dict[str, Any]) -> list[tuple[str, str]]:
    return [(change["action"], change["path"]) for each in data["restores"] for change in each["changes"]]


def test_what_was_deleted_comes_back_as_it_was(project: Path) -> None:
    for name in ("notes.md", "run.sh", "link"):
        (project / name).unlink()
    assert restored(data_of(project, "restore", "--yes", "notes.md")) == [("restored", "notes.md")]
    done = data_of(project, "restore", "--yes", "@1", "run.sh", "link")
    assert restored(done) == [("restored", "link"), ("restored", "run.sh")]
    assert (project / "notes.md").read_text() == "notes\n"
    assert stat.S_IMODE((project / "run.sh").stat().st_mode) == 0o750
    assert (project / "link").readlink() == Path("notes.md")


def test_only_the_named_path_is_touched(project: Path) -> None:
    (project / "notes.md").write_text("later\n")
    (project / "src" / "a.py").write_text("by hand\n")
    before = (project / "notes.md").stat()
    data_of(project, "restore", "--yes", "tune@3", "src/a.py")
    assert (project / "src" / "a.py").read_text() == "one\ntwo\n"
    assert (project / "notes.md").read_text() == "later\n"
    assert (project / "notes.md").stat().st_mtime_ns == before.st_mtime_ns


def test_a_restored_file_has_the_time_of_its_restore(project: Path) -> None:
    os.utime(project / "notes.md", (1, 1))
    data_of(project, *script("true"))
    (project / "notes.md").unlink()
    data_of(project, "restore", "--yes", "notes.md")
    assert (project / "notes.md").stat().st_mtime > 1


def test_what_was_there_is_kept_and_can_be_brought_back(project: Path) -> None:
    (project / "notes.md").write_text("precious\n")
    (kept,) = data_of(project, "restore", "--yes", "@1", "notes.md")["restores"]
    assert (project / "notes.md").read_text() == "notes\n"
    view = data_of(project, "show", f"tune@{kept['kept_in']}")
    assert view["checkpoint_type"] == "pre_restore"
    data_of(project, "restore", "--yes", f"tune@{kept['kept_in']}", "notes.md")
    assert (project / "notes.md").read_text() == "precious\n"


def test_without_a_number_the_newest_other_version_of_the_real_folder_is_meant(project: Path) -> None:
    # The sandbox of `tune` has another src/a.py, which was never in the real folder.
    (project / "src" / "a.py").unlink()
    data_of(project, "restore", "--yes", "src/a.py")
    assert (project / "src" / "a.py").read_text() == "one\n"
    (project / "notes.md").write_text("second\n")
    data_of(project, "run", "--name", "later", "--", "true")
    (project / "notes.md").write_text("third\n")
    (chosen,) = data_of(project, "restore", "--yes", "notes.md")["restores"]
    assert (chosen["handle"], (project / "notes.md").read_text()) == ("later", "second\n")
    # What only a sandbox ever had is found last of all.
    data_of(project, "restore", "--yes", "made")
    assert (project / "made").read_text() == "made\n"


def test_after_an_apply_its_result_counts(project: Path) -> None:
    data_of(project, "apply", "--yes", "tune")
    for name in ("src/a.py", "made"):
        (project / name).unlink()
        data_of(project, "restore", "--yes", name)
    assert (project / "made").read_text() == "made\n"
    assert (project / "src" / "a.py").read_text() == "one\ntwo\n"
    # And where the file is as the result has it, what the apply replaced is the next version.
    data_of(project, "restore", "--yes", "src/a.py")
    assert (project / "src" / "a.py").read_text() == "one\n"


def test_a_name_that_is_not_text_comes_back(project: Path) -> None:
    name = os.fsdecode(b"bad\xff")
    data_of(project, "run", "--name", "odd", "--apply", "--", "touch", name)
    (project / name).unlink()
    data_of(project, "restore", "--yes", "odd@-1", "--", name)
    assert (project / name).exists()
    assert data_of(project, "log")["entries"][0]["title"] == r"bad\xff from odd@3"


def test_paths_from_several_checkpoints_at_once(project: Path) -> None:
    (project / "new").write_text("new\n")
    data_of(project, "run", "--name", "later", "--", "true")
    (project / "new").unlink()
    (project / "made").write_text("mine")
    done = data_of(project, "restore", "--yes", "new", "made")
    assert restored(done) == [("restored", "new"), ("restored", "made")]
    assert [each["handle"] for each in done["restores"]] == ["later", "tune"]
    assert ((project / "new").read_text(), (project / "made").read_text()) == ("new\n", "made\n")
    newest, before = data_of(project, "log")["entries"][:2]
    assert (newest["kind"], newest["files"], before["kind"]) == ("restore", 2, "run")
    assert {each["entry"] for each in done["restores"]} == {newest["number"]}
    assert {(each["kept_by"], each["kept_in"]) for each in done["restores"]} == {
        (newest["handle"], newest["before"]["number"])
    }
    data_of(project, "undo", "--yes")
    assert not (project / "new").exists()
    assert (project / "made").read_text() == "mine"
    data_of(project, "redo", "--yes")
    assert ((project / "new").read_text(), (project / "made").read_text()) == ("new\n", "made\n")


def test_paths_from_plans_that_exclude_different_paths_are_an_entry_each(project: Path) -> None:
    (project / "new").write_text("new\n")
    data_of(project, "-c", "sandbox.exclude=secret", "run", "--name", "later", "--", "true")
    (project / "new").unlink()
    (project / "made").write_text("mine")
    done = data_of(project, "restore", "--yes", "new", "made")
    assert len({each["entry"] for each in done["restores"]}) == 2
    assert ((project / "new").read_text(), (project / "made").read_text()) == ("new\n", "made\n")


def test_a_folder_comes_back_and_what_is_new_in_it_stays(project: Path) -> None:
    (project / "src" / "deep" / "b").unlink()
    (project / "src" / "a.py").write_text("changed")
    (project / "src" / "mine").write_text("mine")
    (each,) = data_of(project, "restore", "--yes", "@1", "src")["restores"]
    assert sorted(c["path"] for c in each["changes"]) == ["src/a.py", "src/deep/b"]
    assert each["left"] == ["src/mine"]
    assert (project / "src" / "mine").read_text() == "mine"
    (each,) = data_of(project, "restore", "--yes", "--delete", "@1", "src")["restores"]
    assert (each["changes"][0]["action"], each["left"]) == ("removed", [])
    assert not (project / "src" / "mine").exists()


def test_folders_around_a_path_are_made(project: Path) -> None:
    (project / "src" / "deep").chmod(0o700)
    data_of(project, *script("true"))
    subprocess.run(["rm", "-r", project / "src"], check=True)
    data_of(project, "restore", "--yes", "src/deep/b")
    assert (project / "src" / "deep" / "b").read_text() == "b"
    assert stat.S_IMODE((project / "src" / "deep").stat().st_mode) == 0o700
    assert not (project / "src" / "a.py").exists()


def test_everything_at_once(project: Path) -> None:
    for name in ("notes.md", "run.sh", "link"):
        (project / name).unlink()
    data_of(project, "restore", "--yes", "@1", ".")
    assert (project / "notes.md").exists()
    assert (project / "link").is_symlink()


def test_what_the_checkpoint_does_not_have_goes_only_on_request(project: Path) -> None:
    (project / "made").write_text("mine")
    refused = ask(project, "restore", "--yes", "@1", "made")
    assert (refused["exit_code"], refused["error"]["kind"]) == (3, "path_not_in_checkpoint")
    assert "`--delete`" in refused["error"]["hint"]
    assert (project / "made").read_text() == "mine"
    assert restored(data_of(project, "restore", "--yes", "--delete", "@1", "made")) == [("removed", "made")]
    assert not (project / "made").exists()
    gone = ask(project, "restore", "--yes", "--delete", "@1", "made")
    assert gone["error"]["kind"] == "path_not_in_checkpoint"


def test_kinds_that_changed(project: Path) -> None:
    (project / "notes.md").unlink()
    (project / "notes.md").mkdir()
    (project / "notes.md" / "inside").touch()
    refused = ask(project, "restore", "--yes", "@1", "notes.md")
    assert refused["error"]["kind"] == "path_in_the_way"
    assert "`--delete`" in refused["error"]["hint"]
    data_of(project, "restore", "--yes", "--delete", "@1", "notes.md")
    assert (project / "notes.md").read_text() == "notes\n"
    subprocess.run(["rm", "-r", project / "src"], check=True)
    (project / "src").write_text("a file")
    assert ask(project, "restore", "--yes", "@1", "src/a.py")["error"]["kind"] == "path_in_the_way"
    data_of(project, "restore", "--yes", "@1", "src")
    assert (project / "src" / "a.py").read_text() == "one\n"


def test_nothing_to_do_changes_nothing(project: Path) -> None:
    (each,) = data_of(project, "restore", "@1", "notes.md")["restores"]
    assert (each["changes"], each["kept_in"]) == ([], None)
    (each,) = data_of(project, "restore", "--yes", "@1", "notes.md")["restores"]
    assert (each["changes"], each["kept_in"]) == ([], None)
    assert len(data_of(project, "checkpoint", "list", "tune")["checkpoints"]) == 3
    nowhere = ask(project, "restore", "--yes", "notes.md")
    assert (nowhere["exit_code"], nowhere["error"]["kind"]) == (3, "path_nowhere")


def test_it_asks_on_a_terminal_and_is_refused_without_one(project: Path) -> None:
    (project / "notes.md").unlink()
    refused = ask(project, "restore", "notes.md")
    assert (refused["exit_code"], refused["error"]["kind"]) == (3, "confirmation_missing")
    code, shown = on_a_terminal(project, "restore", "notes.md", typed=(b"[y/N]", b"n\n"))
    assert (code, (project / "notes.md").exists()) == (3, False)
    assert "notes.md" in shown
    code, shown = on_a_terminal(project, "restore", "notes.md", typed=(b"[y/N]", b"y\n"))
    assert (code, (project / "notes.md").read_text()) == (0, "notes\n")
    assert "mulligan undo 2" in shown


def test_words(project: Path) -> None:
    assert ask(project, "restore", "@1")["error"]["kind"] == "usage_wrong"
    assert ask(project, "restore")["error"]["kind"] == "usage_wrong"
    assert ask(project, "restore", "--yes", "@99", "notes.md")["error"]["kind"] == "checkpoint_not_found"
    assert ask(project, "restore", "--yes", "/etc/passwd")["error"]["kind"] == "path_outside"
    data_of(project, "checkpoint", "create", "tune", "--label", "draft")
    (project / "notes.md").unlink()
    data_of(project, "restore", "--yes", "--from", "draft", "notes.md")
    assert (project / "notes.md").exists()


def test_a_folder_below_the_project_names_paths_from_there(project: Path) -> None:
    (project / "src" / "a.py").unlink()
    data_of(project / "src", "restore", "--yes", "@1", "a.py")
    assert (project / "src" / "a.py").read_text() == "one\n"


def test_into_the_sandbox(project: Path) -> None:
    copy = sandbox(data_of(project, "status", "tune"))
    data_of(project, "restore", "--yes", "--sandbox", "tune@1", "src/a.py")
    assert (copy / "src" / "a.py").read_text() == "one\n"
    assert (project / "src" / "a.py").read_text() == "one\n"
    (each,) = data_of(project, "restore", "--yes", "--sandbox", "src/a.py")["restores"]
    assert (each["place"], (copy / "src" / "a.py").read_text()) == ("sandbox", "one\ntwo\n")
    (copy / "src" / "other.py").write_text("by hand\n")
    entries = data_of(project, "log")["entries"]
    assert [entry["kind"] for entry in entries[:2]] == ["sandbox_restore"] * 2
    assert each["entry"] == entries[0]["number"]
    assert not entries[0]["real"]
    for undone in ("one\n", "one\ntwo\n"):
        data_of(project, "undo", "--yes")
        assert (copy / "src" / "a.py").read_text() == undone
        assert (copy / "src" / "other.py").read_text() == "by hand\n"
        assert data_of(project, "status", "tune")["state"] == "complete"
    for _ in range(2):
        data_of(project, "redo", "--yes")
    assert (copy / "src" / "a.py").read_text() == "one\ntwo\n"
    assert (project / "src" / "a.py").read_text() == "one\n"
    # A group of the sandboxes is a place to go back to; one of the real folder is not.
    data_of(project, "rollback", "--yes", "tune", f"@{each['kept_in']}")
    assert (copy / "src" / "a.py").read_text() == "one\n"
    (project / "notes.md").unlink()
    (real,) = data_of(project, "restore", "--yes", "notes.md")["restores"]
    refused = ask(project, "rollback", "--yes", "tune", f"@{real['kept_in']}")
    assert refused["error"]["kind"] == "checkpoint_not_a_target"


def test_a_plan_that_ended_has_no_sandbox_to_restore_into(project: Path) -> None:
    data_of(project, "-c", "sandbox.cleanup=on_apply", "apply", "--yes", "tune")
    assert ask(project, "restore", "--yes", "--sandbox", "tune@1", "made")["error"]["kind"] == (
        "plan_already_applied"
    )
    # Its checkpoints are there all the same.
    data_of(project, "restore", "--yes", "--delete", "tune@1", "made")
    assert not (project / "made").exists()
    data_of(project, "restore", "--yes", "tune@3", "made", "src")
    assert (project / "src" / "a.py").read_text() == "one\ntwo\n"


def test_a_plan_without_sandboxes_yet(project: Path) -> None:
    (project / "plan.yaml").write_text("name: waits\nsteps: [{tool: shell, args: {command: 'true'}}]\n")
    data_of(project, "plan", "create", "plan.yaml")
    opened = mulligan.open(project)
    with pytest.raises(mulligan.MulliganError) as refused:
        opened.restore_paths(["notes.md"], sandbox=True, plan="waits")
    assert refused.value.kind == "plan_not_ready"
    with pytest.raises(mulligan.MulliganError) as foreign:
        opened.restore_paths(["notes.md"], checkpoint="tune@1", sandbox=True, plan="waits")
    assert foreign.value.kind == "checkpoint_foreign"
    with pytest.raises(PathNotInCheckpoint):
        opened.restore_paths(["nothing"], checkpoint="tune@1")
    opened.close()


def test_in_place_the_folder_goes_back_and_the_group_is_a_place_to_go_to(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one")
    data_of(tmp_path, "run", "--in-place", "--name", "here", "--", "sh", "-c", "echo two > a; echo new > b")
    (each,) = data_of(tmp_path, "restore", "--yes", "here@1", "a")["restores"]
    assert ((tmp_path / "a").read_text(), (tmp_path / "b").read_text()) == ("one", "new\n")
    assert data_of(tmp_path, "show", f"here@{each['kept_in']}")["metadata"]["place"] == "sandbox"
    back = ask(tmp_path, "rollback", "--yes", "here", f"@{each['kept_in']}")
    if back["exit_code"] == 0:  # while the plan can go back at all
        assert (tmp_path / "a").read_text() == "two\n"


def test_a_file_that_is_being_written_elsewhere_is_not_in_the_way(project: Path) -> None:
    (project / "notes.md").unlink()
    (project / "busy.log").write_text("")
    writing = 'while true; do echo line >> "$0"; done'
    writer = subprocess.Popen(["sh", "-c", writing, project / "busy.log"])
    try:
        data_of(project, "restore", "--yes", "@1", "notes.md")
    finally:
        writer.kill()
        writer.wait()
    assert (project / "notes.md").read_text() == "notes\n"
    assert set((project / "busy.log").read_text().split()) == {"line"}


def test_a_plan_at_work_is_refused_with_another_way(project: Path) -> None:
    (project / "plan.yaml").write_text("name: busy\nsteps: [{tool: shell, args: {command: sleep 30}}]\n")
    process = start(project, "plan", "execute", "plan.yaml")
    try:
        while ask(project, "list", "busy@2")["exit_code"]:
            pass
        (project / "notes.md").unlink()
        refused = ask(project, "restore", "--yes", "busy@1", "notes.md")
    finally:
        process.terminate()
        answer_of(process)
    assert (refused["exit_code"], refused["error"]["kind"]) == (3, "plan_busy")
    assert "`mulligan show busy@1 notes.md`" in refused["error"]["hint"]


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=n", "-c", "user.email=e", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_in_a_checkout_only_the_working_tree_changes(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "tracked").write_text("one\n")
    (tmp_path / "staged").write_text("one\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    data_of(
        tmp_path, "run", "--name", "tune", "--", "sh", "-c", "echo two >> tracked; git commit -qam x || true"
    )
    (tmp_path / "staged").write_text("two\n")
    git(tmp_path, "add", "staged")
    (tmp_path / "tracked").unlink()
    head, index = git(tmp_path, "rev-parse", "HEAD"), git(tmp_path, "ls-files", "-s")
    data_of(tmp_path, "restore", "--yes", "tracked")
    assert (tmp_path / "tracked").read_text() == "one\n"
    assert (git(tmp_path, "rev-parse", "HEAD"), git(tmp_path, "ls-files", "-s")) == (head, index)
    assert git(tmp_path, "status", "--short").split() == ["M", "staged"]
    assert ask(tmp_path, "restore", "--yes", "@1", ".git/config")["error"]["kind"] == "path_not_in_checkpoint"
    data_of(tmp_path, "restore", "--yes", "@1", "staged")
    assert git(tmp_path, "status", "--short").split() == ["MM", "staged"]
    assert git(tmp_path, "rev-parse", "HEAD") == head
    doctor = data_of(tmp_path, "doctor")
    assert doctor["findings"] == []
    data_of(tmp_path, "-c", "sandbox.cleanup=on_apply", "apply", "--no-commit", "--yes", "tune")
    data_of(tmp_path, "restore", "--yes", "tune@1", "tracked")
    assert (tmp_path / "tracked").read_text() == "one\n"
    assert data_of(tmp_path, "doctor")["findings"] == []


def rows(file: Path) -> list[int]:
    with closing(sqlite3.connect(file)) as db:
        return [x for (x,) in db.execute("select x from t order by x")]


def test_a_database_comes_back_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "file").write_text("file")
    with closing(sqlite3.connect(tmp_path / "data" / "rows.db")) as db:
        db.executescript("create table t (x); insert into t values (1)")
    (tmp_path / "plan.yaml").write_text(
        "name: rows\n"
        "resources:\n"
        "  data: {type: fs-directory, location: data}\n"
        "  rows: {type: sqlite, location: data/rows.db}\n"
        "steps: [{tool: sql, resource: rows, args: {statements: ['insert into t values (2)']}}]\n"
    )
    data_of(tmp_path, "plan", "execute", "plan.yaml")
    reader = sqlite3.connect(tmp_path / "data" / "rows.db")  # others may have it open
    with closing(reader):
        data_of(tmp_path, "restore", "--yes", "rows@-1", "data/rows.db")
        assert reader.execute("select count(*) from t").fetchone() == (2,)
    assert rows(tmp_path / "data" / "rows.db") == [1, 2]
    (each,) = data_of(tmp_path, "restore", "--yes", "rows@3", "data/rows.db")["restores"]
    assert each["changes"] == []
    (tmp_path / "data" / "file").unlink()
    done = data_of(tmp_path, "restore", "--yes", "rows@1", "data")
    assert restored(done) == [("restored", "data/file"), ("restored", "data/rows.db")]
    assert rows(tmp_path / "data" / "rows.db") == [1]
    (tmp_path / "data" / "rows.db").unlink()
    data_of(tmp_path, "restore", "--yes", "data/rows.db")
    assert rows(tmp_path / "data" / "rows.db") in ([1], [1, 2])


def test_what_others_save_in_between_is_kept(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mulligan.application.apply.real_change_service import RealChangeService

    (project / "notes.md").write_text("mine\n")
    plain = RealChangeService.ready

    def save(self: RealChangeService, *given: Any) -> None:
        plain(self, *given)
        (project / "notes.md").write_text("saved just now\n")

    monkeypatch.setattr(RealChangeService, "ready", save)
    refused = ask(project, "restore", "--yes", "@1", "notes.md", "run.sh")
    assert (refused["exit_code"], refused["error"]["kind"]) == (3, "changed_meanwhile")
    assert (project / "notes.md").read_text() == "saved just now\n"
    monkeypatch.undo()
    data_of(project, "restore", "--yes", "@1", "notes.md")
    assert (project / "notes.md").read_text() == "notes\n"


def test_where_a_plan_works_in_place_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one")
    data_of(tmp_path, "run", "--name", "first", "--", "true")
    (tmp_path / "steps.yaml").write_text(
        "name: here\nresources: {all: {type: fs-directory, location: ., strategy: in_place}}\n"
        "steps: [{tool: shell, args: {command: 'false'}}]\n"
    )
    ask(tmp_path, "plan", "execute", "steps.yaml")
    (tmp_path / "a").write_text("two")
    refused = ask(tmp_path, "restore", "--yes", "first@1", "a")
    assert (refused["exit_code"], refused["error"]["kind"]) == (3, "location_taken")
    assert (tmp_path / "a").read_text() == "two"


def test_a_killed_restore_is_taken_back_and_said_so(project: Path) -> None:
    (project / "notes.md").write_text("mine\n")
    around = {**os.environ, "MULLIGAN_FAULT": "after:restore.place:1:SIGKILL"}
    command = [sys.executable, "-m", "mulligan", "restore", "--yes", "tune@1", "notes.md"]
    assert subprocess.run(command, cwd=project, env=around, capture_output=True, check=False).returncode == -9
    assert (project / "notes.md").read_text() == "notes\n"  # written, but not recorded
    error = data_of(project, "status", "tune")["error"]
    assert (error["recoverable"], "`mulligan doctor`" in error["hint"]) == (True, True)
    (message,) = ask(project, "log")["messages"]
    assert message.startswith("tune: the process that changed real files")
    assert "`mulligan doctor`" in message
    answer = ask(project, "restore", "--dry-run", "tune@1", "notes.md")
    assert any("interrupted" in message for message in answer["messages"])
    (found,) = data_of(project, "doctor")["findings"]
    assert (found["area"], found["repaired"]) == ("leftovers", True)
    assert (project / "notes.md").read_text() == "mine\n"
    assert data_of(project, "status", "tune")["error"] is None
    assert ask(project, "log")["messages"] == []
    data_of(project, "restore", "--yes", "tune@1", "notes.md")
    assert (project / "notes.md").read_text() == "notes\n"


def test_a_resource_that_is_gone_or_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a").write_text("a")
    (tmp_path / "plan.yaml").write_text(
        "name: tune\nresources: {texts: {type: fs-directory, location: texts}}\n"
        "steps: [{tool: shell, args: {command: 'true'}}]\n"
    )
    data_of(tmp_path, "plan", "execute", "plan.yaml")
    refused = ask(tmp_path, "restore", "--yes", "tune@1", "elsewhere")
    assert refused["error"]["kind"] == "path_not_in_checkpoint"
    subprocess.run(["rm", "-r", tmp_path / "texts"], check=True)
    refused = ask(tmp_path, "restore", "--yes", "tune@1", "texts/a")
    assert "mulligan checkpoint restore" in refused["error"]["hint"]
    assert refused["error"]["kind"] in ("sandbox_missing", "location_changed")
    (tmp_path / "texts").write_text("a file")
    assert ask(tmp_path, "restore", "--yes", "tune@1", "texts/a")["error"]["kind"] == "location_changed"
    (tmp_path / "texts").unlink()
    found = ask(tmp_path, "restore", "--yes", "texts/a")  # its folder is gone, and any version is another
    assert found["error"]["kind"] in ("sandbox_missing", "location_changed")
