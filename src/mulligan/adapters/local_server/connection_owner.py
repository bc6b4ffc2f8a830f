"""The user at the other end of a TCP connection within this machine, as Linux lists it."""

import os
import socket
import sys
from pathlib import Path

Address = tuple[str, int]  # an IPv4 address and a port

_TABLE = Path("/proc/net/tcp")
_ROOT = 0
_NO_INODE = "0"  # of a connection that its process has closed


def is_of_another_user(client: Address, server: Address) -> bool:
    """Return whether a client is known to belong to neither this user nor root, or has gone already.

    A connection that is not listed is not judged: the system has no such table, or the client is elsewhere.
    """
    try:
        listed = _TABLE.read_text("ascii").splitlines()[1:]
    except OSError:
        return False
    ends = [_written(client), _written(server)]
    for line in listed:
        _, local, remote, _, _, _, _, uid, _, inode, *_ = line.split()
        if [local, remote] == ends:
            return inode == _NO_INODE or int(uid) not in (os.geteuid(), _ROOT)
    return False


def _written(address: Address) -> str:
    """Return an address as the table has it: the number in the machine's own byte order."""
    host, port = address
    return f"{int.from_bytes(socket.inet_aton(host), sys.byteorder):08X}:{port:04X}"
