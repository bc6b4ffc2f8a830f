"""The plan of a session, checked as a plan file is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from mulligan.api.sessions.resource_factories import named
from mulligan.config import check_value, setting_named
from mulligan.domain.plans.plan import OnFailure, PlanDefinition, RollbackPolicy
from mulligan.domain.resources.resource import Resource
from mulligan.domain.text.json_value import Json
from mulligan.domain.text.names import plan_name_problem
from mulligan.errors import Advice, NextStep, UsageWrong

_ORIGIN = "session"


def session_plan(
    name: str,
    resources: Mapping[str, Resource] | None,
    default: Sequence[Resource],
    project: Path,
    description: str,
    config: Mapping[str, Json],
    on_failure: str,
) -> PlanDefinition:
    """The plan of a session that works on these resources, or on the default ones; its steps come as it goes."""
    if problem := plan_name_problem(name):
        raise UsageWrong(reason=f"the name {name!r} {problem}", hint="choose another name")
    if on_failure not in list(OnFailure):
        allowed = ", ".join(OnFailure)
        raise UsageWrong(reason=f"on_failure={on_failure!r} is not known", hint=f"allowed: {allowed}")
    return PlanDefinition(
        name=name,
        description=description,
        resources=tuple(default) if resources is None else named(resources, project),
        config=dict(_setting(key, value) for key, value in config.items()),
        rollback_policy=RollbackPolicy(on_failure=OnFailure(on_failure)),
        variables={},
        steps=(),
        session=True,
    )


def refuse_mixed(
    name: str | None,
    resume: str | None,
    resources: Mapping[str, Resource] | None,
    description: str,
    config: Mapping[str, Json] | None,
    on_failure: str,
) -> None:
    """Refuse a session that is neither a new one with a name nor one that is resumed with nothing else."""
    if (name is None) is (resume is None):
        raise UsageWrong(reason="a session has a name, or a plan to resume", hint="give one of the two")
    given = resources is not None or description or config or on_failure != OnFailure.LAST_CHECKPOINT
    if resume is not None and given:
        raise UsageWrong(reason="what is resumed is known already", hint="give `resume` without the rest")


def _setting(key: str, value: Json) -> tuple[str, Json]:
    setting = setting_named(key, _ORIGIN)
    if not setting.in_plan_files:
        raise UsageWrong(
            reason=f"{setting.key} is not for sessions",
            hint=Advice(
                "set it with ", NextStep("config.set", key=setting.key, value=...), " for the project"
            ),
        )
    return setting.key, check_value(setting.key, value, _ORIGIN)
