"""Steps about single paths, and about what is forgotten."""

from behave import then, when
from trees import tree_of

from mulligan.adapters.local_packs.pack_folder import PackFolder
from mulligan.adapters.snapshots.packs.objects import Objects
from mulligan.osfiles.tempdirs import Rooms


@when('someone deletes "{path}" in the real folder')
def _(context, path):
    (context.world.folder / path).unlink()


@when('the command "{line}" is killed after "{act}"')
def _(context, line, act):
    context.world.variables["MULLIGAN_FAULT"] = f"after:{act}:1:SIGKILL"
    try:
        context.world.say(line)
    except ValueError:
        return  # it prints no document
    finally:
        del context.world.variables["MULLIGAN_FAULT"]
    raise AssertionError("it was not killed")


@then('the changes are "{listed}"')
def _(context, listed):
    changes = [c for each in context.world.data["restores"] for c in each["changes"]]
    assert ", ".join(f"{c['action']} {c['path']}" for c in changes) == listed, changes


@then("the real folder is as remembered, but for times")
def _(context):
    now = tree_of(context.world.folder)
    before = {path: facts[:-1] for path, facts in context.world.kept["real"].items()}
    assert now == before, (now, before)


@then("the entries are")
def _(context):
    names = context.table.headings
    found = [[str(entry[name]) for name in names] for entry in context.world.data["entries"]]
    assert found == [list(row) for row in context.table], found


@then('the content is "{content}"')
def _(context, content):
    assert context.world.data["content"] == content.replace("\\n", "\n")


@then('the sandbox of "{handle}" stays, and "{command}" frees it')
def _(context, handle, command):
    (kept,) = context.world.data["sandboxes_kept"]
    assert kept["handle"] == handle
    assert kept["size_bytes"] > 0
    assert command in kept["remedy"], kept


@then('the store nowhere holds "{secret}"')
def _(context, secret):
    store = context.world.home / "store"
    objects = Objects(PackFolder(store / "packs", Rooms(store / "rooms")))
    objects.refresh()
    found = [objects.read(each) for pack in objects.packs() for each in pack.ids]
    assert found
    assert not any(secret.encode() in data for data in found)
