"""Steps about the fields of checkpoints."""

import re

from behave import then, when
from histories import one_each

FIELDS = {
    "checkpoint_id": str,
    "group_id": str,
    "number": int,
    "seq": int,
    "plan_id": str,
    "decision_id": str | None,
    "resource": str,
    "checkpoint_type": str,
    "label": str | None,
    "step_index": int,
    "state_hash": str,
    "sandbox_ref": str,
    "filesystem_path": str,
    "size_bytes": int,
    "modified": bool,
    "created_at": str,
    "parent_group_id": str | None,
    "superseded": bool,
    "metadata": dict,
}


@then("every checkpoint has all its fields")
def _(context):
    status = context.world.status()
    for checkpoint in context.world.checkpoints():
        assert set(checkpoint) == set(FIELDS), checkpoint
        for name, type in FIELDS.items():
            assert isinstance(checkpoint[name], type), (name, checkpoint[name])
        assert re.fullmatch("[0-9A-HJKMNP-TV-Z]{26}", checkpoint["checkpoint_id"])
        assert re.fullmatch("[0-9a-f]{64}", checkpoint["state_hash"])
        assert checkpoint["created_at"].endswith("Z")
        assert checkpoint["plan_id"] == status["plan_id"]
        assert checkpoint["filesystem_path"] == status["sandboxes"][0]["path"]
        assert checkpoint["metadata"]["reason"]
        assert checkpoint["metadata"]["phase"] == "execute"
    seqs = [c["seq"] for c in context.world.checkpoints()]
    assert seqs == sorted(set(seqs))
    assert [c["number"] for c in context.world.checkpoints()] == list(range(1, len(seqs) + 1))


@then("equal snapshots have equal references")
def _(context):
    first, *_, last = context.world.checkpoints()
    assert first["sandbox_ref"] == last["sandbox_ref"]
    assert len({c["sandbox_ref"] for c in context.world.checkpoints()}) == 2


@then("only the decision group has a decision")
def _(context):
    for checkpoint in context.world.checkpoints():
        assert (checkpoint["checkpoint_type"] == "decision") == (checkpoint["decision_id"] is not None)


@when('both run the plan "{name}"')
def _(context, name):
    for world in context.worlds:
        world.write_plan(name, context.text)
        world.run("plan", "execute", world.plan_file())
        assert world.code == 0, world.told


@then("both have the same state hashes, and those of different states differ")
def _(context):
    here, there = ([c["state_hash"] for c in world.checkpoints()] for world in context.worlds)
    assert here == there
    assert len(set(here)) == 4, here  # after each of three steps, and before the first


@then("every state of the first run has the hash of the second")
def _(context):
    groups = one_each(context.world.checkpoints(superseded=True))
    left = [g["state_hash"] for g in groups if g["superseded"] and g["checkpoint_type"] != "pre_rollback"]
    live = [g["state_hash"] for g in groups if not g["superseded"]]
    assert live[-3:] == left, (live, left)
