"""Steps about checkpoints and their groups."""

from behave import given, then, when
from histories import one_each, told


@then("the live groups are {types}")
def _(context, types):
    found = [c["checkpoint_type"] for c in one_each(context.world.checkpoints())]
    assert found == [word.strip() for word in types.split(",")], found


@then("all groups are {types}")
def _(context, types):
    """Check every group, the superseded ones in brackets."""
    found = [told(c) for c in one_each(context.world.checkpoints(superseded=True))]
    assert found == [word.strip() for word in types.split(",")], found


@then("the live groups are")
def _(context):
    groups = one_each(context.world.checkpoints())
    found = [{name: str(group[name]) for name in context.table.headings} for group in groups]
    wanted = [{name: row[name] for name in context.table.headings} for row in context.table]
    assert found == wanted, "\n" + "\n".join(map(str, found))


@then("the checkpoints are")
def _(context):
    found = [{n: str(c[n]) for n in context.table.headings} for c in context.world.checkpoints()]
    wanted = [{name: row[name] for name in context.table.headings} for row in context.table]
    assert found == wanted, "\n" + "\n".join(map(str, found))


@then("each group is the child of the one before it")
def _(context):
    groups = one_each(context.world.checkpoints())
    assert [g["parent_group_id"] for g in groups] == [None, *(g["group_id"] for g in groups[:-1])]


@then("a checkpoint that was not modified added nothing, any other something")
def _(context):
    for checkpoint in context.world.checkpoints():
        assert (checkpoint["size_bytes"] > 0) == checkpoint["modified"], checkpoint


@then("the last checkpoint is of the newest group")
@then("the last checkpoint is of the newest group, and of the first resource")
def _(context):
    newest = one_each(context.world.checkpoints())[-1]
    assert context.world.status()["last_checkpoint_id"] == newest["checkpoint_id"]


@then('the last checkpoint is "{label}"')
def _(context, label):
    (named,) = [c for c in context.world.checkpoints() if c["label"] == label]
    assert context.world.status()["last_checkpoint_id"] == named["checkpoint_id"]


@then("the last checkpoint is the newest {type} group")
def _(context, type):
    newest = [c for c in context.world.checkpoints() if c["checkpoint_type"] == type][-1]
    assert context.world.status()["last_checkpoint_id"] == newest["checkpoint_id"]


@then("no checkpoint was taken")
def _(context):
    assert context.world.checkpoints(superseded=True) == []
    assert context.world.status()["last_checkpoint_id"] is None


@given("its checkpoints are remembered")
@when("its checkpoints are remembered")
def _(context):
    context.world.kept["checkpoints"] = context.world.checkpoints(superseded=True)


@then("its checkpoints are as remembered")
def _(context):
    found = context.world.checkpoints(superseded=True)
    assert found == context.world.kept["checkpoints"], found


@given('the checkpoint "{label}" is remembered')
@when('the checkpoint "{label}" is remembered')
def _(context, label):
    context.world.kept[label] = context.world.ask("checkpoint", "show", label)


@then('the files of "{word}" hold "{path}" reading "{content}"')
def _(context, word, path, content):
    """Look into a checkpoint without going back to it."""
    target = context.root / f"looked {len(list(context.root.iterdir()))}"
    context.world.ask("checkpoint", "restore", word, "--to", str(target))
    found = (target / context.world.checkpoints()[0]["resource"] / path).read_text()
    assert found == content.replace("\\n", "\n"), found


@then("the files of the {type} group hold")
def _(context, type):
    world = context.world
    newest = [c for c in world.checkpoints(superseded=True) if c["checkpoint_type"] == type][-1]
    target = context.root / f"looked {len(list(context.root.iterdir()))}"
    world.ask("checkpoint", "restore", newest["checkpoint_id"], "--to", str(target))
    for row in context.table:
        assert (target / row["path"]).read_text() == row["content"].replace("\\n", "\n")


@then("every checkpoint can be restored")
def _(context):
    found = context.world.ask("checkpoint", "verify")
    assert found["checked"] > 0
    assert found["damaged"] == []


@then('it names every checkpoint of "{plan}" as damaged')
def _(context, plan):
    named = {damaged["checkpoint_id"] for damaged in context.world.data["damaged"]}
    assert {c["checkpoint_id"] for c in context.world.checkpoints()} <= named, context.world.told


@then('the metadata of "{label}" has {name} "{value}"')
def _(context, label, name, value):
    found = context.world.ask("checkpoint", "show", label)["metadata"]
    assert found[name] == value, found


@when("someone puts the store back")
def _(context):
    packs = context.world.home / "store" / "packs"
    packs.unlink()
    (context.world.notes / "packs").rename(packs)
    (context.world.notes / "mended").touch()


@then('the {type} group was taken for "{tool}" in step "{step}"')
def _(context, type, tool, step):
    (found,) = [c["metadata"] for c in context.world.checkpoints() if c["checkpoint_type"] == type]
    assert (found["reason"], found["tool"], found["step"]) == (type, tool, step), found
