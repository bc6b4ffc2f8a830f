"""States of graphs in the database: strange words, damage, many writers, what is pruned and what is allowed."""

import asyncio
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

import mulligan
from mulligan import errors
from mulligan.langgraph import MulliganSaver
from tests.graphs.small_graphs import SYNC, State, in_a_row, project_in, thread
from tests.support.forks import ended, in_a_process


@dataclass
class Point:
    """A type of the test."""

    x: int


def put(
    saver: MulliganSaver, config: Any, value: object = "v", parent: str | None = None, **metadata: Any
) -> Any:
    checkpoint: Any = {**empty_checkpoint(), "channel_values": {"c": value}, "channel_versions": {"c": "1"}}
    named = {"checkpoint_ns": "", **config["configurable"]}
    if parent is not None:
        named["checkpoint_id"] = parent
    known: Any = {"source": "loop", "step": 1, "parents": {}, **metadata}
    return saver.put({"configurable": named}, checkpoint, known, {"c": "1"})


@pytest.fixture
def project(tmp_path: Path) -> mulligan.Project:
    return project_in(tmp_path)


def database_of(project: mulligan.Project) -> sqlite3.Connection:
    return sqlite3.connect(str(project.database))


@pytest.mark.parametrize("word", ["a\0b", "back\\slash", "\\u0000", "\ud800", "ä\0\\\0"])
def test_any_text_is_a_name_of_a_thread(project: mulligan.Project, word: str) -> None:
    saver = MulliganSaver(project)
    stored = put(saver, thread(word), "a\0b", note="x\0y")
    saver.put_writes(stored, [(word, word.encode("utf-8", "surrogatepass"))], "task\0", "path\0")
    found = saver.get_tuple(thread(word))
    assert found is not None
    assert found.config["configurable"]["thread_id"] == word
    assert found.checkpoint["channel_values"] == {"c": "a\0b"}
    assert found.pending_writes == [("task\0", word, word.encode("utf-8", "surrogatepass"))]
    assert [each.config for each in saver.list(thread(word))] == [found.config]
    assert saver.get_tuple(thread(word + "\0")) is None
    saver.delete_thread(word)
    assert saver.get_tuple(thread(word)) is None


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        ("UPDATE graph_states SET state = substr(state, 2)", "its state"),
        ("UPDATE graph_states SET state = 'text'", "its state"),
        ("UPDATE graph_states SET metadata_json = '{'", "metadata"),
        ("UPDATE graph_writes SET value = x'00'", "what task one wrote to c"),
    ],
)
def test_a_damaged_row_is_named(project: mulligan.Project, damage: str, what: str) -> None:
    saver = MulliganSaver(project)
    stored = put(saver, thread("t"))
    saver.put_writes(stored, [("c", 1)], "one")
    good = put(saver, thread("other"))
    with database_of(project) as raw:
        raw.execute(f"{damage} WHERE thread = 't'")
    with pytest.raises(errors.GraphStateDamaged, match=what) as raised:
        saver.get_tuple(thread("t"))
    assert raised.value.facts["checkpoint"] == stored["configurable"]["checkpoint_id"]
    assert saver.get_tuple(good) is not None
    found = str(project.doctor().findings)
    assert "thread 't'" in found or "graph_states" in found


def test_a_damaged_newest_state_is_only_good_for_its_id(project: mulligan.Project) -> None:
    """LangGraph asks for it to compare ids where a run is to go on from an earlier one."""
    saver = MulliganSaver(project)
    graph = in_a_row(saver, {"one": lambda _: {"ran": ["one"]}})
    graph.invoke(State(ran=[]), thread(), **SYNC)
    early = next(each.config for each in graph.get_state_history(thread()) if each.next == ("one",))
    newest = graph.get_state(thread()).config["configurable"]["checkpoint_id"]
    with database_of(project) as raw:
        raw.execute("UPDATE graph_states SET state = x'' WHERE checkpoint_id = ?", (newest,))
    compared: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": None}}
    found = saver.get_tuple(compared)
    assert found is not None
    assert found.checkpoint["id"] == newest
    for act in (
        lambda: found.checkpoint["channel_values"],
        lambda: found.checkpoint.get("pending_sends"),
        lambda: list(found.metadata),
        lambda: len(found.checkpoint),
        lambda: graph.get_state(thread()),
        lambda: graph.invoke(State(ran=[]), compared),
    ):
        with pytest.raises(errors.GraphStateDamaged):
            act()
    assert graph.invoke(None, early) == {"ran": ["one"]}


def test_a_state_of_an_unknown_format_is_named(project: mulligan.Project) -> None:
    saver = MulliganSaver(project)
    put(saver, thread())
    with database_of(project) as raw:
        raw.execute("UPDATE graph_states SET format = 'other'")
    with pytest.raises(errors.GraphStateDamaged, match="its state cannot be read"):
        saver.get_tuple(thread())


def test_types_are_loaded_as_the_allow_list_says(project: mulligan.Project) -> None:
    strict = MulliganSaver(project, serde=JsonPlusSerializer(allowed_msgpack_modules=None))
    put(strict, thread(), Point(1))
    refused = strict.get_tuple(thread())
    assert refused is not None
    assert not isinstance(refused.checkpoint["channel_values"]["c"], Point)
    allowing = strict.with_allowlist([(Point.__module__, "Point")])
    found = allowing.get_tuple(thread())
    assert found is not None
    assert found.checkpoint["channel_values"]["c"] == Point(1)
    assert strict.with_allowlist([]) is strict


def test_many_threads_and_processes_write_at_once(project: mulligan.Project) -> None:
    def work(name: str) -> None:
        saver = MulliganSaver(mulligan.open(project.folder))
        graph = in_a_row(saver, {"one": lambda _: {"ran": ["one"]}, "two": lambda _: {"ran": ["two"]}})
        for _ in range(3):
            graph.invoke(State(ran=[]), thread(name), **SYNC)

    children = [in_a_process(lambda number=number: work(f"process {number}")) for number in range(3)]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(work, [f"thread {number}" for number in range(4)])) == [None] * 4
    assert [ended(child) for child in children] == [0] * 3
    saver = MulliganSaver(project)
    names = [f"process {number}" for number in range(3)] + [f"thread {number}" for number in range(4)]
    for name in names:
        found = saver.get_tuple(thread(name))
        assert found is not None
        assert found.checkpoint["channel_values"]["ran"] == ["one", "two"] * 3


def test_two_runs_on_one_thread_leave_both_branches(project: mulligan.Project) -> None:
    saver = MulliganSaver(project)
    graph = in_a_row(saver, {"one": lambda _: {"ran": ["one"]}})
    with ThreadPoolExecutor(2) as threads:
        runs = [threads.submit(graph.invoke, State(ran=[]), thread(), **SYNC) for _ in range(2)]
        assert all("one" in run.result()["ran"] for run in runs)
    assert len(list(saver.list(thread()))) == 6


def test_what_is_listed_fits_all_that_is_asked_for(project: mulligan.Project) -> None:
    saver = MulliganSaver(project)
    ids = [put(saver, thread(), step=step)["configurable"]["checkpoint_id"] for step in range(4)]
    put(saver, thread("other"))

    def listed(config: Any, **more: Any) -> list[str]:
        return [each.checkpoint["id"] for each in saver.list(config, **more)]

    assert listed(thread()) == ids[::-1]
    assert listed(thread(), before=thread(checkpoint_id=ids[2])) == [ids[1], ids[0]]
    assert listed(thread(), filter={"step": 1}, limit=1) == [ids[1]]
    assert listed(thread(), limit=0) == []
    assert listed(thread(checkpoint_id=ids[3])) == [ids[3]]
    assert len(listed(None)) == 5

    async def collect() -> int:
        return len([each async for each in saver.alist(thread())])

    assert asyncio.run(collect()) == 4


def test_a_prune_keeps_what_the_newest_state_is_made_of(project: mulligan.Project) -> None:
    """A channel of differences has its value in an earlier checkpoint, and in what tasks wrote since."""
    saver = MulliganSaver(project)
    first = put(saver, thread())
    second = put(saver, thread(), parent=first["configurable"]["checkpoint_id"])
    bare = {**empty_checkpoint(), "channel_values": {}, "channel_versions": {"c": "2"}}
    parent = {"configurable": {**second["configurable"]}}
    metadata: Any = {
        "source": "loop",
        "step": 3,
        "parents": {},
        "counters_since_delta_snapshot": {"c": (1, 1)},
    }
    newest = saver.put(parent, bare, metadata, {})
    saver.prune(["t"])
    left = [each.config["configurable"]["checkpoint_id"] for each in saver.list(thread())]
    assert left == [each["configurable"]["checkpoint_id"] for each in (newest, second)]
    saver.prune(["t"], strategy="delete")
    assert list(saver.list(thread())) == []
    with pytest.raises(errors.UsageWrong):
        saver.prune(["t"], strategy="other")


def test_a_prune_keeps_what_is_left_of_a_broken_lineage(project: mulligan.Project) -> None:
    saver = MulliganSaver(project)
    missing = "1f1e3b60-0000-6000-8000-000000000000"
    bare: Any = {**empty_checkpoint(), "channel_values": {}, "channel_versions": {"c": "2"}}
    known: Any = {"source": "loop", "step": 3, "parents": {}, "counters_since_delta_snapshot": {"c": (1, 1)}}
    newest = saver.put(thread(checkpoint_ns="", checkpoint_id=missing), bare, known, {})
    saver.prune(["t"])
    assert [each.config for each in saver.list(thread())] == [newest]


def test_a_list_leaves_out_what_is_removed_meanwhile(project: mulligan.Project) -> None:
    saver = MulliganSaver(project)
    for _ in range(2):
        put(saver, thread())
    found = saver.list(thread())
    assert next(found) is not None
    saver.delete_thread("t")
    assert list(found) == []


def test_a_copy_of_a_thread_to_itself_changes_nothing(project: mulligan.Project) -> None:
    saver = MulliganSaver(project)
    stored = put(saver, thread())
    saver.copy_thread("t", "t")
    assert [each.config for each in saver.list(thread())] == [stored]


def test_what_cannot_be_kept_is_refused(project: mulligan.Project) -> None:
    saver = MulliganSaver(project)
    with pytest.raises(errors.StateNotJson):
        put(saver, thread(), note=object())
    with pytest.raises(errors.UsageWrong):
        saver.put_writes({"configurable": {"thread_id": "t", "checkpoint_ns": ""}}, [("c", 1)], "task")
    with pytest.raises(errors.UsageWrong):
        MulliganSaver(project, saver=saver)
    saver.close()


def test_a_saver_that_was_closed_opens_its_database_again(project: mulligan.Project) -> None:
    saver = MulliganSaver(project)
    put(saver, thread())
    saver.close()
    assert saver.get_tuple(thread()) is not None
    assert os.path.exists(str(project.database))
