"""The extras of mulligan: parts with packages of their own, which an installation may be without."""

from __future__ import annotations

import shlex
import sys
from importlib import metadata

from mulligan.errors import ExtraMissing

# Of each extra the packages that it is for, and the oldest major version of each.
_PACKAGES = {
    "langgraph": {"langgraph": 1},
    "mcp": {"mcp": 2},
    "ui": {"jinja2": 3, "pygments": 2, "starlette": 1, "uvicorn": 0},
}


def has_extra(extra: str) -> bool:
    """Return whether the packages of an extra are installed; nothing is imported."""
    return all(_is_there(package, oldest) for package, oldest in _PACKAGES[extra].items())


def _is_there(package: str, oldest: int) -> bool:
    try:
        version = metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return int(version.partition(".")[0]) >= oldest


def require_extra(extra: str, feature: str) -> None:
    """Refuse a feature whose packages are not installed, with the command that installs them."""
    if not has_extra(extra):
        raise ExtraMissing(extra=extra, feature=feature, command=installing(extra))


def installing(extra: str) -> str:
    """Return the command that installs the packages of an extra for this Python, wherever mulligan came from."""
    return shlex.join([sys.executable, "-m", "pip", "install", *_requirements(extra)])


def _requirements(extra: str) -> list[str]:
    """Return what the extra names in the metadata of this installation."""
    try:
        wanted = metadata.requires("mulligan") or []
    except metadata.PackageNotFoundError:
        wanted = []
    named = [
        requirement.partition(";")[0].strip()
        for requirement in wanted
        if f'extra == "{extra}"' in requirement or f"extra == '{extra}'" in requirement
    ]
    return named or [f"mulligan[{extra}]"]
