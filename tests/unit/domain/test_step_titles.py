"""What a step without a name of its own is about, in a few words."""

import pytest

from mulligan.domain.plans.step import Action, Milestone, Pick, Step, ToolUse, about


@pytest.mark.parametrize(
    ("action", "label", "text"),
    [
        (Milestone(), "before release", "checkpoint before release"),
        (Milestone(), None, None),
        (Pick(variants="try", chosen_in="which"), None, "pick a variant"),
        (ToolUse(tool="write_file", args={"path": "a.txt"}, resource="workspace"), None, "a.txt"),
    ],
)
def test_a_step_is_about_what_it_does(action: Action, label: str | None, text: str | None) -> None:
    step = Step(name="step-1", action=action, label=label, timeout=None, retries=0)
    found = about(step)
    assert (found is None) == (text is None)
    assert text is None or text in str(found)
    assert about(Step(name="release", action=action, label=label, timeout=None, retries=0)) is None
