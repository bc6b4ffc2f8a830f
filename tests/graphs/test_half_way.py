"""A step that is half way, in a graph or in one within it: what it did stays with its files, or goes back with them."""

from pathlib import Path
from threading import Event
from typing import Any

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

import mulligan
from mulligan import errors
from mulligan.langgraph import MulliganSaver
from tests.graphs.small_graphs import (
    SYNC,
    State,
    adds,
    asks,
    at,
    in_a_row,
    lines_of,
    session_of,
    thread,
)


def test_an_update_gives_up_a_step_that_is_half_way_with_its_files(
    saver: MulliganSaver, session: mulligan.Session
) -> None:
    """LangGraph drops what its nodes did, and runs them again: it is not in the files either."""
    graph, folder = two_at_once(saver, session.path())
    graph.invoke(State(ran=[]), thread(), **SYNC)
    assert lines_of(folder / "x") == ["x"]
    graph.update_state(thread(), {"ran": ["by hand"]}, as_node="a")
    assert lines_of(folder / "x") == []
    graph.invoke(None, thread(), **SYNC)
    assert lines_of(folder / "x") == ["x"]
    result = graph.invoke(Command(resume="yes"), thread(), **SYNC)
    assert sorted(result["ran"]) == ["a", "by hand", "x", "yes"]
    assert lines_of(folder / "x") == ["x"]


def test_an_update_that_ends_a_step_keeps_the_files_of_its_nodes(
    saver: MulliganSaver, session: mulligan.Session
) -> None:
    graph, folder = two_at_once(saver, session.path())
    graph.invoke(State(ran=[]), thread(), **SYNC)
    graph.update_state(thread(), None, as_node=END)
    assert graph.get_state(thread()).values == {"ran": ["a", "x"]}
    assert lines_of(folder / "x") == ["x"]


def test_an_update_of_a_step_that_waits_keeps_what_was_done_by_hand(saver: MulliganSaver, log: Path) -> None:
    graph = in_a_row(saver, {"a": adds(log, "a"), "ask": asks(log)})
    graph.invoke(State(ran=[]), thread(), **SYNC)
    adds(log, "edit")({"ran": []})
    graph.update_state(graph.get_state(thread()).config, {"ran": ["by hand"]}, as_node="a")
    assert lines_of(log) == ["a", "edit"]


def two_at_once(saver: MulliganSaver, folder: Path) -> tuple[Any, Path]:
    """A graph whose second step is half way: one of its nodes has ended, the other one asks."""
    builder = StateGraph(State)
    for name, node in {"a": adds(folder / "a", "a"), "x": adds(folder / "x", "x")}.items():
        builder.add_node(name, node)
    builder.add_node("ask", asks(folder / "asked"))
    builder.add_edge(START, "a")
    builder.add_edge("a", "x")
    builder.add_edge("a", "ask")
    return builder.compile(checkpointer=saver), folder


def test_a_checkpoint_inside_a_graph_is_refused_before_anything_is_touched(
    saver: MulliganSaver, log: Path
) -> None:
    inner = in_a_row(None, {"s": adds(log, "s"), "ask": asks(log)})
    graph = in_a_row(saver, {"a": adds(log, "a"), "inner": inner})
    graph.invoke(State(ran=[]), thread(), **SYNC)
    inside = graph.get_state(thread(), subgraphs=True).tasks[0].state
    with pytest.raises(errors.GraphActImpossible):
        graph.invoke(None, inside.config, **SYNC)
    assert lines_of(log) == ["a", "s"]
    graph.update_state(inside.config, {"ran": ["by hand"]})
    result = graph.invoke(Command(resume="yes"), thread(), **SYNC)
    assert result["ran"] == ["a", "a", "s", "by hand", "yes"]
    assert lines_of(log) == ["a", "s", "yes"]


def test_graphs_inside_go_back_with_the_graph(saver: MulliganSaver, log: Path) -> None:
    inner = StateGraph(State)
    inner.add_node("s", adds(log, "s"))
    inner.add_node("ask", lambda _: {"ran": [interrupt("sure?")]})
    inner.add_edge(START, "s")
    inner.add_edge("s", "ask")
    graph = in_a_row(saver, {"a": adds(log, "a"), "inner": inner.compile(), "b": adds(log, "b")})
    graph.invoke(State(ran=[]), thread(), **SYNC)
    assert lines_of(log) == ["a", "s"]
    graph.invoke(Command(resume="yes"), thread(), **SYNC)
    assert lines_of(log) == ["a", "s", "b"]
    before = at(graph, thread(), "inner")
    graph.invoke(None, before.config, **SYNC)
    assert lines_of(log) == ["a", "s"]
    assert graph.get_state(thread()).next == ("inner",)


def test_an_answer_to_an_earlier_interrupt_within_a_graph_has_its_files(
    saver: MulliganSaver, log: Path
) -> None:
    """The graph within has gone on since, and begins again: what it did to files is gone."""
    inner = in_a_row(None, {"s": adds(log, "s"), "ask": asks(log)})
    graph = in_a_row(saver, {"a": adds(log, "a"), "inner": inner, "b": adds(log, "b")})
    graph.invoke(State(ran=[]), thread(), **SYNC)
    asked = graph.get_state(thread()).config
    graph.invoke(Command(resume="yes"), thread(), **SYNC)
    result = graph.invoke(Command(resume="no"), asked, **SYNC)
    assert set(result["ran"]) == {"a", "s", "no", "b"}
    assert lines_of(log) == ["a", "s", "no", "b"]


def test_a_pause_keeps_what_an_unfinished_step_did(project: mulligan.Project) -> None:
    """A node that has ended is not run again, and what it wrote is there, in the next process too."""

    def graph_of(session: mulligan.Session) -> tuple[Any, Path]:
        folder = session.path()
        builder = StateGraph(State)
        builder.add_node("a", adds(folder / "a", "a"))
        builder.add_node("ask", asks(folder / "asked"))
        builder.add_edge(START, "a")
        builder.add_edge(START, "ask")
        builder.add_node("end", adds(folder / "end", "end"))
        builder.add_edge(["a", "ask"], "end")
        return builder.compile(checkpointer=MulliganSaver(project, files=session)), folder

    with session_of(project) as session:
        graph, folder = graph_of(session)
        graph.invoke(State(ran=[]), thread(), **SYNC)
        session.pause()
    assert project.status(session.plan_id).state == "queued"
    with project.session(resume=session.plan_id) as again:
        graph, folder = graph_of(again)
        assert lines_of(folder / "a") == ["a"]
        result = graph.invoke(Command(resume="yes"), thread(), **SYNC)
        assert sorted(result["ran"]) == ["a", "end", "yes"]
        assert [lines_of(folder / name) for name in ("a", "asked", "end")] == [["a"], ["yes"], ["end"]]
        assert (
            len([each for each in graph.get_state_history(thread()) if each.metadata["source"] == "fork"])
            == 0
        )


def test_a_step_that_failed_begins_again_from_its_own_files(project: mulligan.Project) -> None:
    """Leaving the session by the exception discards its work: what another node had done runs again too."""
    fails = Event()
    fails.set()

    def graph_of(session: mulligan.Session) -> tuple[Any, Path]:
        folder = session.path()

        def may_fail(_: State) -> State:
            adds(folder / "f", "half")({"ran": []})
            if fails.is_set():
                raise ValueError("no")
            return {"ran": ["f"]}

        builder = StateGraph(State)
        builder.add_node("a", adds(folder / "a", "a"))
        builder.add_node("f", may_fail)
        builder.add_edge(START, "a")
        builder.add_edge(START, "f")
        return builder.compile(checkpointer=MulliganSaver(project, files=session)), folder

    with pytest.raises(ValueError, match="no"), session_of(project) as session:
        graph_of(session)[0].invoke(State(ran=[]), thread(), **SYNC)
    fails.clear()
    with project.session(resume=session.plan_id) as again:
        graph, folder = graph_of(again)
        assert sorted(graph.invoke(None, thread(), **SYNC)["ran"]) == ["a", "f"]
        assert [lines_of(folder / name) for name in ("a", "f")] == [["a"], ["half"]]


def test_a_graph_inside_with_a_memory_of_its_own_does_not_run_ahead_of_its_files(
    project: mulligan.Project,
) -> None:
    """It would go on where it was cut off, though what it did to files is gone: it is gone back to by an id."""
    fails = Event()
    fails.set()

    def graph_of(session: mulligan.Session) -> tuple[Any, Path]:
        log = session.path() / "log"

        def may_fail(state: State) -> State:
            if fails.is_set():
                raise ValueError("no")
            return adds(log, "second")(state)

        inner = in_a_row(True, {"first": adds(log, "first"), "second": may_fail})

        def node(_: State) -> State:
            return {"ran": inner.invoke(State(ran=["in"]))["ran"]}

        return in_a_row(MulliganSaver(project, files=session), {"a": adds(log, "a"), "inner": node}), log

    with pytest.raises(ValueError, match="no"), session_of(project) as session:
        graph_of(session)[0].invoke(State(ran=[]), thread(), **SYNC)
    fails.clear()
    with project.session(resume=session.plan_id) as again:
        graph, log = graph_of(again)
        assert lines_of(log) == ["a"]
        for _ in range(2):
            with pytest.raises(errors.GraphActImpossible):
                graph.invoke(None, thread(), **SYNC)
        assert lines_of(log) == ["a"]
        result = graph.invoke(None, graph.get_state(thread()).config, **SYNC)
        assert result["ran"] == ["a", "in", "first", "second"]
        assert lines_of(log) == ["a", "first", "second"]
        result = graph.invoke(State(ran=[]), thread(), **SYNC)
        assert result["ran"][-6:] == ["in", "first", "second"] * 2  # it remembers
