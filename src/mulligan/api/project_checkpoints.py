"""The checkpoints of a project in the hands of a caller."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mulligan.application.queries.checkpoint_queries import CheckpointView, views_of

if TYPE_CHECKING:
    from mulligan.application.checkpoints.checkpoint_library import ExportedFolder, Verification
    from mulligan.application.checkpoints.prune_service import Pruning
    from mulligan.application.queries.listing import Listing
    from mulligan.domain.trees.diff import Diff
    from mulligan.ports import Observer
    from mulligan.wiring.services import Services
    from mulligan.wiring.thread_services import ThreadServices


class Checkpoints:
    """The checkpoints of a project."""

    def __init__(self, *, threads: ThreadServices, observer: Observer) -> None:
        self._threads = threads
        self._observer = observer

    @property
    def _services(self) -> Services:
        return self._threads.here

    def list(
        self, plan: str, *, superseded: bool = False, limit: int | None = None
    ) -> Listing[CheckpointView]:
        """A plan's checkpoints, newest last; of more than `limit` groups those of the newest."""
        plan_id = self._services.queries.plan_id(plan)
        return self._services.checkpoint_queries.list(plan_id, superseded=superseded, limit=limit)

    def named(self, word: str) -> str:
        """Return the checkpoint that a word means, which may also be a plan's name or the number of an entry.

        A plan means its newest group, the number of an entry of the timeline the group right after that entry.
        """
        from mulligan.api.word_references import checkpoint_named

        return checkpoint_named(self._services, word)

    def show(self, checkpoint: str) -> Sequence[CheckpointView]:
        """One checkpoint, or those of a group."""
        found = self._services.checkpoint_queries.find(checkpoint)
        views = views_of(found.group)
        if found.checkpoint is None:
            return views
        return [v for v in views if v.checkpoint_id == found.checkpoint.checkpoint_id]

    def create(self, plan: str, label: str) -> Sequence[CheckpointView]:
        """Take a labelled group of a plan that nobody works on."""
        return self.take(plan, label)[0]

    def take(self, plan: str, label: str) -> tuple[Sequence[CheckpointView], Sequence[str]]:
        """As `create`, with what the user must know of it."""
        plan_id = self._services.queries.plan_id(plan)
        taken = self._services.library.create(plan_id, label, self._observer)
        return views_of(taken.group), taken.messages

    def verify(self, checkpoint: str | None = None, *, quick: bool = False) -> Verification:
        """Read and hash the stored bytes of one checkpoint or of all."""
        found = self._services.checkpoint_queries.find(checkpoint) if checkpoint is not None else None
        return self._services.library.verify(found, quick=quick, observer=self._observer)

    def missing_repositories(self) -> Sequence[str]:
        """Return the folders of plans that are not git checkouts any longer: checkpoints borrow objects from these."""
        from mulligan.adapters.sandboxes.suitability import has_marker

        adapters = self._services.adapters
        with adapters.database.reading() as db:
            resources = [r for plan in db.plans.list(None) for r in plan.definition.resources]
        own = (r for r in resources if not r.type.traits.is_remote)  # a clone that is gone is made again
        places = {adapters.project / r.location for r in own if r.type.traits.has_commits}
        return sorted(str(place) for place in places if not has_marker(place, ".git"))

    def prune(self, plan: str, *, keep: int | None = None, dry_run: bool = False) -> Pruning:
        """Prune a plan's groups to so many, or to the limit of its settings, and free their bytes."""
        plan_id, prunes = self._services.queries.plan_id(plan), self._services.prunes
        return prunes.preview(plan_id, keep) if dry_run else prunes.prune(plan_id, keep, self._observer)

    def delete(self, checkpoint: str) -> Pruning:
        """Delete the group of a checkpoint, unless it must stay."""
        found = self._services.checkpoint_queries.find(checkpoint)
        return self._services.prunes.delete(found.group, self._observer)

    def restore(self, checkpoint: str, to: Path) -> Sequence[ExportedFolder]:
        """Write a checkpoint's files into a new folder; of a group, one folder per resource."""
        found = self._services.checkpoint_queries.find(checkpoint)
        # Only what is above it: a link in its place is there, whatever it points to. A loop of links does not raise.
        target = Path(os.path.realpath(to.parent)) / to.name
        return self._services.library.export(found, target, self._observer)

    def diff(
        self,
        old: str,
        new: str,
        *,
        binary: bool = False,
        hidden: bool = False,
        paths: Sequence[str] = (),
        folder: Path | None = None,
    ) -> Diff:
        """Compare two checkpoints or groups, of one plan or of two; `paths` are as in `Project.diff`."""
        from mulligan.application.queries.checkpoint_diff import DiffWish

        wish = DiffWish(binary=binary, hidden=hidden, paths=paths, folder=folder)
        return self._services.diffs.between(old, new, wish)
