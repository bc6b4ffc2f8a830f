"""Answers about coding agents: what is written into their configuration, what is installed, and whether it works."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from mulligan.cli.answers.answer import Answer, Line, Patch, Table

if TYPE_CHECKING:
    from mulligan.api.results import AgentChanges, AgentList, AgentView, HookTests, InstalledHooks

_REVIEW = "Codex runs new hooks only after you approved them: type /hooks in Codex"
_DOCUMENTED = "{agents}: from documentation, never tried with the program itself"


def changes_answer(done: AgentChanges, verb: str) -> Answer:
    """Draw the files that were changed, or would be."""
    changed = [file for each in done.agents for file in each.files if file.action != "unchanged"]
    patch = "".join(file.patch for file in changed)
    would = "would be " if done.dry_run else ""
    lines: list[Line] = []
    for file in changed:
        lines.append(Line(f"{file.path}: {would}{file.action}"))
        lines += [Line(f"  what was there is kept in {file.copy}")] if file.copy else []
    if not changed:
        state = "nothing to remove" if verb == "uninstall" else "installed already"
        lines = [Line(f"{each.agent}: {state}") for each in done.agents] or [Line(state)]
    messages = list(done.messages)
    documented = [each.agent for each in done.agents if each.from_documentation]
    if documented and verb == "install":
        messages.append(_DOCUMENTED.format(agents=", ".join(documented)))
    if verb == "install" and changed and any(each.agent == "codex" for each in done.agents):
        messages.append(_REVIEW)
    shown = [Patch(patch.encode(), ())] if patch and done.dry_run else []
    return Answer(data=done, blocks=[*shown, *lines], messages=messages, settled=done.is_empty)


def agents_answer(found: AgentList, when: Callable[[datetime], str]) -> Answer:
    """Draw all agents."""
    rows = tuple(
        (each.agent, "yes" if each.found else "no", _installed(each), _trust(each), _last(each, when))
        for each in found.agents
    )
    messages = [each.problem for each in found.agents if each.problem]
    documented = [each.agent for each in found.agents if each.from_documentation]
    if documented:
        messages.append(_DOCUMENTED.format(agents=", ".join(documented)))
    if any(_trust(each) == "not yet" for each in found.agents):
        messages.append(_REVIEW)
    table = Table(("AGENT", "FOUND", "HOOKS", "TRUSTED", "LAST EVENT"), rows)
    return Answer(data=found, blocks=[table], messages=messages)


def tests_answer(done: HookTests) -> Answer:
    """Draw the tests of hooks."""
    if not done.tests:
        hint = "no hooks are installed: `mulligan agent install NAME` writes those of an agent"
        return Answer(data={"tests": []}, blocks=[Line(hint)])
    rows = tuple(
        (
            each.agent,
            each.scope.value,
            "works" if each.works else "does not work",
            f"{each.took_ms} ms",
            _last_line(each.said),
        )
        for each in done.tests
    )
    messages = [_REVIEW] if any(each.trusted is False for each in done.tests) else []
    wrong = [each.agent for each in done.tests if not each.works]
    messages += (
        [f"write them again: `mulligan agent install {' '.join(dict.fromkeys(wrong))}`"] if wrong else []
    )
    table = Table(("AGENT", "SCOPE", "HOOK", "TIME", "ANSWER"), rows)
    return Answer(data={"tests": done.tests}, blocks=[table], messages=messages, error=done.error)


def _last_line(text: str) -> str:
    """Return the end of an answer: of a long one, that is where it says what went wrong."""
    return text.splitlines()[-1] if text else "-"


def pause_answer(folder: Path, *, paused: bool) -> Answer:
    """Say whether the hooks do something in a project."""
    words = "are off until `mulligan unpause`" if paused else "are on"
    data = {"project": str(folder), "paused": paused}
    return Answer(data=data, blocks=[Line(f"{folder}: the hooks of agents {words}")])


def _installed(agent: AgentView) -> str:
    return ", ".join(_place(each) for each in agent.installed) or "-"


def _place(hooks: InstalledHooks) -> str:
    more = [word for word in ("strict", "everywhere") if getattr(hooks, word)]
    return f"{hooks.scope.value} ({', '.join(more)})" if more else hooks.scope.value


def _trust(agent: AgentView) -> str:
    known = [each.trusted for each in agent.installed if each.trusted is not None]
    return "-" if not known else "yes" if all(known) else "not yet"


def _last(agent: AgentView, when: Callable[[datetime], str]) -> str:
    note = agent.last_event
    if note is None:
        return "-"
    failed = f", {note.problem}" if note.problem else ""
    return f"{note.kind.replace('_', ' ')} {when(note.at)}, {note.took_ms} ms{failed}"
