"""Plan locks as `flock` on one file per plan: the system lets go of them when the process dies."""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from threading import Lock, get_ident
from typing import TYPE_CHECKING

from msgspec import Struct

from mulligan import errors
from mulligan.boundaries import act, guarded, guards
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.json_value import read_json
from mulligan.osfiles.folders import is_named

if TYPE_CHECKING:
    from mulligan.ports import Clock, LockHolder, StopRequest

# A look at who holds a lock takes it for an instant; a claimant waits that instant out.
_TRIES = 20
_PAUSE = 0.005
_DEATH_PATIENCE = 5.0  # seconds: a killed process that waits for a disk takes its time
_SYSTEM_LOCKS = Path("/proc/locks")
_RETIRED = "retired"  # words in the lock file
_ASKED = "asked_to_stop"
_STOP_PATIENCE = 30.0  # seconds: a step's processes get time to end


class _Own(Struct):
    """A lock that a thread of this process holds, and how to ask it to stop."""

    thread: int
    stop: StopRequest | None  # None: its holder cannot be asked
    asked: bool = False


class _Guard(Struct, frozen=True, eq=False):
    """Refuses to continue with a plan that was taken over: its lock file no longer has its name."""

    plan_id: PlanId
    fd: int
    file: Path

    def __call__(self) -> None:
        if not is_named(self.fd, self.file):
            raise errors.PlanTakenOver(plan_id=self.plan_id)


_own: dict[str, _Own] = {}  # by lock file: what this process holds
# A request is made and withdrawn as a whole: one left over would stop the next plan of its thread.
_asking = Lock()


class FilePlanLocks(Struct, kw_only=True, frozen=True, eq=False):
    """One lock file per plan in a folder of the project home."""

    folder: Path
    clock: Clock
    stop: StopRequest | None

    @contextmanager
    def hold(self, plan_id: PlanId) -> Generator[None]:
        with _translated(self.folder):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = self._file(plan_id)
        fd = self._locked(plan_id)
        own = _own[str(file)] = _Own(get_ident(), self.stop)
        try:
            self._sign(plan_id, fd)
            with guarded(_Guard(plan_id, fd, file)):
                yield
        finally:
            with _asking:
                if _own.get(str(file)) is own:  # and not that of a thread that took the plan over
                    del _own[str(file)]
                if own.asked and own.stop is not None:
                    own.stop.withdraw(own.thread)
            os.close(fd)  # lets go of the lock

    def holder(self, plan_id: PlanId) -> LockHolder | None:
        file = self._file(plan_id)
        try:
            with _translated(file):
                fd = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            return None if _lock(fd, 1, fcntl.LOCK_SH, file) else _read_holder(fd)
        finally:
            os.close(fd)

    def plans(self) -> list[PlanId]:
        # A lock file stays until its plan is forgotten.
        return sorted(PlanId(path.stem) for path in self.folder.glob("*.lock") if not _is_retired(path))

    def retire(self, plan_id: PlanId) -> None:
        file = self._file(plan_id)
        with _translated(file):
            fd = os.open(file, os.O_RDWR | os.O_CLOEXEC)
        try:
            self._sign(plan_id, fd, retired=True)
        finally:
            os.close(fd)

    def forget(self, plan_id: PlanId) -> None:
        file = self._file(plan_id)
        try:
            with _translated(file):
                fd = os.open(file, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        try:
            # Locked, so that a process that is about to hold it finds out that the file has no name.
            if _lock(fd, _TRIES, fcntl.LOCK_EX, file) and is_named(fd, file) and _is_retired(file):
                with act("lock.remove"), _translated(file):
                    file.unlink()
        finally:
            os.close(fd)

    def wait_for(self, plan_id: PlanId, seconds: float) -> float | None:
        begun = time.monotonic()
        while self.holder(plan_id) is not None:
            if time.monotonic() - begun > seconds:
                return None
            time.sleep(_PAUSE)
        return time.monotonic() - begun

    def ask_to_stop(self, plan_id: PlanId) -> None:
        """Send SIGTERM to the process that holds it, or ask the thread of this one, and wait until it has let go."""
        holder = self.holder(plan_id)
        if holder is None:
            return
        if not self._is_ours_to_end(plan_id, holder):  # in another container its number is someone else's
            raise errors.PlanBusy(plan_id=plan_id, pid=holder.pid, since=holder.since)
        with suppress(FileNotFoundError):  # the holder has ended, and its plan is forgotten
            self._note_asked(plan_id)
        if holder.pid == os.getpid():
            self._ask_own(plan_id, holder)
        else:
            with suppress(ProcessLookupError):
                os.kill(holder.pid, signal.SIGTERM)
        deadline = time.monotonic() + _STOP_PATIENCE
        while self.holder(plan_id) is not None:
            if time.monotonic() > deadline:
                raise errors.PlanBusy(plan_id=plan_id, pid=holder.pid, since=holder.since)
            time.sleep(_PAUSE)

    def was_asked_to_stop(self, plan_id: PlanId) -> bool:
        return _has_word(self._file(plan_id), _ASKED)

    def close(self) -> None:
        """Leave all as it is: no file stays open between two questions."""

    def take_over(self, plan_id: PlanId, children: Sequence[PlanId]) -> list[PlanId]:
        """End the process that holds the lock, or stop the thread; return what was taken from one that lives on.

        That one keeps files that no longer have a name, which it learns before its next act.
        """
        holder = self.holder(plan_id)
        if holder is None:
            return []
        if self._is_ours_to_end(plan_id, holder):
            if holder.pid == os.getpid():
                self._ask_own(plan_id, holder)
            else:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(holder.pid, signal.SIGKILL)
            deadline = time.monotonic() + _DEATH_PATIENCE
            while self.holder(plan_id) is not None and time.monotonic() < deadline:
                time.sleep(_PAUSE)
        if self.holder(plan_id) is None:
            return []
        taken = [plan_id]  # first: what it does for the children it does for this one
        for child in children:
            held_by = self.holder(child)
            if held_by is None or held_by.pid != holder.pid:
                continue
            if (
                held_by.within is None or plan_id in held_by.within
            ):  # else a thread claimed it apart, and keeps it
                taken.append(child)
        for each in taken:
            self._file(each).unlink(missing_ok=True)
        return taken

    def _ask_own(self, plan_id: PlanId, holder: LockHolder) -> None:
        """Ask the thread of this process that holds the plan to stop; PlanBusy for a session, and for this thread."""
        with _asking:
            own = _own.get(str(self._file(plan_id)))
            if own is None or own.stop is None or own.thread == get_ident():
                raise errors.PlanBusy(plan_id=plan_id, pid=holder.pid, since=holder.since)
            own.asked = True
            own.stop.ask(own.thread)

    def _locked(self, plan_id: PlanId) -> int:
        """Return the plan's lock file, open and locked."""
        file = self._file(plan_id)
        for _ in range(_TRIES):
            with _translated(file):
                fd = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                if not _lock(fd, _TRIES, fcntl.LOCK_EX, file):
                    raise self._busy(plan_id, fd)
                if is_named(fd, file):  # a process that took the plan over may have replaced the file
                    return fd
            except BaseException:
                os.close(fd)
                raise
            os.close(fd)
        raise errors.LockImpossible(path=str(file), reason="other processes kept replacing it")

    def _is_ours_to_end(self, plan_id: PlanId, holder: LockHolder) -> bool:
        """Return whether the process id in the file is that of the lock's holder, as this system sees it.

        The process id of a holder in another container belongs to a different process here.
        """
        if not holder.pid:
            return False
        try:
            locks = _SYSTEM_LOCKS.read_text()
        except OSError:  # pragma: no cover  not on Linux, where no number means two processes
            return True
        inode = self._file(plan_id).stat().st_ino
        held = (line.split() for line in locks.splitlines())
        return any(
            "FLOCK" in words and str(holder.pid) in words and words[-3].endswith(f":{inode}")
            for words in held
            if len(words) >= 8
        )

    def _sign(self, plan_id: PlanId, fd: int, *, retired: bool = False) -> None:
        """Record the holder for others, and whether the plan is about to be forgotten."""
        import json  # here: a look at a plan takes no lock

        within = [guard.plan_id for guard in guards() if isinstance(guard, _Guard)]
        signature: dict[str, object] = {
            "pid": os.getpid(),
            "since": self.clock.now().isoformat(),
            "within": within,
        }
        if retired:
            signature[_RETIRED] = True
        try:
            with act("lock.sign"):
                os.ftruncate(fd, 0)
                os.pwrite(fd, json.dumps(signature).encode(), 0)
        except OSError as exc:
            raise errors.SystemFailed(path=str(self._file(plan_id)), reason=exc.strerror or str(exc)) from exc

    def _note_asked(self, plan_id: PlanId) -> None:
        """Add to what the holder signed that it is asked to stop: a signal does not say why it came."""
        file = self._file(plan_id)
        import json

        with _translated(file):
            signature = read_json(file.read_bytes())
            with file.open("r+b", buffering=0) as signed:
                signed.write(json.dumps({**signature, _ASKED: True}).encode())  # longer than what was there

    def _file(self, plan_id: PlanId) -> Path:
        return self.folder / f"{plan_id}.lock"

    def _busy(self, plan_id: PlanId, fd: int) -> errors.PlanBusy:
        holder = _read_holder(fd)
        return errors.PlanBusy(plan_id=plan_id, pid=holder.pid, since=holder.since)


@contextmanager
def _translated(path: Path) -> Generator[None]:
    """Make the system's refusals ours; that a file is missing is for the caller."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as exc:
        raise errors.SystemFailed(path=str(path), reason=exc.strerror or str(exc)) from exc


def _lock(fd: int, tries: int, kind: int, file: Path) -> bool:
    """Try to lock: shared to look, so that two who look do not take each other for the holder."""
    for attempt in range(tries):
        try:
            fcntl.flock(fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if attempt + 1 < tries:
                time.sleep(_PAUSE)
        except OSError as exc:
            raise errors.LockImpossible(path=str(file), reason=exc.strerror or str(exc)) from exc
        else:
            return True
    return False


def _is_retired(file: Path) -> bool:
    """Return whether the plan of a lock file is forgotten, or about to be."""
    return _has_word(file, _RETIRED)


def _has_word(file: Path, word: str) -> bool:
    try:
        return word in read_json(file.read_bytes())
    except (OSError, ValueError):
        return False


def _read_holder(fd: int) -> LockHolder:
    """Read who wrote the file; the holder writes it right after it got the lock."""
    from mulligan.ports import LockHolder  # here: most plans are held by nobody

    for _ in range(_TRIES):
        text = os.pread(fd, 4096, 0)
        try:
            word = read_json(text)
        except ValueError:
            time.sleep(_PAUSE)
        else:
            within = word.get("within")  # older versions did not write it
            return LockHolder(
                pid=int(word["pid"]),
                since=datetime.fromisoformat(word["since"]),
                within=tuple(within) if within is not None else None,
            )
    return LockHolder(pid=0, since=datetime.fromtimestamp(os.fstat(fd).st_mtime).astimezone())
