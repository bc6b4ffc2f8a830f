"""Sandboxes of all plans are found, and those that plans work on in place."""

from msgspec.structs import replace

from mulligan.domain.plans.plan import Phase, State
from mulligan.domain.resources.resource import ResourceType, Sandbox, Strategy
from mulligan.domain.text.ids import PlanId
from mulligan.rows.database import Database
from tests.unit.examples import a_group, a_plan, a_snapshot

PLAN = PlanId("01K00000000000000000000001")


OTHER = PlanId("01K00000000000000000000002")


def test_snapshots_and_sandboxes_of_all_plans_are_found(database: Database) -> None:
    sandboxes = [
        Sandbox(
            plan_id=plan_id,
            resource="workspace",
            type=ResourceType.FS_DIRECTORY,
            strategy=Strategy.FILESYSTEM_COPY,
            location="/there",
            path=f"/here/{plan_id}",
            base=a_snapshot(letter),
            excluded=("data.db", "not \udcff utf-8"),
            branch="main",
            git_dir=f"/git/{plan_id}",
        )
        for plan_id, letter in ((PLAN, "b"), (OTHER, "c"))
    ]
    with database.writing() as db:
        db.plans.add(a_plan(OTHER))
        for number, plan_id in enumerate((PLAN, PLAN, OTHER)):
            db.checkpoints.add(a_group(plan_id, f"01K0000000000000000000{number}000", 1 + number))
        for sandbox in sandboxes:
            db.sandboxes.add(sandbox)
    with database.reading() as db:
        assert db.checkpoints.snapshots() == [a_snapshot("a")]
        assert db.sandboxes.all() == sandboxes


def test_what_plans_work_on_in_place_is_known_until_they_end(database: Database) -> None:
    ended = replace(a_plan(OTHER), phase=Phase.APPLY, state=State.APPLIED)
    with database.writing() as db:
        db.plans.add(ended)
        for plan_id, strategy in (
            (PLAN, Strategy.IN_PLACE),
            (OTHER, Strategy.IN_PLACE),
        ):
            db.sandboxes.add(_a_sandbox(plan_id, strategy))
    with database.reading() as db:
        assert db.sandboxes.at_work_in_place() == [(PLAN, f"/here/{PLAN}")]
    with database.writing() as db:
        db.sandboxes.remove(PLAN, "workspace")
        assert db.sandboxes.list(PLAN) == []
        assert db.sandboxes.at_work_in_place() == []


def test_a_copy_is_not_work_in_place(database: Database) -> None:
    with database.writing() as db:
        db.sandboxes.add(_a_sandbox(PLAN, Strategy.FILESYSTEM_COPY))
        assert db.sandboxes.at_work_in_place() == []


def _a_sandbox(plan_id: PlanId, strategy: Strategy) -> Sandbox:
    return Sandbox(
        plan_id=plan_id,
        resource="workspace",
        type=ResourceType.FS_DIRECTORY,
        strategy=strategy,
        location="/there",
        path=f"/here/{plan_id}",
        base=a_snapshot("b"),
        excluded=(),
        branch=None,
        git_dir=None,
    )
