"""Random graphs with files, and random acts on them; after each, files and states are compared.

Each node adds a token of its own to a file, and to the state: those of a checkpoint are the same in both, whatever was
forked, updated, paused or killed before. Lives of the program are processes, of which any may be killed.
"""

import contextlib
import os
import random
import signal
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.errors import EmptyInputError, InvalidUpdateError
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from msgspec import Struct

import mulligan
from mulligan.boundaries import watch
from mulligan.langgraph import MulliganSaver
from tests.graphs.small_graphs import SYNC, State, session_of, thread
from tests.support.forks import ended, in_a_process

THREADS = ("one", "two")
KINDS = ("adds", "adds", "adds", "asks", "fails", "inner")
MOST = 90  # acts until a life is killed


class Failed(Exception):
    """A node that fails on purpose."""


class Shape(Struct, frozen=True):
    """Layers of nodes, by name and kind; those of a layer run at once."""

    layers: tuple[tuple[tuple[str, str], ...], ...]

    @classmethod
    def random(cls, dice: random.Random) -> Self:
        """Choose one."""
        layers: list[tuple[tuple[str, str], ...]] = []
        for layer in range(dice.randint(2, 4)):
            width = dice.choice((1, 1, 2, 3))
            layers.append(tuple((f"n{layer}{number}", dice.choice(KINDS)) for number in range(width)))
        return cls(tuple(layers))


class Life:
    """One process of a program, from the opening of its session on."""

    def __init__(self, project: mulligan.Project, shape: Shape, dice: random.Random) -> None:
        self.project, self.shape, self.dice = project, shape, dice
        self.seen: set[str] = set()  # what the sandbox had between two acts
        self.held: dict[str, set[str]] = {}
        self.story: list[str] = []
        self.forgiven = project.folder / "forgiven"

    def run(self, session: mulligan.Session, other: Any, acts: int) -> None:
        """Do some acts, with a look at everything after each."""
        self.session = session
        self.log = session.path() / "log"
        self.other = other
        self.saver = MulliganSaver(self.project, files=session, saver=other)
        self.graph = graph_of(self.shape, self.saver, self.log, self.dice)
        self.check_history()
        for _ in range(acts):
            act = self.dice.choice(
                (
                    *[self.begin, self.go_on, self.go_on, self.go_back, self.go_back, self.update],
                    *[self.answer, self.edit, self.roll_back, self.input_before, self.abandon],
                    *[self.renew, self.copy],
                )
            )
            self.story.append(act.__name__)
            with contextlib.suppress(Failed, EmptyInputError, InvalidUpdateError):
                act()
            self.seen |= self.lines()
            self.check_history()
        self.check_kept()

    # --- acts ---------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        name = self.thread()
        self.forgive(name)  # input gives a step up that is half way, and files stay as they are
        self.invoke(State(ran=[f"in:{token(self.dice)}"]), name)

    def go_on(self) -> None:
        name = self.thread()
        if self.graph.get_state(thread(name)).next:
            self.invoke(None, name)

    def answer(self) -> None:
        name = self.thread()
        self.invoke(self.answers(self.graph.get_state(thread(name))), name)

    def go_back(self) -> None:
        if (found := self.any_checkpoint()) is not None:
            given = self.answers(found) if self.dice.random() < 0.2 else None
            self.invoke(given, found.config["configurable"]["thread_id"], found.config)

    def input_before(self) -> None:
        if (found := self.any_checkpoint()) is not None:
            self.invoke(
                State(ran=[f"in:{token(self.dice)}"]),
                found.config["configurable"]["thread_id"],
                found.config,
            )

    def update(self) -> None:
        if (found := self.any_checkpoint()) is None:
            return
        name = found.config["configurable"]["thread_id"]
        config = found.config if self.dice.random() < 0.7 else thread(name)
        nodes = [None, *(each for layer in self.shape.layers for each, _ in layer)]
        as_node = self.dice.choice(nodes)
        self.story.append(f"update {config} as {as_node}")
        made = self.graph.update_state(config, {"ran": [f"hand:{token(self.dice)}"]}, as_node=as_node)
        self.check_sandbox(name)
        if self.dice.random() < 0.6:
            self.invoke(None, name, made if self.dice.random() < 0.5 else None)

    def edit(self) -> None:
        append(self.log, f"edit:{token(self.dice)}")

    def roll_back(self) -> None:
        groups = [view.group_id for view in self.project.checkpoints.list(self.session.plan_id)]
        self.session.rollback(self.dice.choice(groups))

    def abandon(self) -> None:
        name = self.thread()
        self.forgive(name)
        stream = self.graph.stream(State(ran=[f"in:{token(self.dice)}"]), thread(name), **SYNC)
        with contextlib.closing(stream):
            for number, _ in enumerate(stream):
                if number == self.dice.randint(0, 2):
                    break
        self.forgive(name)

    def renew(self) -> None:
        self.saver = MulliganSaver(self.project, files=self.session, saver=self.other)
        self.graph = graph_of(self.shape, self.saver, self.log, self.dice)

    def copy(self) -> None:
        if self.other is None:
            name = f"one.copy-{token(self.dice)}"
            self.saver.copy_thread("one", name)
            if self.graph.get_state(thread(name)).next:
                self.invoke(None, name)
            self.saver.delete_thread(name)

    # --- what the acts are made of ------------------------------------------------------------------------------

    def thread(self) -> str:
        return self.dice.choice(THREADS)

    def any_checkpoint(self) -> Any:
        found = self.history(self.thread())
        return self.dice.choice(found) if found else None

    def history(self, name: str) -> list[Any]:
        return list(self.graph.get_state_history(thread(name)))

    def answers(self, found: Any) -> Command[Any]:
        asked = [each.id for task in found.tasks for each in task.interrupts]
        return Command(resume=dict.fromkeys(asked, "yes") if len(asked) > 1 else "yes")

    def invoke(self, given: Any, name: str, config: Any = None) -> None:
        self.story.append(f"invoke {given} on {config or name}")
        before = len(self.history(name))
        try:
            self.graph.invoke(given, config or thread(name), **SYNC)
        except RuntimeError as exc:
            if "multiple pending interrupts" not in str(exc):
                raise
        if (
            config is None or len(self.history(name)) > before
        ):  # else nothing ran, and the files are as asked for
            self.check_sandbox(name)

    # --- what always holds --------------------------------------------------------------------------------------

    def same(self, name: str, state: Any, files: set[str], also: set[str]) -> None:
        """Compare the tokens of nodes; graphs within the graph, and nodes that failed, leave parts in the files only.

        A thread begins with the files that are there, which may be of another one.
        """
        wanted = {each for each in state if not each.startswith(("in:", "hand:"))}
        of_thread = (f"{name}:", f"{name.partition('.')[0]}:")
        there = {each for each in files if each.partition("=")[2].startswith(of_thread)}
        assert wanted <= there, ("missing in files", wanted - there, self.story)
        forgiven = self.forgiven.read_text().split() if self.forgiven.exists() else ()
        more = {each for each in there - wanted - also - {*forgiven} if not each.startswith("part-")}
        assert not more, ("only in files", more, self.story)

    def forgive(self, name: str) -> None:
        """From now on the files may have what they have, and what a step that is half way has done."""
        with self.forgiven.open("a") as stream:
            stream.write("".join(f"{each}\n" for each in self.lines() | self.half_way(name)))

    def half_way(self, name: str) -> set[str]:
        """Return what nodes of a step have done that waits."""
        tasks = self.graph.get_state(thread(name)).tasks
        return {each for task in tasks for each in (task.result or {}).get("ran", ())}

    def lines(self) -> set[str]:
        return set(self.log.read_text().split()) if self.log.exists() else set()

    def check_sandbox(self, name: str) -> None:
        """The files of a thread that has stopped are those of its state, and of what its waiting step has done."""
        found = self.graph.get_state(thread(name))
        self.same(name, found.values.get("ran", ()), self.lines(), self.half_way(name))

    def check_history(self) -> None:
        """The files of each checkpoint are those of its state."""
        for name in THREADS:
            for found in self.history(name):
                group = found.metadata["mulligan"]["group"]
                self.story.append(str(found.config))
                self.same(name, found.values.get("ran", ()), self.lines_of(group), set())
                self.story.pop()

    def check_kept(self) -> None:
        """Nothing that was there between two acts is lost."""
        views = self.project.checkpoints.list(self.session.plan_id, superseded=True)
        kept = self.lines().union(*(self.lines_of(view.group_id) for view in views))
        assert self.seen <= kept, (self.story, self.seen - kept)

    def lines_of(self, group: str) -> set[str]:
        if group not in self.held:
            try:
                self.held[group] = set(self.project.read_path(group, "app/log").decode().split())
            except mulligan.MulliganError:
                self.held[group] = set()
        return self.held[group]


def graph_of(shape: Shape, saver: MulliganSaver, log: Path, dice: random.Random) -> Any:
    builder = StateGraph(State)
    before: list[str] = [START]
    for layer in shape.layers:
        names = [name for name, _ in layer]
        for name, kind in layer:
            builder.add_node(name, node_of(name, kind, log, dice))
            builder.add_edge(before if before != [START] else START, name)
        before = names
    builder.add_edge(before, END)
    return builder.compile(checkpointer=saver)


def node_of(name: str, kind: str, log: Path, dice: random.Random) -> Any:
    if kind == "inner":
        inner = StateGraph(State)
        inner.add_node("first", adds(f"part-{name}", log, dice))
        inner.add_node("second", asks(f"part-{name}", log, dice))
        inner.add_edge(START, "first")
        inner.add_edge("first", "second")
        return inner.compile()
    return {"adds": adds, "asks": asks, "fails": fails}[kind](name, log, dice)


def adds(name: str, log: Path, dice: random.Random) -> Callable[[State, RunnableConfig], State]:
    def node(_: State, config: RunnableConfig) -> State:
        word = f"{name}={config['configurable']['thread_id']}:{token(dice)}"
        append(log, word)
        return {"ran": [word]}

    return node


def asks(name: str, log: Path, dice: random.Random) -> Callable[[State, RunnableConfig], State]:
    def node(state: State, config: RunnableConfig) -> State:
        interrupt("sure?")
        return adds(name, log, dice)(state, config)

    return node


def fails(name: str, log: Path, dice: random.Random) -> Callable[[State, RunnableConfig], State]:
    def node(state: State, config: RunnableConfig) -> State:
        append(log, f"half:{token(dice)}")
        if dice.random() < 0.3:
            raise Failed
        return adds(name, log, dice)(state, config)

    return node


def append(log: Path, line: str) -> None:
    with log.open("a") as stream:
        stream.write(f"{line}\n")


def token(dice: random.Random) -> str:
    return os.urandom(5).hex()


def lives(folder: Path, kind: str, seed: int, count: int, acts: int) -> None:
    """Live some lives, one after the other; most of them are killed, at an act that chance chooses."""
    dice = random.Random(seed)
    shape = Shape.random(dice)
    for number in range(count):
        is_last = number == count - 1
        fatal = dice.randint(1, MOST) if not is_last and dice.random() < 0.7 else None
        own = random.Random(f"{seed}.{number}")
        status = ended(in_a_process(lambda own=own, fatal=fatal: life(folder, kind, shape, own, fatal, acts)))
        was_killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL and fatal is not None
        assert was_killed or status == 0, f"{kind}, seed {seed}, life {number}: {shape}"


def life(folder: Path, kind: str, shape: Shape, dice: random.Random, fatal: int | None, acts: int) -> None:
    """Go on with the project where the life before has left it."""
    if fatal is not None:
        _die_at(fatal)
    project = mulligan.open(folder)
    plans = project.plans()
    limit = {"max_checkpoints_per_plan": 1000}
    session = project.session(resume=plans[0].plan_id) if plans else session_of(project, config=limit)
    here = Life(project, shape, dice)
    with contextlib.suppress(Failed), other_saver(folder, kind) as other, session:
        here.run(session, other, acts)
        if dice.random() < 0.3:
            raise Failed
        session.pause()


@contextlib.contextmanager
def other_saver(folder: Path, kind: str) -> Iterator[Any]:
    if kind == "own":
        yield None
        return
    with contextlib.closing(sqlite3.connect(folder / "states.db", check_same_thread=False)) as raw:
        yield SqliteSaver(raw)


def _die_at(number: int) -> None:
    left = [number]

    def watcher(_when: str, _act: str) -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    watch(watcher)
