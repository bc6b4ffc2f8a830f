"""A graph with files that is killed at any act goes on with state and files of the same moment."""

from pathlib import Path

import pytest

from tests.graphs.killed_graph import acts_of, survives
from tests.graphs.small_graphs import project_in
from tests.support.long_run import LONGER

# Of the acts of a run: those that make a checkpoint, a task's result or its files last.
STRUCK = ("graph.write", "group.record", "plan.record", "pack.name", "return.settle")
EACH = 7 if LONGER == 1 else 1


@pytest.mark.parametrize("kind", ["own", "sqlite"])
def test_it_goes_on_wherever_it_was_killed(tmp_path: Path, kind: str) -> None:
    project_in(tmp_path / "whole").close()
    acts = [act for act in acts_of(tmp_path / "whole", kind) if act.partition(":")[0] in STRUCK]
    names = {act.partition(":")[0] for act in acts}
    assert names >= {"group.record", "plan.record", "pack.name", "return.settle"}
    assert ("graph.write" in names) == (kind == "own")  # the other saver has rows of its own
    faults = [f"{when}:{act}:SIGKILL" for act in acts for when in ("before", "after")]
    failed: list[str] = []
    for number, fault in enumerate(faults[::EACH]):
        folder = tmp_path / f"{number}"
        project_in(folder).close()
        if not survives(folder, kind, fault):
            failed.append(fault)
    assert failed == []
    assert len(faults) > 40
