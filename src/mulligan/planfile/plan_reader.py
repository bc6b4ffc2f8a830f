"""A whole plan file, checked against the tools there are."""

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from mulligan.config import Setting, check_value, setting_named
from mulligan.domain.plans.plan import OnFailure, PlanDefinition, RollbackPolicy
from mulligan.domain.plans.tool import ToolDeclaration
from mulligan.domain.resources.resource import Resource
from mulligan.domain.text.json_value import Json
from mulligan.domain.text.names import plan_name_problem
from mulligan.errors import SettingInvalid, SettingUnknown
from mulligan.planfile.document_value import Value
from mulligan.planfile.references import Names
from mulligan.planfile.resource_reader import read_resources
from mulligan.planfile.step_reader import Surroundings, read_name, read_steps
from mulligan.planfile.yaml_document import ROOT_PATH, Items, read_document, shorten

KEYS = ("name", "description", "resources", "config", "rollback_policy", "variables", "steps")


def read_plan_file(
    data: bytes,
    *,
    file: str,
    project: Path,
    declarations: Mapping[str, ToolDeclaration],
    default_resource: Resource,
) -> PlanDefinition:
    """The plan that a file describes, or PlanFileInvalid with the place of the first fault.

    `file` is what messages call it; `project` is the folder (absolute) that locations are relative to;
    `default_resource` is what a plan without `resources:` works on. No file is looked at.
    """
    root = Value(file, ROOT_PATH, read_document(data, file))
    found = root.keys(KEYS, required=("name", "steps"))
    policy = _read_policy(found["rollback_policy"]) if "rollback_policy" in found else RollbackPolicy()
    resources = read_resources(found["resources"], project) if "resources" in found else (default_resource,)
    names = Names()
    variables = read_variables(found["variables"], names) if "variables" in found else {}
    around = Surroundings.of(resources, policy, declarations)
    return PlanDefinition(
        name=read_name(found["name"], plan_name_problem),
        description=found["description"].text() if "description" in found else "",
        resources=resources,
        config=_read_config(found["config"]) if "config" in found else {},
        rollback_policy=policy,
        variables=variables,
        steps=read_steps(found["steps"], around, names),
    )


def _read_policy(value: Value) -> RollbackPolicy:
    found = value.keys(("enabled", "require_checkpoints", "on_failure"))
    default = RollbackPolicy()
    return RollbackPolicy(
        enabled=found["enabled"].flag() if "enabled" in found else default.enabled,
        require_checkpoints=(
            found["require_checkpoints"].flag()
            if "require_checkpoints" in found
            else default.require_checkpoints
        ),
        on_failure=found["on_failure"].word(OnFailure) if "on_failure" in found else default.on_failure,
    )


def read_variables(value: Value, names: Names) -> dict[str, str]:
    """The variables of a plan, which the names then know."""
    return {names.add_variable(key): entry.text() for key, entry in value.entries()}


def _read_config(value: Value) -> dict[str, Json]:
    config: dict[str, Json] = {}
    for key, entry in value.entries():
        try:
            setting = setting_named(key.key_text, "plan file")
        except SettingUnknown as error:
            raise key.wrong(f"there is no setting {shorten(key.key_text)}", _nearest(error)) from None
        if not setting.in_plan_files:
            raise key.wrong(f"{setting.key} is not for plan files; it is a setting of the project")
        if setting.key in config:
            raise key.wrong(f"{setting.key} is set twice, once under its short name")
        config[setting.key] = _read_setting(setting, entry)
    return config


def _read_setting(setting: Setting, value: Value) -> Json:
    try:
        return check_value(setting.key, value.json(), "plan file")
    except SettingInvalid as error:
        allowed = error.facts["allowed"]
        listed = allowed if isinstance(allowed, str) else ", ".join(cast("list[str]", allowed))
        reason = f"{error.facts['reason']} (allowed: {listed})"
        raise _culprit(setting, value).wrong(reason, _nearest(error)) from None


def _culprit(setting: Setting, value: Value) -> Value:
    """Return the item of a list that is wrong, or the whole value if no single item is."""
    lists = isinstance(setting.default, list) and isinstance(value.node, Items)
    for item in value.items() if lists else ():
        try:
            check_value(setting.key, [item.json()], "plan file")
        except SettingInvalid:
            return item
    return value


def _nearest(error: SettingInvalid) -> str | None:
    return cast("str | None", error.facts.get("nearest"))
