"""The file `tools.py` of a project home, and whether its user said that this content may run.

That is recorded in the project home as the SHA-256 of the content, with what its tools declare, under a seal
made of what only this place has: the machine, the user, the folder. The home of a project can come with an
archive or a checkout of a stranger, and a record that a stranger put there is none. For the same reason it is
a file and no row: a database may be named, copied and put back from elsewhere.
"""

import hashlib
import json
import os
import stat
import sys
from pathlib import Path
from typing import cast

from msgspec import Struct

from mulligan.boundaries import act
from mulligan.domain.text.json_value import Json, JsonObject, canonical_json
from mulligan.errors import SystemFailed, ToolsInvalid, ToolsUnsafe

NAME = "tools.py"
RECORD = "trusted-tools.json"
NOT_YET = "is not trusted yet"
CHANGED = "has changed since it was trusted"
LARGEST = 1024 * 1024  # bytes of a tools.py


class ToolsFile(Struct, frozen=True, kw_only=True):
    """A tools.py as it was read; whatever becomes of the file, this is what is trusted and run."""

    path: Path
    content: bytes

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @property
    def text(self) -> str:
        """The source, decoded as Python does."""
        from importlib.util import decode_source  # here: most commands have no tools.py

        try:
            return decode_source(self.content)
        except (SyntaxError, UnicodeDecodeError) as exc:
            raise ToolsInvalid(source=str(self.path), reason=f"cannot be decoded: {exc}") from exc


def read_tools_file(path: Path) -> ToolsFile | None:
    """The file as it is now; None where there is none, ToolsUnsafe where others could have written it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise SystemFailed(path=str(path), reason=exc.strerror or str(exc)) from exc
    try:
        if problem := _problem(os.fstat(descriptor)):
            raise ToolsUnsafe(path=str(path), reason=problem)
        with open(descriptor, "rb", closefd=False) as file:
            return ToolsFile(path=path, content=file.read(LARGEST + 1))
    finally:
        os.close(descriptor)


def _problem(found: os.stat_result) -> str | None:
    if not stat.S_ISREG(found.st_mode):
        return "it is not a file"
    if found.st_uid != os.geteuid():
        return f"it belongs to another user (uid {found.st_uid})"
    if found.st_mode & stat.S_IWOTH:
        return "everyone may write it"
    if found.st_size > LARGEST:
        return f"it is larger than {LARGEST} bytes"
    return None


class TrustRecord(Struct, frozen=True, eq=False):
    """The record of the content of tools.py that was trusted last, and of its declarations."""

    home: Path
    machine: str  # its id

    @property
    def _file(self) -> Path:
        return self.home / RECORD

    def reason_against(self, file: ToolsFile) -> str | None:
        """Return why the content may not run; None: it may."""
        record = self._read()
        if record is None:
            return NOT_YET
        return None if record["sha256"] == file.sha256 else CHANGED

    def declared(self, file: ToolsFile) -> list[JsonObject] | None:
        """Return the declarations of the trusted tools under this interpreter; None if they were never loaded."""
        record = self._read()
        if record is None or (record["sha256"], record["interpreter"]) != (file.sha256, _interpreter()):
            return None
        return cast("list[JsonObject]", record["tools"])

    def trust(self, file: ToolsFile, tools: list[JsonObject]) -> None:
        record: JsonObject = {"sha256": file.sha256, "interpreter": _interpreter(), "tools": [*tools]}
        text = json.dumps({**record, "seal": self._seal(record)}, indent=1)
        new = self._file.with_suffix(".new")
        try:
            new.unlink(missing_ok=True)
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with open(descriptor, "w", encoding="ascii") as stream:
                stream.write(text)
                stream.flush()
                with act("trust.sync"):
                    os.fsync(descriptor)
            with act("trust.name"):
                new.rename(self._file)
        except OSError as exc:
            raise SystemFailed(path=str(self._file), reason=exc.strerror or str(exc)) from exc

    def _read(self) -> JsonObject | None:
        """The record, if it was made here; anything else counts for nothing."""
        try:
            record = cast("Json", json.loads(self._file.read_bytes()))
        except (FileNotFoundError, ValueError):
            return None
        except OSError as exc:
            raise SystemFailed(path=str(self._file), reason=exc.strerror or str(exc)) from exc
        if not isinstance(record, dict):
            return None
        return record if record.pop("seal", None) == self._seal(record) else None

    def _seal(self, record: JsonObject) -> str:
        found = self.home.stat()
        place = [self.machine, os.geteuid(), str(self.home.resolve()), found.st_dev, found.st_ino]
        return hashlib.sha256(canonical_json([*place, record]).encode("utf-8", "surrogatepass")).hexdigest()


def _interpreter() -> str:
    return f"{sys.executable} {sys.version}"
