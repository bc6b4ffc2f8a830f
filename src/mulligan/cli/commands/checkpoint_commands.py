"""Commands on checkpoints."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from mulligan.api.document import encode
from mulligan.api.replies import checkpoints_reply
from mulligan.cli.answers.answer import Answer, Block, Format, Line, Table, cut
from mulligan.cli.answers.diff_answer import diff_answer
from mulligan.cli.answers.plain_words import moment, no_repository
from mulligan.cli.commands.command_groups import SuggestingGroup
from mulligan.cli.commands.declaration import (
    CommandWithPaths,
    command,
    diff_view,
    diff_views,
    everywhere,
    newest,
    not_shown,
    paths_of,
)
from mulligan.cli.terminal.times import ago, local_time
from mulligan.domain.text.plural import counted
from mulligan.errors import SnapshotDamaged, UsageWrong

if TYPE_CHECKING:
    from mulligan.api.results import CheckpointView, Pruning
    from mulligan.cli.invocation import Invocation

# What is shown of one checkpoint, and what that is called; the second only with --ids or --verbose.
_SHOWN = {
    "resource": "resource",
    "step_index": "steps done",
    "size_bytes": "bytes added",
    "created_at": "time",
}
_IN_DETAIL = {
    "plan_id": "plan", "parent_group_id": "taken after", "decision_id": "decision", "modified": "modified",
    "superseded": "left behind", "state_hash": "state hash", "sandbox_ref": "sandbox ref", "metadata": "metadata",
    "filesystem_path": "sandbox",
}  # fmt: skip


@everywhere
@click.group(cls=SuggestingGroup, name="checkpoint")
def group() -> None:
    """List, show, compare, take, check, restore and prune checkpoints."""


@command(group, "list", example="mulligan checkpoint list upgrade-api --all")
@click.argument("plan", default="latest", metavar="[PLAN]")
@click.option("--all", "superseded", is_flag=True, help="Those that a rollback left behind too.")
@newest
def list_checkpoints(invocation: Invocation, plan: str, superseded: bool, limit: int | None) -> Answer:
    """List a plan's checkpoints, newest last; the newest plan unless named.

    With --limit those of the newest N groups: one for each resource of the plan.
    """
    views = invocation.project().checkpoints.list(plan, superseded=superseded, limit=limit)
    return Answer(
        data={"checkpoints": views},
        blocks=[_table(invocation, views)] if views else [Line("no checkpoints yet")],
        names=_names(invocation, views),
        messages=not_shown(views.older, "group"),
        paged=True,
    )


@command(group, "show", example="mulligan checkpoint show latest")
@click.argument("checkpoint", default="latest", metavar="[ID]")
@click.argument("stored", required=False, metavar="[PATH]")
@click.option("--output", "printed", is_flag=True, help="All that the steps of the plan ID printed.")
@click.option("--step", metavar="STEP", help="With --output: one step, by its name or index.")
def show(
    invocation: Invocation, checkpoint: str, stored: str | None, printed: bool, step: str | None
) -> Answer:
    """Show one checkpoint, or those of a group, in full; with PATH the bytes of that file, exactly as they are.

    ID may also be a plan, which means its newest checkpoint, or the number of an entry of `mulligan log`, which means
    the state right after it; without ID it is the newest checkpoint of the newest plan. PATH is relative to the current
    folder. A symlink is shown as its target, a folder as a list of what it holds. A terminal gets a description of a
    file that is not text.

    With --output, show what the steps of a plan printed. Of each step the last try counts. What it printed on stderr
    goes to stderr; a pipe gets every recorded byte.
    """
    if stored is not None:
        if printed:
            raise UsageWrong(
                reason="--output shows what steps printed, not a path", hint="leave out one of them"
            )
        from mulligan.cli.answers.paths.stored_path_answer import stored_path_answer

        return stored_path_answer(invocation, checkpoint, stored)
    if printed:
        from mulligan.cli.answers.plans.output_answer import (
            output_answer,  # here: most of the time nobody asks for it
        )

        project = invocation.project()
        return output_answer(project.status(checkpoint), project.outputs(checkpoint, step))
    if step is not None:
        raise UsageWrong(reason="--step names a step whose output is shown", hint="give --output too")
    checkpoints = invocation.project().checkpoints
    views = checkpoints.show(checkpoints.named(checkpoint))
    lines = [line for view in views for line in _in_full(invocation, view)]
    return replace(Answer.drawn(checkpoints_reply(views), lines, _names(invocation, views)), paged=True)


@command(group, "diff", example="mulligan checkpoint diff draft latest | git apply", cls=CommandWithPaths)
@click.argument("old", metavar="A")
@click.argument("new", metavar="B")
@click.option("--binary", is_flag=True, help="Let the patch carry binary files too.")
@click.option("--hidden", is_flag=True, help="Show what sandbox.hide matches too: caches of tools.")
@diff_views
@click.pass_context
def diff(
    context: click.Context,
    invocation: Invocation,
    old: str,
    new: str,
    binary: bool,
    hidden: bool,
    stat: bool,
    name_only: bool,
) -> Answer:
    """Show what differs from A to B: files, folders, and a patch that `git apply` takes.

    A and B are numbers (`tune@3`), ids of checkpoints or groups (of any plan), unique prefixes, labels, `first` or
    `latest` (of the newest plan). Groups are compared in all their resources; a checkpoint is compared with the
    one of the same resource. PATHs are as in `plan diff`.
    """
    view, checkpoints = diff_view(stat=stat, name_only=name_only), invocation.project().checkpoints
    paths = paths_of(context)
    folder = Path.cwd() if paths else None
    found = checkpoints.diff(old, new, binary=binary, hidden=hidden, paths=paths, folder=folder)
    return diff_answer(found, view, f"mulligan checkpoint diff --stat {old} {new}")


@command(
    group,
    "create",
    example='mulligan checkpoint create upgrade-api --label "tests pass"',
    codes=(0, 1, 2, 3, 130),
)
@click.argument("plan", metavar="PLAN")
@click.option("--label", required=True, help="The name to find it by.")
def create(invocation: Invocation, plan: str, label: str) -> Answer:
    """Take a labelled checkpoint of a plan that nothing works on."""
    views, messages = invocation.project().checkpoints.take(plan, label)
    blocks = [_table(invocation, views)]
    return Answer.drawn(checkpoints_reply(views, messages), blocks, _names(invocation, views))


@command(group, "verify", example="mulligan checkpoint verify --quick", codes=(0, 1, 2, 3, 130))
@click.argument("checkpoint", required=False, metavar="[ID]")
@click.option("--quick", is_flag=True, help="Look at presence and structure only.")
def verify(invocation: Invocation, checkpoint: str | None, quick: bool) -> Answer:
    """Read and hash the stored bytes of one checkpoint, or of all, and name those that are hurt."""
    checkpoints = invocation.project().checkpoints
    result = checkpoints.verify(checkpoint, quick=quick)
    lines: list[Line | Table] = [
        Line(f"{counted(result.checked, 'checkpoint')} looked at, {len(result.damaged)} damaged")
    ]
    if not result.damaged:
        return Answer(data=result, blocks=lines)
    rows = tuple((d.checkpoint_id, d.resource, "; ".join(d.problems)) for d in result.damaged)
    lines.append(Table(("CHECKPOINT", "RESOURCE", "DAMAGE"), rows))
    first = result.damaged[0]
    error = SnapshotDamaged(
        object=first.problems[0].split(":")[0],
        reason=f"{counted(len(result.damaged), 'checkpoint')} cannot be restored",
        hint="choose a checkpoint that is not listed; the others can still be restored",
    )
    missing = checkpoints.missing_repositories()
    return Answer(
        data=result, blocks=lines, error=error, messages=[no_repository(missing)] if missing else []
    )


@command(group, "restore", example="mulligan checkpoint restore latest --to ../look", codes=(0, 1, 2, 3, 130))
@click.argument("checkpoint", metavar="ID")
@click.option(
    "--to", "target", required=True, type=click.Path(path_type=Path), metavar="DIR", help="A new folder."
)
def restore(invocation: Invocation, checkpoint: str, target: Path) -> Answer:
    """Write a checkpoint's files into a new folder; of a group, label or word: one folder per resource."""
    folders = invocation.project().checkpoints.restore(checkpoint, target)
    return Answer(data={"restored": folders}, blocks=[Line(f"{f.resource}: {f.path}") for f in folders])


@command(group, "prune", example="mulligan checkpoint prune upgrade-api --keep 10 --dry-run")
@click.argument("plan", metavar="PLAN")
@click.option(
    "--keep",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many groups to keep; else as the settings say.",
)
@click.option("--dry-run", is_flag=True, help="Only say what would go, and why the rest stays.")
def prune(invocation: Invocation, plan: str, keep: int | None, dry_run: bool) -> Answer:
    """Remove a plan's oldest checkpoint groups, as retention does, and free their bytes.

    Always kept: the first, the most recent, the newest live one between two steps, and those that an unfinished
    operation depends on.
    """
    result = invocation.project().checkpoints.prune(plan, keep=keep, dry_run=dry_run)
    would = "would be " if dry_run else ""
    removed = f"{counted(len(result.pruned), 'group')} {would}removed"
    blocks: list[Block] = [Line(f"{removed}, {len(result.kept)} kept")]
    rows = [(p.checkpoint_id, p.label or "", "pruned") for p in result.pruned]
    rows += [(k.checkpoint_id, k.label or "", f"kept: {k.reason}") for k in result.kept]
    if rows:
        blocks += cut(Table(("CHECKPOINT", "LABEL", "VERDICT"), tuple(rows)), "see them with --format json")
    return Answer(data=result, blocks=[*blocks, *_freed(result)], names=_pruned_names(invocation, result))


@command(group, "delete", example="mulligan checkpoint delete draft")
@click.argument("checkpoint", metavar="ID")
def delete(invocation: Invocation, checkpoint: str) -> Answer:
    """Delete a checkpoint with its group, and free its bytes; refused for what must stay."""
    result = invocation.project().checkpoints.delete(checkpoint)
    lines = [Line(f"checkpoint {gone.checkpoint_id} is deleted") for gone in result.pruned]
    names = _pruned_names(invocation, result)
    return Answer(data=result, blocks=[*lines, *_freed(result)], names=names)


def _pruned_names(invocation: Invocation, result: Pruning) -> dict[str, str]:
    """Return the words for groups; removed ones cannot be looked up."""
    handle = invocation.handles([result.plan_id]).get(result.plan_id, result.plan_id)
    return {each.checkpoint_id: f"{handle}@{each.number}" for each in (*result.pruned, *result.kept)}


def _freed(result: Pruning) -> list[Line]:
    return [] if result.bytes_freed is None else [Line(f"{counted(result.bytes_freed, 'byte')} freed")]


def _table(invocation: Invocation, views: Sequence[CheckpointView]) -> Table:
    rows = tuple(
        (
            v.checkpoint_id,
            v.resource,
            moment(v.checkpoint_type, v.step_index, v.label) + (" (left behind)" if v.superseded else ""),
            f"{v.size_bytes} B" if v.modified else "-",
            invocation.when(v.created_at),
        )
        for v in views
    )
    return Table(("CHECKPOINT", "RESOURCE", "TAKEN", "ADDED", "TIME"), rows)


def _names(invocation: Invocation, views: Sequence[CheckpointView]) -> dict[str, str]:
    """Return the words for checkpoints; only their plans are looked up."""
    plans = {v.plan_id for v in views}
    handles = invocation.handles(() if invocation.format.is_document else plans)
    return {v.checkpoint_id: f"{handles[v.plan_id]}@{v.number}" for v in views if v.plan_id in handles}


def _in_full(invocation: Invocation, view: CheckpointView) -> list[Line]:
    taken = moment(view.checkpoint_type, view.step_index, view.label)
    lines = [Line(f"{view.checkpoint_id}, {taken}", title=True)]
    in_detail = invocation.ids_option or invocation.verbose_option
    shown = _SHOWN | (_IN_DETAIL if in_detail else {})
    lines += [Line(f"  {name}: {_told(invocation, getattr(view, of))}") for of, name in shown.items()]
    if view.superseded and not in_detail:
        lines.append(Line("  it was left behind by a rollback or a correction"))
    return lines


def _told(invocation: Invocation, value: object) -> str:
    """A value as documents have it, but for times; none at all as a dash."""
    if isinstance(value, datetime):
        seen_from_now = f" ({ago(value, invocation.now)})" if invocation.format is Format.RICH else ""
        return local_time(value) + seen_from_now
    plain = encode(value)
    return (
        "-" if plain is None else plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)
    )
