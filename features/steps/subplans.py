"""Steps about child plans: which there are, how they came together, and what waits to be mended."""

import time

from answers import ended
from behave import given, then

from tests.support.patience import PATIENCE


@then("the children are")
def _(context):
    parent = context.world.status()["plan_id"]
    plans = [p for p in context.world.ask("plan", "list")["plans"] if p["parent_plan_id"] == parent]
    assert [(p["name"], p["state"]) for p in plans] == [(row["name"], row["state"]) for row in context.table]


@then('it ends in a conflict, "{kind}"')
def _(context, kind):
    ended(context.world, 4, kind)


@then("the conflicts are")
def _(context):
    wanted = [{heading: row[heading] for heading in context.table.headings} for row in context.table]
    assert context.world.status()["conflicts"] == wanted, context.world.status()["conflicts"]


@then("the conflicts are none")
def _(context):
    assert context.world.status()["conflicts"] == []


@then("each of these ran once: {words}")
def _(context, words):
    found = context.world.tally()
    assert [found.count(word.strip()) for word in words.split(",")] == [1] * len(words.split(",")), found


@then("{count:d} child plan was invalidated")
def _(context, count):
    assert context.world.data["impact"]["child_plans_invalidated"] == count, context.world.told


@then('the child "{name}" has no sandbox')
def _(context, name):
    assert context.world.ask("plan", "status", name)["sandboxes"] == []


@given('the child "{name}" is complete by now')
def _(context, name):
    end = time.monotonic() + PATIENCE
    while context.world.ask("plan", "status", name)["state"] != "complete":
        assert time.monotonic() < end, f"{name} did not come to its end"
        time.sleep(0.05)
