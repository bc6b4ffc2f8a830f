"""Which kind of sandbox a resource gets is told by the plan, the settings and its type."""

from pathlib import Path

import pytest

from mulligan.errors import ResourceUnsuitable
from tests.faults.projects import project_in


def test_a_strategy_that_a_type_cannot_have_is_refused_before_anything_runs(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("name: p\nconfig: {sandbox.strategy: git_worktree}\nsteps: [{name: s, checkpoint: c}]\n")
    with pytest.raises(ResourceUnsuitable, match="cannot have the strategy git_worktree") as refused:
        project_in(tmp_path).execute(plan)
    assert "filesystem_copy, in_place" in refused.value.next_step
    assert list(project_in(tmp_path).plans()) == []
