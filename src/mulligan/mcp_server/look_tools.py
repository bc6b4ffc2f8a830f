"""Tools that look, and the one that names a checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType

from mulligan.domain.plans.handle import group_reference
from mulligan.errors import UsageWrong
from mulligan.mcp_server.path_lists import of_diff
from mulligan.mcp_server.tool_results import ChangesShown, CheckpointList, Labelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mulligan.api.project import Project
    from mulligan.api.results import CheckpointView, EntryPoint, EntryView
    from mulligan.domain.trees.diff import Diff, DiffSide
    from mulligan.mcp_server.tool_arguments import LabelCheckpoint, ListCheckpoints, ShowChanges
    from mulligan.mcp_server.tool_work import ToolWork

_CONTINUATION = 0b1100_0000, 0b1000_0000  # the mask, and what continues a character of UTF-8


def list_checkpoints(work: ToolWork, wish: ListCheckpoints) -> CheckpointList:
    """List the checkpoints of a plan, and what was done in the folder."""
    project = work.project()
    entries = project.timeline(limit=wish.limit)
    named = wish.plan or ("latest" if entries or project.plans(limit=1) else None)
    listed = project.checkpoints.list
    found = listed(named, superseded=wish.superseded, limit=wish.limit) if named is not None else None
    return work.result(
        CheckpointList,
        {
            "plan": project.status(named).handle if named is not None else None,
            "checkpoints": _checkpoints(project, found or ()),
            "older_checkpoints": found.older if found is not None else 0,
            "entries": [_entry(each) for each in entries],
            "older_entries": entries.older,
        },
    )


def show_changes(work: ToolWork, wish: ShowChanges) -> ChangesShown:
    """Compare two checkpoints, or show what an entry or a plan changed; of a long patch one part."""
    project = work.project()
    diff = _compared(project, wish)
    sides = _names(project, (diff.old, diff.new))
    end = _end_of_part(diff.patch, wish.offset, wish.limit)
    return work.result(
        ChangesShown,
        {
            "from_checkpoint": sides[0],
            "to_checkpoint": sides[1],
            **of_diff(diff.files, diff.folders),
            "patch": diff.patch[wish.offset : end],
            "offset": wish.offset,
            "next_offset": end if end < len(diff.patch) else None,
            "patch_bytes": len(diff.patch),
            "hidden": diff.hidden,
            "messages": (*work.notes, *diff.messages),
        },
    )


def label_checkpoint(work: ToolWork, wish: LabelCheckpoint) -> Labelled:
    """Take a checkpoint with a name."""
    project = work.project()
    views, messages = project.checkpoints.take(wish.plan or "latest", wish.label)
    return work.result(
        Labelled, {"checkpoints": _checkpoints(project, views), "messages": (*work.notes, *messages)}
    )


def _compared(project: Project, wish: ShowChanges) -> Diff:
    old, new = wish.from_checkpoint or None, wish.to_checkpoint or None
    paths, folder = wish.paths, project.folder if wish.paths else None
    if not isinstance(wish.entry, UnsetType):
        if old is not None or new is not None or wish.plan is not UNSET:
            raise UsageWrong(
                reason="`entry` says what is compared, beside a plan or checkpoints", hint="leave one out"
            )
        return project.diff_of_entry(wish.entry, paths=paths, folder=folder)
    if old is not None and new is not None and wish.plan is UNSET:
        return project.checkpoints.diff(
            project.checkpoints.named(old), project.checkpoints.named(new), paths=paths, folder=folder
        )
    plan = wish.plan or _plan_of(old or new) or project.newest_for("diff")
    return project.diff(plan, old=old, new=new, paths=paths, folder=folder)


def _plan_of(checkpoint: str | None) -> str | None:
    """Return the plan of a checkpoint that has it in its name; of another one the newest is meant."""
    if checkpoint is None:
        return None
    reference = group_reference(checkpoint)
    return (reference.plan if reference is not None else "") or "latest"


def _end_of_part(patch: bytes, start: int, limit: int) -> int:
    """Return the end of a part of a patch: of a line, or at least of a character."""
    end = start + limit
    if end >= len(patch):
        return len(patch)
    line = patch.rfind(b"\n", start, end)
    if line >= 0:
        return line + 1
    mask, continues = _CONTINUATION
    while end > start + 1 and patch[end] & mask == continues:
        end -= 1
    return end


def _names(project: Project, sides: Iterable[DiffSide]) -> list[str]:
    ids = [side.checkpoint_id or side.group_id for side in sides]
    known = project.handles(ids)
    return [known.get(each, each) for each in ids]


def _checkpoints(project: Project, views: Sequence[CheckpointView]) -> list[dict[str, object]]:
    """Return one line for each group."""
    known = project.handles({view.group_id for view in views})
    groups: dict[str, list[CheckpointView]] = {}
    for view in views:
        groups.setdefault(view.group_id, []).append(view)
    return [
        {
            "checkpoint": known.get(group_id, group_id),
            "resources": [view.resource for view in members],
            "taken": members[0].checkpoint_type,
            "label": members[0].label,
            "created_at": members[0].created_at,
            "superseded": members[0].superseded,
        }
        for group_id, members in groups.items()
    ]


def _entry(entry: EntryView) -> dict[str, object]:
    def name(point: EntryPoint | None) -> str | None:
        return None if point is None else f"{entry.handle}@{point.number}"

    return {
        "entry": entry.number,
        "kind": entry.kind,
        "title": entry.title,
        "plan": entry.handle,
        "status": entry.status,
        "before": name(entry.before),
        "after": name(entry.after),
        "files": entry.files,
        "undone": entry.undone,
        "created_at": entry.created_at,
    }
