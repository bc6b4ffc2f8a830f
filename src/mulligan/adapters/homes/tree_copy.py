"""Copies of whole folders of ours to another filesystem: contents, modes, times, links and attributes."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

_OPEN = 0o700


def copy_folder(source: Path, target: Path) -> None:
    """Copy a folder that nobody writes to into a new one, or into one of ours.

    Names that are one file stay one file. Sockets are left out.
    """
    links: dict[tuple[int, int], Path] = {}
    folders: list[tuple[Path, Path, os.stat_result]] = []
    pending = [(source, target)]
    while pending:
        old, new = pending.pop()
        st = old.lstat()
        folders.append((old, new, st))
        new.mkdir(mode=_OPEN, exist_ok=new == target)
        if st.st_mode & _OPEN != _OPEN:
            old.chmod(stat.S_IMODE(st.st_mode) | _OPEN)  # a plan may have closed it to its owner
        for entry in sorted(old.iterdir()):
            if entry.is_dir() and not entry.is_symlink():
                pending.append((entry, new / entry.name))
            else:
                _copy_file(entry, new / entry.name, links)
    for old, new, st in reversed(folders):
        shutil.copystat(old, new)
        for folder in (old, new):
            os.utime(folder, ns=(st.st_atime_ns, st.st_mtime_ns))
            folder.chmod(stat.S_IMODE(st.st_mode))


def remove_folder(folder: Path) -> None:
    """Remove a folder of ours with all that is in it, also what plans closed to their owner."""
    pending = [folder]
    while pending:
        each = pending.pop()
        with suppress(FileNotFoundError):
            each.chmod(_OPEN)
            pending += [entry for entry in each.iterdir() if entry.is_dir() and not entry.is_symlink()]
    shutil.rmtree(folder)


def _copy_file(old: Path, new: Path, links: dict[tuple[int, int], Path]) -> None:
    st = old.lstat()
    known = links.get((st.st_dev, st.st_ino))
    if known is not None:
        os.link(known, new, follow_symlinks=False)
        return
    if stat.S_ISLNK(st.st_mode) or stat.S_ISREG(st.st_mode):
        _copy_contents(old, new, st)
    elif stat.S_ISFIFO(st.st_mode):
        os.mkfifo(new, stat.S_IMODE(st.st_mode))
        os.utime(new, ns=(st.st_atime_ns, st.st_mtime_ns))
    else:
        return
    if st.st_nlink > 1:
        links[st.st_dev, st.st_ino] = new


def _copy_contents(old: Path, new: Path, st: os.stat_result) -> None:
    mode = stat.S_IMODE(st.st_mode)
    closed = stat.S_ISREG(st.st_mode) and not mode & stat.S_IRUSR
    if closed:
        old.chmod(mode | stat.S_IRUSR)
    try:
        shutil.copy2(old, new, follow_symlinks=False)
    finally:
        if closed:
            old.chmod(mode)
            new.chmod(mode)
