"""The state of a graph at one of its checkpoints, as the program that runs the graph wrote it."""

from msgspec import Struct

from mulligan.domain.text.ids import GroupId, PlanId
from mulligan.domain.text.json_value import JsonObject


class GraphPlace(Struct, frozen=True):
    """A checkpoint of a graph, by its names."""

    thread: str
    namespace: str  # of a graph within the graph; empty: the graph itself
    checkpoint_id: str


class GraphState(Struct, frozen=True, kw_only=True):
    """The state of a graph at a checkpoint."""

    place: GraphPlace
    parent_id: str | None
    run_id: str | None
    format: str
    state: bytes
    metadata: JsonObject


class GraphWrite(Struct, frozen=True, kw_only=True):
    """A value that a task of a graph wrote after a checkpoint."""

    task_id: str
    task_path: str
    position: int  # among those of the task; negative for special ones
    channel: str
    format: str
    value: bytes


class GraphPosition(Struct, frozen=True, kw_only=True):
    """The newest checkpoint of a graph whose files a plan holds."""

    plan_id: PlanId
    thread: str
    checkpoint_id: str
    group_id: GroupId
    resting_group: GroupId | None  # of what tasks did since, where the graph was at rest then
    inside: bool  # graphs within it have moved on since
