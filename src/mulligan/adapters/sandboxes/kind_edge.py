"""The edge of all kinds of sandboxes: what the system refuses leaves them as an error of ours, with a path."""

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from mulligan.domain.resources.resource import Sandbox
from mulligan.errors import SystemFailed
from mulligan.ports import ApplyOrder, SandboxKind, SandboxOrder


class _Edge(Struct, frozen=True, eq=False):
    """A kind that lets no OSError out, even one that its code forgot to translate: callers undo what was begun."""

    kind: SandboxKind

    def __getattr__(self, name: str) -> object:
        found = getattr(self.kind, name)
        return _translating(found) if callable(found) else found


def with_edge(kind: SandboxKind) -> SandboxKind:
    """Return the kind, with an edge."""
    return cast("SandboxKind", _Edge(kind))


def _translating(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def translated(*arguments: Any, **named: Any) -> Any:
        try:
            return method(*arguments, **named)
        except OSError as exc:
            whole = isinstance(exc.filename, str) and os.path.isabs(exc.filename)  # else in some open folder
            path = exc.filename if whole else _place(arguments)
            raise SystemFailed(path=path, reason=exc.strerror or str(exc)) from exc

    return translated


def _place(arguments: tuple[object, ...]) -> str:
    """Return the place that a call was about: a write to an open file or a pipe names none when it fails."""
    for argument in arguments:
        match argument:
            case Sandbox() | SandboxOrder():
                return str(argument.path)
            case ApplyOrder():
                return argument.real.path
            case Path():
                return str(argument)
            case _:
                continue
    return "the sandboxes"  # pragma: no cover - every call is about one of these
