"""Landlock: limits what this process, and every process that it starts from then on, may write and signal.

The launcher uses it too: the standard library only, and little of it.
"""

import errno
import os
import stat
import sys

from mulligan.adapters.tools.launcher.kernel import system_call

TYPE_CHECKING = False  # importing typing would double what the launcher imports
if TYPE_CHECKING:
    from collections.abc import Iterable

OLDEST = 2  # before it (Linux 5.19) no rename from one folder to another could be allowed at all

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_ASK_VERSION = 1
_PATH_BENEATH = 1

_WRITE_FILE, _REFER, _TRUNCATE, _IOCTL_DEVICE = 1 << 1, 1 << 13, 1 << 14, 1 << 15
_REMOVE_AND_MAKE = sum(1 << bit for bit in range(4, 13))  # folders, files, links, sockets, fifos, devices
# Every right to write, by the version that knows it.
_SINCE = {1: _WRITE_FILE | _REMOVE_AND_MAKE, 2: _REFER, 3: _TRUNCATE, 5: _IOCTL_DEVICE}
_MAKE_DEVICE = 1 << 6 | 1 << 11  # granted nowhere: a device node opens the disk behind it
_OF_FILES = _WRITE_FILE | _TRUNCATE | _IOCTL_DEVICE
_SCOPES_SINCE = 6
_ABSTRACT_SOCKETS, _SIGNALS = 1, 2  # of processes outside


def version() -> int:
    """Return the kernel's version of Landlock; OSError where it has none."""
    return system_call(_CREATE_RULESET, None, 0, _ASK_VERSION)


def lacking() -> str | None:
    """Return why this system cannot confine what processes write; None where it can."""
    if not sys.platform.startswith("linux"):
        return f"that takes Landlock, which Linux has, and this is {sys.platform}"
    try:
        return why_not(version(), 0)
    except OSError as exc:
        return why_not(0, exc.errno or 0)


def why_not(found: int, number: int) -> str | None:
    """Return what is wrong with a version of Landlock, or with the error that came instead of one."""
    if number == errno.ENOSYS:
        return "this kernel has no Landlock (Linux 5.19 and later have what is needed)"
    if number == errno.EOPNOTSUPP:
        return "Landlock is switched off here (the kernel's parameter `lsm=` does not name it)"
    if number:
        return f"the kernel does not let Landlock be used: {os.strerror(number)}"
    if found < OLDEST:
        return f"this kernel's Landlock is too old (version {found}; Linux 5.19 and later have {OLDEST})"
    return None


def restrict(sandboxes: "Iterable[bytes]", elsewhere: "Iterable[bytes]") -> None:
    """Let this process, and all that it starts, write below these real paths and nowhere else; for good.

    Nothing is linked or moved out of a sandbox. The kernel refuses to give a file another parent under which
    more is allowed, so `elsewhere` has one right that sandboxes lack: control of devices, which neither can
    hold, because nodes cannot be made. A path that does not exist is skipped. The process must have given up
    new privileges before.
    """
    found = version()
    handled = sum(rights for since, rights in _SINCE.items() if since <= found)
    scopes = _ABSTRACT_SOCKETS | _SIGNALS if found >= _SCOPES_SINCE else 0
    network = 0  # not restricted
    attributes = b"".join(each.to_bytes(8, sys.byteorder) for each in (handled, network, scopes))
    size = len(attributes) if scopes else 8  # older kernels know the first field alone
    ruleset = system_call(_CREATE_RULESET, attributes, size, 0)
    try:
        for path in sandboxes:
            _allow(ruleset, path, handled & ~(_MAKE_DEVICE | _IOCTL_DEVICE))
        for path in elsewhere:
            _allow(ruleset, path, handled & ~_MAKE_DEVICE)
        system_call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: bytes, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        granted = rights if stat.S_ISDIR(os.fstat(place).st_mode) else rights & _OF_FILES
        rule = granted.to_bytes(8, sys.byteorder) + place.to_bytes(4, sys.byteorder)
        system_call(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
    finally:
        os.close(place)
