"""Folders that may not be changed by their owner, opened up for the time of a restore."""

import os
import stat

from mulligan.adapters.snapshots.scan.directory_handles import Folders, Place

_OPENED_UP = 0o300  # what a folder's owner needs to change what is in it


def open_up(folders: Folders, place: Place) -> int:
    """Return the descriptor of a folder whose entries can be changed now; its own mode comes back at the end."""
    fd = folders.fd(place)
    if place.parent is not None:  # the folder around the tree is not ours to change
        mode = stat.S_IMODE(os.fstat(fd).st_mode)
        if mode & _OPENED_UP != _OPENED_UP:
            os.fchmod(fd, mode | 0o700)
    return fd
