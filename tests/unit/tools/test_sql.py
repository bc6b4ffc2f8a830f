"""The tool `sql`: all statements or none, in one file and no other."""

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from mulligan.adapters.tools.sql.rows_table import rows_table
from mulligan.adapters.tools.sql.statements import divide
from mulligan.domain.plans.tool import ToolResult
from mulligan.domain.text.json_value import JsonObject
from mulligan.errors import PathEscapes, ToolFailed, ToolTimedOut
from tests.support.databases import LOCKER, beside, program, rows, run_sql
from tests.support.recording_host import RecordingHost

Sql = Callable[..., ToolResult]


@pytest.fixture
def database(root: Path) -> Path:
    path = root / "var" / "app.db"
    path.parent.mkdir()
    run_sql(path, "CREATE TABLE t (a)", "INSERT INTO t VALUES ('base')")
    return path


@pytest.fixture
def sql(call: Sql, root: Path, database: Path, monkeypatch: pytest.MonkeyPatch) -> Sql:
    """Run statements on the database, which lies inside the sandbox of a folder."""
    monkeypatch.setattr("mulligan.adapters.tools.sql.sql_tool.BUSY_LIMIT", 0.5)

    def run(*statements: str, **options: object) -> ToolResult:
        given = {"statements": list(statements)} if statements else {}
        return call("sql", _root=database, _sandboxes={"app": root, "data": database}, **given, **options)

    return run


def failure(sql: Sql, *statements: str, **options: object) -> str:
    with pytest.raises(ToolFailed) as failed:
        sql(*statements, **options)
    assert failed.value.next_step
    return failed.value.text


@pytest.mark.processes_measured
def test_the_rows_of_the_last_statement_that_gives_any_are_the_output(
    sql: Sql, database: Path, host: RecordingHost
) -> None:
    result = sql(
        "SELECT 'not this one'",
        "INSERT INTO t VALUES (1), (2.5), (NULL), (x'00ff'), (9e999), (-9e999), (cast(x'ff41' as text))",
        "SELECT a, rowid AS id, 3 AS id FROM t ORDER BY rowid",
        "DELETE FROM t WHERE a = 1",
    )
    assert result.output == [
        {"a": "base", "id": 1, "id:1": 3},
        {"a": 1, "id": 2, "id:1": 3},
        {"a": 2.5, "id": 3, "id:1": 3},
        {"a": None, "id": 4, "id:1": 3},
        {"a": {"base64": "AP8="}, "id": 5, "id:1": 3},
        {"a": "Infinity", "id": 6, "id:1": 3},
        {"a": "-Infinity", "id": 7, "id:1": 3},
        {"a": "\ufffdA", "id": 8, "id:1": 3},
    ]
    assert result.detail == {"statements": 4, "changes": 8}
    assert result.messages == ()
    assert sql("DELETE FROM t").output is None
    assert rows(database) == []
    assert host.shown.decode().splitlines()[:6] == [
        "a            id  id:1",
        "base         1   3",
        "1            2   3",
        "2.5          3   3",
        "NULL         4   3",
        "base64:AP8=  5   3",
    ]


def test_few_rows_are_shown_none_of_them_wide_and_the_rest_is_counted() -> None:
    rows: list[JsonObject] = [{"z": n, "a": "x" * 99 if n else "two\nlines \x1b[0m"} for n in range(22)]
    title, first, second, *_, last = rows_table(rows, cut_off=False).splitlines()
    assert (title, first) == ("z   a", "0   two\\nlines \\x1b[0m")
    assert second == "1   " + "x" * 38 + ".."
    assert last == "(2 more rows)"
    assert rows_table(rows, cut_off=True).endswith("\n(at least 3 more rows)\n")
    assert rows_table(rows[:20], cut_off=False).count("\n") == 21
    assert rows_table([], cut_off=False) == "no rows\n"


def test_a_failing_statement_leaves_nothing_of_those_before_it(sql: Sql, database: Path) -> None:
    told = failure(sql, "CREATE TABLE u (a)", "INSERT INTO t VALUES (2)", "INSERT INTO nowhere VALUES (3)")
    assert told == "sql: statement 3: no such table: nowhere"
    assert rows(database) == [("base",)]
    assert rows(database, "SELECT name FROM sqlite_schema") == [("t",)]
    assert beside(database) == ["app.db"]


@pytest.mark.processes_measured
def test_what_only_the_commit_finds_wrong_leaves_nothing_either(sql: Sql, database: Path) -> None:
    told = failure(
        sql,
        "PRAGMA foreign_keys = ON",
        "CREATE TABLE parent (id PRIMARY KEY)",
        "CREATE TABLE child (id REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)",
        "INSERT INTO child VALUES (1)",
    )
    assert told == "sql: the end, when all was to be committed: FOREIGN KEY constraint failed"
    assert rows(database, "SELECT name FROM sqlite_schema") == [("t",)]


def test_savepoints_work_inside_the_transaction(sql: Sql, database: Path) -> None:
    sql(
        "SAVEPOINT s",
        "INSERT INTO t VALUES ('taken back')",
        "ROLLBACK TRANSACTION TO s",
        "INSERT INTO t VALUES (2)",
        "RELEASE s",
    )
    assert rows(database) == [("base",), (2,)]


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("ATTACH 'other.db' AS other", "ATTACH is refused"),
        ("/* so */ attach 'other.db' as other", "ATTACH is refused"),
        ("DETACH main", "DETACH is refused"),
        ("VACUUM", "VACUUM is refused"),
        ("VACUUM main INTO 'other.db'", "VACUUM is refused"),
        ("BEGIN", "BEGIN is refused: all statements run in one transaction"),
        ("-- the end\nCOMMIT", "COMMIT is refused"),
        ("end transaction;", "END is refused"),
        ("ROLLBACK", "ROLLBACK is refused"),
        pytest.param(
            "SELECT load_extension('x')",
            "the function load_extension could reach another file",
            marks=pytest.mark.processes_measured,
        ),
        ("SELECT fts3_tokenizer('x', x'00')", "the function fts3_tokenizer could reach another file"),
        pytest.param(
            "CREATE VIRTUAL TABLE v USING csv(filename='/etc/passwd')",
            "the module csv could reach",
            marks=pytest.mark.processes_measured,
        ),
        pytest.param(
            "PRAGMA writable_schema = 1",
            "PRAGMA writable_schema is not for",
            marks=pytest.mark.processes_measured,
        ),
        ("PRAGMA temp_store_directory = '/tmp'", "PRAGMA temp_store_directory is not for"),
        ("PRAGMA journal_mode = wal", "PRAGMA journal_mode is not for"),
        ("PRAGMA foreign_keys = ON", "PRAGMA foreign_keys is not for"),
        ("SELECT ?", "Incorrect number of bindings"),
        pytest.param("SELECT 'never closed", "unrecognized token", marks=pytest.mark.processes_measured),
        ("INSERT INTO t VALUES ('\0')", "null character"),
    ],
)
def test_what_reaches_another_file_or_ends_the_transaction_is_denied(
    sql: Sql, root: Path, database: Path, statement: str, told: str
) -> None:
    text = failure(sql, "INSERT INTO t VALUES (2)", statement)
    assert text.startswith("sql: statement 2: ")
    assert told in text
    assert rows(database) == [("base",)]
    assert sorted(path.name for path in root.rglob("*")) == ["app.db", "var"]


def test_what_the_database_says_of_itself_may_be_asked_and_set(sql: Sql, database: Path) -> None:
    assert sql("PRAGMA journal_mode").output == [{"journal_mode": "delete"}]
    assert sql("PRAGMA table_info(t)").output[0]["name"] == "a"  # pyright: ignore[reportIndexIssue, reportOptionalSubscript, reportCallIssue, reportArgumentType] - a list of rows
    sql("PRAGMA user_version = 9", "PRAGMA application_id = 77")
    assert rows(database, "PRAGMA user_version") == [(9,)]
    sql("CREATE VIRTUAL TABLE words USING fts5(word)", "INSERT INTO words VALUES ('found')")
    assert sql("SELECT word FROM words WHERE words MATCH 'found'").output == [{"word": "found"}]


@pytest.mark.processes_measured
def test_too_many_rows_are_cut_off_and_told(sql: Sql) -> None:
    count = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1500) SELECT "
    many = sql(f"{count} x FROM n")
    assert isinstance(many.output, list)
    assert len(many.output) == 1000
    assert many.messages == (
        "only the first 1000 rows are recorded (at most 1000 rows and 1 MiB are): choose fewer with LIMIT",
    )
    large = sql(f"{count} printf('%.*c', 5000, 'x') FROM n")
    assert isinstance(large.output, list)
    assert len(large.output) == 208
    assert "only the first 208 rows" in large.messages[0]


# --- scripts ---------------------------------------------------------------------------------------------

SCRIPT = """\
-- a comment; that ends nothing
PRAGMA foreign_keys = ON;
CREATE TABLE log ("odd;name", [another;one], `third;one`);
/* and ; another
   one */
CREATE TRIGGER noted AFTER INSERT ON t BEGIN
  INSERT INTO log VALUES ('it''s; so', new.a, NULL);
  SELECT CASE WHEN 1 THEN 2 END;
END;
INSERT INTO t VALUES (';');;
SELECT count(*) AS n FROM log -- no semicolon at the end
"""


def test_a_script_lies_in_the_first_file_resource(call: Sql, root: Path, database: Path) -> None:
    (root / "var" / "migrations").mkdir()
    (root / "var" / "migrations" / "002.sql").write_text(SCRIPT)
    assert [line for _, line in divide(SCRIPT)] == [2, 3, 6, 10, 11]
    result = run_script(call, root, database, "var/migrations/002.sql")
    assert result.output == [{"n": 1}]
    assert rows(database, "SELECT * FROM log") == [("it's; so", ";", None)]


def run_script(call: Sql, root: Path, database: Path, script: str) -> ToolResult:
    return call(
        "sql", _root=database, _sandboxes={"app": root, "data": database}, _script_root=root, script=script
    )


def test_a_failure_in_a_script_names_its_line(call: Sql, root: Path, database: Path) -> None:
    (root / "bad.sql").write_text(
        "\ufeffINSERT INTO t VALUES (1);\n\n-- so far\n  INSERT INTO nope\n VALUES (1);\n"
    )
    with pytest.raises(ToolFailed, match=r"^sql: bad.sql, line 4: no such table: nope$"):
        run_script(call, root, database, "bad.sql")
    (root / "commit.sql").write_text("INSERT INTO t VALUES (1);\nCOMMIT;")
    with pytest.raises(ToolFailed, match=r"commit.sql, line 2: COMMIT is refused"):
        run_script(call, root, database, "commit.sql")
    assert rows(database) == [("base",)]


def test_scripts_that_cannot_be_run(call: Sql, root: Path, database: Path, outside: Path) -> None:
    (root / "empty.sql").write_text("-- nothing;\n /* here */ ;; \n")
    (root / "latin.sql").write_bytes(b"SELECT '\xff'")
    (root / "out.sql").symlink_to(outside / "precious")
    for script, told in {
        "empty.sql": "no statement in it",
        "latin.sql": "is not UTF-8",
        "missing.sql": "there is no script",
        "var": "not a regular file",
    }.items():
        with pytest.raises(ToolFailed, match=told):
            run_script(call, root, database, script)
    with pytest.raises(PathEscapes):
        run_script(call, root, database, "out.sql")
    with pytest.raises(ToolFailed, match="the plan has none"):
        call("sql", _root=database, _script_root=None, script="any.sql")


# --- the file itself -------------------------------------------------------------------------------------


def test_a_database_that_is_not_there_is_made_with_the_folders_it_needs(call: Sql, root: Path) -> None:
    path = root / "new" / "folder" / "fresh.db"
    call("sql", _root=path, _sandboxes={"app": root, "data": path}, statements=["CREATE TABLE t (a)"])
    assert rows(path) == []


@pytest.mark.processes_measured
def test_one_that_was_not_there_is_not_there_after_a_failure(call: Sql, root: Path) -> None:
    path = root / "new" / "folder" / "fresh.db"
    with pytest.raises(ToolFailed):
        call(
            "sql", _root=path, _sandboxes={"app": root, "data": path}, statements=["INSERT INTO t VALUES (1)"]
        )
    assert list(root.iterdir()) == []


@pytest.mark.processes_measured
@pytest.mark.parametrize("swapped", ["var", "var/app.db"])
def test_a_symlink_in_the_place_of_the_database_is_not_followed(
    sql: Sql, root: Path, outside: Path, database: Path, swapped: str
) -> None:
    run_sql(outside / "app.db", "CREATE TABLE t (a)")
    (root / swapped).rename(root / "moved")
    (root / swapped).symlink_to(outside if swapped == "var" else outside / "app.db")
    assert "a symlink in its place is not followed" in failure(sql, "INSERT INTO t VALUES (1)")
    assert rows(outside / "app.db") == []


@pytest.mark.parametrize("suffix", ["-journal", "-wal"])
def test_nor_is_one_in_the_place_of_its_sidecars(
    sql: Sql, outside: Path, database: Path, suffix: str
) -> None:
    if suffix == "-wal":
        run_sql(database, "PRAGMA journal_mode = wal")
    Path(f"{database}{suffix}").symlink_to(outside / "precious")
    assert failure(sql, "INSERT INTO t VALUES (1)")
    assert (outside / "precious").read_text() == "untouched\n"


def test_what_is_no_database_is_told(sql: Sql, database: Path) -> None:
    database.write_text("plain text " * 100)
    assert failure(sql, "SELECT 1") == "sql: file is not a database"


def test_one_that_is_locked_is_told(sql: Sql, database: Path) -> None:
    with program(LOCKER, database):
        assert failure(sql, "INSERT INTO t VALUES (1)") == "sql: database is locked"


def test_a_statement_that_takes_too_long_is_ended_and_leaves_nothing(sql: Sql, database: Path) -> None:
    forever = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) INSERT INTO t SELECT x FROM n"
    began = time.monotonic()
    with pytest.raises(ToolTimedOut):
        sql(forever, _timeout=0.5)
    assert time.monotonic() - began < 60
    assert rows(database) == [("base",)]


def test_a_process_that_is_killed_is_told(sql: Sql, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mulligan.adapters.tools.sql.sql_tool._PROGRAM", "raise SystemExit('no memory')")
    assert failure(sql, "SELECT 1") == "sql: its process ended with status 1: no memory"


@pytest.mark.processes_measured
def test_long_statements_reach_it_whole(sql: Sql, database: Path) -> None:
    sql(f"INSERT INTO t VALUES ('{'x' * 300_000};')")
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("SELECT max(length(a)) FROM t").fetchone() == (300_001,)
