"""Steps that roll plans back and forward."""

from behave import given, then, when


@given('the plan was rolled back to "{word}"')
@when('the plan is rolled back to "{word}"')
def _(context, word):
    context.world.run("plan", "rollback", "--yes", context.world.plan, word)


@when("the plan is rolled back to its newest {type} group")
def _(context, type):
    found = [c for c in context.world.checkpoints(superseded=True) if c["checkpoint_type"] == type][-1]
    context.world.run("plan", "rollback", "--yes", context.world.plan, found["checkpoint_id"])


@when('the plan is rolled back to the remembered checkpoint "{label}"')
def _(context, label):
    id = context.world.kept[label]["checkpoint_id"]
    context.world.run("plan", "rollback", "--yes", context.world.plan, id)


@when("that rollback is itself rolled back")
def _(context):
    id = context.world.data["post_rollback_state"]["pre_rollback_checkpoint"]
    context.world.run("plan", "rollback", "--yes", context.world.plan, id)


@when('a rollback to "{word}" is tried without doing it')
def _(context, word):
    context.world.run("plan", "rollback", "--dry-run", context.world.plan, word)
    context.world.kept["dry run"] = context.world.data


@then("it does to the path what was shown")
def _(context):
    shown, done = context.world.kept["dry run"], context.world.data
    assert shown["dry_run"]
    assert not done["dry_run"]
    for part in ("rollback_summary", "changes_reverted", "impact"):
        assert shown[part] == done[part], (shown[part], done[part])
    after, planned = done["post_rollback_state"], shown["post_rollback_state"]
    assert planned["pre_rollback_checkpoint"] is None
    assert after["pre_rollback_checkpoint"]
    assert planned | {"pre_rollback_checkpoint": after["pre_rollback_checkpoint"]} == after


@then("the rollback reverted")
def _(context):
    found = {(c["file"], c["action"]) for c in context.world.data["changes_reverted"]}
    wanted = {(row["file"], row["action"]) for row in context.table}
    assert found == wanted, found
    assert context.world.data["rollback_summary"]["files_reverted"] == len(found)


@then("its impact is {decisions:d} decisions and {calls:d} tool calls")
def _(context, decisions, calls):
    impact = context.world.data["impact"]
    assert impact["decisions_discarded"] == decisions, impact
    assert impact["tool_calls_undone"] == calls, impact
    assert impact["irreversible"] == []
    assert impact["child_plans_invalidated"] == 0


@then("afterwards the plan is at step {index:d} with {count:d} live groups")
def _(context, index, count):
    is_after_return(context, "queued", index, count)


@then("afterwards the plan is complete, at step {index:d} with {count:d} live groups")
def _(context, index, count):
    is_after_return(context, "complete", index, count)


def is_after_return(context, state, index, count):
    after = context.world.data["post_rollback_state"]
    assert (after["phase"], after["state"]) == ("execute", state)
    assert (after["step_index"], after["checkpoints_remaining"]) == (index, count), after
    live = {c["group_id"] for c in context.world.checkpoints()}
    assert len(live) == count, live


@then("nothing has changed")
def _(context):
    """Check that a refusal touched neither files nor history."""
    context.execute_steps("Then the sandbox is as remembered\nAnd its checkpoints are as remembered")
    found, wanted = context.world.status(), context.world.kept["status"]
    assert found == wanted, (found, wanted)


@given("how everything stands is remembered")
@when("how everything stands is remembered")
def _(context):
    context.execute_steps("Given the sandbox is remembered\nAnd its checkpoints are remembered")
    context.world.kept["status"] = context.world.status()


@when("the bytes in the snapshot store are damaged")
def _(context):
    store = context.world.home
    damaged = 0
    for file in store.rglob("*"):
        parts = file.relative_to(store).parts
        if file.is_file() and parts[0] not in ("sandboxes", "locks") and len(parts) > 1:
            file.chmod(0o600)
            file.write_bytes(b"\0" * file.stat().st_size)
            damaged += 1
    assert damaged


@then('the error names both groups labelled "{label}"')
def _(context, label):
    named = [c["group_id"] for c in context.world.checkpoints() if c["label"] == label]
    assert len(named) == 2
    for group in named:
        assert group in context.world.error["message"]


@when("the plan is rolled back to a prefix that many ids have")
def _(context):
    ids = [c["group_id"] for c in context.world.checkpoints()]
    length = next(n for n in range(26, 0, -1) if len({id[:n] for id in ids}) < len(ids))
    prefix = next(id[:length] for id in ids if sum(other.startswith(id[:length]) for other in ids) > 1)
    context.world.run("plan", "rollback", "--yes", context.world.plan, prefix)
