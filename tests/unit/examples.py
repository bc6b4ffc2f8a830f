"""Small values that several tests start from."""

from datetime import UTC, datetime

from mulligan.domain.checkpoints.checkpoint import EMPTY_STATE, Checkpoint, CheckpointGroup, PlanState, Reason
from mulligan.domain.checkpoints.snapshot import ObjectId, Root, Snapshot, SnapshotId
from mulligan.domain.plans.decision import Choice
from mulligan.domain.plans.plan import Phase, Plan, PlanDefinition, RollbackPolicy, State
from mulligan.domain.plans.step import (
    ChildPlan,
    MergeStrategy,
    Milestone,
    Step,
    SubplanMode,
    Subplans,
    ToolUse,
)
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.resources.resource import Resource, ResourceType
from mulligan.domain.text.ids import CheckpointId, GroupId, PlanId

NOON = datetime(2026, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)
WORKSPACE = Resource(
    name="workspace",
    type=ResourceType.FS_DIRECTORY,
    location=".",
    strategy=None,
    from_revision=None,
    create=False,
)


def a_step(name: str, action: "ToolUse | Choice | Subplans | Milestone | None" = None) -> Step:
    tool = ToolUse(tool="write_file", resource=None, args={"path": "a", "content": "b"})
    return Step(name=name, action=action or tool, label=None, timeout=None, retries=0)


def a_definition(name: str = "upgrade") -> PlanDefinition:
    choice = Choice(question="Which?", chosen="lark", alternatives=("ply",), rationale=None)
    child = ChildPlan(name="docs", depends_on=(), steps=(a_step("inner"),))
    subplans = Subplans(
        mode=SubplanMode.SEQUENTIAL,
        max_parallel=None,
        merge_strategy=MergeStrategy.LAST_WINS,
        fail_fast=True,
        max_retries=2,
        plans=(child,),
    )
    return PlanDefinition(
        name=name,
        description="",
        resources=(WORKSPACE,),
        config={"plan.max-parallel": 3},
        rollback_policy=RollbackPolicy(),
        variables={"version": "2.10"},
        steps=(
            a_step("write"),
            a_step("choose", choice),
            a_step("parts", subplans),
            Step(name="milestone", action=Milestone(), label="here", timeout=2.5, retries=1),
        ),
    )


def a_plan(plan_id: str = "01K00000000000000000000001", name: str = "upgrade") -> Plan:
    return Plan(
        plan_id=PlanId(plan_id),
        handle=f"plan-{plan_id.lower()}",
        parent_plan_id=None,
        definition=a_definition(name),
        phase=Phase.STRATEGIZE,
        state=State.COMPLETE,
        attempt=1,
        progress=EMPTY_STATE,
        line=1,
        current_group_id=None,
        last_checkpoint_id=None,
        failure=None,
        conflicts=(),
        messages=(),
        fence=0,
        created_at=NOON,
        updated_at=NOON,
    )


def a_snapshot(letter: str) -> Snapshot:
    return Snapshot((Root(SnapshotId(letter * 64), ObjectId(letter.upper() * 64)),))


def a_group(
    plan_id: str,
    group_id: str,
    seq: int,
    *,
    type: CheckpointType = CheckpointType.BEFORE_STEP,
    label: str | None = None,
    line: int = 1,
    parent: str | None = None,
    state: PlanState = EMPTY_STATE,
    superseded: bool = False,
    between_steps: bool = True,
) -> CheckpointGroup:
    checkpoint = Checkpoint(
        checkpoint_id=CheckpointId(group_id[:-1] + "Z"),
        resource="workspace",
        snapshot=a_snapshot("a"),
        sandbox_ref="a" * 64,
        filesystem_path="/somewhere",
        size_bytes=7,
        modified=True,
    )
    return CheckpointGroup(
        group_id=GroupId(group_id),
        plan_id=PlanId(plan_id),
        number=seq,
        seq=seq,
        line=line,
        attempt=1,
        reason=Reason(
            type=type,
            label=label,
            between_steps=between_steps,
            decision_id=None,
            metadata={"reason": type.value},
        ),
        parent_group_id=GroupId(parent) if parent else None,
        superseded=superseded,
        state=state,
        state_hash="0" * 64,
        checkpoints=(checkpoint,),
        created_at=NOON,
    )
