"""Tools for single files: write_file, delete_file, edit_file, move_file."""

import os
import stat
from contextlib import suppress

from mulligan.adapters.tools.builtin.call_arguments import file_mode, text
from mulligan.adapters.tools.builtin.declarations import FOLDERS, declare
from mulligan.adapters.tools.builtin.file_replacement import Content, failing_as, read, replace
from mulligan.adapters.tools.builtin.sandbox_paths import open_sandbox
from mulligan.domain.plans.tool import Argument, ArgumentType, ToolResult
from mulligan.errors import ToolFailed
from mulligan.ports import StepHost, ToolRequest


class WriteFile:
    """Writes a file whole; a symlink inside the sandbox is written through."""

    declaration = declare(
        "write_file",
        "Write a file, with the folders it needs",
        Argument("path", ArgumentType.PATH, required=True),
        Argument("content", ArgumentType.TEXT, required=True),
        Argument("mode", ArgumentType.MODE, required=False),
        resource_types=FOLDERS,
        idempotent=True,
    )

    def call(self, request: ToolRequest, host: StepHost) -> ToolResult:
        """Write it through a draft, so that a failure leaves the old content."""
        path = file_path("write_file", request, "path")
        data = encoded("write_file", "content", text("write_file", request, "content"))
        mode = file_mode("write_file", request, "mode")
        with failing_as("write_file", path), open_sandbox(request.root) as sandbox:
            place = sandbox.find(path, follow=True, make_parents=True)
            found = place.stat()
            if found and not stat.S_ISREG(found.st_mode):
                raise ToolFailed(tool="write_file", reason=f"{path} exists and is not a file", path=path)
            kept = stat.S_IMODE(found.st_mode) if found else None
            replace(place, Content(data, kept if mode is None else mode))
        return ToolResult(output=path, detail={"bytes": len(data), "created": found is None}, messages=())


class DeleteFile:
    """Deletes a file or a symlink (never what it points to); one that is missing is fine."""

    declaration = declare(
        "delete_file",
        "Delete a file; one that is not there is fine",
        Argument("path", ArgumentType.PATH, required=True),
        resource_types=FOLDERS,
        idempotent=True,
    )

    def call(self, request: ToolRequest, host: StepHost) -> ToolResult:
        path = file_path("delete_file", request, "path")
        found = None
        with (
            failing_as("delete_file", path),
            open_sandbox(request.root) as sandbox,
            suppress(FileNotFoundError, NotADirectoryError),
        ):
            place = sandbox.find(path, follow=False, make_parents=False)
            found = place.stat()
            if found and stat.S_ISDIR(found.st_mode):
                hint = "delete a folder with the tool `shell` (`rm -r`)"
                raise ToolFailed(tool="delete_file", reason=f"{path} is a folder", path=path, hint=hint)
            if found:
                os.unlink(place.name, dir_fd=place.folder)
        return ToolResult(output=path, detail={"deleted": found is not None}, messages=())


class EditFile:
    """Replaces a text in a file, byte by byte: encodings and line breaks stay what they are."""

    declaration = declare(
        "edit_file",
        "Replace a text that occurs in a file exactly once, or everywhere",
        Argument("path", ArgumentType.PATH, required=True),
        Argument("old", ArgumentType.TEXT, required=True),
        Argument("new", ArgumentType.TEXT, required=True),
        Argument("all", ArgumentType.FLAG, required=False),
        resource_types=FOLDERS,
        idempotent=False,
    )

    def call(self, request: ToolRequest, host: StepHost) -> ToolResult:
        path = file_path("edit_file", request, "path")
        old = encoded("edit_file", "old", text("edit_file", request, "old"))
        new = encoded("edit_file", "new", text("edit_file", request, "new"))
        everywhere = request.args.get("all") is True
        if not old:
            raise ToolFailed(tool="edit_file", reason="old is empty, and would match everywhere", path=path)
        with failing_as("edit_file", path), open_sandbox(request.root) as sandbox:
            place = sandbox.find(path, follow=True, make_parents=False)
            content = read(place)
            if content is None:
                raise ToolFailed(tool="edit_file", reason=f"{path} is not there", path=path)
            count = content.data.count(old) if everywhere else _occurrences(content.data, old)
            if count == 0 or (count > 1 and not everywhere):
                raise _not_once(path, content.data, old, count)
            replace(place, Content(content.data.replace(old, new), content.mode))
        return ToolResult(output=path, detail={"replaced": count}, messages=())


def _occurrences(data: bytes, old: bytes) -> int:
    """Count the occurrences of a text; two that overlap count as two, since either could be meant."""
    count, at = 0, data.find(old)
    while at >= 0:
        count, at = count + 1, data.find(old, at + 1)
    return count


def _not_once(path: str, data: bytes, old: bytes, count: int) -> ToolFailed:
    if count:
        reason = f"old occurs {count} times in {path}"
        hint = "give more of the lines around it, or set `all: true`"
    elif b"\r\n" in data and old.replace(b"\r\n", b"\n") in data.replace(b"\r\n", b"\n"):
        reason = f"old occurs in {path} only with other line breaks: the file has CRLF"
        hint = "write the line breaks of old and new as the file has them (\\r\\n in double quotes)"
    else:
        reason = f"old does not occur in {path}"
        hint = "copy it from the file exactly, white space included"
    return ToolFailed(tool="edit_file", reason=reason, path=path, count=count, hint=hint)


class MoveFile:
    """Moves a file, symlink or folder to an unused path."""

    declaration = declare(
        "move_file",
        "Move or rename a file or folder, with the folders it needs",
        Argument("path", ArgumentType.PATH, required=True),
        Argument("to", ArgumentType.PATH, required=True),
        resource_types=FOLDERS,
        idempotent=False,
    )

    def call(self, request: ToolRequest, host: StepHost) -> ToolResult:
        path = text("move_file", request, "path")
        to = text("move_file", request, "to")
        with open_sandbox(request.root) as sandbox:
            with failing_as("move_file", path):
                source = sandbox.find(path, follow=False, make_parents=False)
                if source.stat() is None:
                    raise ToolFailed(tool="move_file", reason=f"{path} is not there", path=path)
            with failing_as("move_file", to):
                target = sandbox.find(to, follow=False, make_parents=True)
                if target.stat() is not None:
                    hint = "delete it first, or choose another name"
                    raise ToolFailed(tool="move_file", reason=f"{to} is there already", path=to, hint=hint)
                os.rename(source.name, target.name, src_dir_fd=source.folder, dst_dir_fd=target.folder)
        return ToolResult(output=to, detail={"from": path, "to": to}, messages=())


def file_path(tool: str, request: ToolRequest, name: str) -> str:
    """A path that names a file."""
    path = text(tool, request, name)
    if path.endswith("/"):
        raise ToolFailed(tool=tool, reason=f"{path} names a folder", path=path)
    return path


def encoded(tool: str, name: str, value: str) -> bytes:
    """Encode a text as files have it."""
    try:
        return value.encode()
    except UnicodeEncodeError as exc:
        raise ToolFailed(tool=tool, reason=f"{name} is not valid Unicode text: {exc.reason}") from exc
