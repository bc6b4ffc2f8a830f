"""Ties the checkpoints of a saver to the files of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from langgraph.checkpoint.base import WRITES_IDX_MAP, copy_checkpoint
from langgraph.checkpoint.base.id import uuid6

from mulligan.api.graphs.session_graphs import Binding, Point
from mulligan.errors import GraphActImpossible, GraphDurabilityUnfit, GraphStateUnknown
from mulligan.langgraph.run_config import RunConfig
from mulligan.langgraph.state_saver import StateSaver

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import (
        BaseCheckpointSaver,
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        CheckpointTuple,
    )

    from mulligan.api.graphs.session_graphs import SessionGraphs
    from mulligan.domain.graphs.graph_state import GraphState
    from mulligan.domain.text.ids import GroupId, PlanId
    from mulligan.domain.text.json_value import JsonObject

WORD = "mulligan"  # under which the metadata of a checkpoint name its group
_NULL_TASK = "00000000-0000-0000-0000-000000000000"  # LangGraph's: input and updates, which no node wrote


class FileKeeper:
    """Brings files back before a run goes on, and keeps them with each checkpoint."""

    def __init__(self, saver: BaseCheckpointSaver[Any], session: SessionGraphs) -> None:
        self._saver = saver
        self._session = session
        self._addressed = False  # a run has asked for a checkpoint by its id, and stored none yet
        self._updated: tuple[str, str | None] | None = None  # a checkpoint that an update has written to
        self._gave_up = False  # nodes had ended there before that update
        # Of the present run, until it stores a step:
        self._fork: CheckpointTuple | None = None  # a copy that its first step begins again from
        self._back: str | None = None  # a checkpoint that it asked for by its id, and that has its files
        self._moved: set[str] = set()  # the graphs within that have stored something

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint. For a run that goes on from it, its files are brought back first."""
        run = RunConfig(config)
        if not run.is_run or (run.is_root and run.asks_for_newest and self._addressed):
            return self._look(run, config)
        if not run.is_sync:
            raise GraphDurabilityUnfit(durability=run.durability)
        if run.names_inside if run.is_root else run.checkpoint_id is not None:
            raise GraphActImpossible(
                reason="files go back to checkpoints of the graph itself, not of a graph within it",
                instead="go back to the checkpoint before the node that runs the inner graph",
            )
        if not run.is_root:
            return self._inside(run, config)
        found = self._saver.get_tuple(config)
        if found is None and run.checkpoint_id is not None:
            raise GraphStateUnknown(thread=run.thread, checkpoint=run.checkpoint_id)
        point = _point(run.thread, found)
        self._updated = None
        addressed = self._addressed = run.checkpoint_id is not None
        went_back = self._session.begin(point, addressed=addressed)
        self._moved.clear()
        self._fork = None
        self._back = run.checkpoint_id if went_back else None
        if found is not None and went_back and self._is_half_way(run, found, point):
            found, self._back = self._again(run, found), None
        if found is not None and found.metadata.get("source") == "fork":
            self._fork = found
        return found

    def _inside(self, run: RunConfig, config: RunnableConfig) -> CheckpointTuple | None:
        """Return where a graph within the graph goes on: not where it was when it is ahead of the files.

        It begins again then. One with a memory of its own cannot, and is refused.
        """
        found = self._saver.get_tuple(config)
        origin = self._left(run, found) if found is not None and run.namespace not in self._moved else None
        if origin is None:
            return found
        if not run.has_memory:
            return None
        raise GraphActImpossible(
            reason=f"graph {run.namespace!r} within the graph has a memory that is ahead of the files",
            instead=f"`graph.invoke(None, config)` with the `checkpoint_id` {origin}: its memory goes back too",
        )

    def _left(self, run: RunConfig, found: CheckpointTuple) -> str | None:
        """Return the checkpoint of the graph whose files are there, if what a graph within it did later is not."""
        there = found.checkpoint["id"]
        if self._back is not None:
            return self._back if there > self._back else None
        if self._fork is None or not run.has_memory or there > self._fork.checkpoint["id"]:
            return None
        origin = self._origin(self._fork)
        return origin if there > origin else None

    def _origin(self, fork: CheckpointTuple) -> str:
        """Return the checkpoint that a copy, or a copy of one, is a copy of."""
        found: CheckpointTuple | None = fork
        while found is not None and found.metadata.get("source") == "fork" and found.parent_config:
            fork, found = found, self._saver.get_tuple(found.parent_config)
        return fork.checkpoint["id"] if found is None else found.checkpoint["id"]

    def _look(self, run: RunConfig, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint to someone who looks; of the newest only what nodes did whose files are there."""
        found = self._saver.get_tuple(config)
        if found is None or not run.is_root or run.checkpoint_id is not None:
            return found
        if not _wrote(found) or self._session.holds(_point(run.thread, found)):
            return found
        kept = [write for write in found.pending_writes or () if not _is_of_node(write)]
        return found._replace(pending_writes=kept)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint, with the files as they are."""
        run = RunConfig(config)
        if not run.is_root:
            if run.is_run:
                self._session.note_inside(run.thread)
                self._moved.add(run.namespace)
            return self._saver.put(config, checkpoint, metadata, new_versions)
        self._addressed = False
        source = metadata.get("source")
        if not run.is_run:
            self._begin_update(run, source, checkpoint)
        self._updated = None
        moved = not (run.is_run and source in ("input", "fork"))
        if moved:
            self._fork = self._back = None
        return self._put(config, checkpoint, metadata, new_versions, moved=moved)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task wrote since a checkpoint, or what an update writes there before it is put."""
        run = RunConfig(config)
        if run.is_root and not run.is_run and self._updated != (run.thread, run.checkpoint_id):
            found = self._saver.get_tuple(config)
            self._updated = (run.thread, run.checkpoint_id)
            self._gave_up = found is not None and _wrote(found)
        self._saver.put_writes(config, writes, task_id, task_path)

    def _put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
        *,
        moved: bool,
    ) -> RunnableConfig:
        run, saver = RunConfig(config), self._saver
        point = (run.thread, run.checkpoint_id, checkpoint["id"])
        if not isinstance(saver, StateSaver):
            # The group first: a state without its files could not be gone back to.
            words = self._session.put(point, None, moved=moved)
            return saver.put(config, checkpoint, _with(metadata, words), new_versions)
        bare = saver.state(config, checkpoint, metadata)
        self._session.put(point, lambda words: _bound(bare, words), moved=moved)
        return run.at(checkpoint["id"])

    def _begin_update(self, run: RunConfig, source: str | None, checkpoint: Checkpoint) -> None:
        """Bring the files of a checkpoint back that is about to be updated."""
        if source == "fork":
            raise GraphActImpossible(
                reason="a checkpoint with files cannot be copied as another one",
                instead="`graph.invoke(None, config)` with its `checkpoint_id` forks it, or `graph.update_state`",
            )
        found = self._saver.get_tuple(run.at(run.checkpoint_id)) if run.checkpoint_id else None
        gives_up = found is not None and self._gives_up(run, found, checkpoint)
        if gives_up or not self._session.is_at(run.thread, run.checkpoint_id):
            addressed = gives_up or not self._is_newest(run, found)
            self._session.begin(_point(run.thread, found), addressed=addressed)

    def _gives_up(self, run: RunConfig, found: CheckpointTuple, checkpoint: Checkpoint) -> bool:
        """Return whether an update drops what nodes of a step did that is half way; their files go back with it."""
        wrote = self._gave_up if self._updated == (run.thread, run.checkpoint_id) else _wrote(found)
        if not wrote and not self._session.moved_inside(_point(run.thread, found)):
            return False
        return _seen(checkpoint) == _seen(found.checkpoint)  # else it ended the step, with what was done

    def _is_half_way(self, run: RunConfig, found: CheckpointTuple, point: Point) -> bool:
        """Return whether work of a step is recorded whose files are gone: the step has to begin again."""
        is_newest = run.checkpoint_id is None or self._is_newest(run, found)
        return is_newest and (_wrote(found) or self._session.moved_inside(point))

    def _is_newest(self, run: RunConfig, found: CheckpointTuple | None) -> bool:
        newest = self._saver.get_tuple(run.newest)
        return found is None or newest is None or newest.checkpoint["id"] == found.checkpoint["id"]

    def _again(self, run: RunConfig, found: CheckpointTuple) -> CheckpointTuple:
        """Return a copy of a checkpoint, as a checkpoint after it, from which its step begins again."""
        checkpoint = copy_checkpoint(found.checkpoint)
        step = int(found.metadata.get("step", 0))
        checkpoint["id"] = str(uuid6(clock_seq=step + 1))
        metadata = cast("CheckpointMetadata", {**found.metadata, "source": "fork", "step": step + 1})
        config = run.at(found.checkpoint["id"])
        stored = self._put(config, checkpoint, metadata, {}, moved=False)
        given = [write[1:] for write in found.pending_writes or () if write[0] == _NULL_TASK]
        kept = [(channel, value) for channel, value in given if channel not in WRITES_IDX_MAP]
        if kept:
            self._saver.put_writes(stored, kept, _NULL_TASK)
        again = self._saver.get_tuple(stored)
        if again is None:
            raise GraphStateUnknown(thread=run.thread, checkpoint=checkpoint["id"])
        return again


def _point(thread: str, found: CheckpointTuple | None) -> Point:
    if found is None:
        return Point(thread=thread, checkpoint_id=None, files=None)
    words = cast("dict[str, str] | None", cast("dict[str, Any]", found.metadata).get(WORD))
    files = Binding(cast("PlanId", words["plan"]), cast("GroupId", words["group"])) if words else None
    return Point(thread=thread, checkpoint_id=found.checkpoint["id"], files=files)


def _wrote(found: CheckpointTuple) -> bool:
    """Return whether a task has ended since a checkpoint."""
    return any(map(_is_of_node, found.pending_writes or ()))


def _seen(checkpoint: Checkpoint) -> dict[str, Any]:
    """Return the versions of channels that nodes have seen, without nodes that have seen none."""
    return {node: seen for node, seen in checkpoint["versions_seen"].items() if seen}


def _is_of_node(write: tuple[str, str, Any]) -> bool:
    task, channel, _ = write
    return task != _NULL_TASK and channel not in WRITES_IDX_MAP


def _with(metadata: CheckpointMetadata, words: JsonObject) -> CheckpointMetadata:
    return cast("CheckpointMetadata", {**metadata, WORD: words})


def _bound(state: GraphState, words: JsonObject) -> GraphState:
    from msgspec.structs import replace

    return replace(state, metadata={**state.metadata, WORD: words})
