"""The change that an apply makes to real resources, with all that is needed to take it back."""

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.plans.intent import IntentKind
from mulligan.domain.resources.placement import is_spare_name
from mulligan.domain.resources.resource import Sandbox
from mulligan.domain.text.ids import GroupId
from mulligan.domain.trees.tree_difference import TreeDifference, TreeEntry

_OPENED_UP = 0o700  # the permissions that a restore sets on a folder while it works in it


class RealChange(Struct, frozen=True, kw_only=True):
    """The change of one real resource."""

    act: IntentKind  # apply or unapply
    real: Sandbox  # the resource, as what is worked on in place
    before: Snapshot
    written: Snapshot
    group_id: GroupId | None  # the pre_apply group; None: the plan takes none
    commit: str | None  # git-checkout only
    theirs: Snapshot | None = None  # of an apply: what the sandbox held; None: of an earlier version
    moving: tuple[
        str, ...
    ] = ()  # of what `real` excludes: files that others kept writing, which the sandbox holds


class Snapshots(Struct, frozen=True):
    """The state of several resources, outside of any group."""

    by_resource: Mapping[str, Snapshot]

    def snapshot_of(self, resource: str) -> Snapshot:
        """Return the snapshot of a resource."""
        return self.by_resource[resource]


def left_halfway(
    from_before: Iterable[TreeDifference], from_written: Iterable[TreeDifference]
) -> dict[str, TreeEntry | None]:
    """Return the paths that an interrupted restore left between two states, and how each is to be treated.

    Both differences lead to the tree as it is. A temporary name counts as absent, a file with too many or too
    few names as the file, and a folder with temporary permissions as the folder.
    """
    before, written = ({d.path: d for d in each} for each in (from_before, from_written))
    found: dict[str, TreeEntry | None] = {}
    for path in before.keys() & written.keys():
        present, was, became = before[path].new, before[path].old, written[path].old
        if present is None:
            if was is not None and became is not None and was.type is not became.type:
                found[path] = was  # what is of another kind goes before the new one comes
        elif is_spare_name(path.rpartition("/")[2]) and was is None:
            found[path] = None
        else:
            wanted = [each for each in (became, was) if each is not None and _is_halfway(present, each)]
            if wanted:
                found[path] = wanted[0]
    return found


def _is_halfway(present: TreeEntry, wanted: TreeEntry) -> bool:
    if present.is_folder and wanted.is_folder:
        return present.mode in (_OPENED_UP, wanted.mode | _OPENED_UP, wanted.mode)
    return replace(present, shared_with=b"") == replace(wanted, shared_with=b"")
