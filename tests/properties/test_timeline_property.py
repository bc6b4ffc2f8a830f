"""Whatever is run, applied, undone and redone in a folder, it is as a list of states says, and others' files stay."""

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from mulligan import directory
from mulligan.errors import NoPlansYet, NothingToRedo, NothingToUndo
from tests.faults.projects import project_in
from tests.support.long_run import LONGER

ACTS = ("run", "box", "apply", "unapply", "undo", "redo", "edit")


class Model:
    """The folder as a stack of states: each act of ours adds one file, or takes it away again."""

    def __init__(self) -> None:
        self.done: list[tuple[str, str]] = []  # acts that count, with their file
        self.undone: list[tuple[str, str]] = []
        self.boxes: dict[str, str] = {}  # plans in sandboxes: complete or applied
        self.others: set[str] = set()

    def act(self, kind: str, name: str) -> None:
        self.done.append((kind, name))
        self.undone.clear()

    @property
    def files(self) -> set[str]:
        """The files that are in the real folder."""
        found: set[str] = set()
        for kind, name in self.done:
            if kind in ("run", "apply"):
                found.add(name)
            elif kind == "unapply":
                found.discard(name)
        return found | self.others

    def state_of(self, name: str) -> str:
        """What became of a plan in a sandbox: back, complete or applied."""
        state = "back"
        for kind, each in self.done:
            if each == name:
                state = {"box": "complete", "apply": "applied", "unapply": "complete"}[kind]
        return state


@settings(max_examples=8 * LONGER, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(ACTS), min_size=3, max_size=9))
def test_the_folder_is_what_a_list_of_states_says(acts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve() / "project"
        folder.mkdir()
        project, model = project_in(folder), Model()
        project.config.set("sandbox.cleanup", "manual")
        for number, act in enumerate(acts):
            _carry_out(folder, model, act, f"f{number}")
            shown = {path.name for path in folder.iterdir() if path.name.startswith(("f", "mine"))}
            assert shown == model.files, (acts, number, act)
        counting = [e.number for e in project_in(folder).timeline() if e.counts]
        assert len(counting) <= len(model.done)


def _carry_out(folder: Path, model: Model, act: str, name: str) -> None:
    project = project_in(folder)
    boxes = [n for k, n in model.done if k == "box"]
    match act:
        case "run":
            here = replace(directory(in_place=True), name="workspace")
            project.run_command(["touch", name], resource=here, name=name)
            model.act("run", name)
        case "box":
            project.run_command(["touch", name], name=name)
            model.act("box", name)
        case "apply" | "unapply":
            wanted = "complete" if act == "apply" else "applied"
            ready = [each for each in boxes if model.state_of(each) == wanted]
            if ready:
                (project.apply if act == "apply" else project.unapply)(ready[-1])
                model.act(act, ready[-1])
        case "undo":
            try:
                project.undo()
            except (NothingToUndo, NoPlansYet):
                assert not model.done
            else:
                model.undone.append(model.done.pop())
        case "redo":
            try:
                project.redo()
            except NothingToRedo:
                assert not model.undone
            else:
                model.done.append(model.undone.pop())
        case _:
            (folder / f"mine{name}").write_text("theirs")
            model.others.add(f"mine{name}")
