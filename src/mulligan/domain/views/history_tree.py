"""The history of a plan as a tree: decisions, what followed from them, and the checkpoints taken on the way."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from mulligan.domain.checkpoints.checkpoint import CheckpointGroup
from mulligan.domain.history.correction import Correction
from mulligan.domain.history.lines import Line
from mulligan.domain.plans.decision import Decision
from mulligan.domain.plans.plan import Plan, State
from mulligan.domain.plans.subplan import Child
from mulligan.domain.text.json_value import Json, JsonObject


class NodeType(StrEnum):
    """The kind of a tree node."""

    PLAN = "plan"
    DECISION = "decision"
    CHECKPOINT = "checkpoint"


class TreeNode(Struct, frozen=True, kw_only=True):
    """A plan, a decision or a checkpoint group, and what hangs on it, in the order in which it came."""

    type: NodeType
    id: str
    superseded: bool
    about: JsonObject
    children: "tuple[TreeNode, ...]"

    def to_json(self) -> JsonObject:
        """The node and all below it as one document."""
        children: list[Json] = [child.to_json() for child in self.children]
        return {
            "type": self.type.value,
            "id": self.id,
            "superseded": self.superseded,
            **self.about,
            "children": children,
        }


def history_tree(
    plan: Plan,
    lines: Sequence[Line],
    decisions: Mapping[int, Decision],
    groups: Sequence[CheckpointGroup],
    corrections: Sequence[Correction],
    children: "Sequence[tuple[Child, TreeNode]]",
) -> TreeNode:
    """The tree of a plan. A checkpoint hangs on the decision that was the newest on its line when it was taken.

    So does a child plan, given with the tree of its own; one that its parent left behind is superseded. Decisions come
    with their numbers in the plan.
    """
    by_intervention = {correction.intervention_id: correction for correction in corrections}
    by_number = {line.line: line for line in lines}
    by_line: dict[int, list[Decision]] = {}
    for decision in sorted(decisions.values(), key=lambda d: d.seq):
        by_line.setdefault(decision.line, []).append(decision)

    def newest(line: int, seq: int) -> str | None:
        """Return the newest decision up to `seq` on the line or on those it came from."""
        while True:
            found = by_line.get(line, [])
            if count := bisect_right(found, seq, key=lambda d: d.seq):
                return found[count - 1].decision_id
            here = by_number[line]
            if here.parent_line is None:
                return None
            line, seq = here.parent_line, here.fork_seq

    known = {decision.decision_id for decision in decisions.values()}
    hanging: dict[str | None, list[tuple[int, TreeNode]]] = {}
    for group in groups:
        hanging.setdefault(newest(group.line, group.seq), []).append(
            (group.seq, _checkpoint(group, plan.handle))
        )
    for child, tree in children:
        gone = child.plan.state is State.CANCELLED and plan.state is not State.CANCELLED
        place = newest(child.spawn.line, child.spawn.seq)
        hanging.setdefault(place, []).append((child.spawn.seq, replace(tree, superseded=gone)))
    for number, decision in sorted(decisions.items(), key=lambda d: -d[1].seq):  # children before parents
        children_of = _in_order(hanging.get(decision.decision_id, ()))
        about = _about(decision, by_intervention.get(decision.decision_id))
        node = TreeNode(
            type=NodeType.DECISION,
            id=decision.decision_id,
            superseded=decision.superseded,
            about={"handle": f"{plan.handle}/d{number}", "number": number, **about},
            children=children_of,
        )
        parent = decision.parent_decision_id if decision.parent_decision_id in known else None
        hanging.setdefault(parent, []).append((decision.seq, node))
    return TreeNode(
        type=NodeType.PLAN,
        id=plan.plan_id,
        superseded=False,
        about={
            "handle": plan.handle,
            "name": plan.name,
            "phase": plan.phase.value,
            "state": plan.state.value,
            "attempt": plan.attempt,
            "forked_from": plan.definition.fork.to_json() if plan.definition.fork else None,
        },
        children=_in_order(hanging.get(None, ())),
    )


def _about(decision: Decision, correction: Correction | None) -> JsonObject:
    return {
        "decision_type": decision.type.value,
        "step": decision.step_name,
        "question": decision.choice.question,
        "chosen": decision.choice.chosen,
        "alternatives": list(decision.choice.alternatives),
        "rationale": decision.choice.rationale,
        "correction": _correction(correction) if correction else None,
    }


def _correction(correction: Correction) -> JsonObject:
    return {
        "correction_id": correction.correction_id,
        "mode": correction.mode.value,
        "decision_id": correction.decision_id,
        "attempt": correction.attempt,
    }


def _checkpoint(group: CheckpointGroup, plan: str) -> TreeNode:
    return TreeNode(
        type=NodeType.CHECKPOINT,
        id=group.group_id,
        superseded=group.superseded,
        about={
            "handle": f"{plan}@{group.number}",
            "number": group.number,
            "checkpoint_type": group.reason.type.value,
            "label": group.reason.label,
            "step_index": group.step_index,
            "attempt": group.attempt,
            "checkpoint_ids": [c.checkpoint_id for c in group.checkpoints],
        },
        children=(),
    )


def _in_order(hanging: Iterable[tuple[int, TreeNode]]) -> tuple[TreeNode, ...]:
    return tuple(node for _, node in sorted(hanging, key=lambda pair: pair[0]))
