"""Files that are handed to one tool call: what neither an argument nor a variable can hold."""

from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct, field

from mulligan.boundaries import act
from mulligan.errors import SystemFailed
from mulligan.ports import ToolRequest


class Scratch(Struct, frozen=True, eq=False):
    """A folder for one call; it is made when there is a file."""

    folder: Path
    files: list[Path] = field(default_factory=list[Path])

    def write(self, name: str, content: bytes) -> Path:
        """Make a file that only its owner can reach; return its path."""
        file = self.folder / name
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.files.append(file)
            with act("scratch.write"):
                file.write_bytes(content)
        except OSError as exc:
            raise SystemFailed(path=str(file), reason=exc.strerror or str(exc)) from exc
        return file


@contextmanager
def scratch_of(request: ToolRequest, home: Path) -> Generator[Scratch]:
    """Have a folder for one call until the block ends.

    It is inside of a folder per plan, so that leftovers of a killed process can be distinguished from the files
    of a process that still works on its plan.
    """
    scratch = Scratch(home / request.plan_id / request.call_id)
    try:
        yield scratch
    finally:
        for file in scratch.files:
            file.unlink(missing_ok=True)
        with suppress(OSError):  # none was made, or the command put something there: `mulligan gc` clears it
            scratch.folder.rmdir()
            scratch.folder.parent.rmdir()
