"""A mount namespace of this process's own, in which sandboxes appear in the places of the real resources.

All that this process starts from then on lives in it, and no mount of it reaches any other process. The kernel
removes it with its last process. A process without the right to mount gets that right from a user namespace in
which it stays the user that it is. The launcher uses this module too: the standard library only, and little of it.
"""

import errno
import os
import sys

from mulligan.adapters.tools.launcher.kernel import capset, mount, system_call, unmount, unshare

TYPE_CHECKING = False  # importing typing would double what the launcher imports
if TYPE_CHECKING:
    from collections.abc import Sequence

_NEW_MOUNTS, _NEW_USERS = 0x20000, 0x10000000
_RECURSIVE, _PRIVATE = 1 << 14, 1 << 18
_OPEN_TREE, _MOVE_MOUNT, _SET_ATTRIBUTES = 428, 429, 442  # the same on every architecture
_HERE = -100
_CLONE, _CLOSE_ON_EXEC, _NO_FOLLOW, _EMPTY_PATH = 1, os.O_CLOEXEC, 0x100, 0x1000
_FROM_EMPTY_PATH = 4
_READ_ONLY = 1
_NO_CAPABILITIES = (0x20080522).to_bytes(4, sys.byteorder) + bytes(4)  # version 3, this process
_TRIAL = b"/proc"  # a folder that every system has, covered for a moment


class Unseen(Exception):
    """One part of the namespace is impossible."""

    def __init__(self, part: str, number: int) -> None:
        super().__init__(part, number)
        self.part, self.number = part, number


def enter() -> None:
    """Give this process a mount namespace of its own, and try whether mounts can be made in it.

    Raise Unseen where the system refuses a part of it: this process is of no further use then.
    """
    part = "a mount namespace"
    try:
        if not _alone():
            part = "a user namespace"
            _as_same_user()
        part = "private mounts"
        mount(None, b"/", None, _RECURSIVE | _PRIVATE)
        part = "mounts of its own"
        mount(b"tmpfs", _TRIAL, b"tmpfs", 0, b"size=64k")
        clone = _cloned(_TRIAL)
        _lock(clone)
        _attach(clone, _TRIAL)
        for _ in range(2):
            unmount(_TRIAL)
    except OSError as exc:
        raise Unseen(part, exc.errno or 0) from exc


def arrange(words: "Sequence[bytes]") -> None:
    """Carry out the steps of an appearance: verb, source and target of each.

    `clone` makes what lies at the source appear at the target, `keep` the same, but read-only; `link` makes a symlink
    to the source appear there; `seal` makes the mount at the target read-only. All sources are opened first, because
    a target may hide them. At the end this process drops the right to mount, unless it is root's.
    """
    steps = [tuple(words[at : at + 3]) for at in range(0, len(words), 3)]
    part = b"mounts"
    try:
        opened: dict[int, int] = {}
        for at, (verb, source, _) in enumerate(steps):
            if verb in (b"clone", b"keep"):
                part = source
                opened[at] = _cloned(source)
        for at, (verb, source, target) in enumerate(steps):
            part = target
            if verb == b"keep":
                _lock(opened[at])
            if at in opened:
                _attach(opened[at], target)
            elif verb == b"tmpfs":
                mount(b"mulligan", target, b"tmpfs", 0, b"mode=0700,size=1m")
            elif verb == b"seal":
                _lock(_HERE, target)
            elif verb == b"mkdir":
                os.makedirs(target, exist_ok=True)
            elif verb == b"link":
                _attach(_symlink_to(source), target)
            else:
                _write(target, source)
        part = b"capabilities"
        if os.getuid() != 0:
            capset(_NO_CAPABILITIES, bytes(24))
    except OSError as exc:
        raise Unseen(os.fsdecode(part), exc.errno or 0) from exc


def _alone() -> bool:
    """Leave the mounts of others; False where that takes a user namespace."""
    try:
        unshare(_NEW_MOUNTS)
    except OSError as exc:
        if exc.errno != errno.EPERM:
            raise
        return False
    return True


def _as_same_user() -> None:
    """Leave the mounts of others with a user namespace, in which user and group are what they were."""
    user, group = os.geteuid(), os.getegid()
    unshare(_NEW_MOUNTS | _NEW_USERS)
    for name, text in (
        ("setgroups", "deny"),  # without it the kernel takes no group
        ("gid_map", f"{group} {group} 1"),
        ("uid_map", f"{user} {user} 1"),
    ):
        _write(f"/proc/self/{name}".encode(), text.encode())


def _write(path: bytes, data: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        os.write(file, data)
    finally:
        os.close(file)


def _cloned(path: bytes) -> int:
    """Return a mount, attached to nothing, of what lies at a path; of a symlink, the symlink."""
    return system_call(_OPEN_TREE, _HERE, path, _CLONE | _CLOSE_ON_EXEC | _NO_FOLLOW)


def _symlink_to(path: bytes) -> int:
    """Return a mount, attached to nothing, of a symlink that no disk holds."""
    mount(b"tmpfs", _TRIAL, b"tmpfs", 0, b"size=64k")
    try:
        name = _TRIAL + b"/link"
        os.symlink(path, name)
        return _cloned(name)
    finally:
        unmount(_TRIAL)


def _lock(mounted: int, path: bytes = b"") -> None:
    """Let nobody write through a mount: that of a descriptor, or the one at a path."""
    attributes = b"".join(each.to_bytes(8, sys.byteorder) for each in (_READ_ONLY, 0, 0, 0))
    system_call(_SET_ATTRIBUTES, mounted, path, 0 if path else _EMPTY_PATH, attributes, len(attributes))


def _attach(mounted: int, target: bytes) -> None:
    try:
        system_call(_MOVE_MOUNT, mounted, b"", _HERE, target, _FROM_EMPTY_PATH)
    finally:
        os.close(mounted)
