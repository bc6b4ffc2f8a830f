"""Reports of what changed in a tree, by a process that watches it."""

from typing import Protocol

from msgspec import Struct

from mulligan.ports.storage import WorkingTree


class TreeChanges(Struct, frozen=True, kw_only=True):
    """The paths of a tree that may have changed between two moments."""

    token: bytes  # names the later moment, from which on the next report can be asked for
    paths: tuple[str, ...] | None  # relative to the tree; None: only a scan can find out
    renewed: tuple[
        str, ...
    ] = ()  # folders among them that may be others than before: all below is to be looked at


class ChangeReports(Protocol):
    """The reports of another process, which may end, stop or lie silent at any instant."""

    def since(self, tree: WorkingTree, token: bytes) -> TreeChanges | None:
        """Return what changed in a tree since the moment of a token; None where nobody answers properly, and soon.

        The report has everything that was done before it was asked for. An empty token asks for the first one: from
        then on the tree is watched.
        """
        ...

    def moment(self, tree: WorkingTree) -> bytes:
        """Return a token for the present moment of a tree that is watched already, also if it was elsewhere then.

        Empty where it is not, or nobody answers properly, and soon.
        """
        ...
