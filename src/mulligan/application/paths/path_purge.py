"""Purges paths, such as a secret, from all checkpoints of a project, and their bytes from the store.

Trees without the paths are stored first. Then rows refer to them, in one transaction for each batch of plans; then
commits of checkpoints are made again, and every pack with bytes that no row refers to is written again without them.
Cut off anywhere, the same command completes it.

In the plans that are there, the paths no longer belong to any sandbox: they are neither captured nor touched, so that
no rollback, apply or restore removes a file because the checkpoint was purged of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.checkpoints.project_sweep import SweepService
from mulligan.application.paths.purge_leftovers import PurgeLeftovers, Remaining
from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.application.queries.tree_queries import forgotten_in
from mulligan.application.runs.commit import Entry, write_records
from mulligan.application.sandboxes.sandbox_repairs import SandboxRepairs
from mulligan.boundaries import act
from mulligan.domain.checkpoints.checkpoint import Checkpoint, CheckpointGroup, state_hash
from mulligan.domain.checkpoints.snapshot import Root, Snapshot
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.plan import Plan
from mulligan.domain.resources.placement import parts_of
from mulligan.domain.resources.resource import Sandbox
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.json_value import JsonObject
from mulligan.domain.trees.real_change import RealChange
from mulligan.domain.trees.tree_difference import StoredContent
from mulligan.errors import Advice, MulliganError, NextStep, PathNotForgettable, PlanBusy
from mulligan.ports import Clock, Locks, Observer, SandboxKinds, SnapshotStore
from mulligan.rows.database import Database
from mulligan.rows.transaction import Transaction

_BATCH = 64  # plans whose locks are held at once


class PurgedPlan(Struct, frozen=True, kw_only=True):
    """A plan with checkpoints that held one of the paths."""

    plan_id: PlanId
    handle: str
    checkpoints: tuple[int, ...]  # the numbers of these groups


class Purge(Struct, frozen=True, kw_only=True):
    """The result of a purge, or of its preview."""

    dry_run: bool
    paths: tuple[str, ...]  # relative to the project folder
    plans: tuple[PurgedPlan, ...]
    bytes_freed: int | None  # None: nothing was freed yet
    remaining: tuple[Remaining, ...]  # where the bytes still are, or may come from again
    messages: tuple[str, ...]


class Scope(Struct, frozen=True, kw_only=True):
    """A plan, and the paths to purge in each of its resources."""

    plan: Plan
    paths: Mapping[str, tuple[str, ...]]  # by resource, relative to it
    shown: tuple[str, ...]  # the same, relative to the project folder


class _Rows(Struct, frozen=True, kw_only=True):
    """All rows of a plan that refer to snapshots of its files."""

    groups: Sequence[CheckpointGroup]
    sandboxes: Sequence[Sandbox]
    changes: Sequence[RealChange]
    bases: Mapping[str, Snapshot]

    def roots(self, resource: str) -> Iterator[Root]:
        """Yield the trees of a resource's files."""
        found = [c.snapshot for g in self.groups for c in g.checkpoints if c.resource == resource]
        found += [s.base for s in self.sandboxes if s.resource == resource]
        for change in self.changes:
            if change.real.resource == resource:
                found += [change.real.base, change.before, change.written]
                found += [] if change.theirs is None else [change.theirs]
        found += [base for name, base in self.bases.items() if name == resource]
        yield from (snapshot.roots[0] for snapshot in found if snapshot.roots)


class PathPurgeService(Struct, kw_only=True, frozen=True, eq=False):
    """Purges paths from checkpoints."""

    database: Database
    store: SnapshotStore
    kinds: SandboxKinds
    locks: Locks
    claims: PlanClaims
    sweeps: SweepService
    repairs: SandboxRepairs
    leftovers: PurgeLeftovers
    clock: Clock

    def preview(self, paths: tuple[str, ...]) -> Purge:
        """Return the checkpoints that hold the paths, without changing anything."""
        scopes = self._scopes(paths)
        with self.store.hold():
            found = [(scope, self._rows(scope)) for scope in scopes]
            plans = [p for scope, rows in found if (p := self._purged(scope, rows)).checkpoints]
            held = {
                c
                for s, rows in found
                for name, inside in s.paths.items()
                for c in self._held(rows, name, inside)
            }
            words = self.leftovers.words_of(held)
        remaining = [*self.leftovers.elsewhere(paths, scopes), *self.leftovers.in_outputs(words)]
        return Purge(
            dry_run=True,
            paths=paths,
            plans=tuple(plans),
            bytes_freed=None,
            remaining=tuple(remaining),
            messages=(),
        )

    def purge(self, paths: tuple[str, ...], observer: Observer) -> Purge:
        """Purge the paths from all checkpoints and from the store; refuse while a plan is at work."""
        scopes = self._scopes(paths)
        self._refuse_busy(scopes)
        plans: list[PurgedPlan] = []
        contents: set[StoredContent] = set()
        words: set[bytes] = set()
        remaining: list[Remaining] = []
        messages: list[str] = []
        for start in range(0, len(scopes), _BATCH):
            batch = scopes[start : start + _BATCH]
            with ExitStack() as held:
                for scope in batch:
                    run = held.enter_context(self.claims.open(scope.plan.plan_id, observer))
                    messages += run.messages
                with self.store.hold():
                    purged, found, left = self._rewrite(batch)
                    words |= self.leftovers.words_of(found - contents)
            plans += purged
            contents |= found
            remaining += left
        remaining += self._publish_again(scopes)
        self.sweeps.clear_leftovers()  # a killed restore may have left a copy
        freed = self.sweeps.free(observer, thorough=True).bytes_freed
        remaining += self.leftovers.elsewhere(paths, scopes)
        remaining += self.leftovers.in_outputs(words)
        remaining += self.leftovers.same_bytes(contents)
        return Purge(
            dry_run=False,
            paths=paths,
            plans=tuple(plans),
            bytes_freed=freed,
            remaining=tuple(remaining),
            messages=tuple(messages),
        )

    def _scopes(self, paths: Sequence[str]) -> list[Scope]:
        """Return the plans whose resources the paths are in; refuse what a checkpoint cannot be without."""
        with self.database.reading() as db:
            plans = db.plans.list(None)
        found: list[Scope] = []
        for plan in plans:
            inside: dict[str, tuple[str, ...]] = {}
            shown: list[str] = []
            for path in paths:
                for part in parts_of(path, plan.definition.resources):
                    noun = part.resource.type.traits.noun
                    if part.resource.type.traits.is_file or part.path == ".":
                        raise PathNotForgettable(
                            path=path,
                            reason=f"it is, or holds, all of the {noun} {part.resource.name!r} of plan {plan.handle}",
                            hint=Advice(
                                NextStep("remove_plan", plan=plan.handle),
                                " forgets that plan with its checkpoints",
                            ),
                        )
                    inside[part.resource.name] = (*inside.get(part.resource.name, ()), part.path)
                    shown.append(path)
            if inside:
                found.append(Scope(plan=plan, paths=inside, shown=tuple(dict.fromkeys(shown))))
        return found

    def _refuse_busy(self, scopes: Sequence[Scope]) -> None:
        for scope in scopes:
            if holder := self.locks.holder(scope.plan.plan_id):
                raise PlanBusy(plan_id=scope.plan.plan_id, pid=holder.pid, since=holder.since)

    def _rows(self, scope: Scope) -> _Rows:
        plan_id = scope.plan.plan_id
        with self.database.reading() as db:
            return _Rows(
                groups=db.checkpoints.list(plan_id, superseded=True),
                sandboxes=db.sandboxes.list(plan_id),
                changes=db.real_changes.list(plan_id),
                bases=db.children.bases_of(plan_id),
            )

    def _purged(self, scope: Scope, rows: _Rows) -> PurgedPlan:
        numbers = [group.number for group in rows.groups if self._held_in(scope, group)]
        return PurgedPlan(plan_id=scope.plan.plan_id, handle=scope.plan.handle, checkpoints=tuple(numbers))

    def _held_in(self, scope: Scope, group: CheckpointGroup) -> bool:
        return any(
            self.store.item(checkpoint.snapshot.roots[0], path) is not None
            for checkpoint in group.checkpoints
            for path in scope.paths.get(checkpoint.resource, ())
        )

    def _rewrite(
        self, batch: Sequence[Scope]
    ) -> tuple[list[PurgedPlan], set[StoredContent], list[Remaining]]:
        """Let the rows of these plans, which are held, refer to trees without the paths."""
        purged: list[PurgedPlan] = []
        contents: set[StoredContent] = set()
        remaining: list[Remaining] = []
        work: list[tuple[Scope, _Rows, dict[Root, Root], PurgedPlan]] = []
        for scope in batch:
            rows = self._rows(scope)
            new: dict[Root, Root] = {}
            for resource, paths in scope.paths.items():
                found = self.store.without(rows.roots(resource), paths)
                changed = {old: root for old, root in found.items() if old != root}
                for root in changed:
                    contents |= set(self._contents(root, paths))
                new |= changed
            if new:
                work.append((scope, rows, new, self._purged(scope, rows)))
        for scope, rows, _, plan in work:
            purged.append(plan)
            remaining += self.leftovers.in_git(scope, rows.groups, contents)
        if work:
            with act("forget.record"), self.database.writing() as db:
                for scope, rows, new, plan in work:
                    self._record(db, scope, rows, new, plan)
        for scope, rows, _, _ in work:
            for sandbox in rows.sandboxes:
                if sandbox.resource in scope.paths:
                    for tree in self.kinds.of(sandbox).trees(sandbox):
                        self.store.forget_tree(tree)  # what is remembered of it holds the paths
        return purged, contents, remaining

    def _held(self, rows: _Rows, resource: str, paths: Sequence[str]) -> Iterator[StoredContent]:
        for root in set(rows.roots(resource)):
            yield from self._contents(root, paths)

    def _contents(self, root: Root, paths: Sequence[str]) -> Iterator[StoredContent]:
        for path in paths:
            entry = self.store.item(root, path)
            found = [] if entry is None else [entry]
            found += [item.entry for item in self.store.items(root, path, recursive=True)]
            yield from (each.content for each in found if each.content is not None and each.content.size)

    def _record(
        self, db: Transaction, scope: Scope, rows: _Rows, new: Mapping[Root, Root], plan: PurgedPlan
    ) -> None:
        with_commits = {s.resource for s in rows.sandboxes if s.type.traits.has_commits}
        for group in rows.groups:
            checkpoints = tuple(_rewritten(c, new, with_commits) for c in group.checkpoints)
            if checkpoints == group.checkpoints:
                continue
            gone = sorted({*forgotten_in(group), *scope.shown})
            metadata: JsonObject = {**group.reason.metadata, "forgotten": list(gone)}
            hashed = state_hash(group.state, [(c.resource, c.snapshot) for c in checkpoints])
            reason = replace(group.reason, metadata=metadata)
            db.checkpoints.rewrite(replace(group, checkpoints=checkpoints, state_hash=hashed, reason=reason))
        for sandbox in rows.sandboxes:
            if sandbox.resource in scope.paths:
                db.sandboxes.rewrite(_without(sandbox, new, scope.paths[sandbox.resource]))
        for change in rows.changes:
            if change.real.resource in scope.paths:
                real = _without(change.real, new, scope.paths[change.real.resource])
                before, written = (_mapped(each, new) for each in (change.before, change.written))
                theirs = None if change.theirs is None else _mapped(change.theirs, new)
                db.real_changes.rewrite(
                    replace(change, real=real, before=before, written=written, theirs=theirs)
                )
        if rows.bases:
            bases = {name: _mapped(base, new) for name, base in rows.bases.items()}
            db.children.rewrite_bases(scope.plan.plan_id, bases)
        data: JsonObject = {"paths": list(scope.shown), "groups": len(plan.checkpoints)}
        entry = Entry(type=EventType.FORGOTTEN, data=data, at=self.clock.now())
        write_records(db, scope.plan.plan_id, entry)

    def _publish_again(self, scopes: Sequence[Scope]) -> Iterator[Remaining]:
        """Make the commits of checkpoints that were purged again, in repositories without the bytes."""
        for scope in scopes:
            rows = self._rows(scope)
            if all(c.sandbox_ref for group in rows.groups for c in group.checkpoints):
                continue
            try:
                self.repairs.republish(scope.plan)
            except MulliganError as exc:
                yield Remaining(
                    what="commits",
                    handle=scope.plan.handle,
                    path=", ".join(s.git_dir for s in rows.sandboxes if s.git_dir is not None),
                    reason=f"the commits of its checkpoints could not be made again: {exc.text}",
                    remedy=Advice(
                        NextStep("doctor"),
                        " tries again; ",
                        NextStep("remove_plan", plan=scope.plan.handle),
                        " removes them",
                    ),
                )


def _rewritten(checkpoint: Checkpoint, new: Mapping[Root, Root], with_commits: set[str]) -> Checkpoint:
    """Return the checkpoint of a purged tree; the commit of the old one is made again."""
    snapshot = _mapped(checkpoint.snapshot, new)
    if snapshot == checkpoint.snapshot:
        return checkpoint
    ref = checkpoint.sandbox_ref
    if ref == checkpoint.snapshot.id:
        ref = snapshot.id
    elif checkpoint.resource in with_commits:
        ref = ""
    return replace(checkpoint, snapshot=snapshot, sandbox_ref=ref)


def _mapped(snapshot: Snapshot, new: Mapping[Root, Root]) -> Snapshot:
    if not snapshot.roots:
        return snapshot
    files, *others = snapshot.roots
    return Snapshot((new.get(files, files), *others))


def _without(sandbox: Sandbox, new: Mapping[Root, Root], paths: Sequence[str]) -> Sandbox:
    excluded = tuple(sorted({*sandbox.excluded, *paths}))
    return replace(sandbox, base=_mapped(sandbox.base, new), excluded=excluded)
