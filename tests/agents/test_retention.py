"""Checkpoints of agents are kept by age and bytes, and those of old sessions go when a new one begins."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import mulligan
from mulligan.application.checkpoints import checkpoint_service
from mulligan.domain.agents.agent_event import AgentEvent, EventKind
from tests.support.homes import home_of

LONG_AGO = "2020-01-01T00:00:00.000000+00:00"


def report(project: mulligan.Project, session: str, kind: EventKind, **more: str) -> None:
    event = AgentEvent(agent="codex", kind=kind, session=session, folder=str(project.folder), **more)
    project.agent_event(event)


def answer(project: mulligan.Project, session: str, text: str) -> None:
    """Let an agent answer a prompt with two calls that change a file."""
    report(project, session, EventKind.PROMPT, text=text, prompt=text)
    for number in range(2):
        report(project, session, EventKind.BEFORE_CALL, call=f"{text}{number}", tool="Bash")
        (project.folder / "file").write_text(f"{text} {number}")
        report(project, session, EventKind.AFTER_CALL, call=f"{text}{number}", tool="Bash")
    report(project, session, EventKind.STOP)


def numbers(project: mulligan.Project, plan: str) -> list[int]:
    return [c.number for c in project.checkpoints.list(plan)]


@pytest.fixture
def project(tmp_path: Path) -> mulligan.Project:
    return mulligan.init(tmp_path)


def test_more_than_the_usual_number_is_kept(
    project: mulligan.Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint_service, "_SELDOM", 1)
    project.config.set("sandbox.checkpoint.max-checkpoints-per-plan", "2")
    for text in "abc":
        answer(project, "s1", text)
    assert len(numbers(project, "codex")) == 7


def test_calls_go_before_prompts_where_a_session_has_too_many_bytes(
    project: mulligan.Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in "abc":
        answer(project, "s1", text)
    monkeypatch.setattr(checkpoint_service, "_SELDOM", 1)
    project.config.set("agent.keep-bytes", "1")
    report(project, "s1", EventKind.PROMPT, text="d", prompt="d")
    (project.folder / "file").write_text("found")
    report(project, "s1", EventKind.STOP)
    assert numbers(project, "codex") == [
        1,
        5,
        7,
        8,
    ]  # the first, what an undo of the newest needs, the newest


def test_old_sessions_are_pruned_when_a_new_one_begins(project: mulligan.Project) -> None:
    for text in "ab":
        answer(project, "s1", text)
    project.close()
    with closing(sqlite3.connect(home_of(project.folder) / "mulligan.db")) as database:
        database.execute("UPDATE plans SET updated_at = ?", (LONG_AGO,))
        database.execute("UPDATE checkpoint_groups SET created_at = ?", (LONG_AGO,))
        database.commit()
    report(project, "s2", EventKind.SESSION_START)
    assert numbers(project, "codex") == [1, 3, 5]
    assert numbers(project, "codex-2") == [1]
