"""Steps about the project folder, the real one."""

import os
import socket
from pathlib import Path

from behave import given, then, when
from trees import tree_of
from world import World


@given("a project folder")
def _(context):
    if context.table:
        for row in context.table:
            put(context.world.folder, row)


def put(folder, row):
    """Put what a row of a table describes into a folder."""
    path = folder / row["path"]
    path.parent.mkdir(parents=True, exist_ok=True)
    content = row["content"]
    if content == "(folder)":
        path.mkdir()
    elif content == "(fifo)":
        os.mkfifo(path)
    elif content == "(socket)":
        bind(path)
    elif content.startswith("-> "):
        path.symlink_to(content.removeprefix("-> "))
    else:
        path.write_text(content.replace("\\n", "\n"))
    mode = row.get("mode")
    if mode:
        path.chmod(int(mode, 8))


def bind(path: Path) -> None:
    """Make a socket; its address may not be long, so that it is made from its own folder."""
    with socket.socket(socket.AF_UNIX) as listener:
        before = Path.cwd()
        os.chdir(path.parent)
        try:
            listener.bind(path.name)
        finally:
            os.chdir(before)


@given('the real file "{path}"')
def _(context, path):
    context.world.write(path, context.text + "\n")


@given("the tools of the project")
def _(context):
    (context.world.home / "tools.py").write_text(context.text + "\n")


@given("another project folder with the same files")
def _(context):
    before = context.world
    root = context.root / "another"
    root.mkdir()
    context.worlds = [before, World(root)]
    for row in tree_of(before.folder):
        source = before.folder / row
        if source.is_file():
            context.worlds[1].write(row, source.read_text())
            (context.worlds[1].folder / row).chmod(source.stat().st_mode)


@given("the real folder is remembered")
@when("the real folder is remembered")
def _(context):
    context.world.kept["real"] = context.world.real()


@then("the real folder is untouched, to modes and times")
@then("the real folder is as remembered, to modes and times")
def _(context):
    assert context.world.real() == context.world.kept["real"]


@then('nothing called "{name}" is in the real folder')
def _(context, name):
    assert name not in context.world.real()


@then("the folder has become a project")
def _(context):
    home, small = context.world.home, context.world.folder / ".mulligan"
    assert (home / "mulligan.db").is_file()
    assert home.stat().st_mode & 0o077 == 0
    assert sorted(path.name for path in small.iterdir()) == [".gitignore", "home.json"]
    assert (small / ".gitignore").read_text().splitlines()[-1] == "*"


@then("the folder has not become a project")
def _(context):
    assert context.world.answer["status"] == "error", context.world.answer
    assert not (context.world.folder / ".mulligan").exists()


@then("the sandbox is the real folder")
def _(context):
    assert context.world.sandbox() == context.world.folder.resolve()


@given('there is a folder "{path}"')
def _(context, path):
    (context.world.folder / path).mkdir(parents=True)


@then('in the real folder "{path}" reads "{content}"')
def _(context, path, content):
    found = (context.world.folder / path).read_text()
    assert found == content.replace("\\n", "\n"), found


@when('someone writes "{content}" to "{path}" in the real folder')
def _(context, content, path):
    (context.world.folder / path).write_text(content)
