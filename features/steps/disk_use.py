"""Steps about bytes: what prune, delete and gc free, and that what stays comes back."""

from behave import given, then, when
from trees import tree_of


def store_size(world):
    """What the packs of the project take."""
    return sum(path.stat().st_size for path in (world.home / "store" / "packs").iterdir())


@given("the size of the store is remembered")
def _(context):
    context.world.kept["store"] = store_size(context.world)


@then("the store is as large as remembered")
def _(context):
    assert store_size(context.world) == context.world.kept["store"]


@then("it freed {count:d} bytes or more, as many as the store has become smaller")
def _(context, count):
    freed = context.world.data["bytes_freed"]
    assert freed == context.world.kept["store"] - store_size(context.world), context.world.told
    assert freed >= count, freed


@then("it freed nothing")
def _(context):
    assert context.world.data["bytes_freed"] == 0, context.world.told


@then("what it would free is remembered")
def _(context):
    assert context.world.data["dry_run"] is True
    context.world.kept["freed"] = context.world.data["bytes_freed"]


@then("it freed as much as remembered")
def _(context):
    assert context.world.data["dry_run"] is False
    assert context.world.data["bytes_freed"] == context.world.kept["freed"], context.world.told


@then("it cleared {count:d} scratch folders")
def _(context, count):
    assert context.world.data["scratch_folders_removed"] == count, context.world.told


@then("the groups that go are")
def _(context):
    compare(context, "pruned")


@then("the groups that stay are")
def _(context):
    compare(context, "kept")


def compare(context, part):
    """Compare what the last answer names with the table; what a verdict does not tell is asked for."""
    verdicts = context.world.data[part]
    known = {c["checkpoint_id"]: c for c in context.world.checkpoints(superseded=True)}
    found = [
        {name: str({**known[v["checkpoint_id"]], **v}[name]) for name in context.table.headings}
        for v in verdicts
    ]
    wanted = [{name: row[name] for name in context.table.headings} for row in context.table]
    assert found == wanted, "\n" + "\n".join(map(str, found))


@then('"{label}" comes back exactly as recorded "{name}"')
def _(context, label, name):
    world = context.world
    target = context.root / f"looked {len(list(context.root.iterdir()))}"
    (restored,) = world.ask("checkpoint", "restore", label, "--to", str(target))["restored"]
    found, wanted = tree_of(target / restored["resource"]), world.recorded(name)
    different = {p: (found.get(p), wanted.get(p)) for p in found | wanted if found.get(p) != wanted.get(p)}
    assert not different, different


@when("the plan is executed on after the hold is lifted")
def _(context):
    context.world.release()
    context.world.run("plan", "execute", context.world.plan)
