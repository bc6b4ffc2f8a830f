"""Compares two checkpoints or groups: files and folders that differ, and a patch."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.queries.left_work import work_left
from mulligan.application.queries.tree_diff import DiffOptions, diff_trees
from mulligan.domain.checkpoints.checkpoint import Checkpoint, FoundCheckpoint
from mulligan.domain.history.correction import Correction, CorrectionMode
from mulligan.domain.paths.pathspecs import Pathspecs, read_pathspecs
from mulligan.domain.plans.intent import IntentKind
from mulligan.domain.plans.plan import Plan, State
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.plural import counted
from mulligan.domain.trees.diff import Diff, DiffSide, FileDiff, FolderDiff, TreeDiff
from mulligan.domain.trees.line_diff import LARGEST_TEXT
from mulligan.domain.trees.tree_difference import without_hidden
from mulligan.errors import (
    Advice,
    CheckpointForeign,
    CheckpointNotFound,
    CheckpointsUnlike,
    CorrectionNotFound,
    NextStep,
)
from mulligan.ports import StoredTrees
from mulligan.rows.database import Database
from mulligan.rows.transaction import Transaction

FIRST, LATEST = "first", "latest"
_NAMED_IN_A_MESSAGE = 5


class DiffWish(Struct, frozen=True, kw_only=True):
    """The wanted part of a difference."""

    binary: bool  # the patch includes binary contents
    hidden: bool  # what the plan hides, too
    paths: Sequence[str]  # only these, as git reads paths; none: all
    folder: Path | None  # in which they were named; None: at the top of each resource


class DiffService(Struct, kw_only=True, frozen=True, eq=False):
    """Compares stored snapshots, without reading sandboxes or waiting for a running plan."""

    database: Database
    trees: StoredTrees
    project: Path

    def between(self, old: str, new: str, wish: DiffWish) -> Diff:
        """Compare any two: by ids of any plan, words and labels of the newest plan, or unique labels."""
        with self.trees.hold():  # snapshots stay until they are read
            with self.database.reading() as db:
                sides = _find_anywhere(db, old), _find_anywhere(db, new)
            return self._compare((old, new), sides, wish)

    def of_plan(self, plan_id: PlanId, old: str | None, new: str | None, wish: DiffWish) -> Diff:
        """Compare two of one plan; by default its first live group and its newest.

        A fork has more in it than it did itself: by default all is shown that its apply would merge. A plan that was
        cancelled inside a step has the group of what that step left as its last.
        """
        with self.trees.hold():
            with self.database.reading() as db:
                plan = db.plans.get(plan_id)
                words = old or FIRST, new or _left_at_the_end(db, plan) or LATEST
                sides = _find_in_plan(db, words[0], plan_id), _find_in_plan(db, words[1], plan_id)
                if old is None and plan.definition.fork is not None:
                    sides = _merged_against(db, sides[0]), sides[1]
                work = work_left(db, plan) if new is None else None
            found = self._compare(words, sides, wish)
        if work is None:
            return found
        about = Advice(f"step {work.step!r} failed, and what it did was taken back: ", work.advice)
        return replace(found, messages=(*found.messages, about))

    def of_correction(self, word: str, plan_id: PlanId | None, wish: DiffWish) -> Diff:
        """Compare the ends of the attempts before and after a correction; for appended work, before and after it."""
        with self.trees.hold():
            with self.database.reading() as db:
                correction = db.corrections.resolve(word)
                if plan_id not in (None, correction.plan_id):
                    raise CorrectionNotFound(
                        wanted=word, hint=f"it belongs to plan {correction.plan_id}: omit PLAN"
                    )
                plan, attempt = db.plans.get(correction.plan_id), correction.attempt
                if correction.mode is CorrectionMode.APPEND:
                    sides = _around_appended(db, plan, correction)
                else:
                    sides = _end_of(db, plan, attempt - 1), _end_of(db, plan, attempt)
            words = f"attempt {attempt - 1}", f"attempt {attempt}"
            return self._compare(words, sides, wish)

    def _compare(
        self, words: tuple[str, str], sides: tuple[FoundCheckpoint, FoundCheckpoint], wish: DiffWish
    ) -> Diff:
        """Compare; without `wish.hidden`, what the plan of the newer side hides is only counted."""
        pairs, messages = _pairs(words, sides)
        with self.database.reading() as db:
            patterns = () if wish.hidden else db.plans.get(sides[1].group.plan_id).hidden
        specs = self._pathspecs(sides[1].group.plan_id, [new.resource for _, new in pairs], wish)
        diffs: list[TreeDiff] = []
        not_shown = 0
        for old, new in pairs:
            found = self.trees.difference(old.snapshot.roots[0], new.snapshot.roots[0])
            if specs is not None:
                found = [d for d in found if specs[new.resource].match(d.path)]
            differences, count = without_hidden(found, patterns)
            not_shown += count
            prefix = f"{old.resource}/" if len(pairs) > 1 else ""
            options = DiffOptions(
                resource=old.resource, prefix=prefix, binary=wish.binary, largest_text=LARGEST_TEXT
            )
            diffs.append(diff_trees(differences, self.trees.read, options))
        files = tuple(file for diff in diffs for file in diff.files)
        folders = tuple(folder for diff in diffs for folder in diff.folders)
        left_out = sum(diff.pairs_left_out for diff in diffs)
        if left_out:
            messages.append(
                f"{left_out} pairs of added and deleted files were not compared for similarity: too many; "
                "files among them that were renamed and changed are shown as added and deleted"
            )
        if not_shown:
            shows = Advice(
                f"{counted(not_shown, 'cache file')} not shown; ",
                NextStep("again", hidden=True),
                " shows what `sandbox.hide` matches too",
            )
            messages.append(shows)
        return Diff(
            old=_side(sides[0]),
            new=_side(sides[1]),
            files=files,
            folders=folders,
            patch=b"".join(diff.patch for diff in diffs),
            sizes=tuple(len(patch) for diff in diffs for patch in diff.patches),
            messages=(*messages, *_beyond_patch(files, folders)),
            hidden=not_shown,
        )

    def _pathspecs(
        self, plan_id: PlanId, resources: Sequence[str], wish: DiffWish
    ) -> Mapping[str, Pathspecs] | None:
        """Return the paths that are wanted of each resource; None: all. They may be named in a sandbox too."""
        if not wish.paths:
            return None
        with self.database.reading() as db:
            definition, sandboxes = db.plans.get(plan_id).definition, db.sandboxes.list(plan_id)
        roots = {name: [str(self.project / definition.resource(name).location)] for name in resources}
        for sandbox in sandboxes:
            roots.get(sandbox.resource, []).append(sandbox.path)
        places = {name: [os.path.normpath(root) for root in of] for name, of in roots.items()}
        return read_pathspecs(wish.paths, str(wish.folder) if wish.folder else None, places)


def _find_anywhere(db: Transaction, word: str) -> FoundCheckpoint:
    newest = db.plans.resolve("latest").plan_id
    if word in (FIRST, LATEST):
        return _find_in_plan(db, word, newest)
    try:
        return db.checkpoints.resolve(word, newest)
    except CheckpointNotFound:
        return db.checkpoints.resolve(word, None)


def _left_at_the_end(db: Transaction, plan: Plan) -> str | None:
    """Return the group of what a step left inside which its plan was cancelled."""
    if plan.state is not State.CANCELLED or plan.current_group_id is None:
        return None
    group = db.checkpoints.get(plan.current_group_id)
    return group.group_id if group.reason.type is CheckpointType.ON_ERROR else None


def _find_in_plan(db: Transaction, word: str, plan_id: PlanId) -> FoundCheckpoint:
    found = db.checkpoints.resolve(word, plan_id)
    if found.group.plan_id != plan_id:
        raise CheckpointForeign(
            checkpoint_id=word,
            owner=found.group.plan_id,
            plan_id=plan_id,
            hint=Advice(
                NextStep("checkpoints.diff", old=..., new=...), " compares checkpoints of different plans"
            ),
        )
    return found


def _merged_against(db: Transaction, first: FoundCheckpoint) -> FoundCheckpoint:
    """Return the first group of a fork with what its sandboxes merge against in the place of what it holds."""
    plan_id = first.group.plan_id
    applied = [each.real for each in db.real_changes.list(plan_id) if each.act is IntentKind.APPLY]
    bases = {sandbox.resource: sandbox.base for sandbox in (*applied, *db.sandboxes.list(plan_id))}
    checkpoints = tuple(
        replace(each, snapshot=bases.get(each.resource, each.snapshot)) for each in first.group.checkpoints
    )
    return FoundCheckpoint(group=replace(first.group, checkpoints=checkpoints), checkpoint=None)


def _end_of(db: Transaction, plan: Plan, attempt: int) -> FoundCheckpoint:
    current = db.checkpoints.get(plan.current_group_id) if plan.current_group_id else None
    if current is None or current.attempt != attempt:
        current = db.checkpoints.last_of_attempt(plan.plan_id, attempt)
    if current is None:
        raise _pruned(f"the last of attempt {attempt}")
    return FoundCheckpoint(group=current, checkpoint=None)


def _pruned(wanted: str) -> CheckpointNotFound:
    hint = Advice(
        "it was pruned: choose two remaining checkpoints with ", NextStep("again", old=..., new=...)
    )
    return CheckpointNotFound(wanted=wanted, hint=hint)


def _around_appended(
    db: Transaction, plan: Plan, correction: Correction
) -> tuple[FoundCheckpoint, FoundCheckpoint]:
    """Return the groups before and after appended work; while it is not complete, the present one."""
    groups = db.checkpoints.list(plan.plan_id, superseded=True)
    start = next((g for g in groups if g.first_checkpoint_id == correction.restored_checkpoint), None)
    if start is None:
        raise _pruned("what the work was appended to")
    since = [g for g in groups if g.attempt == correction.attempt and g.step_index > start.step_index]
    done = sorted(since, key=lambda g: (g.superseded, g.seq))
    old = FoundCheckpoint(group=start, checkpoint=None)
    if done:
        return old, FoundCheckpoint(group=done[0], checkpoint=None)
    return old, _end_of(db, plan, correction.attempt)


def _pairs(
    words: tuple[str, str], sides: tuple[FoundCheckpoint, FoundCheckpoint]
) -> tuple[list[tuple[Checkpoint, Checkpoint]], list[str]]:
    """Return the pairs to compare, by resource, and messages about resources without a pair.

    A checkpoint is compared with a group's checkpoint of the same resource.
    """
    olds, news = (_by_resource(side) for side in sides)
    common = [name for name in olds if name in news]
    if not common:
        raise CheckpointsUnlike(
            old=words[0], new=words[1], old_resource=", ".join(olds), new_resource=", ".join(news)
        )
    messages: list[str] = []
    if sides[0].checkpoint is None and sides[1].checkpoint is None:
        for names, others, word in ((olds, news, words[0]), (news, olds, words[1])):
            only = [name for name in names if name not in others]
            if only:
                messages.append(f"only {word} has {', '.join(only)}: not compared")
    return [(olds[name], news[name]) for name in common], messages


def _by_resource(side: FoundCheckpoint) -> dict[str, Checkpoint]:
    chosen = side.group.checkpoints if side.checkpoint is None else (side.checkpoint,)
    return {checkpoint.resource: checkpoint for checkpoint in chosen}


def _side(found: FoundCheckpoint) -> DiffSide:
    return DiffSide(
        plan_id=found.group.plan_id,
        group_id=found.group.group_id,
        checkpoint_id=found.checkpoint.checkpoint_id if found.checkpoint else None,
        checkpoint_type=found.group.reason.type,
        label=found.group.reason.label,
    )


def _beyond_patch(files: Sequence[FileDiff], folders: Sequence[FolderDiff]) -> list[str]:
    """Report what a reader of the patch alone would not see."""
    lost = [
        f"{entry.path} ({', '.join(entry.not_in_patch)})"
        for entry in (*files, *folders)
        if entry.not_in_patch
    ]
    if not lost:
        return []
    more = f" and {len(lost) - _NAMED_IN_A_MESSAGE} more" if len(lost) > _NAMED_IN_A_MESSAGE else ""
    named = ", ".join(lost[:_NAMED_IN_A_MESSAGE])
    text = f"the patch does not contain all of: {named}{more} ("
    return [Advice(text, NextStep("again", binary=True), " includes the contents of binary files)")]
