"""A small graph that edits code, fails a test, goes back two nodes and takes another way, files and all.

How to run it, with `pip install 'mulligan[langgraph]'`; the folder is made:

    python examples/langgraph_files.py /tmp/shop

What to look at: what it prints, `mulligan log` and `mulligan checkpoint list` in that folder, and `price.py` there,
which has the second way only.
"""

import operator
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

import mulligan
from mulligan.langgraph import MulliganSaver

TEST = """\
from price import total
assert total([10, 20], discount=0) == 30
assert total([10, 20], discount=50) == 15
"""
# What a model would write: a first idea, which is wrong, and another one.
IDEAS = {
    "subtract": "def total(prices, discount):\n    return sum(prices) - discount\n",
    "percentage": "def total(prices, discount):\n    return sum(prices) * (100 - discount) / 100\n",
}


class State(TypedDict):
    """The memory of the graph; its files are in the sandbox."""

    way: str
    notes: Annotated[list[str], operator.add]
    passed: bool


def plan(state: State) -> dict[str, Any]:
    """Choose a way; a model would do this."""
    return {"way": state.get("way") or "subtract", "notes": ["planned"]}


def edit(state: State, runtime: Runtime[Path]) -> dict[str, Any]:
    """Write the code into the sandbox, which every node finds in its context."""
    (runtime.context / "price.py").write_text(IDEAS[state["way"]])
    return {"notes": [f"edited: {state['way']}"]}


def document(state: State, runtime: Runtime[Path]) -> dict[str, Any]:
    """Write about it."""
    (runtime.context / f"{state['way']}.md").write_text(f"total() works by {state['way']}\n")
    return {"notes": ["documented"]}


def check(_: State, runtime: Runtime[Path]) -> dict[str, Any]:
    """Run the tests."""
    ended = subprocess.run(
        [sys.executable, "test_price.py"], cwd=runtime.context, capture_output=True, check=False
    )
    return {"passed": ended.returncode == 0, "notes": ["passed" if ended.returncode == 0 else "failed"]}


def graph_with(saver: MulliganSaver) -> Any:
    """The graph: plan, edit, document, check."""
    builder = StateGraph(State, context_schema=Path)
    before = START
    for name, node in {"plan": plan, "edit": edit, "document": document, "check": check}.items():
        builder.add_node(name, node)
        builder.add_edge(before, name)
        before = name
    builder.add_edge(before, END)
    return builder.compile(checkpointer=saver)


def main(folder: Path) -> None:
    """Run the graph; where the test fails, go back to before the edit, and take another way."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "test_price.py").write_text(TEST)
    project = mulligan.init(folder)
    with project.session("price", resources={"shop": mulligan.directory()}) as session:
        graph = graph_with(MulliganSaver(project, files=session))
        config: Any = {"configurable": {"thread_id": "price"}}
        run: dict[str, Any] = {
            "context": session.path(),
            "durability": "sync",
        }  # state and files of the same moment
        first = graph.invoke({"notes": []}, config, **run)
        print("first way:", ", ".join(first["notes"]))
        print("files:", names_in(session.path()))

        before_edit = next(each for each in graph.get_state_history(config) if each.next == ("edit",))
        other = graph.update_state(before_edit.config, {"way": "percentage"})
        print("went back to before the edit; files:", names_in(session.path()))

        second = graph.invoke(None, other, **run)
        print("second way:", ", ".join(second["notes"]))
        print("files:", names_in(session.path()))
    if second["passed"]:
        project.apply(session.plan_id)
        print("applied:", names_in(folder))


def names_in(folder: Path) -> str:
    """The files of a folder, in one line."""
    return " ".join(sorted(file.name for file in folder.iterdir() if file.suffix in (".py", ".md")))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
