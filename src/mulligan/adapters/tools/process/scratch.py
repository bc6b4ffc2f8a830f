"""Files that are handed to one tool call: what neither an argument nor a variable can hold."""

from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from mulligan.boundaries import act
from mulligan.errors import SystemFailed
from mulligan.ports import ToolRequest


class Scratch:
    """A folder for one call, gone when the call is over.

    It is inside of a folder per plan, so that leftovers of a killed process can be distinguished from the files
    of a process that still works on its plan.
    """

    def __init__(self, home: Path, request: ToolRequest) -> None:
        """Make nothing before there is a file."""
        self._folder = home / request.plan_id / request.call_id
        self._files: list[Path] = []

    def write(self, name: str, content: bytes) -> Path:
        """Make a file that only its owner can reach; return its path."""
        file = self._folder / name
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._files.append(file)
            with act("scratch.write"):
                file.write_bytes(content)
        except OSError as exc:
            raise SystemFailed(path=str(file), reason=exc.strerror or str(exc)) from exc
        return file

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files:
            file.unlink(missing_ok=True)
        with suppress(OSError):  # none was made, or the command put something there: `mulligan gc` clears it
            self._folder.rmdir()
            self._folder.parent.rmdir()
