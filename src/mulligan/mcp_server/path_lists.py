"""Lists of paths in results: the first of them, and the number of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mulligan.api.results import PathRestores, RevertedChange
    from mulligan.domain.trees.diff import FileDiff, FolderDiff

SHOWN = 200
_NAMED = 10  # paths in a question
_LONGEST = 200  # characters of each there


def of_diff(files: Sequence[FileDiff], folders: Sequence[FolderDiff]) -> dict[str, object]:
    """Return the paths of a comparison."""
    found: list[dict[str, object]] = [
        {
            "path": file.path,
            "change": file.status,
            "resource": file.resource,
            "insertions": file.insertions,
            "deletions": file.deletions,
        }
        for file in files
    ]
    return _listed(
        [*found, *({"path": f"{f.path}/", "change": f.status, "resource": f.resource} for f in folders)]
    )


def of_return(changes: Iterable[RevertedChange]) -> dict[str, object]:
    """Return the paths that a return changes, but for caches."""
    return _listed(
        [
            {"path": each.about or each.file, "change": each.action, "resource": each.resource}
            for each in changes
            if not each.hidden
        ]
    )


def of_restores(done: PathRestores) -> dict[str, object]:
    """Return the paths that a restore of paths changes."""
    return _listed(
        [
            {"path": change.path, "change": change.action, "resource": change.resource}
            for each in done.restores
            for change in each.changes
        ]
    )


def in_words(paths: Sequence[str]) -> str:
    """Name paths in a question."""
    more = len(paths) - _NAMED
    named = (path if len(path) <= _LONGEST else f"{path[:_LONGEST]}…" for path in paths[:_NAMED])
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")


def _listed(paths: Sequence[dict[str, object]]) -> dict[str, object]:
    return {"paths": paths[:SHOWN], "paths_total": len(paths)}
