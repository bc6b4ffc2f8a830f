"""The tool `apply_patch`: a unified diff, all of it or nothing."""

import os
import stat

from mulligan.adapters.tools.builtin.call_arguments import text
from mulligan.adapters.tools.builtin.declarations import FOLDERS, declare
from mulligan.adapters.tools.builtin.file_replacement import Content, failing_as, read, replace
from mulligan.adapters.tools.builtin.sandbox_paths import OpenSandbox, Place, open_sandbox
from mulligan.adapters.tools.patch.diff_reader import parse_diff
from mulligan.adapters.tools.patch.unified_diff import DiffMalformed, FilePatch, HunkMismatch, apply_hunks
from mulligan.domain.plans.tool import Argument, ArgumentType, ToolResult
from mulligan.errors import ToolFailed
from mulligan.ports import StepHost, ToolRequest


class ApplyPatch:
    """Applies a patch to the files of the sandbox."""

    declaration = declare(
        "apply_patch",
        "Apply a unified diff, all of it or nothing",
        Argument("patch", ArgumentType.TEXT, required=True),
        resource_types=FOLDERS,
        idempotent=False,
    )

    def call(self, request: ToolRequest, host: StepHost) -> ToolResult:
        """Compute and check every file, then write."""
        data = text("apply_patch", request, "patch").encode("utf-8", "surrogateescape")
        try:
            patches = parse_diff(data)
        except DiffMalformed as exc:
            raise ToolFailed(tool="apply_patch", reason=str(exc)) from exc
        with open_sandbox(request.root) as sandbox:
            patched = _PatchedFiles(sandbox)
            for patch in patches:
                patched.take(patch)
            paths = patched.write()
        return ToolResult(output=[*paths], detail={"paths": [*paths]}, messages=tuple(patched.remarks))


class _PatchedFiles:
    """The files a patch touches: as they are, and as they will be."""

    def __init__(self, sandbox: OpenSandbox) -> None:
        self._sandbox = sandbox
        self._before: dict[str, Content | None] = {}
        self._after: dict[str, Content | None] = {}
        self._made: set[str] = set()  # paths that must be unused,
        self._given_up: set[str] = set()  # but for these, which the patch itself deletes or moves away
        self.remarks: list[str] = []

    def take(self, patch: FilePatch) -> None:
        """Work out what one part of the patch makes of its file."""
        moved = patch.old_path is not None and patch.new_path is not None and patch.old_path != patch.new_path
        content = self._source(patch, moved=moved)
        try:
            data, remarks = apply_hunks(content.data, patch.hunks)
        except HunkMismatch as exc:
            raise self._refused(patch.name, str(exc), ": ") from exc
        self.remarks += [f"{patch.name}: {remark}" for remark in remarks]
        if patch.new_path is None:
            if data:
                raise self._refused(patch.name, "would be deleted, but holds more than the patch says")
            self._after[patch.name] = None
            self._given_up.add(patch.name)
            return
        if moved and not patch.copy:
            self._give_up(patch.old_path or "")
        if moved or patch.old_path is None:
            self._made.add(patch.new_path)
        self._after[patch.new_path] = _with_mode(Content(data, content.mode), executable=patch.executable)

    def _give_up(self, path: str) -> None:
        """Note that a path is moved away; another part may have put something there already."""
        if path not in self._made:
            if self._after.get(path) is not None:
                raise self._refused(path, "is changed by one part of the patch and moved by another")
            self._after[path] = None
        self._given_up.add(path)

    def _source(self, patch: FilePatch, *, moved: bool) -> Content:
        """Return the text that the hunks change; a rename or copy refers to the state before the patch, as in git."""
        if patch.old_path is None:
            self._now(patch.name)
            if self._after.get(patch.name) is not None:
                raise self._refused(patch.name, "is made twice")
            return Content(b"", None)
        content = self._original(patch.old_path) if moved else self._now(patch.old_path)
        if content is None and patch.may_create:
            return Content(b"", None)
        if content is None:
            raise self._refused(patch.old_path, "is not there")
        if moved:
            self._original(patch.new_path or "")
        return content

    def _now(self, path: str) -> Content | None:
        before = self._original(path)
        return self._after.get(path, before)

    def _original(self, path: str) -> Content | None:
        if path not in self._before:
            with failing_as("apply_patch", path):
                try:
                    place = self._sandbox.find(path, follow=False, make_parents=False)
                except (FileNotFoundError, NotADirectoryError):
                    self._before[path] = None
                    return None
                found = place.stat()
                if found and not stat.S_ISREG(found.st_mode):
                    raise self._refused(path, "is not a regular file")
                self._before[path] = read(place)
        return self._before[path]

    def write(self) -> list[str]:
        """Write every file; when one cannot be written, put those before it back."""
        for path in sorted(self._made - self._given_up):
            if self._before[path] is not None:
                raise self._refused(path, "is there already")
        written: list[tuple[str, Place]] = []
        try:
            for path in sorted(self._after, key=lambda path: self._after[path] is not None):
                content = self._after[path]
                with failing_as("apply_patch", path):
                    place = self._sandbox.find(path, follow=False, make_parents=content is not None)
                    written.append((path, place))
                    _put(place, content)
        except BaseException as exc:
            self._put_back(written, exc)
            raise
        return sorted(path for path, _ in written)

    def _put_back(self, written: list[tuple[str, Place]], cause: BaseException) -> None:
        stuck: list[str] = []
        for path, place in reversed(written):
            try:
                _put(place, self._before[path])
            except OSError:
                stuck.append(path)
        if stuck:
            raise ToolFailed(
                tool="apply_patch",
                reason=f"{cause}; after that these could not be put back: {', '.join(stuck)}",
                paths=stuck,
                hint="go back to the checkpoint before this step",
            ) from cause

    @staticmethod
    def _refused(path: str, why: str, between: str = " ") -> ToolFailed:
        hint = "make the patch again from the files as they are now"
        return ToolFailed(tool="apply_patch", reason=f"{path}{between}{why}", path=path, hint=hint)


def _put(place: Place, content: Content | None) -> None:
    if content is not None:
        replace(place, content)
    elif place.stat() is not None:
        os.unlink(place.name, dir_fd=place.folder)


def _with_mode(content: Content, *, executable: bool | None) -> Content:
    """Set or clear the execute bits as git does: wherever reading is allowed."""
    if content.mode is None or executable is None:
        return Content(content.data, content.mode, program=bool(executable))
    bits = (content.mode & 0o444) >> 2
    return Content(content.data, content.mode | bits if executable else content.mode & ~0o111)
