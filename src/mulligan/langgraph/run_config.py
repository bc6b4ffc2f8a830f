"""The parts of LangGraph's configuration that a saver looks at.

LangGraph has no public way to say whether a checkpoint is asked for by a run or by a look, such as `get_state`; the
names below are its own, of version 1.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

_RUNTIME = "__pregel_runtime"
_DURABILITY = "__pregel_durability"
_INSIDE = "checkpoint_map"  # by namespace: the checkpoints of graphs within the graph that are addressed with its own
_OF_TASK = ":"  # in a namespace, before the task that runs a graph


class RunConfig:
    """The part of a configuration that is about the checkpoint that is asked for, or that is to be stored."""

    def __init__(self, config: RunnableConfig) -> None:
        given = config.get("configurable", {})
        self.thread = str(given["thread_id"])
        self.namespace = str(given.get("checkpoint_ns", ""))
        checkpoint_id = given.get("checkpoint_id")
        self.checkpoint_id = str(checkpoint_id) if checkpoint_id else None
        self.asks_for_newest = "checkpoint_id" in given and not checkpoint_id
        self.is_run = _RUNTIME in given
        inside: dict[str, str] = given.get(_INSIDE) or {}
        self.names_inside = any(inside)  # the graph itself has no namespace
        durability = given.get(_DURABILITY)
        self.durability = f"durability={durability!r}" if durability else "none, which means 'async'"
        self.is_sync = durability == "sync"

    @property
    def newest(self) -> RunnableConfig:
        """The configuration with which LangGraph asks for the newest checkpoint, to compare its id."""
        named = {"thread_id": self.thread, "checkpoint_ns": self.namespace, "checkpoint_id": None}
        return {"configurable": named}

    @property
    def is_root(self) -> bool:
        """True where it is about the graph itself, and not about one within it."""
        return not self.namespace

    @property
    def has_memory(self) -> bool:
        """True where it is about a graph within the graph that goes on where it was; others are named with a task."""
        return bool(self.namespace) and _OF_TASK not in self.namespace

    def at(self, checkpoint_id: str | None) -> RunnableConfig:
        """Return the configuration of a checkpoint of the same graph."""
        return config_of(self.thread, self.namespace, checkpoint_id)


def config_of(thread: str, namespace: str, checkpoint_id: str | None) -> RunnableConfig:
    """Return the configuration of a checkpoint, or without an id of the newest."""
    named: dict[str, Any] = {"thread_id": thread, "checkpoint_ns": namespace}
    if checkpoint_id is not None:
        named["checkpoint_id"] = checkpoint_id
    return {"configurable": named}
