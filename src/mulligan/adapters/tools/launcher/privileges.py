"""Privileges that confined tools do without: those that programs can bring, and capabilities of root.

Landlock limits what is written by name. What remains are rights that reach the machine in other ways. The
launcher uses this module too: the standard library only, and little of it.
"""

import struct

from mulligan.adapters.tools.launcher.kernel import capget, capset, prctl

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

_PR_CAPBSET_READ, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 23, 24, 38
_SETPCAP_BIT = 1 << KEPT["setpcap"]
_CAPABILITY_HEADER = struct.pack("=II", 0x20080522, 0)  # version 3, this process
_SETS = struct.Struct("=6I")  # effective, permitted, inheritable: the low words, then the high ones


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
    """Return whether the bounding set has a capability; None beyond the last one that the kernel knows."""
    try:
        return prctl(_PR_CAPBSET_READ, number) == 1
    except OSError:
        return None
