"""Answers about single paths of a checkpoint: the bytes of a file, and what a folder holds."""

from __future__ import annotations

import os
import posixpath
import sys
from base64 import b64encode
from collections.abc import Callable
from typing import TYPE_CHECKING

from mulligan.cli.answers.answer import Answer, Format, Line, Table
from mulligan.domain.text.plural import counted
from mulligan.domain.trees.line_diff import is_binary
from mulligan.domain.trees.tree_difference import EntryType
from mulligan.errors import PathIsFolder

if TYPE_CHECKING:
    from mulligan.api.project import Project
    from mulligan.api.results import StoredPath, TreeListing
    from mulligan.cli.invocation import Invocation

_SIGNS = {EntryType.FOLDER: "/", EntryType.SYMLINK: " -> "}
_SHOWN = 200  # lines of a list on a terminal
_LOOKED_AT = 8192  # bytes that decide whether a file is text


def tree_answer_of(invocation: Invocation, checkpoint: str, path: str | None, *, recursive: bool) -> Answer:
    """Answer with what a checkpoint holds at a path; without one, with all of it."""
    project = invocation.project()
    checkpoint = project.checkpoints.named(checkpoint)
    where = project.folder if path is None else invocation.around.folder / path
    return _listed(invocation, project.list_tree(checkpoint, where, recursive=recursive), project)


def stored_path_answer(invocation: Invocation, checkpoint: str, path: str) -> Answer:
    """Answer with the bytes of a file; for people without a terminal they are all that is written."""
    project = invocation.project()
    checkpoint = project.checkpoints.named(checkpoint)
    where = invocation.around.folder / path
    try:
        found = project.stored_path(checkpoint, where)
    except PathIsFolder:
        return tree_answer_of(invocation, checkpoint, path, recursive=False)
    if invocation.format.is_document:
        return Answer(data=_document(found, project.read_path(checkpoint, where)))
    if not sys.stdout.isatty():
        from mulligan.cli.terminal.render import write

        project.copy_path(checkpoint, where, lambda piece: write(sys.stdout, piece))
        if found.line.type is EntryType.SYMLINK:
            write(sys.stdout, "\n")
        return Answer(data=None)
    return Answer(data=None, blocks=_for_terminal(found, project.read_path(checkpoint, where), path))


def _document(found: StoredPath, data: bytes) -> dict[str, object]:
    """Return the facts of a file with its bytes: as text where they are UTF-8, else in base64."""
    try:
        encoding, content = "utf-8", data.decode("utf-8")
    except UnicodeDecodeError:
        encoding, content = "base64", b64encode(data).decode("ascii")
    line = found.line
    return {
        "plan_id": found.plan_id,
        "handle": found.handle,
        "group_id": found.group_id,
        "number": found.number,
        **{name: getattr(line, name) for name in line.__struct_fields__},
        "encoding": encoding,
        "content": content,
    }


def _for_terminal(found: StoredPath, data: bytes, path: str) -> list[Line]:
    """Return the lines of a text; what would only disturb a terminal is described."""
    if found.line.type is EntryType.SYMLINK:
        return [Line(data.decode("utf-8", "surrogateescape"))]
    if not is_binary(data[:_LOOKED_AT]):
        text = data.decode("utf-8", "backslashreplace")
        return [Line(line.expandtabs(8)) for line in text.removesuffix("\n").split("\n")] if text else []
    from mulligan.api.operations.command_words import command_line
    from mulligan.errors import NextStep

    size = counted(found.line.size_bytes or 0, "byte")
    command = command_line(NextStep("read_path", checkpoint=f"{found.handle}@{found.number}", path=path))
    return [
        Line(f"{path}: not a text, {size}, mode {found.line.mode}"),
        Line(f"`{command} > FILE` writes it to a file"),
    ]


def _listed(invocation: Invocation, listing: TreeListing, project: Project) -> Answer:
    seen = seen_from_here(invocation, project)
    rows = [
        (
            line.mode,
            "-" if line.size_bytes is None else f"{line.size_bytes:,}",
            f"{seen(line.path)}{_SIGNS.get(line.type, '')}{line.target or ''}",
        )
        for line in listing.entries
    ]
    files = sum(line.type is EntryType.FILE for line in listing.entries)
    size = sum(line.size_bytes or 0 for line in listing.entries)
    total = f"{listing.name}: {counted(len(rows), 'path')}, {counted(files, 'file')}, {counted(size, 'byte')}"
    cut = len(rows) - _SHOWN if invocation.format is Format.RICH and len(rows) > _SHOWN else 0
    blocks: list[Line | Table] = (
        [Table(("MODE", "SIZE", "PATH"), tuple(rows[: len(rows) - cut]))] if rows else []
    )
    if cut:
        blocks.append(Line(f"... and {cut:,} more: name a folder, or pipe the list into a pager"))
    return Answer(data=listing, blocks=[*blocks, Line(total)])


def seen_from_here(invocation: Invocation, project: Project) -> Callable[[str], str]:
    """Return what turns a path of the project folder into the one that the user types in the current folder."""
    folder = os.path.realpath(project.folder)
    here = os.path.realpath(invocation.around.folder)
    if folder == here:
        return lambda path: path
    return lambda path: posixpath.relpath(f"{folder}/{path}", here)
