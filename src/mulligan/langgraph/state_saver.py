"""A saver that keeps the states of graphs in the database of a project."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any, cast

from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    CheckpointTuple,
    get_serializable_checkpoint_metadata,
)

from mulligan.domain.graphs.graph_state import GraphPlace, GraphState, GraphWrite
from mulligan.errors import GraphStateDamaged, GraphStateUnknown, StateNotJson, UsageWrong
from mulligan.langgraph.damaged_state import damaged_tuple
from mulligan.langgraph.run_config import RunConfig, config_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata
    from langgraph.checkpoint.serde.base import SerializerProtocol

    from mulligan.api.graphs.project_graphs import ProjectGraphs
    from mulligan.domain.text.json_value import JsonObject

_STRATEGIES = ("keep_latest", "delete")


class StateSaver(BaseCheckpointSaver[str]):
    """Keeps states, and what tasks wrote, as rows of a project; any number of threads and processes may use it."""

    def __init__(self, graphs: ProjectGraphs, serde: SerializerProtocol | None) -> None:
        super().__init__(serde=serde)
        self._graphs = graphs

    def state(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata
    ) -> GraphState:
        """Return a checkpoint as it is stored."""
        run = RunConfig(config)
        format, data = self.serde.dumps_typed(checkpoint)
        known = _as_json(get_serializable_checkpoint_metadata(config, metadata))
        run_id = known.get("run_id")
        return GraphState(
            place=GraphPlace(run.thread, run.namespace, checkpoint["id"]),
            parent_id=run.checkpoint_id,
            run_id=None if run_id is None else str(run_id),
            format=format,
            state=data,
            metadata=known,
        )

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        self._graphs.put(self.state(config, checkpoint, metadata))
        return RunConfig(config).at(checkpoint["id"])

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        run = RunConfig(config)
        place = GraphPlace(run.thread, run.namespace, _id_of(run))
        rows: list[GraphWrite] = []
        for position, (channel, value) in enumerate(writes):
            format, data = self.serde.dumps_typed(value)
            row = GraphWrite(
                task_id=task_id,
                task_path=task_path,
                position=WRITES_IDX_MAP.get(channel, position),
                channel=channel,
                format=format,
                value=data,
            )
            rows.append(row)
        self._graphs.write(place, rows, replace=all(channel in WRITES_IDX_MAP for channel, _ in writes))

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        run = RunConfig(config)
        try:
            found = self._graphs.get(run.thread, run.namespace, run.checkpoint_id)
            return None if found is None else self._tuple(*found)
        except GraphStateDamaged as damage:
            if run.asks_for_newest:
                return damaged_tuple(damage)
            raise

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        given = (config or {}).get("configurable", {})
        thread, namespace, checkpoint_id = (
            None if given.get(name) is None else str(given[name])
            for name in ("thread_id", "checkpoint_ns", "checkpoint_id")
        )
        until = RunConfig({"configurable": {"thread_id": "", **(before or {}).get("configurable", {})}})
        wanted = (filter or {}).items()

        def fits(metadata: JsonObject) -> bool:
            return all(name in metadata and metadata[name] == value for name, value in wanted)

        for place in self._graphs.find((thread, namespace, checkpoint_id), until.checkpoint_id, fits, limit):
            found = self._graphs.get(place.thread, place.namespace, place.checkpoint_id)
            if found is not None:  # else it was removed meanwhile
                yield self._tuple(*found)

    def delete_thread(self, thread_id: str) -> None:
        self._graphs.remove_threads([str(thread_id)])

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        self._graphs.remove_runs([str(run_id) for run_id in run_ids])

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        source, target = str(source_thread_id), str(target_thread_id)
        if source != target:
            self._graphs.copy(source, target)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        if strategy not in _STRATEGIES:
            raise UsageWrong(reason=f"there is no strategy {strategy!r}", hint=f"use one of {_STRATEGIES}")
        threads = [str(thread_id) for thread_id in thread_ids]
        if strategy == "delete":
            self._graphs.remove_threads(threads)
            return
        for thread in threads:
            self._graphs.keep_only(thread, self._lineage)

    def get_next_version(self, current: str | None, channel: None) -> str:
        number = 0 if current is None else int(str(current).partition(".")[0])
        return f"{number + 1:032}.{random.random():016}"  # noqa: S311 - versions of two branches differ

    def _lineage(self, place: GraphPlace) -> Sequence[GraphPlace]:
        """Return a checkpoint with the earlier ones that hold parts of its state.

        Those of a `DeltaChannel` are what tasks wrote after earlier checkpoints, up to one that holds the value.
        """
        found = [place]
        tuple_ = self._at(place)
        counters = cast("dict[str, Any]", tuple_.metadata.get("counters_since_delta_snapshot") or {})
        missing = {channel for channel in counters if channel not in tuple_.checkpoint["channel_values"]}
        while missing and tuple_.parent_config is not None:
            earlier = self.get_tuple(tuple_.parent_config)
            if earlier is None:
                break
            tuple_ = earlier
            found.append(GraphPlace(place.thread, place.namespace, tuple_.checkpoint["id"]))
            missing -= set(tuple_.checkpoint["channel_values"])
        return found

    def _at(self, place: GraphPlace) -> CheckpointTuple:
        found = self.get_tuple(config_of(place.thread, place.namespace, place.checkpoint_id))
        if found is None:
            raise GraphStateUnknown(thread=place.thread, checkpoint=place.checkpoint_id)
        return found

    def _tuple(self, state: GraphState, writes: Sequence[GraphWrite]) -> CheckpointTuple:
        place = state.place
        parent = state.parent_id
        return CheckpointTuple(
            config=config_of(place.thread, place.namespace, place.checkpoint_id),
            checkpoint=self._loaded(place, state.format, state.state, "its state"),
            metadata=cast("CheckpointMetadata", state.metadata),
            parent_config=None if parent is None else config_of(place.thread, place.namespace, parent),
            pending_writes=[
                (
                    write.task_id,
                    write.channel,
                    self._loaded(place, write.format, write.value, f"what task {write.task_id} wrote"),
                )
                for write in writes
            ],
        )

    def _loaded(self, place: GraphPlace, format: str, data: bytes, what: str) -> Any:
        try:
            return self.serde.loads_typed((format, data))
        except Exception as exc:
            raise GraphStateDamaged(
                thread=place.thread,
                namespace=place.namespace,
                checkpoint=place.checkpoint_id,
                reason=f"{what} cannot be read: {type(exc).__name__}: {exc}",
            ) from exc


def _id_of(run: RunConfig) -> str:
    if run.checkpoint_id is None:
        raise UsageWrong(reason="the configuration names no checkpoint", hint="pass its `checkpoint_id`")
    return run.checkpoint_id


def _as_json(metadata: CheckpointMetadata) -> JsonObject:
    try:
        return cast("JsonObject", json.loads(json.dumps(metadata)))
    except (TypeError, ValueError) as exc:
        raise StateNotJson(what="the metadata of a graph's checkpoint", reason=str(exc)) from exc
