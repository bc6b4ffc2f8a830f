"""Steps about databases, real ones and those in sandboxes."""

import sqlite3
from contextlib import closing

from behave import given, then, when


@given('the real database "{path}"')
def _(context, path):
    file = context.world.folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(context.text)


@then('the sandbox of "{resource}" is a sound database that gives "{value}" for "{query}"')
def _(context, resource, value, query):
    path = context.world.sandbox(resource)
    assert path.is_file(), path
    assert sorted(each.name for each in path.parent.glob(f"{path.name}*")) == [path.name]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        found = connection.execute(query).fetchall()
    assert [str(row[0]) for row in found] == [value], found


@then('the sandbox of "{resource}" is gone')
def _(context, resource):
    path = context.world.sandbox(resource)
    assert not path.parent.exists() or not list(path.parent.glob(f"{path.name}*"))


@when('someone writes "{content}" to "{path}" in the sandbox of "{resource}"')
def _(context, content, path, resource):
    (context.world.sandbox(resource) / path).write_text(content)
