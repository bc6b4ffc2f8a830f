"""Steps about tools of the user's own, and what they do outside the sandboxes."""

import shutil

from behave import given, then, when

PACKAGE = """\
import mulligan

@mulligan.tool
def {name}(context, who: str):
    (context.path() / "greeting").write_text(f"hello {{who}}")
"""


def tools_file(context):
    return context.world.home / "tools.py"


def outside(context):
    file = context.world.notes / "outside"
    return file.read_text().split() if file.exists() else []


@given("the tools are trusted")
def _(context):
    context.world.run("tool", "trust", "--yes")
    assert context.world.code == 0, context.world.told


@when('the tools.py gets the line "{line}"')
def _(context, line):
    with tools_file(context).open("a") as file:
        file.write(f"{line}\n")
    context.world.forget()


@when("the tools.py is gone")
def _(context):
    tools_file(context).unlink()


@given("everyone may write the tools.py")
def _(context):
    tools_file(context).chmod(0o666)


@when("the project home is copied and used in its place")
def _(context):
    home = context.world.home
    copy = home.with_name("copy")
    shutil.copytree(home, copy, symlinks=True)
    shutil.rmtree(home)
    copy.rename(home)


@given('an installed package with the tool "{name}"')
def _(context, name):
    place = context.world.root / "packages"
    named = place / "greeters-1.0.dist-info"
    named.mkdir(parents=True, exist_ok=True)
    (place / "greeters.py").write_text(PACKAGE.format(name=name))
    (named / "METADATA").write_text("Metadata-Version: 2.1\nName: greeters\nVersion: 1.0\n")
    (named / "entry_points.txt").write_text("[mulligan.tools]\ngreeters = greeters\n")
    context.world.variables["PYTHONPATH"] = str(place)


@given('the site of "{title}" is down')
def _(context, title):
    (context.world.notes / f"broken {title}").touch()


@then("the tools are {names}")
def _(context, names):
    found = [tool["name"] for tool in context.world.data["tools"]]
    assert found == [name.strip() for name in names.split(",")], found


@then('its origin is "{origin}"')
def _(context, origin):
    assert context.world.data["origin"] == origin, context.world.told


@then("outside happened: {words}")
def _(context, words):
    assert outside(context) == [word.strip() for word in words.split(",")], outside(context)


@then("outside happened at last: {words}")
def _(context, words):
    wanted = [word.strip() for word in words.split(",")]
    assert outside(context)[-len(wanted) :] == wanted, outside(context)


@then("nothing happened outside")
def _(context):
    assert outside(context) == []


@then("the impact is to undo")
def _(context):
    found = context.world.data["impact"]["undo"]
    assert found == [row["call"] for row in context.table], found


@then('the impact cannot undo "{call}"')
def _(context, call):
    assert context.world.data["impact"]["irreversible"] == [call], context.world.told


@then('the impact failed to undo "{call}"')
def _(context, call):
    assert context.world.data["impact"]["undo_failed"] == [call], context.world.told


@then("it is done with a warning")
def _(context):
    assert context.world.code == 0, context.world.told
    assert context.world.answer["status"] == "warn", context.world.told
