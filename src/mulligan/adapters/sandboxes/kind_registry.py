"""The kinds of sandboxes, and the choice of one for a resource."""

from collections.abc import Callable, Mapping

from mulligan.adapters.sandboxes.kind_edge import with_edge
from mulligan.domain.resources.resource import Resource, ResourceType, Sandbox, Strategy
from mulligan.errors import ResourceUnsuitable
from mulligan.ports import SandboxKind

# What `auto` means, and what else a resource of each type may have.
_BY_TYPE = {
    ResourceType.GIT_CHECKOUT: (Strategy.GIT_WORKTREE, Strategy.IN_PLACE),
    ResourceType.FS_DIRECTORY: (Strategy.FILESYSTEM_COPY, Strategy.IN_PLACE),
    ResourceType.SQLITE: (Strategy.FILESYSTEM_COPY, Strategy.IN_PLACE),  # in place inside such a folder
}


class LocalSandboxKinds:
    """The kinds of sandboxes this version can make."""

    def __init__(self, kinds: Mapping[tuple[ResourceType, Strategy], Callable[[], SandboxKind]]) -> None:
        """Choose among these; one that no resource needs is never asked for."""
        self._kinds = kinds

    def of(self, sandbox: Sandbox) -> SandboxKind:
        """The kind that made this sandbox."""
        return with_edge(self._kinds[(sandbox.type, sandbox.strategy)]())

    def choose(self, resource: Resource, strategy: Strategy) -> SandboxKind:
        """The kind for a resource: its own strategy wins over the setting, `auto` goes by its type."""
        possible = _BY_TYPE[resource.type]
        # The setting is about folders: databases outside of them are always copied.
        wanted = resource.strategy or (Strategy.AUTO if resource.type is ResourceType.SQLITE else strategy)
        chosen = possible[0] if wanted is Strategy.AUTO else wanted
        if chosen not in possible:
            raise ResourceUnsuitable(
                resource=resource.name,
                path=resource.location,
                reason=f"a {resource.type.value} cannot have the strategy {chosen.value}",
                hint=f"use one of: {', '.join(s.value for s in possible)}",
            )
        return with_edge(self._kinds[(resource.type, chosen)]())
