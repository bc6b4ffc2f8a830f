"""A plan that is killed at any moment goes on to the very end that it would have had, and repeats nothing."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from mulligan.domain.plan import Phase, State
from mulligan.domain.step import StepStatus
from mulligan.errors import PlanNotFound, ProjectNotFound
from tests.faults.projects import project_in

MOMENTS = 6  # looked at in each test, spread evenly over all that there are
PLAN = """\
name: p
steps:
  - {name: one, tool: shell, args: {command: 'echo one >> "$RAN"; rm gone; mkdir made; echo 1 > made/file'}}
  - {name: pick, decision: {question: Which?, chosen: this}}
  - {name: two, tool: write_file, args: {path: made/two, content: two}}
  - {name: three, tool: shell, args: {command: 'echo three >> "$RAN"; rm -r made; echo 3 > made'}, checkpoint: here}
"""


def _folder(place: Path) -> Path:
    place.mkdir()
    (place / "plan.yaml").write_text(PLAN)
    (place / "gone").write_text("goes")
    (place / "link").symlink_to("gone")
    return place


def _run(folder: Path, moment: int, number: str, *words: str) -> "subprocess.CompletedProcess[str]":
    program = Path(__file__).with_name("dying.py")
    argv = [sys.executable, str(program), str(moment), number, *words]
    environment = {**os.environ, "RAN": f"{folder}.ran"}
    return subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def _ran(folder: Path) -> Counter[str]:
    file = Path(f"{folder}.ran")
    return Counter(file.read_text().split()) if file.exists() else Counter()


def _contents(sandbox: str) -> dict[str, str]:
    top = Path(sandbox)
    found = {path: path for path in top.rglob("*")}
    return {
        str(path.relative_to(top)): str(path.readlink())
        if path.is_symlink()
        else "folder"
        if path.is_dir()
        else path.read_text()
        for path in found
    }


def _moments(done: "subprocess.CompletedProcess[str]") -> range:
    total = int(done.stderr.splitlines()[-1])
    return range(1, total, max(1, total // MOMENTS))


@pytest.mark.parametrize(("number", "codes"), [("SIGKILL", {-9, 0}), ("SIGTERM", {130, 0})])
def test_a_plan_killed_at_any_moment_goes_on_to_the_same_end(
    tmp_path: Path, number: str, codes: set[int]
) -> None:
    undisturbed = _run(
        _folder(tmp_path / "whole"), 0, number, "plan", "execute", "plan.yaml", "--format", "json"
    )
    whole = _contents(json.loads(undisturbed.stdout)["data"]["sandboxes"][0]["path"])

    for moment in _moments(undisturbed):
        folder = _folder(tmp_path / f"at-{moment}")
        killed = _run(folder, moment, number, "plan", "execute", "plan.yaml")
        assert killed.returncode in codes, (moment, killed.stderr)
        try:
            before = project_in(folder).status("p")
        except (PlanNotFound, ProjectNotFound):
            continue
        ran = _ran(folder)
        if (before.phase, before.state) == (Phase.EXECUTE, State.COMPLETE):
            continue

        resumed = _run(folder, 0, number, "plan", "execute", "p", "--format", "json")

        assert resumed.returncode == 0, (moment, resumed.stdout)
        assert _contents(json.loads(resumed.stdout)["data"]["sandboxes"][0]["path"]) == whole, moment
        complete = [step.name for step in before.steps if step.status is StepStatus.DONE]
        assert [_ran(folder)[name] for name in complete] == [ran[name] for name in complete], moment
        assert not project_in(folder).checkpoints.verify().damaged, moment


def test_a_rollback_killed_at_any_moment_is_done_or_not(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "whole")
    plan = json.loads(_run(folder, 0, "SIGKILL", "plan", "execute", "plan.yaml", "--format", "json").stdout)[
        "data"
    ]
    sandbox, back = plan["sandboxes"][0]["path"], ["plan", "rollback", "--yes", "p"]
    after = _contents(sandbox)
    first = _run(folder, 0, "SIGKILL", *back, "first")
    before = _contents(sandbox)
    forward = project_in(folder).checkpoints.list("p", superseded=True)[-1].checkpoint_id
    assert before != after

    for moment in _moments(first):
        _run(folder, 0, "SIGKILL", *back, forward)
        killed = _run(folder, moment, "SIGKILL", *back, "first")
        assert killed.returncode in {-9, 0}, (moment, killed.stderr)

        preview = project_in(folder).rollback("p", "first", dry_run=True)

        assert _contents(sandbox) in (before, after), moment
        assert (preview.rollback_summary.files_reverted == 0) == (_contents(sandbox) == before), moment
        assert not project_in(folder).checkpoints.verify().damaged, moment
