"""Replaces single files of a user's folder as a restore does: what comes out is compared before it goes."""

import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from mulligan.adapters.snapshots.format.signatures import signature
from mulligan.adapters.snapshots.restore.aside import Aside, Foreign, Noted
from mulligan.adapters.snapshots.restore.asides import Asides
from mulligan.adapters.snapshots.restore.open_files import is_open_for_writing, refuse_open
from mulligan.adapters.snapshots.restore.real_tree import hand_over
from mulligan.boundaries import act
from mulligan.errors import TreeChanged
from mulligan.osfiles.directory_handles import FOLDER_FLAGS
from mulligan.osfiles.folders import sync_filesystem
from mulligan.ports import Replacement


def replace_files(asides: Asides, folder: Path, replacements: Sequence[Replacement]) -> None:
    """Take out what was found under these names, all of it, then put what is new there, in this order."""
    fd = os.open(folder, FOLDER_FLAGS)
    try:
        with asides.open(folder) as aside:
            _Replacing(folder, fd, aside).run(replacements)
    finally:
        os.close(fd)


class _Replacing:
    def __init__(self, folder: Path, fd: int, aside: Aside) -> None:
        self._folder = folder
        self._fd = fd
        self._aside = aside
        other = os.fstat(fd).st_dev != os.fstat(aside.folder("")).st_dev
        self._place = aside.folder_in_tree(".", fd) if other else ""

    def run(self, replacements: Sequence[Replacement]) -> None:
        self._refuse_open(replacements)
        old = [self._noted(2 * n + 1, each) for n, each in enumerate(replacements) if each.found is not None]
        new = [
            self._staged(2 * n + 2, each.name, each.new, each.found)
            for n, each in enumerate(replacements)
            if each.new
        ]
        self._aside.note(*old, *new)
        here = self._aside.folder(self._place)
        with act("restore.stage_sync"):
            sync_filesystem(here)
        self._aside.sync()
        for noted in old:
            try:
                with act("database.remove"):
                    self._aside.remove(noted, self._fd, noted.path, None)
            except Foreign as exc:
                raise self._changed(noted.path) from exc
        for noted in new:
            try:
                with act("database.place"):
                    self._aside.place(noted, self._fd, noted.path)
            except Foreign as exc:
                raise self._changed(noted.path) from exc
        with act("database.sync"):
            os.fsync(self._fd)
        if changed := self._aside.changed_since():
            raise self._changed(*changed)

    def _refuse_open(self, replacements: Sequence[Replacement]) -> None:
        here = self._aside.folder(self._place)
        open_ones = [
            self._folder / each.name
            for each in replacements
            if each.found is not None
            and stat.S_ISREG(each.found.st_mode)
            and is_open_for_writing(self._fd, each.name, here)
        ]
        refuse_open(open_ones)

    def _noted(self, number: int, each: Replacement) -> Noted:
        assert each.found is not None
        return Noted(number=number, path=each.name, folder=self._place, expected=signature(each.found).hex())

    def _staged(self, number: int, name: str, new: Path, found: os.stat_result | None) -> Noted:
        here = self._aside.folder(self._place)
        with act("restore.stage"):
            try:
                os.rename(new, str(number), dst_dir_fd=here)
            except OSError as exc:
                if exc.errno != errno.EXDEV:
                    raise
                import shutil  # here: mostly the new file is on the same filesystem

                copy = self._aside.place_of(self._place) / str(number)
                shutil.copy2(new, copy, follow_symlinks=False)
        owner = os.fstat(self._fd) if found is None else found
        hand_over(here, str(number), owner)
        ours = signature(os.stat(str(number), dir_fd=here, follow_symlinks=False)).hex()
        return Noted(number=number, path=name, folder=self._place, ours=ours)

    def _changed(self, *names: str) -> TreeChanged:
        """Put what others did back under its name."""
        where = self._aside.return_foreign(set(names)) or list(names)
        return TreeChanged(paths=", ".join(str(self._folder / name) for name in where))
