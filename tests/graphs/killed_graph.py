"""Kills a graph with files and starts it again: state and files are of one moment, and each node counts once.

A trial is two forks of this process: one dies at an act, the other goes on and checks what a user would see.
"""

import contextlib
import os
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

import mulligan
from mulligan.langgraph import MulliganSaver
from tests.graphs.small_graphs import SYNC, State, adds, at, lines_of, session_of, thread
from tests.support.forks import ended, in_a_process

NODES = ("a", "c", "x", "y")


@contextlib.contextmanager
def opened(folder: Path, kind: str) -> Iterator[tuple[Any, Path, bool]]:
    """The graph, the sandbox it works on, and whether it has to be done at all."""
    project = mulligan.open(folder)
    plans = project.plans()
    if plans and plans[0].state == "complete":
        yield None, folder, False
        return
    session = project.session(resume=plans[0].plan_id) if plans else session_of(project)
    with contextlib.closing(sqlite3.connect(folder / "states.db", check_same_thread=False)) as raw, session:
        other = None if kind == "own" else SqliteSaver(raw)
        yield (
            graph_on(MulliganSaver(project, files=session, saver=other), session.path()),
            session.path(),
            True,
        )


def graph_on(saver: MulliganSaver, folder: Path) -> Any:
    """One node, then two at once, then one."""
    builder = StateGraph(State)
    for name in NODES:
        builder.add_node(name, adds(folder / name, name))
    builder.add_edge(START, "a")
    builder.add_edge("a", "x")
    builder.add_edge("a", "y")
    builder.add_edge(["x", "y"], "c")
    return builder.compile(checkpointer=saver)


def program(folder: Path, kind: str) -> None:
    """Run the graph to its end, go back once, and run it to its end again; it can be started at any time."""
    with opened(folder, kind) as (graph, sandbox, wanted):
        if not wanted:
            return
        state = graph.get_state(thread())
        if not state.config["configurable"].get("checkpoint_id"):
            graph.invoke(State(ran=[]), thread(), **SYNC)
        else:  # where it had ended nothing runs, and the files are those of its end
            graph.invoke(None, thread(), **SYNC)
        check(graph, sandbox)
        back = folder / "went back"
        if not back.exists():
            back.touch()
            graph.invoke(None, at(graph, thread(), "x", "y").config, **SYNC)
            check(graph, sandbox)


def check(graph: Any, sandbox: Path) -> None:
    """Compare files and state at the end: each node ran once, and its file says so."""
    ran = sorted(graph.get_state(thread()).values["ran"])
    files = {name: lines_of(sandbox / name) for name in NODES}
    assert ran == list(NODES), ran
    assert files == {name: [name] for name in NODES}, files


def acts_of(folder: Path, kind: str) -> list[str]:
    """The acts that the program passes, in order, as faults name them: `ACT:NUMBER`."""
    log = folder / "acts"
    status = _run(folder, kind, {"MULLIGAN_FAULT_LOG": str(log)})
    assert status == 0
    passed: list[str] = []
    for line in log.read_text().splitlines():
        when, act = line.split()[:2]
        if when == "before":
            passed.append(f"{act}:{sum(each.startswith(f'{act}:') for each in passed) + 1}")
    return passed


def survives(folder: Path, kind: str, fault: str) -> bool:
    """Die there, go on in a new process; return whether that ended well."""
    status = _run(folder, kind, {"MULLIGAN_FAULT": fault})
    assert os.WIFSIGNALED(status), f"{fault} never fired"
    assert os.WTERMSIG(status) == signal.SIGKILL
    return _run(folder, kind, {}) == 0 and _run(folder, kind, {}) == 0


def _run(folder: Path, kind: str, variables: dict[str, str]) -> int:
    os.environ.update(variables)
    try:
        return ended(in_a_process(lambda: program(folder, kind)))
    finally:
        for name in variables:
            del os.environ[name]
