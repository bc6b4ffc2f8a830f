"""Tools of installed packages: those that name theirs in the entry point group `mulligan.tools`."""

from collections.abc import Sequence

from msgspec import Struct

GROUP = "mulligan.tools"


class PackagedTools(Struct, frozen=True):
    """One entry point: a module with tools, or one tool."""

    package: str
    value: str  # module, or module:name


def installed_tools() -> Sequence[PackagedTools]:
    """Return the tools that packages of this interpreter name; none of their code is run."""
    from importlib.metadata import entry_points  # here: slow to import, and few commands need it

    return [
        PackagedTools(package=point.dist.name if point.dist else point.name, value=point.value)
        for point in sorted(entry_points(group=GROUP))
    ]
