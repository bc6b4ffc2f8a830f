"""Whatever two agents do at once in a folder, an undo takes back what they did, exactly, and the user's files stay."""

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mulligan.api.project import Project
from mulligan.domain.agents.agent_event import AgentEvent, EventKind
from mulligan.domain.history.timeline_entry import DeedKind
from mulligan.errors import NothingToUndo, UndoShared
from tests.faults.projects import project_in
from tests.support.long_run import LONGER

ACTS = ("prompt", "begin", "begin", "work", "work", "work", "finish", "stop", "cut off", "edit", "undo only")
SEEDS = tuple(f"seed{number}" for number in range(8))


class Agents:
    """Two sessions at work, and what the folder has to hold."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.base = dict.fromkeys(SEEDS, "0")
        for name, text in self.base.items():
            (folder / name).write_text(text)
        self.project: Project = project_in(folder)
        self.seeds = list(SEEDS)
        self.prompted = {"A": "", "B": ""}  # the id of the present prompt
        self.open: dict[str, list[str]] = {"A": [], "B": []}
        self.overlapped: set[str] = set()
        self.done: dict[str, tuple[str, str | None]] = {}  # by path: the call, and what it wrote
        self.count = 0
        for session in self.open:
            self.event(session, EventKind.SESSION_START)

    def event(self, session: str, kind: EventKind, call: str | None = None) -> None:
        self.project.agent_event(
            AgentEvent(
                agent="claude-code",
                kind=kind,
                session=session,
                folder=str(self.folder),
                prompt=self.prompted[session] or None,
                text=self.prompted[session],
                call=call,
                tool="Bash" if call else None,
                summary=call,
            )
        )

    def next(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    @property
    def at_rest(self) -> bool:
        return not any(self.open.values())

    def files(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in self.folder.iterdir() if path.is_file()}

    def expected(self) -> dict[str, str]:
        found = dict(self.base)
        for path, (_, text) in self.done.items():
            if text is None:
                del found[path]
            else:
                found[path] = text
        return found

    def act(self, act: str, session: str) -> None:
        prompted, opened = self.prompted[session], self.open[session]
        match act:
            case "prompt" if not opened:
                self.prompted[session] = self.next("p")
                self.event(session, EventKind.PROMPT)
            case "begin" if prompted and len(opened) < 2:
                call = self.next("c")
                self.event(session, EventKind.BEFORE_CALL, call)
                if not self.at_rest:
                    self.overlapped |= {call, *self.open["A"], *self.open["B"]}
                opened.append(call)
            case "work" if opened:
                self.work(opened[-1])
            case "finish" if opened:
                self.event(session, EventKind.AFTER_CALL, opened.pop(0))
            case "stop" if prompted and not opened:
                self.event(session, EventKind.STOP)
                self.prompted[session] = ""
            case "cut off" if opened and not self.open["A" if session == "B" else "B"]:
                opened.clear()
                self.prompted[session] = self.next("p")
                self.event(session, EventKind.PROMPT)
            case "edit" if self.at_rest:
                name = self.next("mine")
                (self.folder / name).write_text("the user's")
                self.base[name] = "the user's"
            case "undo only" if self.at_rest:
                self.undo_only()
            case _:
                pass

    def work(self, call: str) -> None:
        """Remove a file that was there, and write another."""
        made = self.next("f")
        (self.folder / made).write_text(call)
        self.done[made] = (call, call)
        if self.seeds:
            gone = self.seeds.pop()
            (self.folder / gone).unlink()
            self.done[gone] = (call, None)

    def undo_only(self) -> None:
        prompts = [entry.number for entry in self.project.timeline() if entry.kind is DeedKind.PROMPT]
        for number in prompts[:1]:
            calls = {view.summary or "" for view in self.project.calls(number)}
            before = self.files()
            try:
                self.project.undo(only=[str(number)])
            except NothingToUndo:
                assert not calls & {call for call, _ in self.done.values()}
            except UndoShared:
                assert calls & self.overlapped
                assert self.files() == before
            else:
                self.done = {path: what for path, what in self.done.items() if what[0] not in calls}

    def finish(self) -> None:
        for session, opened in self.open.items():
            while opened:
                self.event(session, EventKind.AFTER_CALL, opened.pop(0))
            self.event(session, EventKind.STOP)


@settings(max_examples=6 * LONGER, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(ACTS), st.sampled_from("AB")), min_size=10, max_size=40))
def test_undo_takes_back_what_agents_did_and_nothing_else(acts: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve() / "project"
        folder.mkdir()
        agents = Agents(folder)
        for act, session in (("prompt", "A"), ("prompt", "B"), *acts):
            agents.act(act, session)
            assert agents.files() == agents.expected(), (act, session)
        agents.finish()
        after, undone = agents.files(), 0
        while True:
            try:
                agents.project.undo()
            except NothingToUndo:
                break
            undone += 1
        assert agents.files() == agents.base
        for _ in range(undone):
            agents.project.redo()
        assert agents.files() == after
        agents.project.close()
