"""The front end of a short command: has a process that is warm already run it, and is its end of the line.

It is loaded before anything else, and imports next to nothing; where no server runs, nothing. A file in the folder, or
in one above it, leads to the project home, and a file there to the socket. A stranger may have written them: the socket
must be in the private folder of this user for such sockets, and so must be the process behind it.

The warm process forks. From then on the fork is the command, and this process passes on signals and the exit code.
Until this process says that the fork may begin, the fork has done nothing, and this process can still run the command
itself. After that it never does.
"""

from __future__ import annotations

import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    import signal as _signal
    from collections.abc import Callable, Mapping, Sequence
    from types import FrameType
else:
    import _signal  # `signal` makes enums of all numbers first

READY = b"redy"  # from the fork, with its process id
BEGIN = b"go"  # to the fork
ENDED = b"exit"  # from the fork, with the exit code
_ANSWER = 12  # bytes of such a word: four letters, eight digits
_PATIENCE = 1.0  # seconds until the fork has to be there
_SMALL_FILE = 8192
_PASSED_ON = tuple(
    getattr(_signal, name) for name in ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2")
)
_PEER = 12  # bytes: process, user, group


class _Alone(Exception):
    """This process has to run the command itself."""


def handed_over(words: Sequence[str], environ: Mapping[bytes, bytes], program: tuple[int, ...]) -> int | None:
    """Have a warm process of the local server run a command; None where this process has to do it.

    `program` is the installation of this process: another one would do something else.
    """
    if not hasattr(os, "pidfd_open") or not _has_plain_streams():
        return None
    try:
        connected = _connected(os.getcwd(), environ)  # noqa: PTH109 - see below
    except (OSError, _Alone, ValueError):
        return None
    try:
        pidfd = _ready_fork(connected, words, environ, program)
    except (OSError, _Alone):
        connected.close()
        return None
    return _attend(connected, pidfd)


def _has_plain_streams() -> bool:
    """Return whether all three streams are open and none is a terminal, whose keys this process has to obey."""
    for fd in (0, 1, 2):
        try:
            if stat.S_ISCHR(os.fstat(fd).st_mode) and os.isatty(fd):
                return False
        except OSError:
            return False
    return True


# --- finding the socket ------------------------------------------------------------------------------------------


def _connected(folder: str, environ: Mapping[bytes, bytes]) -> _socket.socket:
    path = _text_in(f"{_home_of(folder)}/server.json", b"commands")
    _check_place(path, environ)
    import _socket  # here, like all that only a command uses which is handed over

    connected = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
    try:
        connected.settimeout(_PATIENCE)
        connected.connect(path)
        found = connected.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, _PEER)
        pid, uid = (int.from_bytes(found[at : at + 4], sys.byteorder) for at in (0, 4))
        if uid != os.geteuid() or _is_stopped(pid):
            raise _Alone
    except BaseException:
        connected.close()
        raise
    return connected


def _home_of(folder: str) -> str:
    """Return the project home that this folder names, or the nearest one above that names one."""
    while True:
        link = f"{folder.rstrip('/')}/.mulligan/home.json"
        if os.access(link, os.F_OK):
            return _text_in(link, b"home")
        if folder == "/":
            raise _Alone
        folder = os.path.dirname(folder)  # noqa: PTH120 - pathlib takes as long to load as all this


def _text_in(file: str, key: bytes) -> str:
    """Return the text of one key in a small JSON file that mulligan wrote."""
    fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        st = os.fstat(fd)
        if not stat.S_ISREG(st.st_mode) or st.st_uid != os.geteuid():
            raise _Alone
        data = os.read(fd, _SMALL_FILE)
    finally:
        os.close(fd)
    _, found, after = data.partition(b'"%s":"' % key)
    text, closed, _ = after.partition(b'"')
    if not found or not closed or b"\\" in text:
        raise _Alone  # a name for which the program itself runs
    return os.fsdecode(text)


def _check_place(path: str, environ: Mapping[bytes, bytes]) -> None:
    """Refuse a socket that is not in a private folder of this user, as server_place.py makes it."""
    folder, own = os.path.dirname(path), f"mulligan-{os.geteuid()}"  # noqa: PTH120 - see above
    allowed = (
        f"{os.fsdecode(environ.get(b'XDG_RUNTIME_DIR', b''))}/mulligan",
        f"{os.fsdecode(environ.get(b'TMPDIR', b''))}/{own}",
        f"/tmp/{own}",  # noqa: S108 - its owner and mode are looked at
    )
    st = os.lstat(folder)
    if folder not in allowed or (st.st_uid, st.st_mode) != (os.geteuid(), stat.S_IFDIR | 0o700):
        raise _Alone


def _is_stopped(pid: int) -> bool:
    with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - see above
        return file.read().rpartition(b")")[2].split()[:1] in ([b"T"], [b"t"])


# --- the fork ----------------------------------------------------------------------------------------------------


def _ready_fork(
    connected: _socket.socket,
    words: Sequence[str],
    environ: Mapping[bytes, bytes],
    program: tuple[int, ...],
) -> int:
    """Return the process that waits to be this command, as a descriptor."""
    import _socket

    from mulligan.domain.server import frames

    request = frames.encode(
        [
            b"command",
            b" ".join(b"%d" % each for each in program),
            interpreter(),
            b"\0".join(map(os.fsencode, words)),
            b"\0".join(b"%s=%s" % pair for pair in environ.items()),
        ]
    )
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        passed = b"".join(fd.to_bytes(4, sys.byteorder) for fd in (0, 1, 2, here))
        sent = connected.sendmsg([request], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, passed)])
    finally:
        os.close(here)
    while sent < len(request):
        sent += connected.send(request[sent:])
    pid = _number(_answer(connected), READY)
    if pid is None:
        raise _Alone
    return os.pidfd_open(pid)  # it waits for a word of ours: its number is not that of another


def interpreter() -> bytes:
    """Return what this Python is, as far as the command line and the environment decide it."""
    kept = (
        sys.version,
        sys.prefix,
        sys.flags.optimize,
        sys.flags.dev_mode,
        sys.flags.utf8_mode,
        sys.warnoptions,
    )
    return repr((*kept, sys._xoptions)).encode()  # noqa: SLF001 - its only name  # pyright: ignore[reportPrivateUsage]


def _answer(connected: _socket.socket) -> bytes:
    data = b""
    while len(data) < _ANSWER and (more := connected.recv(_ANSWER - len(data))):
        data += more
    return data


def _number(answer: bytes, word: bytes) -> int | None:
    return int(answer[4:]) if answer[:4] == word and answer[4:].isdigit() else None


def answer(word: bytes, number: int) -> bytes:
    """Return what a fork says."""
    return word + b"%08d" % number


def _attend(connected: _socket.socket, pidfd: int) -> int:
    """Let the fork begin; pass on signals until it has ended, and return its exit code, or die as it died."""
    import select

    last = _signal.SIGKILL
    fork = pidfd

    def pass_on(number: int, _frame: FrameType | None) -> None:
        nonlocal last
        last = number
        _tell(fork, number)

    def stop(_number: int, _frame: FrameType | None) -> None:
        _tell(fork, _signal.SIGSTOP)
        os.kill(os.getpid(), _signal.SIGSTOP)
        _tell(fork, _signal.SIGCONT)

    _catch(_PASSED_ON, pass_on)
    _catch((_signal.SIGTSTP,), stop)
    connected.settimeout(None)
    try:
        connected.sendall(BEGIN)
        code = _number(_answer(connected), ENDED)
    except OSError:
        code = None
    # Its locks are free when it has ended, which the next command relies on.
    ended = select.poll()
    ended.register(pidfd, select.POLLIN)
    ended.poll()
    if code is not None:
        return code
    if last != _signal.SIGKILL:
        _signal.signal(last, _signal.SIG_DFL)
    os.kill(os.getpid(), last)
    return 128 + last  # pragma: no cover - unless the signal is blocked


def _catch(numbers: Sequence[int], handler: Callable[[int, FrameType | None], None]) -> None:
    for number in numbers:
        if _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, handler)


def _tell(fork: int, number: int) -> None:
    try:  # noqa: SIM105 - contextlib takes as long to load as all this
        _signal.pidfd_send_signal(fork, number)
    except OSError:
        pass  # it has ended
