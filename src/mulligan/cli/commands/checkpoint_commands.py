"""Commands on checkpoints."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mulligan.api.document import encode
from mulligan.api.replies import checkpoints_reply
from mulligan.cli.answers.answer import Answer, Format, Line, Table
from mulligan.cli.answers.diff_answer import diff_answer
from mulligan.cli.commands.command_groups import SuggestingGroup
from mulligan.cli.commands.declaration import command, everywhere, newest, not_shown
from mulligan.cli.terminal.times import ago, local_time
from mulligan.domain.text.plural import counted
from mulligan.errors import SnapshotDamaged

if TYPE_CHECKING:
    from mulligan.api.results import CheckpointView, Pruning
    from mulligan.cli.invocation import Invocation


@click.group(cls=SuggestingGroup, name="checkpoint")
@everywhere
def group() -> None:
    """List, show, compare, take, check, restore and prune checkpoints."""


@command(group, "list", example="mulligan checkpoint list upgrade-api --all")
@click.argument("plan", default="latest", metavar="[PLAN_ID]")
@click.option("--all", "superseded", is_flag=True, help="Superseded ones too.")
@newest
def list_checkpoints(invocation: Invocation, plan: str, superseded: bool, limit: int | None) -> Answer:
    """List a plan's checkpoints, newest last; the newest plan unless named.

    With --limit those of the newest N groups: one for each resource of the plan.
    """
    views = invocation.project().checkpoints.list(plan, superseded=superseded, limit=limit)
    return Answer(
        data={"checkpoints": views},
        blocks=[_table(invocation, views)] if views else [Line("no checkpoints yet")],
        messages=not_shown(views.older, "group"),
    )


@command(group, "show", example="mulligan checkpoint show latest")
@click.argument("checkpoint", metavar="ID")
def show(invocation: Invocation, checkpoint: str) -> Answer:
    """Show one checkpoint, or those of a group, in full."""
    views = invocation.project().checkpoints.show(checkpoint)
    lines = [line for view in views for line in _in_full(invocation, view)]
    return Answer.drawn(checkpoints_reply(views), lines)


@command(group, "diff", example="mulligan checkpoint diff draft latest | git apply")
@click.argument("old", metavar="A")
@click.argument("new", metavar="B")
@click.option("--binary", is_flag=True, help="Let the patch carry binary files too.")
def diff(invocation: Invocation, old: str, new: str, binary: bool) -> Answer:
    """Show what differs from A to B: files, folders, and a patch that `git apply` takes.

    A and B are numbers (`tune@3`), ids of checkpoints or groups (of any plan), unique prefixes, labels, `first` or
    `latest` (of the newest plan). Groups are compared in all their resources; a checkpoint is compared with the
    one of the same resource.
    """
    return diff_answer(invocation.project().checkpoints.diff(old, new, binary=binary))


@command(
    group,
    "create",
    example='mulligan checkpoint create upgrade-api --label "tests pass"',
    codes=(0, 1, 2, 3, 130),
)
@click.argument("plan", metavar="PLAN_ID")
@click.option("--label", required=True, help="The name to find it by.")
def create(invocation: Invocation, plan: str, label: str) -> Answer:
    """Take a labelled checkpoint of a plan that nothing works on."""
    views, messages = invocation.project().checkpoints.take(plan, label)
    return Answer.drawn(checkpoints_reply(views, messages), [_table(invocation, views)])


@command(group, "verify", example="mulligan checkpoint verify --quick", codes=(0, 1, 2, 3, 130))
@click.argument("checkpoint", required=False, metavar="[ID]")
@click.option("--quick", is_flag=True, help="Look at presence and structure only.")
def verify(invocation: Invocation, checkpoint: str | None, quick: bool) -> Answer:
    """Read and hash the stored bytes of one checkpoint, or of all, and name those that are hurt."""
    result = invocation.project().checkpoints.verify(checkpoint, quick=quick)
    lines: list[Line | Table] = [
        Line(f"{counted(result.checked, 'checkpoint')} looked at, {len(result.damaged)} damaged")
    ]
    if not result.damaged:
        return Answer(data=result, blocks=lines)
    rows = tuple((d.checkpoint_id, d.plan_id, d.resource, "; ".join(d.problems)) for d in result.damaged)
    lines.append(Table(("CHECKPOINT", "PLAN", "RESOURCE", "DAMAGE"), rows))
    first = result.damaged[0]
    error = SnapshotDamaged(
        object=first.problems[0].split(":")[0],
        reason=f"{counted(len(result.damaged), 'checkpoint')} cannot be restored",
        hint="choose a checkpoint that is not listed; the others can still be restored",
    )
    return Answer(data=result, blocks=lines, error=error)


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
@click.argument("plan", metavar="PLAN_ID")
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
    lines: list[Line | Table] = [Line(f"{removed}, {len(result.kept)} kept")]
    rows = [(p.checkpoint_id, p.label or "", "pruned") for p in result.pruned]
    rows += [(k.checkpoint_id, k.label or "", f"kept: {k.reason}") for k in result.kept]
    if rows:
        lines.append(Table(("CHECKPOINT", "LABEL", "VERDICT"), tuple(rows)))
    return Answer(data=result, blocks=[*lines, *_freed(result)])


@command(group, "delete", example="mulligan checkpoint delete draft")
@click.argument("checkpoint", metavar="ID")
def delete(invocation: Invocation, checkpoint: str) -> Answer:
    """Delete a checkpoint with its group, and free its bytes; refused for what must stay."""
    result = invocation.project().checkpoints.delete(checkpoint)
    lines = [Line(f"checkpoint {gone.checkpoint_id} is deleted") for gone in result.pruned]
    return Answer(data=result, blocks=[*lines, *_freed(result)])


def _freed(result: Pruning) -> list[Line]:
    return [] if result.bytes_freed is None else [Line(f"{counted(result.bytes_freed, 'byte')} freed")]


def _table(invocation: Invocation, views: Sequence[CheckpointView]) -> Table:
    rows = tuple(
        (
            v.checkpoint_id,
            v.resource,
            v.checkpoint_type.value + (" (superseded)" if v.superseded else ""),
            v.label or "",
            str(v.step_index),
            f"{v.size_bytes} B" if v.modified else "-",
            invocation.when(v.created_at),
        )
        for v in views
    )
    return Table(("CHECKPOINT", "RESOURCE", "TYPE", "LABEL", "STEP", "ADDED", "TIME"), rows)


def _in_full(invocation: Invocation, view: CheckpointView) -> list[Line]:
    names = [f for f in view.__struct_fields__ if f != "checkpoint_id"]
    lines = [Line(f"checkpoint {view.checkpoint_id}", title=True)]
    return lines + [Line(f"  {name}: {_told(invocation, getattr(view, name))}") for name in names]


def _told(invocation: Invocation, value: object) -> str:
    """A value as documents have it, but for times; none at all as a dash."""
    if isinstance(value, datetime):
        seen_from_now = f" ({ago(value, invocation.now)})" if invocation.format is Format.RICH else ""
        return local_time(value) + seen_from_now
    plain = encode(value)
    return (
        "-" if plain is None else plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)
    )
