"""The tree of a plan for people: one line a node, set in under what it hangs on."""

from collections.abc import Iterator
from typing import cast

from mulligan.cli.answer import Answer, Line
from mulligan.domain.history_tree import NodeType, TreeNode
from mulligan.domain.json_value import JsonObject


def tree_answer(tree: TreeNode) -> Answer:
    """The tree, nested in documents and set in for people."""
    return Answer(data={"tree": tree.to_json()}, blocks=[*_lines(tree, 0)])


def _lines(node: TreeNode, depth: int) -> Iterator[Line]:
    left_behind = ", superseded" if node.superseded else ""
    yield Line(f"{'  ' * depth}{_text(node)} ({node.id}{left_behind})", title=depth == 0)
    for child in node.children:
        yield from _lines(child, depth + 1)


def _text(node: TreeNode) -> str:
    about = node.about
    match node.type:
        case NodeType.PLAN:
            attempt = f", attempt {about['attempt']}" if about["attempt"] != 1 else ""
            return f"plan {about['name']}, {about['phase']}/{about['state']}{attempt}"
        case NodeType.DECISION:
            told = f"in step {about['step']}: {about['question']} -> {about['chosen']}"
            correction = cast("JsonObject | None", about["correction"])
            return f"guidance of attempt {correction['attempt']} {told}" if correction else f"decision {told}"
        case NodeType.CHECKPOINT:
            label = f" {about['label']!r}" if about["label"] else ""
            return f"checkpoint {about['checkpoint_type']}{label} at step {about['step_index']}"
