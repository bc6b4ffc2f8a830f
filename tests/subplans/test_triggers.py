"""Checkpoints around child plans, and what they say of those that were merged."""

from mulligan.domain.checkpoints.checkpoint import CheckpointGroup
from tests.faults.projects import services_of
from tests.subplans.families import Family, children, shell

ON = ["on_subplan_spawn", "after_subplan"]


def groups(family: Family) -> list[CheckpointGroup]:
    services = services_of(family.folder)
    with services.adapters.database.reading() as db:
        plan_id = db.plans.resolve("p").plan_id
        return list(db.checkpoints.list(plan_id, superseded=False))


def test_one_before_the_first_child_and_one_after_each_merge(family: Family) -> None:
    parts = {"b": [shell("echo b > b")], "a": [shell("echo a > a")]}
    plan = family.write(shell("true", "one"), children(parts), sandbox__checkpoint__auto_create_on=ON)

    family.project().execute(plan)

    found = groups(family)
    assert [g.reason.type for g in found] == [
        "pre_execute",
        "on_subplan_spawn",
        "after_subplan",
        "after_subplan",
        "post_execute",
    ]
    assert [g.state.merged for g in found] == [(), (), ("0:b",), ("0:b", "0:a"), ()]
    assert [g.step_index for g in found] == [0, 1, 1, 1, 2]
    assert [g.reason.between_steps for g in found] == [True, False, False, False, True]
    assert [g.reason.metadata.get("child") for g in found] == [None, None, "b", "a", None]


def test_none_where_they_are_off(family: Family) -> None:
    family.project().execute(
        family.write(children({"a": [shell("true")]}), sandbox__checkpoint__auto_create_on=[])
    )
    assert [g.reason.type for g in groups(family)] == ["pre_execute", "post_execute"]
