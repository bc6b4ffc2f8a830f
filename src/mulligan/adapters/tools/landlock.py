"""Landlock: tells the Linux kernel what this process, and all that it starts from then on, may write.

The launcher uses it too: the standard library only, and little of it.
"""

import errno
import os
import stat
import sys

TYPE_CHECKING = False  # importing typing would double what the launcher imports
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Call = Callable[..., int]

OLDEST = 2  # before it (Linux 5.19) no rename from one folder to another could be allowed at all

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_ASK_VERSION = 1
_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38

_WRITE_FILE, _REFER, _TRUNCATE = 1 << 1, 1 << 13, 1 << 14
_REMOVE_AND_MAKE = sum(1 << bit for bit in range(4, 13))  # folders, files, links, sockets, fifos, devices
_SINCE = {1: _WRITE_FILE | _REMOVE_AND_MAKE, 2: _REFER, 3: _TRUNCATE}  # all that writes, by version
_OF_FILES = _WRITE_FILE | _TRUNCATE


def version() -> int:
    """Which version of Landlock the kernel has; OSError where it has none."""
    return _system()(_CREATE_RULESET, None, 0, _ASK_VERSION)


def lacking() -> str | None:
    """Why this system cannot confine what processes write; None where it can."""
    if not sys.platform.startswith("linux"):
        return f"that takes Landlock, which Linux has, and this is {sys.platform}"
    try:
        return why_not(version(), 0)
    except OSError as exc:
        return why_not(0, exc.errno or 0)


def why_not(found: int, number: int) -> str | None:
    """What is wrong with a version of Landlock, or with the error that came instead of one."""
    if number == errno.ENOSYS:
        return "this kernel has no Landlock (Linux 5.19 and later have what is needed)"
    if number == errno.EOPNOTSUPP:
        return "Landlock is switched off here (the kernel's parameter `lsm=` does not name it)"
    if number:
        return f"the kernel does not let Landlock be used: {os.strerror(number)}"
    if found < OLDEST:
        return f"this kernel's Landlock is too old (version {found}; Linux 5.19 and later have {OLDEST})"
    return None


def restrict(writable: "Iterable[bytes]") -> None:
    """Let this process, and all that it starts, write below these real paths and nowhere else; for good.

    A path that is not there is passed over: nothing can be allowed by a name alone.
    """
    call, found = _system(), version()
    handled = sum(rights for since, rights in _SINCE.items() if since <= found)
    ruleset = call(_CREATE_RULESET, handled.to_bytes(8, sys.byteorder), 8, 0)
    try:
        for path in writable:
            _allow(call, ruleset, path, handled)
        _promise_no_new_privileges()  # or set-user-ID programs would run confined: the kernel refuses that
        call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(call: "Call", ruleset: int, path: bytes, handled: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        rights = handled if stat.S_ISDIR(os.fstat(place).st_mode) else handled & _OF_FILES
        rule = rights.to_bytes(8, sys.byteorder) + place.to_bytes(4, sys.byteorder)
        call(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
    finally:
        os.close(place)


def _promise_no_new_privileges() -> None:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    one, zero = ctypes.c_ulong(1), ctypes.c_ulong(0)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, one, zero, zero, zero)


def _system() -> "Call":
    """Makes system calls by number: OSError where one fails."""
    import ctypes  # slow to import, and most commands run no tool

    libc = ctypes.CDLL(None, use_errno=True)

    def call(number: int, *arguments: "int | bytes | None") -> int:
        words = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
        answer = libc.syscall(ctypes.c_long(number), *words)
        if answer < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return answer

    return call
