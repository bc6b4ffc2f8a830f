"""The place of a project's server: a socket in a private folder of the user, and in the home a lock and a record.

The lock says whether a server runs: the system lets go of it when the process dies. The record is a hint that leads
to the socket, whose own path could be too long for one.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import DecodeError, Struct, ValidationError, json

from mulligan.errors import SystemFailed

LOCK = "server.lock"
RECORD = "server.json"
LOG = "server.log"
COMMANDS = ".run"  # the ending of the socket that commands are handed over to
HOOK_CLIENT = Path(__file__).with_name("mulligan-hook")  # it may not have been built
_PRIVATE = 0o700
_TURNS = 20
_PAUSE = 0.01  # seconds
_NAME = 21  # characters of a socket's name: 16 of a hash, and its ending
_LONGEST_SOCKET = 100  # bytes; the system takes 108 or 104
_SHORT_PLACE = "/tmp"  # noqa: S108 - the folder in it is private, and refused where it is not


class ServerRecord(Struct, frozen=True, kw_only=True):
    """The file in a home that leads to its server."""

    socket: str  # absolute path
    pid: int
    commands: str = ""  # absolute path of the socket that commands are handed over to


class ServerPlace(Struct, frozen=True, kw_only=True):
    """The place of the server of one project home."""

    home: Path
    environ: Mapping[str, str]

    @property
    def log(self) -> Path:
        """The file for what a server that runs in the background has to say."""
        return self.home / LOG

    def socket(self) -> Path:
        """Return the path of the socket, in a folder that only this user can enter; it is made where it is missing."""
        from hashlib import sha256  # here: a client finds the path in the record

        return self._folder() / f"{sha256(os.fsencode(self.home)).hexdigest()[:16]}.sock"

    def _folder(self) -> Path:
        """Return the first place that is short enough for a socket and is this user's, or can be made so.

        Where others may write, one of them may have made something of that name: then the next place is taken.
        """
        import tempfile  # here: see above

        own = f"mulligan-{os.geteuid()}"
        places = (
            Path(self.environ.get("XDG_RUNTIME_DIR", "")) / "mulligan",
            Path(tempfile.gettempdir()) / own,
            Path(_SHORT_PLACE) / own,
        )
        reason = "no folder for temporary files can be written"
        for place in places:
            short = len(os.fsencode(place)) + 1 + _NAME <= _LONGEST_SOCKET
            if not (place.is_absolute() and short and os.access(place.parent, os.W_OK | os.X_OK)):
                continue
            if place == places[0] and place.parent.stat().st_uid != os.geteuid():
                continue  # the variable came along from another user, whose server needs that place
            if _is_made_private(place):
                return place
            reason = "it is not a folder of this user"
        raise SystemFailed(path=str(places[-1]), reason=reason)

    @contextmanager
    def held(self) -> Generator[bool]:
        """Hold the place of the one server of this home; yield False where another process has it."""
        for turn in range(_TURNS):  # a look at whether a server runs holds the lock for an instant
            with _locked(self.home, fcntl.LOCK_EX) as ours:
                if ours or turn == _TURNS - 1:
                    yield ours
                    return
            time.sleep(_PAUSE)

    def write(self, record: ServerRecord) -> None:
        """Name this server to clients; a record that a crash takes away is missed by nobody."""
        draft = self.home / f"{RECORD}.{os.getpid()}"
        draft.write_bytes(json.encode(record))
        draft.replace(self.home / RECORD)

    def read(self) -> ServerRecord | None:
        """Return where the server is, if one runs or ran; None where none did."""
        try:
            return json.decode((self.home / RECORD).read_bytes(), type=ServerRecord)
        except (OSError, DecodeError, ValidationError):
            return None

    def erase(self, record: ServerRecord) -> None:
        """Remove the record and the socket of a server that ends, unless another one has written its own."""
        if self.read() == record:
            for file in (str(self.home / RECORD), record.socket, record.commands):
                if file:
                    Path(file).unlink(missing_ok=True)


def _is_made_private(folder: Path) -> bool:
    """Make a folder that only this user can enter, if need be; return whether it is one."""
    with suppress(FileExistsError):
        folder.mkdir(mode=_PRIVATE)
    st = folder.lstat()
    if not stat.S_ISDIR(st.st_mode) or st.st_uid != os.geteuid():
        return False
    if stat.S_IMODE(st.st_mode) != _PRIVATE:
        folder.chmod(_PRIVATE)
    return True


def is_served(home: Path) -> bool:
    """Return whether a process is the server of a home, or about to be."""
    with _locked(home, fcntl.LOCK_SH) as free:
        return not free


@contextmanager
def _locked(home: Path, way: int) -> Generator[bool]:
    fd = os.open(home / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(fd, way | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(fd)
