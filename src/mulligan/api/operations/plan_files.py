"""Plan files as users name them: what means one, how it is read, and which may have been meant."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from mulligan.domain.text.names import nearest_word
from mulligan.errors import UsageWrong

if TYPE_CHECKING:
    from mulligan.domain.plans.plan import PlanDefinition
    from mulligan.wiring.services import Services

_ENDINGS = (".yaml", ".yml")
_LARGEST = 1024 * 1024  # bytes; the reader refuses more, with a place


def names_a_file(plan: str | Path) -> bool:
    """Return whether a word means a plan file rather than a recorded plan: it looks like a path, or the file exists."""
    if isinstance(plan, Path):
        return True
    return "/" in plan or is_called_like_a_plan(plan) or os.path.isfile(plan)  # noqa: PTH113 - never raises


def is_called_like_a_plan(file: str) -> bool:
    """Return whether a file has the name of a plan file."""
    return file.endswith(_ENDINGS)


def read_definition(services: Services, file: Path) -> PlanDefinition:
    """Read and check a plan file of the project."""
    from mulligan.planfile import read_plan_file  # here: only plan files need a YAML parser

    return read_plan_file(
        read_bytes(file),
        file=str(file),
        project=services.adapters.project,
        declarations=services.adapters.toolbox.declarations(),
        default_resource=services.adapters.default_resource,
    )


def read_bytes(file: Path) -> bytes:
    """Read a plan file; at most as much as one may hold, and a byte more."""
    try:
        with file.open("rb") as stream:
            return stream.read(_LARGEST + 1)
    except OSError as exc:
        near = nearest_file(file)
        hint = f"did you mean `{near}`?" if near else "name a plan file that can be read"
        raise UsageWrong(reason=f"{file}: {exc.strerror or exc}", hint=hint) from exc


def nearest_file(wanted: Path) -> Path | None:
    """The plan file beside the wanted one, or beside where it should be, that was probably meant."""
    try:
        beside = [name for name in os.listdir(wanted.parent) if name.endswith(_ENDINGS)]  # noqa: PTH208 - names
    except OSError:
        return None
    by_word = {word: name for name in beside if name != wanted.name for word in (Path(name).stem, name)}
    near = nearest_word(wanted.name, by_word)
    return wanted.with_name(by_word[near]) if near else None
