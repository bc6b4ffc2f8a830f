"""Privileges that confined tools do without: capabilities of root, and the kernel's keyrings.

Landlock limits what is written by name. What remains are rights that reach the machine in other ways. The
launcher uses this module too: the standard library only, and little of it.
"""

import struct

from mulligan.adapters.tools.kernel import capget, capset, prctl

# What programs of root need for work in a sandbox. Everything else is dropped, also what later kernels add.
KEPT = {
    "chown": 0,
    "dac_override": 1,  # reads and writes files whatever their modes; Landlock still says where
    "fowner": 3,
    "fsetid": 4,
    "kill": 5,  # processes that a step started as another user; Landlock keeps the others out of reach
    "setgid": 6,
    "setuid": 7,
    "setpcap": 8,
    "net_bind_service": 10,
    "sys_chroot": 18,
    "audit_write": 29,  # without it `su` fails where the system keeps an audit log
}
_KEPT_BITS = sum(1 << number for number in KEPT.values())

_PR_CAPBSET_READ, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP = 23, 24, 38, 22
_SECCOMP_MODE_FILTER = 2
_SETPCAP_BIT = 1 << KEPT["setpcap"]
_CAPABILITY_HEADER = struct.pack("=II", 0x20080522, 0)  # version 3, this process
_SETS = struct.Struct("=6I")  # effective, permitted, inheritable: the low words, then the high ones

# The first and the last system call for keyrings, by architecture as the kernel's audit numbers it.
_KEYRING_CALLS = {
    0xC000003E: (248, 250),  # x86-64
    0x40000003: (286, 288),  # x86
    0xC00000B7: (217, 219),  # arm64
    0x40000028: (309, 311),  # arm
    0xC00000F3: (217, 219),  # riscv64
}
_X32_BIT = 0x40000000  # x86-64 numbers the same calls with this bit in its 32-bit variant
_LOAD, _AND, _EQUAL, _AT_LEAST, _GREATER, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x25, 0x06
_NUMBER_AT, _ARCHITECTURE_AT = 0, 4
_INSTRUCTION = struct.Struct("=HBBI")  # code, jump if true, jump if false, operand
_ALLOW, _FAIL_WITH_EPERM = 0x7FFF0000, 0x00050001


def promise_no_new_privileges() -> None:
    """Give up, for good, what set-user-ID programs and file capabilities would add."""
    prctl(_PR_SET_NO_NEW_PRIVS, 1)


def drop_capabilities() -> None:
    """Drop the capabilities that are not kept, for this process and all that it starts; for good."""
    effective, permitted, inheritable = _capabilities()
    if effective & _SETPCAP_BIT:  # without it the promise of no new privileges has to do
        number = 0
        while (bounding := _bounding(number)) is not None:
            if bounding and not _KEPT_BITS >> number & 1:
                prctl(_PR_CAPBSET_DROP, number)
            number += 1
    kept = [each & _KEPT_BITS for each in (effective, permitted, inheritable)]
    low, high = [each & 0xFFFFFFFF for each in kept], [each >> 32 for each in kept]
    capset(_CAPABILITY_HEADER, _SETS.pack(*low, *high))


def _capabilities() -> tuple[int, int, int]:
    words = _SETS.unpack(capget(_CAPABILITY_HEADER, _SETS.size))
    effective, permitted, inheritable = (words[at] | words[at + 3] << 32 for at in range(3))
    return effective, permitted, inheritable


def _bounding(number: int) -> bool | None:
    """Tell whether the bounding set has a capability; None beyond the last one that the kernel knows."""
    try:
        return prctl(_PR_CAPBSET_READ, number) == 1
    except OSError:
        return None


def refuse_keyrings() -> None:
    """Let the system calls for keyrings fail, for this process and all that it starts; for good.

    Keys belong to users and sessions, so that a tool could read, replace and remove those of its user.
    """
    import ctypes

    program = b"".join(_instructions())
    held = ctypes.create_string_buffer(program, len(program))
    prctl(
        _PR_SET_SECCOMP,
        _SECCOMP_MODE_FILTER,
        struct.pack("@HP", len(program) // _INSTRUCTION.size, ctypes.addressof(held)),
    )


def _instructions() -> "list[bytes]":
    """Return a program of the kernel's packet filter: look up the architecture, then the range of numbers."""
    made = [_instruction(_LOAD, _ARCHITECTURE_AT)]
    for architecture, (first, last) in _KEYRING_CALLS.items():
        made += [
            _instruction(_EQUAL, architecture, unless=6),
            _instruction(_LOAD, _NUMBER_AT),
            _instruction(_AND, 0xFFFFFFFF & ~_X32_BIT),
            _instruction(_AT_LEAST, first, unless=2),
            _instruction(_GREATER, last, then=1),
            _instruction(_RETURN, _FAIL_WITH_EPERM),
            _instruction(_RETURN, _ALLOW),
        ]
    return [*made, _instruction(_RETURN, _ALLOW)]


def _instruction(code: int, operand: int, *, then: int = 0, unless: int = 0) -> bytes:
    return _INSTRUCTION.pack(code, then, unless, operand)
