"""What was applied to real resources comes back in the order of the resources."""

from msgspec.structs import replace

from mulligan.domain.plans.intent import IntentKind
from mulligan.domain.resources.resource import ResourceType, Sandbox, Strategy
from mulligan.domain.text.ids import PlanId
from mulligan.domain.trees.real_change import RealChange
from mulligan.rows.database import Database
from tests.unit.examples import a_snapshot

PLAN = PlanId("01K00000000000000000000001")


def _a_change(resource: str, before: str, written: str) -> RealChange:
    return RealChange(
        act=IntentKind.APPLY,
        real=Sandbox(
            plan_id=PLAN,
            resource=resource,
            type=ResourceType.FS_DIRECTORY,
            strategy=Strategy.IN_PLACE,
            location="/there",
            path="/there",
            base=a_snapshot("a"),
            excluded=(".mulligan",),
            branch=None,
            git_dir=None,
        ),
        before=a_snapshot(before),
        written=a_snapshot(written),
        group_id=None,
        commit="c" * 40,
    )


def test_changes_come_back_until_they_are_removed(database: Database) -> None:
    changes = [
        replace(_a_change("workspace", "b", "c"), theirs=a_snapshot("f")),
        _a_change("data", "d", "e"),
    ]
    with database.writing() as db:
        for change in changes:
            db.real_changes.add(change)
    with database.reading() as db:
        assert db.real_changes.list(PLAN) == changes
        assert set(db.real_changes.snapshots()) == {a_snapshot(letter) for letter in "abcdef"}
    with database.writing() as db:
        db.real_changes.remove(PLAN, IntentKind.UNAPPLY)
        assert db.real_changes.list(PLAN) == changes
        db.real_changes.remove(PLAN, IntentKind.APPLY)
        assert db.real_changes.list(PLAN) == []
