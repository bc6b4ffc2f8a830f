"""Storing a sandbox's git directory with all that it reaches and no pin keeps for it."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct, field
from msgspec.structs import replace

from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.position.index_contents import IndexContents
from mulligan.adapters.sandboxes.git.repository.bare_repository import BareRepository
from mulligan.adapters.sandboxes.git.repository.borrowed_objects import Completed, Completing
from mulligan.adapters.sandboxes.private_sandbox import own_tree
from mulligan.domain.checkpoints.snapshot import Root, Snapshot
from mulligan.domain.checkpoints.store_report import Capture, Damage, Unheld
from mulligan.domain.resources.resource import Sandbox
from mulligan.ports import Observer, SnapshotStore, Unobserved, WorkingTree


class WholeCaptures(Struct, frozen=True, eq=False):
    """Captures git directories; what is known of those that are watched is kept."""

    git: Git
    store: SnapshotStore
    indexes: IndexContents
    known: dict[str, Completing] = field(default_factory=dict[str, Completing])  # by the path of the sandbox

    def capture(
        self, sandbox: Sandbox, bare: BareRepository, tree: WorkingTree, observer: Observer, *, lasting: bool
    ) -> Capture:
        """Complete the git directory and store it; what is learnt of it is kept where `lasting`."""
        capture, bases = self.store.capture(tree, observer), sandbox.base.roots[1:]
        completing = self.known.pop(sandbox.path, None)
        if completing is None and bases and bare.is_there:
            completing = Completing(self.git, self.store, self.indexes, bare.memory, tree.path)
        if completing is None:
            return capture  # its repository is made again before the checkpoint is; the next one looks
        try:
            (root,) = capture.snapshot.roots
            if completing.whole is None or completing.whole.id != root.id:
                completed = completing.complete(root, bases[0])
                capture = self._again(tree, capture, completed, observer)
                (completing.whole,) = capture.snapshot.roots
            if lasting:
                self.known[sandbox.path] = completing
            return capture
        finally:
            if sandbox.path not in self.known:
                completing.close()

    def forget(self, sandbox: Sandbox) -> None:
        """Look at everything that changed since the sandbox was made when it is captured next."""
        if sandbox.path in self.known:
            self.known.pop(sandbox.path).close()

    def _again(
        self, tree: WorkingTree, capture: Capture, completed: Completed, observer: Observer
    ) -> Capture:
        """Store the git directory again if objects were copied into it; name those that are missing."""
        if completed.copied:
            again = self.store.capture(tree, observer)
            capture = replace(again, size_bytes=capture.size_bytes + again.size_bytes)
        lost = (Unheld("", f"an object that it needs is missing: {name}") for name in completed.missing)
        return replace(capture, unheld=(*capture.unheld, *lost))

    def lacking(
        self, bare: BareRepository, roots: Iterable[Root], location: str
    ) -> Mapping[Root, tuple[Damage, ...]]:
        """Return what stored git directories reach that neither they nor the user's repository hold any longer."""
        if not bare.is_there:
            return {}
        found: dict[Root, tuple[Damage, ...]] = {}
        with TemporaryDirectory(prefix="mulligan-verify-") as folder:
            tree = own_tree(Path(folder) / "git")
            completing = Completing(self.git, self.store, self.indexes, bare.memory, tree.path)
            try:
                for root in roots:
                    self.store.restore(Snapshot((root,)), tree, Unobserved())
                    reason = f"the git object is neither in the checkpoint nor in {location}"
                    found[root] = tuple(Damage(name, reason) for name in completing.lacking())
            finally:
                completing.close()
                self.store.forget_tree(tree)
        return {root: damages for root, damages in found.items() if damages}
