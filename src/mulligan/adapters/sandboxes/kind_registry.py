"""The kinds of sandboxes, and the choice of one for a resource."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from mulligan.adapters.sandboxes.kind_edge import with_edge
from mulligan.domain.resources.resource import Resource, ResourceType, Sandbox, Strategy
from mulligan.errors import ResourceUnsuitable
from mulligan.ports import SandboxKind


class LocalSandboxKinds(Struct, frozen=True, eq=False):
    """The kinds of sandboxes this version can make."""

    # One that no resource needs is never asked for.
    kinds: Mapping[tuple[ResourceType, Strategy], Callable[[], SandboxKind]]

    def of(self, sandbox: Sandbox) -> SandboxKind:
        """The kind that made this sandbox."""
        return with_edge(self.kinds[(sandbox.type, sandbox.strategy)]())

    def choose(self, resource: Resource, strategy: Strategy) -> SandboxKind:
        """The kind for a resource: its own strategy wins over the setting, `auto` goes by its type."""
        traits = resource.type.traits
        # The setting is about folders: a file that lies alone is always copied.
        wanted = resource.strategy or (strategy if traits.is_folder else Strategy.AUTO)
        chosen = traits.copying if wanted is Strategy.AUTO else wanted
        if chosen not in traits.strategies:
            raise ResourceUnsuitable(
                resource=resource.name,
                path=resource.location,
                reason=f"a {resource.type.value} cannot have the strategy {chosen.value}",
                hint=f"use one of: {', '.join(s.value for s in traits.strategies)}",
            )
        return with_edge(self.kinds[(resource.type, chosen)]())
