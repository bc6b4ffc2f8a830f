"""Files that are handed to a tool's processes, for what no argument or variable can hold."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def scratch_file(folder: Path, name: str, content: bytes) -> Generator[Path]:
    """A file that only its owner can get at, as long as it is needed."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = folder / name
    try:
        file.write_bytes(content)
        yield file
    finally:
        file.unlink(missing_ok=True)
