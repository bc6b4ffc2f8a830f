"""Files go back with the state of a graph, whichever saver keeps that state."""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

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
    project_in,
    session_of,
    thread,
)


def row(saver: MulliganSaver, log: Path, names: str = "abc") -> Any:
    return in_a_row(saver, {name: adds(log, name) for name in names})


def group_of(snapshot: Any) -> str:
    return snapshot.metadata["mulligan"]["group"]


def test_each_checkpoint_names_the_group_with_its_files(
    project: mulligan.Project, session: mulligan.Session, saver: MulliganSaver, log: Path
) -> None:
    graph = row(saver, log)
    assert graph.invoke(State(ran=[]), thread(), **SYNC) == {"ran": ["a", "b", "c"]}
    held = {}
    for each in graph.get_state_history(thread()):
        try:
            held[each.next] = project.read_path(group_of(each), "app/log").decode().split()
        except errors.MulliganError:
            held[each.next] = []
    assert held == {(): ["a", "b", "c"], ("c",): ["a", "b"], ("b",): ["a"], ("a",): [], ("__start__",): []}
    assert {each.metadata["mulligan"]["plan"] for each in graph.get_state_history(thread())} == {
        session.plan_id
    }
    groups = {view.group_id for view in project.checkpoints.list(session.plan_id)}
    assert len(groups) == 4  # two checkpoints without a change of files share the first one


def test_a_run_from_an_earlier_checkpoint_has_its_files(
    project: mulligan.Project, session: mulligan.Session, saver: MulliganSaver, log: Path
) -> None:
    graph = row(saver, log)
    graph.invoke(State(ran=[]), thread(), **SYNC)
    (log.parent / "kept").unlink()
    early = at(graph, thread(), "b")
    assert graph.invoke(None, early.config, **SYNC) == {"ran": ["a", "b", "c"]}
    assert lines_of(log) == ["a", "b", "c"]
    assert (log.parent / "kept").exists()
    kept = [
        v
        for v in project.checkpoints.list(session.plan_id, superseded=True)
        if v.checkpoint_type == "pre_rollback"
    ]
    assert len(kept) == 1  # what was there before is still to be had
    # and from there to the branch that was left
    late = next(
        each for each in graph.get_state_history(thread()) if not each.next and each.config != early.config
    )
    oldest_end = [each for each in graph.get_state_history(thread()) if not each.next][-1]
    assert late.config != oldest_end.config
    graph.invoke(State(ran=["more"]), oldest_end.config, **SYNC)
    assert lines_of(log) == ["a", "b", "c"] * 2


def test_an_update_of_an_earlier_checkpoint_brings_its_files(saver: MulliganSaver, log: Path) -> None:
    graph = row(saver, log)
    graph.invoke(State(ran=[]), thread(), **SYNC)
    updated = graph.update_state(at(graph, thread(), "b").config, {"ran": ["by hand"]})
    assert lines_of(log) == ["a"]
    assert graph.invoke(None, updated, **SYNC) == {"ran": ["a", "by hand", "b", "c"]}
    assert lines_of(log) == ["a", "b", "c"]


def test_a_look_touches_no_file(saver: MulliganSaver, log: Path) -> None:
    graph = row(saver, log)
    graph.invoke(State(ran=[]), thread(), **SYNC)
    graph.get_state(at(graph, thread(), "b").config)
    assert lines_of(log) == ["a", "b", "c"]


def test_new_input_goes_on_with_the_files_as_they_are(saver: MulliganSaver, log: Path) -> None:
    graph = row(saver, log)
    graph.invoke(State(ran=[]), thread(), **SYNC)
    log.write_text("mine\n")
    graph.invoke(State(ran=[]), thread(), **SYNC)
    assert lines_of(log) == ["mine", "a", "b", "c"]
    graph.invoke(None, at(graph, thread(), "a").config, **SYNC)
    assert lines_of(log) == ["mine", "a", "b", "c"]


@pytest.mark.parametrize("mode", [{}, {"durability": "async"}, {"durability": "exit"}])
def test_other_modes_of_durability_are_refused_by_name(own: MulliganSaver, log: Path, mode: Any) -> None:
    with pytest.raises(errors.GraphDurabilityUnfit) as raised:
        row(own, log).invoke(State(ran=[]), thread(), **mode)
    assert mode.get("durability", "none") in str(raised.value.facts["durability"])
    assert not log.exists()


def test_asynchronous_graphs_do_the_same(saver: MulliganSaver, log: Path) -> None:
    graph = row(saver, log)

    async def work() -> None:
        await graph.ainvoke(State(ran=[]), thread(), **SYNC)
        early = next(iter([s async for s in graph.aget_state_history(thread()) if s.next == ("b",)]))
        await graph.ainvoke(None, early.config, **SYNC)
        assert lines_of(log) == ["a", "b", "c"]
        await graph.aupdate_state(early.config, {"ran": ["x"]})

    asyncio.run(work())
    assert lines_of(log) == ["a"]


def test_nodes_at_once_write_files_that_go_back_together(
    saver: MulliganSaver, session: mulligan.Session
) -> None:
    folder = session.path()
    builder = StateGraph(State)
    together = Barrier(3)

    def node(name: str) -> Callable[[State], State]:
        def write(_: State) -> State:
            together.wait(60)
            adds(folder / name, name)({"ran": []})
            return {"ran": [name]}

        return write

    for name in "xyz":
        builder.add_node(name, node(name))
        builder.add_edge(START, name)
    builder.add_node("end", adds(folder / "end", "end"))
    builder.add_edge(["x", "y", "z"], "end")
    graph = builder.compile(checkpointer=saver)
    graph.invoke(State(ran=[]), thread(), **SYNC)
    assert sorted(file.name for file in folder.iterdir()) == ["end", "kept", "x", "y", "z"]
    graph.update_state(at(graph, thread(), "end").config, {"ran": []}, as_node="x")
    assert sorted(file.name for file in folder.iterdir()) == ["kept", "x", "y", "z"]
    first = next(each for each in graph.get_state_history(thread()) if set(each.next) == {"x", "y", "z"})
    graph.invoke(None, first.config, **SYNC)
    assert lines_of(folder / "x") == ["x"]


def test_an_interrupt_waits_with_the_files_of_that_moment(saver: MulliganSaver, log: Path) -> None:
    graph = in_a_row(saver, {"a": adds(log, "a"), "ask": asks(log), "b": adds(log, "b")})
    assert "__interrupt__" in graph.invoke(State(ran=[]), thread(), **SYNC)
    assert lines_of(log) == ["a"]
    assert graph.invoke(Command(resume="yes"), thread(), **SYNC) == {"ran": ["a", "yes", "b"]}
    assert lines_of(log) == ["a", "yes", "b"]
    graph.invoke(None, at(graph, thread(), "ask").config, **SYNC)
    assert lines_of(log) == ["a"]
    graph.invoke(Command(resume="no"), thread(), **SYNC)
    assert lines_of(log) == ["a", "no", "b"]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_channel_of_differences_moves_no_file(own: MulliganSaver, log: Path, asynchronous: bool) -> None:
    """LangGraph reads the earlier checkpoints of such a channel within a run, each by its id."""

    def added(lines: list[str], more: Sequence[list[str]]) -> list[str]:
        return [*lines, *(line for each in more for line in each)]

    class Differences(TypedDict):
        ran: Annotated[list[str], DeltaChannel(added)]

    builder = StateGraph(Differences)
    for name, node in {"a": adds(log, "a"), "b": adds(log, "b"), "ask": asks(log)}.items():
        builder.add_node(name, node, input_schema=Differences)
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    builder.add_edge("a", "ask")
    graph: Any = builder.compile(checkpointer=own)

    def invoke(given: Any) -> set[str]:
        if asynchronous:
            return set(asyncio.run(graph.ainvoke(given, thread(), **SYNC))["ran"])
        return set(graph.invoke(given, thread(), **SYNC)["ran"])

    invoke({"ran": ["in"]})
    assert invoke(Command(resume="yes")) == {"in", "a", "b", "yes"}
    assert lines_of(log) == ["a", "b", "yes"]
    log.write_text("mine\n")
    invoke({"ran": ["in"]})
    assert lines_of(log) == ["mine", "a", "b"]
    graph.invoke(None, at(graph, thread(), "a").config, **SYNC)
    assert lines_of(log) == ["mine", "a", "b"]


def test_nodes_find_the_sandbox_in_their_context(own: MulliganSaver, session: mulligan.Session) -> None:
    def node(_: State, runtime: Runtime[Path]) -> State:
        (runtime.context / "made").touch()
        return {"ran": ["made"]}

    builder = StateGraph(State, context_schema=Path)
    builder.add_node("made", node)
    builder.add_edge(START, "made")
    builder.add_edge("made", END)
    builder.compile(checkpointer=own).invoke(State(ran=[]), thread(), context=session.path(), **SYNC)
    assert (session.path() / "made").exists()


def test_threads_take_turns_on_one_session(saver: MulliganSaver, log: Path) -> None:
    graph = in_a_row(saver, {"a": adds(log, "a"), "ask": asks(log)})
    graph.invoke(State(ran=[]), thread("one"), **SYNC)
    adds(log, "by hand")({"ran": []})
    graph.invoke(State(ran=[]), thread("two"), **SYNC)
    assert lines_of(log) == ["a", "by", "hand", "a"]
    graph.invoke(Command(resume="yes"), thread("one"), **SYNC)
    assert lines_of(log) == ["a", "by", "hand", "yes"]


def test_two_runs_at_once_are_refused(own: MulliganSaver, log: Path) -> None:
    first, second = Event(), Event()

    def waits(_: State) -> State:
        first.set()
        assert second.wait(60)
        return {"ran": ["slow"]}

    slow, fast = in_a_row(own, {"slow": waits}), row(own, log)
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(slow.invoke, State(ran=[]), thread(), **SYNC)
        assert first.wait(60)
        fast.invoke(State(ran=[]), thread(), **SYNC)
        second.set()
        with pytest.raises(errors.GraphBusy):
            running.result()
    assert lines_of(log) == ["a", "b", "c"]


def test_files_that_were_pruned_are_named(
    project: mulligan.Project, session: mulligan.Session, saver: MulliganSaver, log: Path
) -> None:
    graph = row(saver, log, "abcdefgh")
    graph.invoke(State(ran=[]), thread(), **SYNC)
    early = at(graph, thread(), "b")
    with sqlite3.connect(str(project.database)) as raw:
        for table in ("checkpoints", "checkpoint_groups"):
            raw.execute(f"DELETE FROM {table} WHERE group_id = ?", (group_of(early),))
    with pytest.raises(errors.GraphFilesGone) as raised:
        graph.invoke(None, early.config, **SYNC)
    assert raised.value.facts["group"] == group_of(early)
    assert lines_of(log) == list("abcdefgh")
    graph.invoke(State(ran=[]), thread(), **SYNC)  # the thread itself goes on


def test_retention_keeps_what_graphs_go_on_from(project: mulligan.Project) -> None:
    with session_of(project, config={"max_checkpoints_per_plan": 3}) as session:
        saver, log = MulliganSaver(project, files=session), session.path() / "log"
        graph = row(saver, log)
        graph.invoke(State(ran=[]), thread("first"), **SYNC)
        newest = group_of(graph.get_state(thread("first")))
        for number in range(4):
            graph.invoke(State(ran=[]), thread(f"{number}"), **SYNC)
        held = {view.group_id for view in project.checkpoints.list(session.plan_id, superseded=True)}
        assert newest in held
        graph.invoke(State(ran=[]), thread("first"), **SYNC)
        assert lines_of(log) == ["a", "b", "c"] * 2
        for name in ("first", "0", "1", "2", "3"):
            saver.delete_thread(name)
        graph.invoke(State(ran=[]), thread("last"), **SYNC)
        held = {view.group_id for view in project.checkpoints.list(session.plan_id, superseded=True)}
        assert newest not in held


def test_a_thread_of_another_session_is_refused_and_its_fork_goes_on(project: mulligan.Project) -> None:
    with session_of(project) as session:
        log = session.path() / "log"
        row(MulliganSaver(project, files=session), log).invoke(State(ran=[]), thread(), **SYNC)
    with session_of(project) as other:
        graph = row(MulliganSaver(project, files=other), other.path() / "log")
        with pytest.raises(errors.GraphFilesElsewhere) as raised:
            graph.invoke(State(ran=[]), thread(), **SYNC)
        assert raised.value.facts["owner"] == session.plan_id
    fork = project.fork(session.plan_id)
    with project.session(resume=fork.plan_id) as forked:
        graph = row(MulliganSaver(project, files=forked), forked.path() / "log")
        graph.invoke(State(ran=[]), thread(), **SYNC)
        assert lines_of(forked.path() / "log") == ["a", "b", "c"] * 2
        early = [each for each in graph.get_state_history(thread()) if each.next == ("b",)][-1]
        with pytest.raises(errors.GraphFilesElsewhere):
            graph.invoke(None, early.config, **SYNC)


def test_a_thread_that_began_without_files_goes_on_with_them(project: mulligan.Project) -> None:
    with session_of(project) as session:
        log = session.path() / "log"
        row(MulliganSaver(project), log).invoke(State(ran=[]), thread())
        graph = row(MulliganSaver(project, files=session), log)
        with pytest.raises(errors.GraphFilesUnknown):
            graph.invoke(None, at(graph, thread(), "b").config, **SYNC)
        graph.invoke(State(ran=[]), thread(), **SYNC)
        assert lines_of(log) == ["a", "b", "c"] * 2


def test_a_rollback_of_the_session_is_not_taken_for_the_graph_s(
    session: mulligan.Session, own: MulliganSaver, log: Path
) -> None:
    graph = row(own, log)
    graph.invoke(State(ran=[]), thread(), **SYNC)
    session.rollback("first")
    assert lines_of(log) == []
    graph.invoke(State(ran=[]), thread(), **SYNC)
    assert lines_of(log) == ["a", "b", "c"] * 2


def test_what_cannot_be_done_with_files_is_refused(
    session: mulligan.Session, own: MulliganSaver, log: Path
) -> None:
    graph = row(own, log)
    graph.invoke(State(ran=[]), thread(), **SYNC)
    with pytest.raises(errors.GraphActImpossible):
        graph.update_state(at(graph, thread(), "b").config, None, as_node="__copy__")
    with pytest.raises(errors.GraphStateUnknown):
        graph.invoke(None, thread(checkpoint_id="1f1e3b60-0000-6000-8000-000000000000"), **SYNC)
    with session.step("a step"), pytest.raises(errors.StepUnderWay):
        graph.invoke(State(ran=[]), thread(), **SYNC)


def test_copies_and_removals_take_the_files_along(
    project: mulligan.Project, session: mulligan.Session, own: MulliganSaver, log: Path
) -> None:
    graph = row(own, log)
    graph.invoke(State(ran=[]), thread(), **SYNC)
    own.copy_thread("t", "copy")
    log.write_text("changed\n")
    graph.invoke(State(ran=[]), thread("copy"), **SYNC)
    assert lines_of(log) == ["a", "b", "c"] * 2
    own.prune(["copy"])
    own.delete_for_runs(["no such run"])
    assert len(list(own.list(thread("copy")))) == 1
    own.prune(["copy"], strategy="delete")
    assert list(own.list(thread("copy"))) == []


def test_copies_of_states_of_another_saver_keep_their_files(project: mulligan.Project) -> None:
    class Copying(InMemorySaver):
        def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
            self.storage[target_thread_id] = self.storage[source_thread_id]
            self.blobs.update(
                {(target_thread_id, *key[1:]): value for key, value in list(self.blobs.items())}
            )

    with session_of(project, config={"max_checkpoints_per_plan": 3}) as session:
        saver, log = MulliganSaver(project, files=session, saver=Copying()), session.path() / "log"
        graph = row(saver, log)
        graph.invoke(State(ran=[]), thread("first"), **SYNC)
        newest = group_of(graph.get_state(thread("first")))
        saver.copy_thread("first", "copy")
        saver.delete_thread("first")
        for number in range(4):
            graph.invoke(State(ran=[]), thread(f"{number}"), **SYNC)
        assert newest in {
            view.group_id for view in project.checkpoints.list(session.plan_id, superseded=True)
        }


def test_a_session_of_another_project_is_refused(tmp_path: Path, session: mulligan.Session) -> None:
    """States would be recorded beside its files, in a database in which the saver does not look."""
    other = project_in(tmp_path / "other")
    with pytest.raises(errors.UsageWrong):
        MulliganSaver(other, files=session)


def test_a_saver_of_mulligan_is_not_wrapped_and_others_keep_their_serializer(
    project: mulligan.Project, session: mulligan.Session
) -> None:
    with pytest.raises(errors.UsageWrong):
        MulliganSaver(project, files=session, saver=MulliganSaver(project))
    with pytest.raises(errors.UsageWrong):
        MulliganSaver(project, files=session, saver=InMemorySaver(), serde=JsonPlusSerializer())


def test_a_thread_whose_newest_state_is_damaged_goes_on_from_an_earlier_one(
    project: mulligan.Project, own: MulliganSaver, log: Path
) -> None:
    graph = row(own, log)
    graph.invoke(State(ran=[]), thread(), **SYNC)
    newest, early = graph.get_state(thread()).config, at(graph, thread(), "b").config
    damage_newest(project)
    with pytest.raises(errors.GraphStateDamaged):
        graph.invoke(State(ran=[]), thread(), **SYNC)
    assert [each.next for each in graph.get_state_history(thread(), before=newest)][:2] == [("c",), ("b",)]
    assert graph.invoke(None, early, **SYNC) == {"ran": ["a", "b", "c"]}
    assert lines_of(log) == ["a", "b", "c"]
    damage_newest(project)
    graph.invoke(None, graph.update_state(early, {"ran": ["by hand"]}), **SYNC)
    assert lines_of(log) == ["a", "b", "c"]
    assert graph.get_state(thread()).values == {"ran": ["a", "by hand", "b", "c"]}


def damage_newest(project: mulligan.Project) -> None:
    with sqlite3.connect(str(project.database)) as raw:
        newest = "(SELECT MAX(checkpoint_id) FROM graph_states)"
        raw.execute(f"UPDATE graph_states SET state = substr(state, 2) WHERE checkpoint_id = {newest}")
