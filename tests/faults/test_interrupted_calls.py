"""A call that was interrupted is no part of the present line of history, however the plan goes on."""

from pathlib import Path

import pytest

from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.plans.plan import State
from mulligan.errors import Interrupted
from tests.faults.projects import project_in, services_in

PLAN = "name: p\nsteps:\n  - {name: one, tool: write_file, args: {path: one, content: '1'}}\n"


@pytest.mark.parametrize("mended", [False, True])
def test_it_is_superseded_when_the_plan_goes_on(tmp_path: Path, mended: bool) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text(PLAN)

    def press(event: Event) -> None:
        if event.type is EventType.STEP_STARTED:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        project_in(tmp_path, press).execute(file)
    status, _ = project_in(tmp_path).resume("p", corrected=file if mended else None)

    assert status.state is State.COMPLETE
    with services_in(tmp_path).adapters.database.reading() as db:
        calls = db.tool_calls.list(status.plan_id)
    assert [(call.status.value, call.superseded) for call in calls] == [
        ("interrupted", True),
        ("done", False),
    ]
