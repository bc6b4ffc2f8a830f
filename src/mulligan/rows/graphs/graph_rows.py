"""States of graphs, and what their tasks wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zlib import crc32

from mulligan.domain.graphs.graph_state import GraphPlace, GraphState, GraphWrite
from mulligan.errors import GraphStateDamaged
from mulligan.rows.columns import json_object, json_text
from mulligan.rows.graphs.kept_words import kept_word, word_kept
from mulligan.rows.row_repository import RowRepository

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mulligan.domain.text.json_value import JsonObject
    from mulligan.rows.sql_connection import Row, Value

_HERE = "thread = ? AND namespace = ? AND checkpoint_id = ?"
_PUT = """
INSERT INTO graph_states (
    thread, namespace, checkpoint_id, parent_id, run_id, format, state, check_sum, metadata_json
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (thread, namespace, checkpoint_id) DO UPDATE SET
    parent_id = excluded.parent_id, run_id = excluded.run_id, format = excluded.format, state = excluded.state,
    check_sum = excluded.check_sum, metadata_json = excluded.metadata_json
"""
_WRITE = """
INSERT INTO graph_writes (
    thread, namespace, checkpoint_id, task_id, position, task_path, channel, format, value, check_sum
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (thread, namespace, checkpoint_id, task_id, position) DO
"""
_KEEP = "NOTHING"
_REPLACE = """
UPDATE SET task_path = excluded.task_path, channel = excluded.channel, format = excluded.format,
    value = excluded.value, check_sum = excluded.check_sum
"""
_GET = f"SELECT * FROM graph_states WHERE {_HERE}"  # noqa: S608 - our own words, as below
_NEWEST = "SELECT * FROM graph_states WHERE thread = ? AND namespace = ? ORDER BY checkpoint_id DESC LIMIT 1"
_WRITES = f"SELECT * FROM graph_writes WHERE {_HERE} ORDER BY task_path, task_id, position"  # noqa: S608 - as above
_OUTLINE = "SELECT thread, namespace, checkpoint_id, parent_id, metadata_json FROM graph_states"
_NEWEST_OF_EACH = """
SELECT namespace, MAX(checkpoint_id) AS checkpoint_id FROM graph_states WHERE thread = ? GROUP BY namespace
"""
_OF_RUNS = "SELECT thread, namespace, checkpoint_id FROM graph_states WHERE run_id = ?"
_IDS = "SELECT namespace, checkpoint_id FROM graph_states WHERE thread = ?"
_DELETE = tuple(f"DELETE FROM {table} WHERE {_HERE}" for table in ("graph_states", "graph_writes"))  # noqa: S608 - as above
_DELETE_ALL = ("DELETE FROM graph_states WHERE thread = ?", "DELETE FROM graph_writes WHERE thread = ?")
_COPY = (
    """
INSERT INTO graph_states (
    thread, namespace, checkpoint_id, parent_id, run_id, format, state, check_sum, metadata_json
) SELECT ?, namespace, checkpoint_id, parent_id, run_id, format, state, check_sum, metadata_json
FROM graph_states WHERE thread = ?
""",
    """
INSERT INTO graph_writes (
    thread, namespace, checkpoint_id, task_id, position, task_path, channel, format, value, check_sum
) SELECT ?, namespace, checkpoint_id, task_id, position, task_path, channel, format, value, check_sum
FROM graph_writes WHERE thread = ?
""",
)
_SHIFT = 16  # positions of special writes are small negative numbers


class GraphRepository(RowRepository):
    """Keeps the states of graphs."""

    def put(self, state: GraphState) -> None:
        """Record the state at a checkpoint, or another one in its place."""
        values: tuple[Value, ...] = (
            *_key(state.place),
            state.parent_id and kept_word(state.parent_id),
            state.run_id and kept_word(state.run_id),
            kept_word(state.format),
            state.state,
            crc32(state.state),
            json_text(state.metadata),
        )
        self._db.execute(_PUT, values)

    def write(self, place: GraphPlace, writes: Sequence[GraphWrite], *, replace: bool) -> None:
        """Record what a task wrote after a checkpoint; what it wrote before stays, or is replaced."""
        statement = _WRITE + (_REPLACE if replace else _KEEP)
        for write in writes:
            values: tuple[Value, ...] = (
                *_key(place),
                kept_word(write.task_id),
                write.position + _SHIFT,
                kept_word(write.task_path),
                kept_word(write.channel),
                kept_word(write.format),
                write.value,
                crc32(write.value),
            )
            self._db.execute(statement, values)

    def get(self, place: GraphPlace) -> GraphState | None:
        """Return the state at a checkpoint; None: there is none."""
        row = self._db.row(_GET, _key(place))
        return _state(row) if row else None

    def newest(self, thread: str, namespace: str) -> GraphState | None:
        """Return the state at the newest checkpoint of a graph; None: it has none."""
        row = self._db.row(_NEWEST, (kept_word(thread), kept_word(namespace)))
        return _state(row) if row else None

    def writes(self, place: GraphPlace) -> Sequence[GraphWrite]:
        """Return what tasks wrote after a checkpoint, in the order in which it is applied."""
        return [_write(place, row) for row in self._db.rows(_WRITES, _key(place))]

    def outlines(
        self, thread: str | None, namespace: str | None, checkpoint_id: str | None, before: str | None
    ) -> Iterator[tuple[GraphPlace, JsonObject]]:
        """Return the checkpoints of a graph, or of all, with their metadata, newest first."""
        wanted = {"thread = ?": thread, "namespace = ?": namespace, "checkpoint_id = ?": checkpoint_id}
        conditions = {text: kept_word(word) for text, word in wanted.items() if word is not None}
        if before is not None:
            conditions["checkpoint_id < ?"] = kept_word(before)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        statement = f"{_OUTLINE}{where} ORDER BY checkpoint_id DESC, thread, namespace"
        for row in self._db.each(statement, tuple(conditions.values())):
            place = _place(row)
            yield place, _metadata(place, row)

    def newest_of_each(self, thread: str) -> Sequence[GraphPlace]:
        """Return the newest checkpoint of a graph and of each graph within it."""
        return [
            GraphPlace(thread, word_kept(row["namespace"]), word_kept(row["checkpoint_id"]))
            for row in self._db.rows(_NEWEST_OF_EACH, (kept_word(thread),))
        ]

    def places(self, thread: str) -> Sequence[GraphPlace]:
        """Return all checkpoints of a graph and of those within it."""
        return [
            GraphPlace(thread, word_kept(row["namespace"]), word_kept(row["checkpoint_id"]))
            for row in self._db.rows(_IDS, (kept_word(thread),))
        ]

    def of_run(self, run_id: str) -> Sequence[GraphPlace]:
        """Return the checkpoints that a run made."""
        return [_place(row) for row in self._db.rows(_OF_RUNS, (kept_word(run_id),))]

    def remove(self, places: Sequence[GraphPlace]) -> None:
        """Remove checkpoints, with what tasks wrote after them."""
        for place in places:
            for statement in _DELETE:
                self._db.execute(statement, _key(place))

    def remove_thread(self, thread: str) -> None:
        """Remove all checkpoints of a graph and of those within it."""
        for statement in _DELETE_ALL:
            self._db.execute(statement, (kept_word(thread),))

    def copy(self, source: str, target: str) -> None:
        """Give a graph all checkpoints of another one, in the place of its own."""
        self.remove_thread(target)
        for statement in _COPY:
            self._db.execute(statement, (kept_word(target), kept_word(source)))

    def check(self) -> Iterator[str]:
        """Describe each state and each value that cannot be read."""
        for statement in ("SELECT * FROM graph_states", "SELECT * FROM graph_writes"):
            for row in self._db.each(statement):
                try:
                    _state(row) if "writes" not in statement else _write(_place(row), row)
                except GraphStateDamaged as exc:
                    yield exc.text


def _key(place: GraphPlace) -> tuple[str, str, str]:
    return kept_word(place.thread), kept_word(place.namespace), kept_word(place.checkpoint_id)


def _place(row: Row) -> GraphPlace:
    return GraphPlace(word_kept(row["thread"]), word_kept(row["namespace"]), word_kept(row["checkpoint_id"]))


def _state(row: Row) -> GraphState:
    place = _place(row)
    parent, run = row["parent_id"], row["run_id"]
    return GraphState(
        place=place,
        parent_id=None if parent is None else word_kept(parent),
        run_id=None if run is None else word_kept(run),
        format=word_kept(row["format"]),
        state=_checked(place, row["state"], row["check_sum"], "its state"),
        metadata=_metadata(place, row),
    )


def _write(place: GraphPlace, row: Row) -> GraphWrite:
    task, channel = word_kept(row["task_id"]), word_kept(row["channel"])
    what = f"what task {task} wrote to {channel}"
    return GraphWrite(
        task_id=task,
        task_path=word_kept(row["task_path"]),
        position=row["position"] - _SHIFT,
        channel=channel,
        format=word_kept(row["format"]),
        value=_checked(place, row["value"], row["check_sum"], what),
    )


def _checked(place: GraphPlace, value: Any, check_sum: Any, what: str) -> bytes:
    if not isinstance(value, bytes) or crc32(value) != check_sum:
        reason = f"the bytes of {what} are not those that were written"
        raise GraphStateDamaged(
            thread=place.thread, checkpoint=place.checkpoint_id, namespace=place.namespace, reason=reason
        )
    return value


def _metadata(place: GraphPlace, row: Row) -> JsonObject:
    try:
        return json_object(row["metadata_json"])
    except (ValueError, TypeError) as exc:
        raise GraphStateDamaged(
            thread=place.thread,
            checkpoint=place.checkpoint_id,
            namespace=place.namespace,
            reason=f"its metadata cannot be read: {exc}",
        ) from exc
