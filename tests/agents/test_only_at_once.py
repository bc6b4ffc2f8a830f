"""An `undo --only` while another command, or a hook, works on the same calls: nothing is recorded twice or lost."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mulligan.application.plans.plan_claims import PlanClaims
from tests.agents.test_hook import entries, plain
from tests.agents.test_hook_answers import bash, hook, no_server
from tests.commands.program import ask, data_of

__all__ = ["no_server", "plain"]  # fixtures


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Return what lets something happen right before the next claim of a plan."""
    claim = PlanClaims.open

    def once(act: Callable[[], object]) -> None:
        def opened(*args: Any, **options: Any) -> Any:
            monkeypatch.setattr(PlanClaims, "open", claim)
            act()
            return claim(*args, **options)

        monkeypatch.setattr(PlanClaims, "open", opened)

    return once


@pytest.fixture
def called(plain: Path) -> Path:
    """A folder in which a prompt has one call, which has no end yet."""
    hook(plain, "UserPromptSubmit", prompt="one", prompt_id="p1")
    hook(plain, "PreToolUse", **bash("c1"))
    (plain / "a.txt").write_text("agent\n")
    return plain


def end(folder: Path) -> None:
    hook(folder, "PostToolUse", tool_response={"stdout": ""}, **bash("c1"))
    hook(folder, "Stop", background_tasks=[])


def test_a_call_is_taken_back_once(called: Path, meanwhile: Callable[[Callable[[], object]], None]) -> None:
    end(called)
    meanwhile(lambda: data_of(called, "undo", "--yes", "--only", "1.1"))
    answer = ask(called, "undo", "--yes", "--only", "1.1")
    assert answer["error"]["kind"] == "nothing_to_undo"
    assert [entry["kind"] for entry in entries(called)] == ["undo", "prompt"]
    data_of(called, "redo", "--yes")
    assert (called / "a.txt").read_text() == "agent\n"
    assert ask(called, "redo", "--yes")["error"]["kind"] == "nothing_to_redo"


def test_the_end_of_a_call_that_came_meanwhile_stays(
    called: Path, meanwhile: Callable[[Callable[[], object]], None]
) -> None:
    meanwhile(lambda: end(called))
    data_of(called, "undo", "--yes", "--only", "1.1")
    assert (called / "a.txt").read_text() == "one\n"
    (call,) = data_of(called, "log", "1")["calls"]
    assert (call["status"], call["undone"]) == ("done", True)
