"""The plan of a session, checked as a plan file is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from mulligan.api.sessions.resource_factories import named
from mulligan.config import check_value, setting_named
from mulligan.domain.plans.plan import OnFailure, PlanDefinition, RollbackPolicy
from mulligan.domain.resources.resource import Resource
from mulligan.domain.text.json_value import Json
from mulligan.domain.text.names import plan_name_problem
from mulligan.errors import Advice, NextStep, UsageWrong

if TYPE_CHECKING:
    from mulligan.domain.text.ids import PlanId
    from mulligan.wiring.services import Services

_ORIGIN = "session"


class SessionWish(Struct, frozen=True, kw_only=True):
    """The arguments of a new session, as its caller names them."""

    resources: Mapping[str, Resource] | None
    description: str
    config: Mapping[str, Json]
    on_failure: str


_NOTHING = SessionWish(resources=None, description="", config={}, on_failure=OnFailure.LAST_CHECKPOINT.value)


def wanted_plan(
    services: Services, name: str | None, resume: str | None, wish: SessionWish
) -> PlanDefinition | PlanId:
    """Return the plan of a new session, or the one to resume; refuse what belongs to the other of the two."""
    if (name is None) is (resume is None):
        raise UsageWrong(reason="a session has a name, or a plan to resume", hint="give one of the two")
    if resume is not None:
        plan_id = services.queries.plan_id(resume)
        if wish != _NOTHING:
            raise UsageWrong(reason="what is resumed is known already", hint="give `resume` without the rest")
        return plan_id
    return _session_plan(services, name or "", wish)


def _session_plan(services: Services, name: str, wish: SessionWish) -> PlanDefinition:
    """Return the plan of a session that works on its resources, or on the project; its steps come as it goes."""
    if problem := plan_name_problem(name):
        raise UsageWrong(reason=f"the name {name!r} {problem}", hint="choose another name")
    if wish.on_failure not in list(OnFailure):
        allowed = ", ".join(OnFailure)
        raise UsageWrong(reason=f"on_failure={wish.on_failure!r} is not known", hint=f"allowed: {allowed}")
    adapters = services.adapters
    default = (adapters.default_resource,)
    return PlanDefinition(
        name=name,
        description=wish.description,
        resources=default if wish.resources is None else named(wish.resources, adapters.project),
        config=dict(_setting(key, value) for key, value in wish.config.items()),
        rollback_policy=RollbackPolicy(on_failure=OnFailure(wish.on_failure)),
        variables={},
        steps=(),
        session=True,
    )


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
