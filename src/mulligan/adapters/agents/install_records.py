"""The record of what mulligan wrote into files of agents, with what was there before, so that it can be taken back."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import msgspec

from mulligan.boundaries import act
from mulligan.errors import LockImpossible, SystemFailed
from mulligan.osfiles.folders import make_private_folder, sync_folder


class InstallRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One file of an agent after install changed it."""

    agent: str
    file: str  # absolute
    written: str  # sha256 of the content that install left
    original: str | None  # the file in the folder of records with what was there before; None: there was none
    folders: tuple[str, ...]  # that install made for it


class InstallRecords(msgspec.Struct, frozen=True):
    """The records, in a private folder beside the homes of projects."""

    root: Path

    @contextmanager
    def alone(self) -> Generator[None]:
        """Keep other installations out."""
        try:
            make_private_folder(self.root)
            fd = os.open(self.root / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise SystemFailed(path=str(self.root), reason=error.strerror or str(error)) from error
        try:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX)
            except OSError as error:
                raise LockImpossible(path=str(self.root), reason=error.strerror or str(error)) from error
            yield
        finally:
            os.close(fd)

    def of(self, file: Path) -> InstallRecord | None:
        """Return the record of a file; None where install never changed it."""
        try:
            return msgspec.json.decode(self._record(file).read_bytes(), type=InstallRecord)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def original(self, record: InstallRecord) -> bytes | None:
        """Return what a file held before install changed it; None where there was none, or the copy is gone."""
        try:
            return None if record.original is None else (self.root / record.original).read_bytes()
        except FileNotFoundError:
            return None

    def keep(
        self, agent: str, file: Path, original: bytes | None, written: bytes, folders: list[Path]
    ) -> Path | None:
        """Record, durably, what a file is about to hold and what it holds now; return the copy of that."""
        make_private_folder(self.root)
        copy = None if original is None else f"{_name(file)}-{digest(original)[:16]}"
        record = InstallRecord(
            agent=agent,
            file=str(file),
            written=digest(written),
            original=copy,
            folders=tuple(map(str, folders)),
        )
        try:
            with act("agent.record"):
                if original is not None and copy is not None:
                    self._write(self.root / copy, original)
                self._write(self._record(file), msgspec.json.encode(record))
                sync_folder(self.root)
        except OSError as error:
            raise SystemFailed(path=str(self.root), reason=error.strerror or str(error)) from error
        return None if copy is None else self.root / copy

    def forget(self, file: Path) -> None:
        """Forget a file that has no hook of ours; the copy of what was there stays."""
        with act("agent.forget"):
            self._record(file).unlink(missing_ok=True)
            sync_folder(self.root)

    def _write(self, path: Path, data: bytes) -> None:
        draft = path.with_name(f".{path.name}.{os.urandom(6).hex()}")
        try:
            fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(fd)
            draft.replace(path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise

    def _record(self, file: Path) -> Path:
        return self.root / f"{_name(file)}.json"


def digest(data: bytes) -> str:
    """Return the hash by which contents are compared."""
    return sha256(data).hexdigest()


def _name(file: Path) -> str:
    return f"{file.name}-{sha256(os.fsencode(file)).hexdigest()[:16]}"
