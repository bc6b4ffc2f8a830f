"""A project in PostgreSQL does what any project does, and refuses by name what it does not do yet."""

import importlib.util
import json
from pathlib import Path

import psycopg
import pytest

import mulligan
from mulligan.config.database_address import parts_of
from tests.commands.program import ask, data_of
from tests.support.homes import home_of

PLAN = """
name: edit
steps:
  - {name: change, tool: write_file, args: {path: notes.txt, content: second}}
  - {name: more, tool: write_file, args: {path: more.txt, content: third}}
"""


def _rows(address: str, statement: str) -> list[tuple[object, ...]]:
    parts = parts_of(address)
    with psycopg.connect(parts.conninfo, options=f"-c search_path={parts.schema}", autocommit=True) as raw:
        found = raw.execute(statement.encode())
        return found.fetchall() if found.description else []


def test_a_plan_runs_goes_back_and_forward_and_is_applied_and_unapplied(project: Path, address: str) -> None:
    (project / "plan.yaml").write_text(PLAN)
    done = data_of(project, "plan", "execute", "plan.yaml")
    assert (done["phase"], done["state"]) == ("execute", "complete")
    assert not (home_of(project) / "mulligan.db").exists()
    assert _rows(address, "SELECT name, state FROM plans") == [("edit", "complete")]
    mine = data_of(project, "checkpoint", "create", "edit", "--label", "mine")["group_id"]
    data_of(project, "plan", "rollback", "--yes", "edit", "@2")
    assert data_of(project, "plan", "status", "edit")["state"] != "complete"
    data_of(project, "plan", "rollback", "--yes", "edit", mine)
    data_of(project, "plan", "apply", "--yes", "edit")
    assert (project / "notes.txt").read_text() == "second"
    assert (project / "more.txt").read_text() == "third"
    data_of(project, "plan", "unapply", "--yes", "edit")
    assert (project / "notes.txt").read_text() == "first\n"
    assert not (project / "more.txt").exists()
    assert data_of(project, "doctor")["findings"] == []
    data_of(project, "gc")
    assert data_of(project, "checkpoint", "verify")["damaged"] == []
    data_of(project, "rm", "--yes", "edit")
    assert _rows(address, "SELECT plan_id FROM claims WHERE plan_id IN (SELECT plan_id FROM plans)") == []


def test_a_command_in_place_is_undone_and_a_session_goes_back(project: Path) -> None:
    data_of(project, "run", "--in-place", "--", "sh", "-c", "echo gone > notes.txt")
    assert (project / "notes.txt").read_text() == "gone\n"
    data_of(project, "undo", "--yes")
    assert (project / "notes.txt").read_text() == "first\n"
    opened = mulligan.open(project)
    with opened.session("by hand") as session:
        before = session.checkpoint("start")
        (session.path() / "notes.txt").write_text("by hand")
        session.rollback(before)
        assert (session.path() / "notes.txt").read_text() == "first\n"
    opened.close()


@pytest.mark.parametrize(
    "secret", ["postgresql://me:s3cret@localhost/x", "postgresql://localhost/x?password=s3cret"]
)
def test_a_password_is_refused_and_kept_nowhere(tmp_path: Path, secret: str) -> None:
    answer = ask(tmp_path, "init", "--database", secret)
    assert answer["exit_code"] == 2
    assert answer["error"]["kind"] == "setting_invalid"
    assert "s3cret" not in json.dumps(answer)
    assert not (tmp_path / ".mulligan").exists()


def test_without_a_server_nothing_is_made(tmp_path: Path) -> None:
    answer = ask(tmp_path, "init", "--database", f"postgresql:///x?host={tmp_path}")
    assert answer["error"]["kind"] == "database_unusable"
    assert not (tmp_path / ".mulligan").exists()


def test_only_a_server_can_be_named(tmp_path: Path) -> None:
    assert ask(tmp_path, "init", "--database", "sqlite:///x.db")["error"]["kind"] == "setting_invalid"


def test_without_the_driver_the_extra_is_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "psycopg" else found(name))
    for words in (["plan", "list"], ["init", "--fresh", "--database", "postgresql://h/d"]):
        answer = ask(project, *words)
        assert (answer["exit_code"], answer["error"]["kind"]) == (3, "extra_missing")
        assert answer["error"]["extra"] == "shared"


def test_a_project_without_a_bucket_is_not_joined(project: Path, address: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    answer = ask(other, "init", "--database", address)
    assert (answer["exit_code"], answer["error"]["kind"]) == (3, "store_not_joinable")
    assert not (other / ".mulligan").exists()


def test_the_same_command_completes_what_was_cut_off(project: Path, address: str) -> None:
    """The settings name the tables before they are made."""
    schema = parts_of(address).schema
    _rows(address, f"DROP SCHEMA {schema} CASCADE")
    answer = ask(project, "plan", "list")
    assert answer["error"]["kind"] == "database_not_made"
    again = data_of(project, "init", "--database", address)
    assert again["new"] is False
    assert data_of(project, "plan", "list")["plans"] == []


def test_the_plans_of_a_file_are_not_left_behind(tmp_path: Path, address: str) -> None:
    data_of(tmp_path, "init")
    answer = ask(tmp_path, "init", "--database", address)
    assert answer["error"]["kind"] == "not_built_yet"
    assert data_of(tmp_path, "init", "--fresh", "--database", address)["new"] is True


def test_another_database_is_refused(project: Path, address: str) -> None:
    answer = ask(project, "init", "--database", address + "_2")
    assert answer["error"]["kind"] == "project_unusable"


def test_the_rows_of_another_project_are_refused(project: Path, address: str) -> None:
    _rows(address, "UPDATE deployment SET id = 'another'")
    assert ask(project, "plan", "list")["error"]["kind"] == "database_of_another_project"


@pytest.mark.parametrize(("version", "kind"), [(-1, "database_too_old"), (99, "database_too_new")])
def test_tables_of_another_version_are_refused(project: Path, address: str, version: int, kind: str) -> None:
    known = _rows(address, "SELECT version FROM schema_version")
    _rows(address, f"UPDATE schema_version SET version = {version}")
    answer = ask(project, "plan", "list")
    assert (answer["exit_code"], answer["error"]["kind"]) == (3, kind)
    assert _rows(address, "SELECT version FROM schema_version") != known


def test_only_the_explicit_command_upgrades(project: Path, address: str) -> None:
    assert data_of(project, "database", "upgrade")["found"] >= 1
    _rows(address, "UPDATE schema_version SET version = 99")
    assert ask(project, "database", "upgrade")["error"]["kind"] == "database_too_new"


def test_a_file_is_up_to_date(tmp_path: Path) -> None:
    data_of(tmp_path, "init")
    done = data_of(tmp_path, "database", "upgrade")
    assert done["found"] == done["version"]


def test_a_program_may_print_nul_and_fail(project: Path) -> None:
    """A column of text cannot hold it."""
    (project / "nul.yaml").write_text(
        "name: nul\nsteps: [{name: one, tool: shell, args: {command: \"printf 'a\\\\0b' >&2; exit 1\"}}]\n"
    )
    assert ask(project, "plan", "execute", "nul.yaml")["error"]["kind"] == "step_failed"
    assert data_of(project, "plan", "status", "nul")["state"] == "errored"
