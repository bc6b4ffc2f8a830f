"""A LangGraph thread of many small steps, saved by `SqliteSaver`; run by the Python that has it.

Prints the seconds of each step, and of listing all checkpoints of the thread.
"""

import json
import sqlite3
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any


def main(folder: str, synchronous: str, steps: int) -> None:
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.graph import END, START, StateGraph
    from typing_extensions import TypedDict

    connection = sqlite3.connect(f"{folder}/langgraph.sqlite", check_same_thread=False)
    connection.execute(f"PRAGMA synchronous={synchronous}")  # SqliteSaver chooses WAL on its own
    begun: list[float] = []

    class State(TypedDict):
        number: int

    def small(state: State) -> State:
        begun.append(time.perf_counter())
        (Path(folder) / f"{state['number'] % 20}").write_text(f"{state['number']}")
        return {"number": state["number"] + 1}

    saver = SqliteSaver(connection)
    graph = StateGraph(State)
    graph.add_node("small", small)
    graph.add_edge(START, "small")
    graph.add_conditional_edges("small", lambda state: END if state["number"] >= steps else "small")
    config: Any = {"configurable": {"thread_id": "bench"}, "recursion_limit": steps + 10}
    graph.compile(checkpointer=saver).invoke({"number": 0}, config, durability="sync")
    listings: list[float] = []
    for _ in range(3):
        asked = time.perf_counter()
        found = sum(1 for _ in saver.list(config))
        listings.append(time.perf_counter() - asked)
        assert found >= steps
    seconds = [after - before for before, after in pairwise(begun)]
    print(json.dumps({"seconds": seconds, "listings": listings}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
