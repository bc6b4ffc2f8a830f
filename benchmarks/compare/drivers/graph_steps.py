"""Steps of a LangGraph that change five files each: with mulligan's saver, and with `SqliteSaver` and shadow git.

A step is from the start of one node to the start of the next. Prints the seconds of each, by side, in turns.
"""

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any, TypedDict

_SETTINGS = ("user.name=nobody", "user.email=nobody@localhost", "gc.auto=0", "advice.addEmbeddedRepo=false")
_CHANGES = 5
_STEPS = 6
_LEFT_OUT = 1  # of a run: the first, which opens what is opened once


class State(TypedDict):
    """The number of steps that were done."""

    number: int


def main(folder: str, turns: int) -> None:
    """Run both graphs in turns, each on a tree of its own; both have taken a first snapshot before."""
    from langgraph.checkpoint.sqlite import SqliteSaver

    import mulligan
    from mulligan.langgraph import MulliganSaver

    place = Path(folder)
    paths = json.loads((place / "sources.json").read_text())
    with ExitStack() as stack:
        project = mulligan.init(place / "project")
        session = stack.enter_context(project.session("graph", resources={"app": mulligan.directory()}))
        connection = sqlite3.connect(place / "langgraph.sqlite", check_same_thread=False)
        connection.execute("PRAGMA synchronous=FULL")  # as mulligan's; SqliteSaver chooses WAL on its own
        commit = shadow_git(place / "other", place / "shadow")
        commit()
        sides = {
            "mulligan": graph_on(session.path(), paths, MulliganSaver(project, files=session), lambda: None),
            "SqliteSaver and shadow git": graph_on(place / "other", paths, SqliteSaver(connection), commit),
        }
        seconds: dict[str, list[float]] = {name: [] for name in sides}
        for turn in range(turns + 1):
            for name, run in sides.items():
                steps = run(turn)
                if turn:  # the first one warms up
                    seconds[name] += steps
    print(json.dumps(seconds))


def graph_on(
    folder: Path, paths: Sequence[str], saver: Any, keep: Callable[[], None]
) -> Callable[[int], list[float]]:
    """Make a graph of one node that edits files again and again; it returns the seconds of its steps."""
    from langgraph.graph import END, START, StateGraph

    begun: list[float] = []
    spread = max(1, len(paths) // _CHANGES)

    def work(state: State) -> State:
        begun.append(time.perf_counter())
        for number in range(_CHANGES):
            with (folder / paths[(number * spread + len(begun)) % len(paths)]).open("a") as file:
                file.write("// edited\n")
        keep()
        return {"number": state["number"] + 1}

    builder = StateGraph(State)
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    builder.add_conditional_edges("work", lambda state: END if state["number"] > _STEPS else "work")
    graph: Any = builder.compile(checkpointer=saver)

    def run(turn: int) -> list[float]:
        begun.clear()
        graph.invoke({"number": 0}, {"configurable": {"thread_id": f"{turn}"}}, durability="sync")
        return [later - one for one, later in pairwise(begun)][_LEFT_OUT:]

    return run


def shadow_git(tree: Path, store: Path) -> Callable[[], None]:
    """Make a private git directory over a tree; the function that is returned adds and commits all."""
    env = {**os.environ, "GIT_DIR": str(store), "GIT_WORK_TREE": str(tree)}
    env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    settings = [word for setting in _SETTINGS for word in ("-c", setting)]

    def git(*arguments: str) -> None:
        subprocess.run(["git", *settings, *arguments], cwd=tree, env=env, check=True, capture_output=True)

    def commit() -> None:
        git("add", "-A", "-f")
        git("commit", "--quiet", "--allow-empty", "--no-verify", "--message", "step")

    git("init", "--quiet")
    return commit


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
