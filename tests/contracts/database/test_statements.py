"""Statements: what goes in comes back, and what is refused is an error of ours."""

from collections.abc import Callable
from contextlib import suppress

import pytest

from mulligan.errors import DatabaseUnusable
from mulligan.rows.sql_connection import SqlConnection


@pytest.fixture
def connection(connection: SqlConnection) -> SqlConnection:
    """A connection with a table of its own."""
    with connection.transaction(write=True):
        connection.execute("CREATE TABLE birds (number BIGINT PRIMARY KEY, name TEXT, weight REAL)")
    return connection


def _add(connection: SqlConnection, *birds: tuple[int, str | None]) -> None:
    with connection.transaction(write=True):
        for number, name in birds:
            connection.execute("INSERT INTO birds (number, name) VALUES (?, ?)", (number, name))


@pytest.mark.parametrize("name", ["lark", "", "'; DROP TABLE birds; --", "Zaunkönig 鳥\n", None])
def test_values_come_back_as_they_went_in(connection: SqlConnection, name: str | None) -> None:
    _add(connection, (2**53, name))
    row = connection.row("SELECT number, name AS called FROM birds WHERE number = ?", (2**53,))
    assert row is not None
    assert (row["number"], row["called"]) == (2**53, name)


def test_rows_come_in_order_and_none_where_there_are_none(connection: SqlConnection) -> None:
    _add(connection, (1, "lark"), (2, "wren"), (3, "coot"))
    statement = "SELECT name FROM birds WHERE number > ? ORDER BY number DESC"
    assert [row["name"] for row in connection.rows(statement, (1,))] == ["coot", "wren"]
    assert [row["name"] for row in connection.each(statement, (1,))] == ["coot", "wren"]
    first = connection.row(statement, (0,))
    assert first is not None
    assert first["name"] == "coot"
    assert list(connection.rows(statement, (3,))) == []
    assert list(connection.each(statement, (3,))) == []
    assert connection.row(statement, (3,)) is None


def test_a_statement_that_changes_rows_can_return_them(connection: SqlConnection) -> None:
    _add(connection, (1, "lark"))
    with connection.transaction(write=True):
        row = connection.row("UPDATE birds SET number = number + ? RETURNING number AS raised", (4,))
    assert row is not None
    assert row["raised"] == 5


@pytest.mark.parametrize(
    "run",
    [
        lambda connection, statement: connection.execute(statement),
        lambda connection, statement: connection.row(statement),
        lambda connection, statement: connection.rows(statement),
        lambda connection, statement: list(connection.each(statement)),
    ],
)
def test_what_the_database_refuses_is_an_error_of_ours(
    connection: SqlConnection, run: Callable[[SqlConnection, str], object]
) -> None:
    with pytest.raises(DatabaseUnusable):
        run(connection, "SELECT nothing FROM nowhere")


def test_a_text_with_nul_comes_back_or_is_refused_as_a_whole(connection: SqlConnection) -> None:
    with suppress(DatabaseUnusable):
        _add(connection, (1, "lark"), (2, "a\0b"))
    names = [row["name"] for row in connection.rows("SELECT name FROM birds ORDER BY number")]
    assert names in ([], ["lark", "a\0b"])


def test_a_row_that_refers_to_nothing_is_refused(connection: SqlConnection) -> None:
    with pytest.raises(DatabaseUnusable), connection.transaction(write=True):
        connection.execute(
            "INSERT INTO steps (plan_id, step_index, name, status) VALUES (?, ?, ?, ?)",
            ("no plan", 0, "x", "done"),
        )
    assert list(connection.rows("SELECT * FROM steps")) == []


def test_a_connection_may_be_closed_twice(connection: SqlConnection) -> None:
    connection.close()
    connection.close()
    with pytest.raises(DatabaseUnusable) as refusal:
        connection.rows("SELECT number FROM birds")
    assert "disk" not in refusal.value.text + refusal.value.next_step
