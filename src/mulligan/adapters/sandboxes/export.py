"""Writing a snapshot's files into a new folder."""

from pathlib import Path

from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.errors import TargetExists
from mulligan.ports import Observer, SnapshotStore, WorkingTree


def export_files(store: SnapshotStore, snapshot: Snapshot, target: Path, observer: Observer) -> None:
    """Write them; a target that is there already, if only as a dangling symlink, is refused."""
    if target.exists() or target.is_symlink():
        raise TargetExists(path=str(target))
    tree = WorkingTree(path=target, cache_key=f"export {target}", excluded=frozenset(), real=False)
    try:
        store.restore(snapshot, tree, observer)
    finally:
        store.forget_tree(tree)
