"""Brings single paths back from a checkpoint, into the real folder or into the plan's sandbox, all or none.

The present contents are kept in a `pre_restore` group first. An intent records the old and the new contents; then only
the named paths are written, by the rules for real files. After a failure, or the death of the process, they are put
back. A restore is an entry of the timeline; a `post_restore` group holds what it made.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.apply.real_change_service import RealChangeService
from mulligan.application.checkpoints.checkpoint_manager import CheckpointManager
from mulligan.application.checkpoints.checkpoint_service import CheckpointService, reason_for
from mulligan.application.paths.path_sources import PathSources
from mulligan.application.paths.real_resources import RealResources
from mulligan.application.plans.guards import not_ready, refuse_ended
from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.application.queries.checkpoint_queries import CheckpointQueries
from mulligan.application.queries.tree_queries import forgotten_in, name_of, not_there
from mulligan.application.runs.commit import Commit, Entry
from mulligan.application.runs.run import Run
from mulligan.domain.checkpoints.checkpoint import CheckpointGroup, Reason
from mulligan.domain.checkpoints.snapshot import Root, Snapshot
from mulligan.domain.checkpoints.store_report import ChangeAction
from mulligan.domain.history.lines import FIRST_LINE
from mulligan.domain.history.timeline_entry import DeedKind, DeedStatus, TimelineEntry
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.intent import Intent, IntentKind, RestoreWork
from mulligan.domain.plans.plan import Plan
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.resources.placement import Part, lie_together, parts_of, path_shown
from mulligan.domain.resources.resource import Sandbox, Strategy
from mulligan.domain.text.ids import GroupId, PlanId
from mulligan.domain.text.inert_text import spell
from mulligan.domain.text.json_value import JsonObject
from mulligan.domain.trees.path_edits import PathEdits, edits_of
from mulligan.domain.trees.real_change import RealChange
from mulligan.domain.trees.tree_difference import TreeEntry
from mulligan.errors import (
    Advice,
    CheckpointForeign,
    NextStep,
    PathInTheWay,
    PathNotInCheckpoint,
    PlanBusy,
)
from mulligan.ports import Clock, Observer, SandboxKinds, SnapshotStore
from mulligan.rows.database import Database


class RestoreWish(Struct, frozen=True, kw_only=True):
    """The paths to bring back, relative to the project folder, and from where."""

    paths: tuple[str, ...]
    checkpoint: str | None  # None: the newest that would change each path
    delete: bool  # remove what the checkpoint does not have
    sandbox: PlanId | None  # of the plan into whose sandboxes they go; None: into the real folder
    of_entry: bool = False  # an entry of the timeline changed them: one that the checkpoint lacks may stay


class RestoredPath(Struct, frozen=True, kw_only=True):
    """One path that is brought back, or removed."""

    action: ChangeAction
    resource: str
    path: str  # relative to the project folder
    new: bool  # nothing was there


class PathRestore(Struct, frozen=True, kw_only=True):
    """The paths that come back from one group."""

    plan_id: PlanId
    handle: str
    group_id: GroupId
    number: int
    place: str  # "real" or "sandbox"
    changes: tuple[RestoredPath, ...]
    left: tuple[str, ...]  # below named folders: what the group does not have, and stays
    kept_in: int | None  # the number of the group of what was there; None: nothing was changed
    kept_by: str | None  # the handle of the plan that has that group
    entry: int | None  # of the timeline; None: nothing was changed


class PathRestores(Struct, frozen=True, kw_only=True):
    """The result of a restore of paths, or of its preview."""

    dry_run: bool
    restores: tuple[PathRestore, ...]  # one for each group that paths come from
    messages: tuple[str, ...]


class _Source(Struct, frozen=True, kw_only=True):
    """A group that paths come from, with its plan."""

    plan: Plan
    group: CheckpointGroup
    paths: tuple[str, ...]


class _Edited(Struct, frozen=True, kw_only=True):
    """The edits of one resource."""

    target: Sandbox
    wanted: tuple[str, ...]
    found: PathEdits
    part: Part


class PathRestoreService(Struct, kw_only=True, frozen=True, eq=False):
    """Restores single paths."""

    database: Database
    store: SnapshotStore
    kinds: SandboxKinds
    claims: PlanClaims
    manager: CheckpointManager
    checkpoints: CheckpointService
    checkpoint_queries: CheckpointQueries
    sources: PathSources
    places: RealResources
    real_changes: RealChangeService
    clock: Clock

    def preview(self, wish: RestoreWish, observer: Observer) -> PathRestores:
        """Return what a restore would do, path by path; refuse what it would refuse, and change nothing."""
        found = [
            self._preview(group, replace(wish, paths=paths), observer)
            for group, paths in self._sources(wish, observer)
        ]
        messages = tuple(text for _, texts in found for text in texts)
        return PathRestores(dry_run=True, restores=tuple(each for each, _ in found), messages=messages)

    def restore(self, wish: RestoreWish, observer: Observer) -> PathRestores:
        """Bring the paths back, all or none, as one entry; everything is checked before the first is touched.

        Where they come from plans that hold the folder in different ways, that is so for each plan alone.
        """
        sources = self._sources(wish, observer)
        for group, paths in sources if len(sources) > 1 else ():
            self._preview(group, replace(wish, paths=paths), observer)
        done: list[PathRestore] = []
        messages: list[str] = []
        for batch in self._batches(sources):
            newest = max(batch, key=lambda source: source.plan.plan_id)
            claimed = self._claimed(newest.group, newest.paths)
            with claimed as plan_id, self.claims.open(plan_id, observer) as run:
                done += self._restore(run, batch, newest.group, wish)
                messages += run.messages
        return PathRestores(dry_run=False, restores=tuple(done), messages=tuple(messages))

    def _batches(self, sources: Sequence[tuple[CheckpointGroup, tuple[str, ...]]]) -> list[list[_Source]]:
        """Return the sources that are restored together: one list, unless their plans see the folder differently."""
        views: set[object] = set()
        found: list[_Source] = []
        with self.database.reading() as db:
            for group, paths in sources:
                plan = db.plans.get(group.plan_id)
                found.append(_Source(plan=plan, group=group, paths=paths))
                if len(sources) > 1:
                    real = self.places.of(plan, db.sandboxes.list(plan.plan_id))
                    views.add(tuple((r.resource, r.type, r.path, r.excluded, r.patterns) for r in real))
        return [found] if len(views) < 2 and not _overlap(found) else [[each] for each in found]

    def _sources(
        self, wish: RestoreWish, observer: Observer
    ) -> list[tuple[CheckpointGroup, tuple[str, ...]]]:
        """Return the groups that paths come from, each with its paths."""
        if wish.checkpoint is not None:
            group = self.checkpoint_queries.find(wish.checkpoint).group
            if wish.sandbox is not None and group.plan_id != wish.sandbox:
                raise CheckpointForeign(
                    checkpoint_id=wish.checkpoint, owner=group.plan_id, plan_id=wish.sandbox
                )
            return [(group, wish.paths)]
        found: dict[GroupId, tuple[str, ...]] = {}
        for path in wish.paths:
            group_id = self._newest(path, wish, observer)
            found[group_id] = (*found.get(group_id, ()), path)
        with self.database.reading() as db:
            return [(db.checkpoints.get(group_id), paths) for group_id, paths in found.items()]

    def _newest(self, path: str, wish: RestoreWish, observer: Observer) -> GroupId:
        if wish.sandbox is None:
            return self.sources.newest(path, observer)
        with self.claims.look(wish.sandbox, observer) as run:
            made = {sandbox.resource: sandbox for sandbox in self._sandboxes(run)}

            def now(_plan: Plan, part: Part) -> Root:
                sandbox = made[part.resource.name]
                return self.kinds.of(sandbox).capture(sandbox, observer).snapshot.roots[0]

            return self.sources.newest_of_plan(run.plan, path, now)

    @contextmanager
    def _claimed(self, group: CheckpointGroup, paths: Sequence[str]) -> Generator[PlanId]:
        """Name another way to get a file where the plan is at work."""
        try:
            yield group.plan_id
        except PlanBusy as exc:
            with self.database.reading() as db:
                name = name_of(db.plans.get(group.plan_id), group)
            show = NextStep("read_path", checkpoint=name, path=paths[0])
            hint = Advice("wait for it; ", show, " prints a file without waiting")
            raise PlanBusy(hint=hint, **exc.facts) from exc

    def _preview(
        self, group: CheckpointGroup, wish: RestoreWish, observer: Observer
    ) -> tuple[PathRestore, Sequence[str]]:
        with self._claimed(group, wish.paths) as plan_id, self.claims.look(plan_id, observer) as run:
            with self.database.reading() as db:
                if any(intent.kind is IntentKind.RESTORE for intent in db.intents.list(plan_id)):
                    run.inform("an interrupted restore of paths would be taken back first")
            targets = self._targets(run, wish)
            with self.store.hold():
                before = {t.resource: self.kinds.of(t).capture(t, observer).snapshot for t in targets}
                edited = self._edits(run.plan, group, wish, targets, before)
            source = _Source(plan=run.plan, group=group, paths=wish.paths)
            return _answer(source, wish, edited, None), run.messages

    def _restore(
        self, run: Run, sources: Sequence[_Source], own: CheckpointGroup, wish: RestoreWish
    ) -> list[PathRestore]:
        """Restore from groups of one or several plans, by a plan whose group `own` is one of them."""
        wish = replace(wish, paths=tuple(path for source in sources for path in source.paths))
        targets = self._targets(run, wish)
        work = RestoreWork(locations=tuple(target.path for target in targets), source=own.group_id)
        again = NextStep("restore_paths", checkpoint=name_of(run.plan, own), paths=wish.paths)
        with self.manager.watch_briefly(run.over(targets)):
            with self.store.hold():
                before = {t.resource: self.kinds.of(t).capture(t, run.observer).snapshot for t in targets}
                if not any(self._edits_of(sources, wish, targets, before)):
                    return [_answer(source, wish, [], None) for source in sources]
            intent = self.real_changes.begin(run, work)
            advice = Advice("nothing is restored; run the command again")
            if len(sources) == 1:
                advice = Advice("nothing is restored; try again with ", again)
            with self.real_changes.all_or_none(run, intent, advice):
                over = self._over(run, targets, wish)
                with run.showing_later(), self.store.hold():
                    place = "real" if wish.sandbox is None and not run.in_place else "sandbox"
                    metadata: JsonObject = {"phase": "restore", "place": place}
                    kept = self.checkpoints.create_checkpoint(
                        over, _reason(CheckpointType.PRE_RESTORE, metadata)
                    )
                    run.follow(over)
                    before = {t.resource: kept.snapshot_of(t.resource) for t in targets}
                    by_source = self._edits_of(sources, wish, targets, before)
                    edited = _together(by_source)
                    changes = [self._change(each, before, kept.group_id) for each in edited]
                    self.real_changes.ready(run, changes)
                paths = {each.target.resource: each.wanted for each in edited}
                self.real_changes.carry_out_paths(run, intent, changes, paths)
                pairs = zip(sources, by_source, strict=True)
                answers = [_answer(source, wish, mine, (run.plan, kept)) for source, mine in pairs]
                return self._settle(
                    run, over, intent, kept, {c.real.resource: c.written for c in changes}, answers
                )

    def _edits_of(
        self,
        sources: Sequence[_Source],
        wish: RestoreWish,
        targets: Sequence[Sandbox],
        before: Mapping[str, Snapshot],
    ) -> list[list[_Edited]]:
        """Return the edits from each source, without resources that it does not change."""
        found = [self._edits(s.plan, s.group, replace(wish, paths=s.paths), targets, before) for s in sources]
        return [[each for each in edited if each.found.edits] for edited in found]

    def _targets(self, run: Run, wish: RestoreWish) -> list[Sandbox]:
        """Return what is written, of the resources that the paths are in: real resources, or the plan's sandboxes."""
        found = self.places.of(run.plan, run.sandboxes) if wish.sandbox is None else self._sandboxes(run)
        resources = run.plan.definition.resources
        named = {part.resource.name for path in wish.paths for part in parts_of(path, resources)}
        targets = [target for target in found if target.resource in named]
        self.manager.require(targets)
        return targets

    def _sandboxes(self, run: Run) -> Sequence[Sandbox]:
        refuse_ended(run.plan)
        if not run.sandboxes:
            hint = Advice("leave ", NextStep("again", sandbox=...), " out to restore into the real folder")
            raise not_ready(run.plan, "it has no sandboxes", hint)
        return run.sandboxes

    def _over(self, run: Run, targets: Sequence[Sandbox], wish: RestoreWish) -> Run:
        """Return the run over what is written to and all else of the plan: a group holds one checkpoint of each."""
        by_name = {target.resource: target for target in targets}
        if wish.sandbox is None:
            by_name = {real.resource: real for real in self.places.of(run.plan, run.sandboxes)} | by_name
        if not run.sandboxes:
            return run.over(by_name.values())
        return run.over(by_name.get(s.resource, s) for s in run.sandboxes)

    def _edits(
        self,
        plan: Plan,
        group: CheckpointGroup,
        wish: RestoreWish,
        targets: Sequence[Sandbox],
        before: Mapping[str, Snapshot],
    ) -> list[_Edited]:
        """Return the edits of each resource; refuse a path that the group lacks, and what is in the way."""
        parts = self._parts(plan, group, wish, before)
        spared = forgotten_in(group)
        found: list[_Edited] = []
        for target in targets:
            mine = [part for part in parts if part.resource.name == target.resource]
            if not mine:
                continue
            wanted = tuple(dict.fromkeys(part.path for part in mine))
            then, now = group.snapshot_of(target.resource), before[target.resource]
            gone = [inside.path for path in spared for inside in parts_of(path, [mine[0].resource])]
            differences = self.store.difference(now.roots[0], then.roots[0], wanted)
            edits = edits_of(differences, wanted, delete=wish.delete, spared=gone)
            for each in edits.in_the_way:
                raise PathInTheWay(path=path_shown(mine[0], each.path), reason=each.reason)
            if edits.edits and target.type.traits.is_file:
                edits = self._whole(target, now, then, edits, mine[0])
            found.append(_Edited(target=target, wanted=wanted, found=edits, part=mine[0]))
        return found

    def _parts(
        self, plan: Plan, group: CheckpointGroup, wish: RestoreWish, before: Mapping[str, Snapshot]
    ) -> list[Part]:
        """Return the parts of resources that the paths name, of those that the group has or that are to be removed."""
        found: list[Part] = []
        for path in wish.paths:
            parts = parts_of(path, plan.definition.resources)
            held = [p for p in parts if self._item(group.snapshot_of(p.resource.name), p) is not None]
            there = [p for p in parts if self._item(before[p.resource.name], p) is not None]
            lacking_too = wish.delete or wish.of_entry
            if not held and not (lacking_too and there):
                if wish.of_entry:
                    continue  # it is gone, as after the entry
                missing = not_there(plan, group, path)
                if there and type(missing) is PathNotInCheckpoint:
                    remove = NextStep("again", delete=True)
                    hint = Advice(missing.next_step, "; ", remove, " removes the present one")
                    raise PathNotInCheckpoint(hint=hint, **missing.facts)
                raise missing
            found += held + [p for p in there if p not in held and lacking_too]
        return found

    def _item(self, snapshot: Snapshot, part: Part) -> TreeEntry | None:
        return self.store.item(snapshot.roots[0], part.path)

    def _whole(
        self, target: Sandbox, now: Snapshot, then: Snapshot, edits: PathEdits, part: Part
    ) -> PathEdits:
        """Restore a database as a whole, unless SQLite reads the same from both."""
        kind = self.kinds.of(target)
        if kind.same(target, now, then):
            return replace(edits, edits={})
        if target.strategy is Strategy.IN_PLACE and (
            reason := kind.why_not_taken(now.roots[0], then.roots[0])
        ):
            export = NextStep("checkpoints.restore", checkpoint=..., to=...)
            raise PathInTheWay(
                path=part.shown, reason=reason, hint=Advice(export, " writes it into a new folder")
            )
        return edits

    def _change(self, edited: _Edited, before: Mapping[str, Snapshot], group_id: GroupId) -> RealChange:
        at_ns = int(self.clock.now().timestamp() * 1_000_000) * 1000
        # As of now, so that programs that go by the times of files see that they changed.
        stamped = {
            path: entry and replace(entry, beside=replace(entry.beside, mtime_ns=at_ns))
            for path, entry in edited.found.edits.items()
        }
        now = before[edited.target.resource]
        files = self.store.graft(now.roots[0], stamped, at_ns)
        return RealChange(
            act=IntentKind.RESTORE,
            real=edited.target,
            before=now,
            written=Snapshot((files, *now.roots[1:])),
            group_id=group_id,
            commit=None,
        )

    def _settle(
        self,
        run: Run,
        over: Run,
        intent: Intent,
        kept: CheckpointGroup,
        written: Mapping[str, Snapshot],
        answers: list[PathRestore],
    ) -> list[PathRestore]:
        """Record the end as an entry of the timeline, with the group of what the paths became."""
        now = self.clock.now()
        own = next(answer for answer in answers if answer.plan_id == run.plan.plan_id)
        data = {
            "group_id": own.group_id,
            "number": own.number,
            "place": "sandbox" if own.place == "sandbox" else "real folder",
            "paths": sum(len(answer.changes) for answer in answers),
        }
        became = {s.resource: written.get(s.resource, kept.snapshot_of(s.resource)) for s in over.sandboxes}
        with run.showing_later(), self.store.hold():
            after = self.checkpoints.stored(over, became)
            with over.commit("apply.settle") as commit:
                commit.record(Entry(type=EventType.PATHS_RESTORED, data=data, at=now))
                reason = _reason(CheckpointType.POST_RESTORE, kept.reason.metadata)
                # While the intent keeps the group of what was there from being pruned.
                made = self.checkpoints.add_group(commit, over, reason, after)
                _close_cut_off(commit, run, kept)
                number = commit.db.entries.add(_deed(commit, run, (kept, made), answers))
                answers = [replace(each, entry=number if each.changes else None) for each in answers]
                commit.db.real_changes.remove(run.plan.plan_id, IntentKind.RESTORE)
                commit.db.intents.close(intent.intent_id)
        run.follow(over)
        return answers


def _reason(type: CheckpointType, metadata: JsonObject) -> Reason:
    return reason_for(type, {**metadata, "reason": type.value}, between_steps=False)


def _deed(
    commit: Commit,
    run: Run,
    groups: tuple[CheckpointGroup, CheckpointGroup],
    answers: Sequence[PathRestore],
) -> TimelineEntry:
    """Return the entry of a restore.

    What is done to a sandbox, or to a folder that the plan works on in place, goes with a return of the plan. No return
    of a plan with copies touches the real folder: that entry lies at the beginning of the plan, before all that a
    return leaves.
    """
    in_sandbox = answers[0].place == "sandbox" and not run.only_in_place
    with_plan = in_sandbox or run.only_in_place
    plan, (before, after) = run.plan, groups
    first, *others = (change for answer in answers for change in answer.changes)
    more = f" and {len(others):,} more" if others else ""
    sources = ", ".join(f"{answer.handle}@{answer.number}" for answer in answers if answer.changes)
    return TimelineEntry(
        number=0,
        plan_id=plan.plan_id,
        kind=DeedKind.SANDBOX_RESTORE if in_sandbox else DeedKind.RESTORE,
        title=f"{spell(first.path)}{more} from {sources}",
        step_index=None,
        line=plan.line if with_plan else FIRST_LINE,
        seq=commit.next_seq() if with_plan else 0,
        status=DeedStatus.DONE,
        created_at=after.created_at,
        before_group=before.group_id,
        after_group=after.group_id,
        changed=True,
        files=1 + len(others),
    )


def _close_cut_off(commit: Commit, run: Run, kept: CheckpointGroup) -> None:
    """End a step in place that was cut off with what was there: the restore is not its own."""
    steps = [entry for entry in commit.db.entries.live_of(run.plan.plan_id) if entry.kind.is_step]
    if run.only_in_place and steps and steps[0].is_cut_off:
        commit.db.entries.close(run.plan.plan_id, steps[0].step_index or 0, kept)


def _overlap(sources: Sequence[_Source]) -> bool:
    """Return whether a path of one source is that of another, or lies inside it."""
    paths = [(number, path) for number, source in enumerate(sources) for path in source.paths]
    return any(one != other and lie_together(f"/{p}", f"/{q}") for one, p in paths for other, q in paths)


def _together(by_source: Sequence[Sequence[_Edited]]) -> list[_Edited]:
    """Return the edits of each resource, from all sources."""
    found: dict[str, _Edited] = {}
    for each in (each for edited in by_source for each in edited):
        known = found.get(each.target.resource)
        if known is not None:
            edits = replace(
                each.found,
                edits={**known.found.edits, **each.found.edits},
                new=known.found.new | each.found.new,
                left=(*known.found.left, *each.found.left),
            )
            each = replace(known, wanted=(*known.wanted, *each.wanted), found=edits)  # noqa: PLW2901 - it grows
        found[each.target.resource] = each
    return list(found.values())


def _answer(
    source: _Source,
    wish: RestoreWish,
    edited: Sequence[_Edited],
    kept: tuple[Plan, CheckpointGroup] | None,
) -> PathRestore:
    changed = kept if edited else None
    return PathRestore(
        plan_id=source.plan.plan_id,
        handle=source.plan.handle,
        group_id=source.group.group_id,
        number=source.group.number,
        place="real" if wish.sandbox is None else "sandbox",
        changes=tuple(
            RestoredPath(
                action=ChangeAction.REMOVED if entry is None else ChangeAction.RESTORED,
                resource=each.target.resource,
                path=path_shown(each.part, path),
                new=path in each.found.new,
            )
            for each in edited
            for path, entry in each.found.edits.items()
        ),
        left=tuple(path_shown(each.part, path) for each in edited for path in each.found.left),
        kept_in=changed[1].number if changed else None,
        kept_by=changed[0].handle if changed else None,
        entry=None,
    )
