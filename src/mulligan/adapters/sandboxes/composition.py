"""The result of an apply for resources that consist of files only."""

from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.ports import ApplyOrder, Composed


def compose_files(order: ApplyOrder) -> Composed:
    """The merged files; other roots stay what they are."""
    snapshot = Snapshot((order.files, *order.ours.roots[1:]))
    return Composed(snapshot=snapshot, commit=None, uncommitted=(), notes=())
