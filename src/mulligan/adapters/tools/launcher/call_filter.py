"""A filter of system calls (seccomp): some fail, and the launcher is notified of those that link files.

Keyrings belong to users and sessions, so that a tool could read, replace and remove keys of its user. io_uring
does what other system calls do, past any filter. A link adds another name to a file: a watch over the first name
does not report writes through it. The launcher uses this module too: the standard library only.
"""

import errno
import os
import struct

from mulligan.adapters.tools.launcher.kernel import prctl, system_call

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_SET_MODE_FILTER = 1
_NEW_LISTENER, _WAIT_KILLABLE = 1 << 3, 1 << 5
_SECCOMP = {"x86_64": 317, "aarch64": 277, "riscv64": 277}  # the system call itself, by machine

# By architecture, as the kernel's audit numbers it: system calls for keyrings, and those that link.
_CALLS = {
    0xC000003E: ((248, 249, 250), (86, 265)),  # x86-64
    0x40000003: ((286, 287, 288), (9, 303)),  # x86
    0xC00000B7: ((217, 218, 219), (37,)),  # arm64
    0x40000028: ((309, 310, 311), (9, 330)),  # arm
    0xC00000F3: ((217, 218, 219), (37,)),  # riscv64
}
_RINGS = (425, 426, 427)  # the same everywhere
_X32_BIT = 0x40000000  # x86-64 numbers the same calls with this bit in its 32-bit variant
_LOAD, _AND, _EQUAL, _RETURN = 0x20, 0x54, 0x15, 0x06
_NUMBER_AT, _ARCHITECTURE_AT = 0, 4
_INSTRUCTION = struct.Struct("=HBBI")  # code, jump if true, jump if false, operand
_ALLOW, _NOTIFY, _FAIL = 0x7FFF0000, 0x7FC00000, 0x00050000 | errno.EPERM

_RECEIVE, _SEND = 0xC0502100, 0xC0182101  # ioctls of a listener
_NOTICE = struct.Struct("=QII64s")  # id, process, flags, the call
_ANSWER = struct.Struct("=QqiI")  # id, value, error, flags
_CONTINUE = 1


class Notices:
    """The end at which the kernel asks before a link is made. Each is made, and each is noted."""

    def __init__(self, listener: int, noted: int) -> None:
        """Note with a byte each, on a descriptor that does not block."""
        self.listener = listener
        self._noted = noted

    def serve(self) -> None:
        """Note and allow one call, for which the listener is ready."""
        notice = bytearray(_NOTICE.size)
        try:
            self._control(_RECEIVE, notice)
            self._note()  # before the link is made: an event that follows it comes after the note
            self._control(_SEND, bytearray(_ANSWER.pack(_NOTICE.unpack(notice)[0], 0, 0, _CONTINUE)))
        except FileNotFoundError:
            return  # the process was killed meanwhile

    def _control(self, request: int, data: bytearray) -> None:
        import fcntl

        while True:
            try:
                fcntl.ioctl(self.listener, request, data)
            except InterruptedError:
                continue  # a child ended
            return

    def _note(self) -> None:
        try:
            os.write(self._noted, b"l")
        except BlockingIOError:
            return  # more than enough notes wait to be read


def filter_calls(noted: int) -> "Notices | None":
    """Filter the system calls of this process and all that it starts; for good.

    Return None where links cannot be noticed: on other machines, and below a process that notices them itself.
    """
    number = _SECCOMP.get(os.uname().machine) if struct.calcsize("P") == 8 else None
    if number is not None:
        flags = _NEW_LISTENER | _WAIT_KILLABLE
        try:
            listener = system_call(number, _SET_MODE_FILTER, flags, _program(_NOTIFY))
        except OSError as exc:
            if exc.errno != errno.EBUSY:
                raise
        else:
            os.set_inheritable(listener, False)  # noqa: FBT003 - the function has no names
            return Notices(listener, noted)
    prctl(_PR_SET_SECCOMP, _MODE_FILTER, _program(_ALLOW))
    return None


_held: "list[object]" = []  # programs that the kernel is about to read


def _program(for_links: int) -> bytes:
    import ctypes

    program = b"".join(_instructions(for_links))
    _held.append(ctypes.create_string_buffer(program, len(program)))
    return struct.pack("@HP", len(program) // _INSTRUCTION.size, ctypes.addressof(_held[-1]))  # pyright: ignore[reportArgumentType] - it is one


def _instructions(for_links: int) -> "list[bytes]":
    made = [_instruction(_LOAD, _ARCHITECTURE_AT)]
    for architecture, (keyrings, links) in _CALLS.items():
        verdicts = [(each, _FAIL) for each in (*keyrings, *_RINGS)] + [(each, for_links) for each in links]
        block = [_instruction(_LOAD, _NUMBER_AT), _instruction(_AND, 0xFFFFFFFF & ~_X32_BIT)]
        for number, verdict in verdicts:
            block += [_instruction(_EQUAL, number, unless=1), _instruction(_RETURN, verdict)]
        block.append(_instruction(_RETURN, _ALLOW))
        made += [_instruction(_EQUAL, architecture, unless=len(block)), *block]
    return [*made, _instruction(_RETURN, _ALLOW)]


def _instruction(code: int, operand: int, *, unless: int = 0) -> bytes:
    return _INSTRUCTION.pack(code, 0, unless, operand)
