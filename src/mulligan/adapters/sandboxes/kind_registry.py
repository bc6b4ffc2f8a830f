"""The kinds of sandboxes, and the choice of one for a resource."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from mulligan.domain.resources.resource import Resource, ResourceType, Sandbox, Shape, Strategy
from mulligan.errors import OnAnotherHost, ResourceUnsuitable, SystemFailed
from mulligan.ports import ApplyOrder, SandboxKind, SandboxOrder


def _nothing(_: Sequence[tuple[str, str]]) -> None:
    """Do nothing: no sandbox comes from another machine."""


class LocalSandboxKinds(Struct, frozen=True, eq=False):
    """The kinds of sandboxes this version can make."""

    # One that no resource needs is never asked for.
    kinds: Mapping[tuple[ResourceType, Strategy], Callable[[], SandboxKind]]

    here: str | None = None  # the id of this machine in a project of several
    come_from: Callable[[Sequence[tuple[str, str]]], None] = _nothing

    def of(self, sandbox: Sandbox) -> SandboxKind:
        if self.here is not None and sandbox.host not in (None, self.here):
            raise OnAnotherHost(resource=sandbox.resource, host=sandbox.host, plan_id=sandbox.plan_id)
        return self._made(sandbox.type, sandbox.strategy)

    def choose(self, resource: Resource, strategy: Strategy) -> SandboxKind:
        """The kind for a resource: its own strategy wins over the setting, `auto` goes by its type."""
        traits = resource.type.traits
        # The setting is about folders: a file that lies alone is always copied, and so is what is on a server.
        wanted = resource.strategy or (strategy if traits.shape is Shape.FOLDER else Strategy.AUTO)
        chosen = traits.copying if wanted is Strategy.AUTO else wanted
        if chosen not in traits.strategies:
            raise ResourceUnsuitable(
                resource=resource.name,
                path=resource.location,
                reason=f"a {resource.type.value} cannot have the strategy {chosen.value}",
                hint=f"use one of: {', '.join(s.value for s in traits.strategies)}",
            )
        return self._made(resource.type, chosen)

    def _made(self, type: ResourceType, strategy: Strategy) -> SandboxKind:
        return cast("SandboxKind", _Edge(self.kinds[(type, strategy)]()))


class _Edge(Struct, frozen=True, eq=False):
    """A kind that lets no OSError out, even one that its code forgot to translate: callers undo what was begun."""

    kind: SandboxKind

    def __getattr__(self, name: str) -> object:
        found = getattr(self.kind, name)
        return _translating(found) if callable(found) else found


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
