"""System calls that Python has no function for: OSError where one fails.

The launcher uses it too: the standard library only, and little of it.
"""

import os

TYPE_CHECKING = False  # importing typing would double what the launcher imports
if TYPE_CHECKING:
    from ctypes import CDLL


_loaded: "list[CDLL]" = []  # the C library, once it was needed


def _library() -> "CDLL":
    if not _loaded:
        import ctypes  # slow to import, and most commands run no tool

        _loaded.append(ctypes.CDLL(None, use_errno=True))
    return _loaded[0]


def _checked(answer: int) -> int:
    import ctypes

    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return answer


def system_call(number: int, *arguments: "int | bytes | None") -> int:
    """Make a system call by its number."""
    import ctypes

    words = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    return _checked(_library().syscall(ctypes.c_long(number), *words))


def prctl(option: int, *arguments: "int | bytes") -> int:
    """Set or ask for an attribute of this process."""
    import ctypes

    words = [ctypes.c_ulong(each) if isinstance(each, int) else each for each in arguments]
    zeros = [ctypes.c_ulong(0)] * (4 - len(words))
    return _checked(_library().prctl(option, *words, *zeros))


def capset(header: bytes, sets: bytes) -> int:
    """Set the capabilities of this process."""
    return _checked(_library().capset(header, sets))


def capget(header: bytes, size: int) -> bytes:
    """Return the capabilities of this process."""
    import ctypes

    sets = ctypes.create_string_buffer(size)
    _checked(_library().capget(header, sets))
    return sets.raw


def unshare(parts: int) -> int:
    """Give this process parts of its own of what it shares with others."""
    return _checked(_library().unshare(parts))


def mount(source: "bytes | None", target: bytes, kind: "bytes | None", flags: int, data: bytes = b"") -> int:
    """Mount a filesystem, or change how one is mounted."""
    import ctypes

    return _checked(_library().mount(source, target, kind, ctypes.c_ulong(flags), data))


def unmount(target: bytes) -> int:
    """Take the topmost mount from a folder."""
    return _checked(_library().umount2(target, 0))
