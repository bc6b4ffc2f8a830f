"""Computes and stores the future contents of the real resources, without changing any of them."""

from collections.abc import Sequence
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.apply.snapshot_merge import Merged, MergeRules, MergeService, OnOverlap, Sides
from mulligan.application.queries.tree_diff import DiffOptions, diff_trees
from mulligan.application.runs.run import Run
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.plans.intent import IntentKind
from mulligan.domain.plans.plan import Conflict
from mulligan.domain.resources.resource import MergeUnit, ResourceType, Sandbox
from mulligan.domain.text.ids import GroupId, PlanId
from mulligan.domain.text.plural import counted
from mulligan.domain.trees.diff import FileDiff, FolderDiff
from mulligan.domain.trees.line_diff import LARGEST_TEXT
from mulligan.domain.trees.real_change import RealChange
from mulligan.domain.trees.text_merge import Labels
from mulligan.errors import Advice, ApplyConflicted, MulliganError, NextStep, UsageWrong
from mulligan.ports import ApplyOrder, Clock, Composed, SandboxKinds, SnapshotStore
from mulligan.ports.world import one_by_one


class Wanted(Struct, frozen=True, kw_only=True):
    """A change to bring into one real resource."""

    act: IntentKind
    sandbox: Sandbox
    real: Sandbox
    base: Snapshot
    theirs: Snapshot
    ours: Snapshot  # the real resource now
    names: Labels  # of the sides, for people
    message: str | None  # of the commit; None: no commit
    withdraws: str | None  # the commit of the apply that this takes back
    included: frozenset[str] | None  # paths in git directories, and hidden ones, to apply as well; None: all
    hidden: tuple[str, ...]  # patterns of paths that are not applied


class AppliedResource(Struct, frozen=True, kw_only=True):
    """The effect on one real resource. The fields are named as in the JSON output."""

    resource: str
    type: ResourceType
    files: int
    insertions: int
    deletions: int
    commit: str | None
    branch: str | None  # that gets the commit, or moves back; None: neither
    moved_back: str | None  # the commit that the branch moves back to, which withdraws that of an apply
    subject: str | None  # the first line of the commit's message
    committed: tuple[str, ...]  # paths that the commit changes
    combined: tuple[str, ...]  # commits of the sandbox that are not carried over one by one, newest first
    uncommitted: tuple[str, ...]
    hidden: int  # files that are not applied because `sandbox.hide` matches them


class Prepared(Struct, frozen=True, kw_only=True):
    """The changes to all real resources."""

    changes: tuple[RealChange, ...]
    applied: tuple[AppliedResource, ...]
    files: tuple[FileDiff, ...]
    folders: tuple[FolderDiff, ...]
    conflicts: tuple[Conflict, ...]
    notes: tuple[str, ...]
    result_id: str = ""  # names the plan's side


NOTHING = Prepared(changes=(), applied=(), files=(), folders=(), conflicts=(), notes=())


class Application(Struct, frozen=True, kw_only=True):
    """The result of an apply or unapply, done or previewed, or the conflicts that prevented it."""

    plan_id: PlanId
    dry_run: bool
    applied: tuple[AppliedResource, ...]
    files: tuple[FileDiff, ...]
    folders: tuple[FolderDiff, ...]
    conflicts: tuple[Conflict, ...]
    sandbox_cleanup: str  # removed or kept
    error: MulliganError | None
    messages: tuple[str, ...]
    result_id: (
        str  # names the contents that the plan brings, as they were looked at; empty: it worked in place
    )


class ApplyPreparing(Struct, kw_only=True, frozen=True, eq=False):
    """Merges and composes, resource by resource."""

    store: SnapshotStore
    kinds: SandboxKinds
    merges: MergeService
    clock: Clock

    def prepare(self, run: Run, wanted: Sequence[Wanted], group_id: GroupId | None) -> Prepared:
        """Compute everything. The caller holds the store until rows refer to what was stored."""
        merged = [self._merge(each) for each in one_by_one(wanted, "resources merged", run.observer)]
        _refuse_unmatched(wanted, merged)
        pairs = list(zip(wanted, merged, strict=True))
        conflicts = [
            Conflict(resource=each.real.resource, path=conflict.path, reason=conflict.reason)
            for each, result in pairs
            for conflict in result.conflicts
        ]
        changes: list[RealChange] = []
        applied: list[AppliedResource] = []
        files: list[FileDiff] = []
        folders: list[FolderDiff] = []
        notes: list[str] = []
        for each, result in one_by_one(pairs, "resources prepared", run.observer):
            notes += [
                Advice(
                    f"{each.real.resource}: {path} is not applied: it is in a git directory; ",
                    NextStep("again", include=path),
                    " applies it",
                )
                for path in _outermost(result.withheld)
            ]
            if result.hidden:
                held = counted(result.hidden, "cache file is", "cache files are")
                notes.append(f"{each.real.resource}: {held} not applied: `sandbox.hide` matches")
            if conflicts:
                continue  # nothing will be written
            composed = self._compose(each, result)
            notes += [f"{each.real.resource}: {note}" for note in composed.notes]
            options = DiffOptions(
                resource=each.real.resource, prefix="", binary=False, largest_text=LARGEST_TEXT
            )
            pair = each.ours.roots[0], composed.snapshot.roots[0]
            diff = diff_trees(self.store.difference(*pair), self.store.read, options)
            files += diff.files
            folders += diff.folders
            applied.append(_applied(each, composed, diff.files, result.hidden))
            changes.append(
                RealChange(
                    act=each.act,
                    real=each.real,
                    before=each.ours,
                    written=composed.snapshot,
                    group_id=group_id,
                    commit=composed.commit,
                    theirs=each.theirs if each.act is IntentKind.APPLY else None,
                )
            )
        return Prepared(
            changes=tuple(changes),
            applied=tuple(applied),
            files=tuple(files),
            folders=tuple(folders),
            conflicts=tuple(conflicts),
            notes=tuple(notes),
            result_id=_named(wanted),
        )

    def _merge(self, wanted: Wanted) -> Merged:
        if wanted.real.type.traits.merged_by is MergeUnit.WHOLE:
            sides = Sides(base=wanted.base, ours=wanted.ours, theirs=wanted.theirs)
            return self.merges.take_whole(self.kinds.of(wanted.real), wanted.real, sides)
        base, ours, theirs = (s.roots[0] for s in (wanted.base, wanted.ours, wanted.theirs))
        rules = MergeRules(
            names=wanted.names, on_overlap=OnOverlap.STOP, included=wanted.included, hidden=wanted.hidden
        )
        return self.merges.merge(base, ours, theirs, rules)

    def _compose(self, wanted: Wanted, merged: Merged) -> Composed:
        order = ApplyOrder(
            sandbox=wanted.sandbox,
            real=wanted.real,
            base=wanted.base,
            theirs=wanted.theirs,
            ours=wanted.ours,
            files=merged.files,
            changed=merged.changed,
            message=wanted.message,
            withdraws=wanted.withdraws,
            included=wanted.included or frozenset(),
            at=self.clock.now(),
        )
        return self.kinds.of(wanted.real).compose(order)


def application_of(run: Run, prepared: Prepared, *, dry_run: bool, cleanup: str, hint: str) -> Application:
    """Return the answer. `hint` says what to do about conflicts."""
    conflicts = prepared.conflicts
    named = ", ".join(f"{c.resource}: {c.path} ({c.reason})" for c in conflicts)
    plan_id = run.plan.plan_id
    return Application(
        plan_id=plan_id,
        dry_run=dry_run,
        # A dry run made no commit, and one made later has another hash.
        applied=tuple(replace(each, commit=None) for each in prepared.applied)
        if dry_run
        else prepared.applied,
        files=prepared.files,
        folders=prepared.folders,
        conflicts=conflicts,
        sandbox_cleanup=cleanup,
        error=ApplyConflicted(plan_id=plan_id, count=len(conflicts), paths=named, hint=hint)
        if conflicts
        else None,
        messages=(*run.messages, *prepared.notes),
        result_id=prepared.result_id,
    )


def _named(wanted: Sequence[Wanted]) -> str:
    """Return a name that only these contents have."""
    words = [f"{each.real.resource} {each.theirs.id}" for each in wanted]
    return sha256("\0".join(words).encode()).hexdigest()


def _refuse_unmatched(wanted: Sequence[Wanted], merged: Sequence[Merged]) -> None:
    """Refuse an included path that matches no change: the user would believe that it was applied."""
    if any(each.real.type.traits.has_commits for each in wanted):
        return  # the git directory of a checkout is not among its files
    changed = [difference.path for result in merged for difference in result.changed]
    for path in sorted({path for each in wanted for path in each.included or ()}):
        if not any(found == path or found.startswith(f"{path}/") for found in changed):
            raise UsageWrong(
                reason=f"{path} cannot be included: the plan changed nothing there",
                hint=Advice(
                    "name a path relative to its resource; ",
                    NextStep("diff", plan="latest"),
                    " shows what changed",
                ),
            )


def _applied(wanted: Wanted, composed: Composed, files: Sequence[FileDiff], hidden: int) -> AppliedResource:
    return AppliedResource(
        resource=wanted.real.resource,
        type=wanted.real.type,
        files=len(files),
        insertions=sum(file.insertions or 0 for file in files),
        deletions=sum(file.deletions or 0 for file in files),
        commit=composed.commit,
        branch=composed.branch,
        moved_back=composed.moved_back,
        subject=(wanted.message or "").strip("\n").partition("\n")[0] if composed.commit else None,
        committed=composed.committed,
        combined=composed.combined,
        uncommitted=composed.uncommitted,
        hidden=hidden,
    )


def _outermost(paths: Sequence[str]) -> list[str]:
    found: list[str] = []
    for path in sorted(paths):
        if not any(path.startswith(f"{each}/") for each in found):
            found.append(path)
    return found
