"""A database is taken over whole, where it did not change meanwhile as SQLite reads it; else it is a conflict."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mulligan.adapters.sandboxes.sqlite.database_contents import same_contents
from mulligan.domain.plans.plan import Phase, State
from mulligan.errors import DatabaseBusy, MulliganError
from tests.support.applied import FOLDER, Applying, complete, files_in, make_database, rows_of, write

DATA = "data: {type: sqlite, location: app.db}"
CREATED = "data: {type: sqlite, location: app.db, create: true}"


@pytest.fixture
def data(tmp_path: Path) -> Applying:
    make_database(tmp_path / "app.db", "create table t (x)", "insert into t values ('before')")
    return complete(tmp_path, DATA)


def _plan_writes(world: Applying, *statements: str) -> None:
    make_database(world.sandbox("data"), *(statements or ("insert into t values ('plan')",)))


def test_what_the_plan_wrote_is_there_and_can_be_taken_back(data: Applying) -> None:
    _plan_writes(data)
    done = data.applied()
    assert [(each.resource, each.files) for each in done.applied] == [("data", 1)]
    assert rows_of(data.folder / "app.db") == ["before", "plan"]
    data.unapplied()
    assert rows_of(data.folder / "app.db") == ["before"]


def test_a_database_that_others_have_open_is_written_under_them(data: Applying) -> None:
    _plan_writes(data)
    inode = (data.folder / "app.db").stat().st_ino
    with closing(sqlite3.connect(data.folder / "app.db")) as other:
        assert other.execute("select count(*) from t").fetchone() == (1,)
        data.applied()
        assert other.execute("select count(*) from t").fetchone() == (2,)
    assert (data.folder / "app.db").stat().st_ino == inode


def test_a_database_that_both_changed_is_a_conflict(data: Applying) -> None:
    _plan_writes(data)
    make_database(data.folder / "app.db", "insert into t values ('user')")
    status, done = data.apply()
    assert [(c.resource, c.path, c.reason) for c in done.conflicts] == [
        ("data", "app.db", "both sides changed the database")
    ]
    assert (status.phase, status.state) == (Phase.APPLY, State.CONSTRAINED)
    assert rows_of(data.folder / "app.db") == ["before", "user"]
    make_database(data.folder / "app.db", "delete from t where x = 'user'")  # mended: as it was, to SQLite
    data.applied()
    assert rows_of(data.folder / "app.db") == ["before", "plan"]


@pytest.mark.parametrize(
    "statements",
    [("vacuum",), ("insert into t values (1)", "delete from t where x = 1"), ("pragma journal_mode = wal",)],
)
def test_a_database_that_only_lies_otherwise_did_not_change(
    data: Applying, statements: tuple[str, ...]
) -> None:
    _plan_writes(data)
    make_database(data.folder / "app.db", *statements)
    data.applied()
    assert rows_of(data.folder / "app.db") == ["before", "plan"]


def test_equal_changes_of_both_sides_are_no_conflict(data: Applying) -> None:
    _plan_writes(data)
    make_database(data.folder / "app.db", "insert into t values ('plan')")
    data.applied()
    assert rows_of(data.folder / "app.db") == ["before", "plan"]


def test_another_page_size_is_a_conflict(data: Applying) -> None:
    _plan_writes(data, "pragma page_size = 8192", "vacuum", "insert into t values ('plan')")
    _, done = data.apply()
    assert [c.reason for c in done.conflicts] == ["its pages of 4096 bytes became pages of 8192"]
    assert rows_of(data.folder / "app.db") == ["before"]


def test_what_is_no_database_any_more_is_not_taken(data: Applying) -> None:
    data.sandbox("data").write_text("no database")
    _, done = data.apply()
    assert [c.reason for c in done.conflicts] == ["the sandbox no longer holds a database"]
    assert rows_of(data.folder / "app.db") == ["before"]


def test_one_that_the_plan_made_comes_and_goes(tmp_path: Path) -> None:
    world = complete(tmp_path, CREATED)
    _plan_writes(world, "create table t (x)", "insert into t values ('plan')")
    world.applied()
    assert rows_of(tmp_path / "app.db") == ["plan"]
    world.unapplied()
    assert not (tmp_path / "app.db").exists()


def test_one_that_the_plan_deleted_goes_and_comes_back(tmp_path: Path) -> None:
    make_database(tmp_path / "app.db", "create table t (x)", "insert into t values ('before')")
    world = complete(tmp_path, CREATED)
    world.sandbox("data").unlink()
    world.applied()
    assert not (tmp_path / "app.db").exists()
    world.unapplied()
    assert rows_of(tmp_path / "app.db") == ["before"]


def test_a_database_behind_a_symlink_is_written_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "var").mkdir()
    make_database(tmp_path / "var" / "real.db", "create table t (x)", "insert into t values ('before')")
    (tmp_path / "app.db").symlink_to("var/real.db")
    world = complete(tmp_path, DATA)
    _plan_writes(world)
    world.applied()
    assert (tmp_path / "app.db").is_symlink()
    assert rows_of(tmp_path / "var" / "real.db") == ["before", "plan"]
    world.unapplied()
    assert rows_of(tmp_path / "var" / "real.db") == ["before"]


def test_a_mode_that_only_the_user_changed_stays(data: Applying) -> None:
    _plan_writes(data)
    (data.folder / "app.db").chmod(0o600)
    data.applied()
    assert (data.folder / "app.db").stat().st_mode & 0o777 == 0o600
    assert rows_of(data.folder / "app.db") == ["before", "plan"]


def test_one_inside_a_folder_goes_with_it_all_or_none(tmp_path: Path) -> None:
    write(tmp_path / "site", {"text": "before\n"})
    make_database(tmp_path / "site" / "app.db", "create table t (x)", "insert into t values ('before')")
    world = complete(tmp_path, FOLDER, "data: {type: sqlite, location: site/app.db}")
    write(world.sandbox(), {"text": "plan\n", "new/file": "plan"})
    _plan_writes(world)
    make_database(tmp_path / "site" / "app.db", "insert into t values ('user')")
    _, done = world.apply()
    assert [(c.resource, c.path) for c in done.conflicts] == [("data", "app.db")]
    assert (tmp_path / "site" / "text").read_text() == "before\n", "the folder is left alone too"
    make_database(tmp_path / "site" / "app.db", "delete from t where x = 'user'")
    world.applied()
    assert rows_of(tmp_path / "site" / "app.db") == ["before", "plan"]
    assert (tmp_path / "site" / "new" / "file").read_text() == "plan"
    world.unapplied()
    assert rows_of(tmp_path / "site" / "app.db") == ["before"]
    assert {name for name in files_in(tmp_path / "site") if "app.db" not in name} == {"text"}


def test_one_that_someone_keeps_locked_puts_all_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "site", {"text": "before\n"})
    make_database(tmp_path / "app.db", "create table t (x)", "insert into t values ('before')")
    monkeypatch.setattr("mulligan.adapters.sandboxes.sqlite.database_copy.BUSY_LIMIT", 0.2)
    world = complete(tmp_path, FOLDER, DATA)
    write(world.sandbox(), {"text": "plan\n"})
    _plan_writes(world)
    with closing(sqlite3.connect(tmp_path / "app.db", isolation_level=None)) as other:
        other.execute("begin immediate")  # readers may read, nobody else may write
        other.execute("select * from t").fetchall()
        with pytest.raises(MulliganError) as stopped:
            world.apply()
    assert isinstance(stopped.value, DatabaseBusy)
    status = world.project.status("p")
    assert (status.phase, status.state) == (Phase.EXECUTE, State.COMPLETE)
    assert (tmp_path / "site" / "text").read_text() == "before\n"
    assert rows_of(tmp_path / "app.db") == ["before"]
    world.applied()
    assert rows_of(tmp_path / "app.db") == ["before", "plan"]


DIFFERENT = {
    "a row": "insert into t values (2)",
    "a type": "update t set x = 1.0",
    "a text for a blob": "update t set x = x'31'",
    "the schema": "create index by_x on t (x)",
    "a setting": "pragma user_version = 7",
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_databases_differ_in_what_sqlite_reads(tmp_path: Path, name: str) -> None:
    one, other = tmp_path / "one.db", tmp_path / "other.db"
    for file in (one, other):
        make_database(file, "create table t (x)", 'create table "odd ""name" (y)', "insert into t values (1)")
    assert same_contents(one, other)
    make_database(other, DIFFERENT[name])
    assert not same_contents(one, other)
    assert not same_contents(one, None)
    assert same_contents(None, None)


def test_what_sqlite_cannot_read_is_like_nothing_else(tmp_path: Path) -> None:
    make_database(tmp_path / "one.db", "create table t (x)")
    (tmp_path / "other.db").write_bytes(b"no database" * 100)
    assert not same_contents(tmp_path / "one.db", tmp_path / "other.db")
