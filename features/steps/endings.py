"""Steps about many small plans, each of one step or refused whole."""

from pathlib import Path

from behave import given, then
from trees import tree_of


@given("how each of these steps ends")
def _(context):
    context.endings = context.table


@then("each ended so, with the sandbox as the real folder")
def _(context):
    world = context.world
    wanted = tree_of(world.folder)
    for number, row in enumerate(context.endings):
        world.write_plan(f"ending-{number}", f"steps: [{{name: it, {row['step'].lstrip()[1:]}]")
        world.run("plan", "execute", world.plan_file())
        assert world.code == 1, (row["step"], world.told)
        assert row["says"] in world.error["message"], (row["step"], world.told)
        assert world.error["kind"] == "step_failed"
        found = tree_of(Path(world.data["sandboxes"][0]["path"]))
        assert found == wanted, (row["step"], found)


@then("each of these resources is refused")
def _(context):
    world = context.world
    for row in context.table:
        world.write_plan("refused", f"resources: {row['resources']}\nsteps: [{{name: s, checkpoint: c}}]")
        world.run("plan", "execute", world.plan_file())
        assert world.code in (2, 3), (row["resources"], world.told)
        assert row["because"] in world.error["message"], (row["resources"], world.told)
        assert world.error["hint"]
    context.execute_steps("Then no plan is recorded")
