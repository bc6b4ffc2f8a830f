"""Graphs for tests: nodes that write files, and say which of them ran."""

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

import mulligan
from mulligan.langgraph import MulliganSaver

SYNC: dict[str, Any] = {"durability": "sync"}


class State(TypedDict):
    """The names of the nodes that ran."""

    ran: Annotated[list[str], operator.add]


def thread(name: str = "t", **more: str) -> Any:
    return {"configurable": {"thread_id": name, **more}}


def adds(file: Path, line: str) -> Callable[[State], State]:
    """A node that adds a line to a file."""

    def node(_: State) -> State:
        with file.open("a") as stream:
            stream.write(f"{line}\n")
        return {"ran": [line]}

    return node


def asks(log: Path) -> Callable[[State], State]:
    """A node that asks, and adds the answer to a file."""

    def node(_: State) -> State:
        answer = interrupt("sure?")
        adds(log, answer)({"ran": []})
        return {"ran": [answer]}

    return node


def in_a_row(saver: Any, nodes: dict[str, Callable[[State], Any]]) -> Any:
    """A graph that runs these nodes one after the other."""
    builder = StateGraph(State)
    before = START
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_edge(before, name)
        before = name
    builder.add_edge(before, END)
    return builder.compile(checkpointer=saver)


def lines_of(file: Path) -> list[str]:
    return file.read_text().split() if file.exists() else []


def at(graph: Any, config: Any, *following: str) -> Any:
    """The newest checkpoint of a thread after which these nodes come."""
    return next(each for each in graph.get_state_history(config) if each.next == following)


def project_in(folder: Path) -> mulligan.Project:
    (folder / "app").mkdir(parents=True)
    (folder / "app" / "kept").write_text("kept\n")
    return mulligan.init(folder)


def session_of(project: mulligan.Project, **more: Any) -> mulligan.Session:
    return project.session("g", resources={"app": mulligan.directory("app")}, **more)


__all__ = [
    "SYNC",
    "MulliganSaver",
    "State",
    "adds",
    "asks",
    "at",
    "in_a_row",
    "lines_of",
    "project_in",
    "session_of",
    "thread",
]
