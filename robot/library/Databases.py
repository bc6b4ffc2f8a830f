"""Keywords for SQLite databases, looked at with SQLite itself."""

import sqlite3
from contextlib import closing
from pathlib import Path

from robot.api.deco import keyword, library


@library(scope="SUITE")
class Databases:
    """Makes databases and asks them."""

    @keyword
    def run_sql(self, path: str, *statements: str) -> None:
        """Run statements on a database, which is made where it is missing."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            for statement in statements:
                connection.execute(statement)

    @keyword
    def values_of(self, path: str, query: str) -> list[object]:
        """Give the first column of a query."""
        with closing(sqlite3.connect(path)) as connection:
            return [row[0] for row in connection.execute(query)]

    @keyword
    def dump_of(self, path: str) -> list[str]:
        """Give all that a database holds, as SQL."""
        with closing(sqlite3.connect(path)) as connection:
            return list(connection.iterdump())
