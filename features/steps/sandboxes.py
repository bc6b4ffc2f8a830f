"""Steps about what stands in the sandboxes."""

from behave import given, then, when
from trees import tree_of


@then('the sandbox holds "{names}"')
def _(context, names):
    found = sorted(tree_of(context.world.sandbox()))
    assert found == sorted(names.split()), found


@then("the sandbox is empty")
def _(context):
    assert tree_of(context.world.sandbox()) == {}


@then('in the sandbox "{path}" reads "{content}"')
def _(context, path, content):
    found = (context.world.sandbox() / path).read_text()
    assert found == content.replace("\\n", "\n"), found


@then('in the sandbox of "{resource}" "{path}" reads "{content}"')
def _(context, resource, path, content):
    found = (context.world.sandbox(resource) / path).read_text()
    assert found == content.replace("\\n", "\n"), found


@then('in the sandbox "{path}" has the mode {mode}')
def _(context, path, mode):
    found = f"{(context.world.sandbox() / path).stat().st_mode & 0o7777:o}"
    assert found == mode, found


@then('there is no "{path}" in the sandbox')
def _(context, path):
    assert path not in tree_of(context.world.sandbox())


@then('the sandbox is exactly as recorded "{name}"')
def _(context, name):
    found, wanted = tree_of(context.world.sandbox()), context.world.recorded(name)
    different = {p: (found.get(p), wanted.get(p)) for p in found | wanted if found.get(p) != wanted.get(p)}
    assert not different, different


@then("the sandbox is gone")
def _(context):
    assert not context.world.sandbox().exists()


@then("the project home holds {count:d} sandbox")
def _(context, count):
    found = list((context.world.home / "sandboxes").glob("*/*"))
    assert len(found) == count, found


@given("the sandbox is remembered")
@when("the sandbox is remembered")
def _(context):
    context.world.kept["sandbox"] = tree_of(context.world.sandbox())


@then("the sandbox is as remembered")
def _(context):
    assert tree_of(context.world.sandbox()) == context.world.kept["sandbox"]


@when('someone writes "{content}" to "{path}" in the sandbox')
def _(context, content, path):
    (context.world.sandbox() / path).write_text(content)


@when("someone takes the sandbox away")
def _(context):
    path = context.world.sandbox()
    path.rename(context.root / "taken")


@when("someone takes the sandbox away and puts a symlink in its place")
def _(context):
    path = context.world.sandbox()
    path.rename(context.root / "taken")
    path.symlink_to(context.root / "taken")


@when("someone takes the repository of the checkpoints away")
def _(context):
    (repository,) = (context.world.home / "git").glob("*/*")
    repository.rename(context.root / "taken")
