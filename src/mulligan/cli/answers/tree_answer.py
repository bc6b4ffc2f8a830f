"""The tree of a plan for people: one row a node, on the branch that it hangs on."""

from collections.abc import Iterator
from typing import cast

from mulligan.cli.answers.answer import Answer, Drawing, Row, Span
from mulligan.cli.answers.plain_words import moment, state_words
from mulligan.cli.terminal import glyphs
from mulligan.domain.plans.plan import Phase, State
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.text.json_value import JsonObject
from mulligan.domain.views.history_tree import NodeType, TreeNode

_BRANCH, _END = f"{glyphs.FORK}{glyphs.DASH} ", f"{glyphs.LAST}{glyphs.DASH} "
_STYLES = {NodeType.PLAN: "bold", NodeType.DECISION: "magenta", NodeType.CHECKPOINT: ""}


def tree_answer(tree: TreeNode) -> Answer:
    """The tree, nested in documents and drawn for people."""
    return Answer(data={"tree": tree.to_json()}, blocks=[Drawing(tuple(_rows(tree, "", "")))], paged=True)


def _rows(node: TreeNode, lead: str, below: str) -> Iterator[Row]:
    """A node and all that hangs on it; `below` is drawn before what hangs on it."""
    dim = "dim " if node.superseded else ""
    yield Row(
        lead=(Span(lead, "dim"),),
        words=(
            Span(_text(node), dim + _STYLES[node.type]),
            Span(f" ({_id(node)}{_standing(node)})", f"{dim}cyan"),
        ),
        rest=below + (f"{glyphs.BAR}  " if node.children else "   "),
    )
    for child in node.children:
        last = child is node.children[-1]
        yield from _rows(
            child, below + (_END if last else _BRANCH), below + ("   " if last else f"{glyphs.BAR}  ")
        )


def _standing(node: TreeNode) -> str:
    """Return whether it was left behind."""
    return ", left behind" if node.superseded else ""


def _id(node: TreeNode) -> str:
    """The id that other commands show of it: of a group that of its first checkpoint."""
    if node.type is not NodeType.CHECKPOINT:
        return node.id
    return str(cast("list[str]", node.about["checkpoint_ids"])[0])


def _text(node: TreeNode) -> str:
    about = node.about
    match node.type:
        case NodeType.PLAN:
            attempt = f", attempt {about['attempt']}" if about["attempt"] != 1 else ""
            state = state_words(Phase(about["phase"]), State(about["state"]))
            fork = cast("JsonObject | None", about["forked_from"])
            start = f", forked from {fork['handle']}@{fork['number']}" if fork else ""
            return f"plan {about['name']}, {state}{attempt}{start}"
        case NodeType.DECISION:
            told = f"in step {about['step']}: {about['question']} -> {about['chosen']}"
            correction = cast("JsonObject | None", about["correction"])
            return f"guidance of attempt {correction['attempt']} {told}" if correction else f"decision {told}"
        case NodeType.CHECKPOINT:
            label = str(about["label"]) if about["label"] else None
            type = CheckpointType(str(about["checkpoint_type"]))
            return f"checkpoint {moment(type, int(str(about['step_index'])), label)}"
