"""Which kind of sandbox a resource gets is told by the plan, the settings and its type."""

from pathlib import Path

import pytest

from mulligan.adapters.homes.home_search import ProjectPlace, Standing
from mulligan.domain.resources.resource import Resource, ResourceType, Strategy
from mulligan.errors import ResourceUnsuitable
from mulligan.wiring.sandbox_kinds import ProjectSandboxes
from mulligan.wiring.surroundings import look_around
from tests.faults.projects import project_in
from tests.support.snapshot_world import new_store


def test_a_strategy_that_a_type_cannot_have_is_refused_before_anything_runs(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("name: p\nconfig: {sandbox.strategy: git_worktree}\nsteps: [{name: s, checkpoint: c}]\n")
    with pytest.raises(ResourceUnsuitable, match="cannot have the strategy git_worktree") as refused:
        project_in(tmp_path).execute(plan)
    assert "filesystem_copy, in_place" in refused.value.next_step
    assert list(project_in(tmp_path).plans()) == []


@pytest.mark.parametrize(
    ("type", "strategy"), [(type, strategy) for type in ResourceType for strategy in type.traits.strategies]
)
def test_every_strategy_of_a_type_has_its_kind(
    type: ResourceType, strategy: Strategy, tmp_path: Path
) -> None:
    kinds = ProjectSandboxes(
        store=new_store(tmp_path / "store"),
        place=ProjectPlace(folder=tmp_path, home=tmp_path / "home", standing=Standing.SETTLED),
        around=look_around({}),
        here=None,
        pool=lambda: 1,
        prepare=lambda: None,
    ).kinds
    resource = Resource(
        name="app", type=type, location="app", strategy=strategy, from_revision=None, create=False
    )
    kind = kinds.choose(resource, Strategy.AUTO)
    assert (kind.type, kind.strategy) == (type, strategy)
