"""The journal of a tree: which names changed since which moment, for processes that come and go.

A watch (tree_watch.py) belongs to the process that looks. A journal belongs to one that lives on and does not look at
files itself: it knows the folders of the tree, and of files only the names that the kernel reported. It answers
for any moment that it gave out, and as a watch does, it admits when only a scan can find out.
"""

import errno
import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from mulligan.adapters.snapshots.scan.exclusions import Exclusions, exclusions_in, exclusions_of
from mulligan.adapters.snapshots.scan.filesystems import changes_unseen, mounts_below
from mulligan.adapters.snapshots.watch import inotify
from mulligan.adapters.snapshots.watch.inotify import Event, Inotify
from mulligan.domain.resources.placement import is_spare_name
from mulligan.osfiles.directory_handles import FOLDER_FLAGS, path_of
from mulligan.ports import TreeChanges, WorkingTree

_EPOCH = 16  # random bytes in a token: the journal that gave it out, since it last began
_MOMENT = 8  # and a number that grows
_MOST_NAMES = 50_000
_LONGEST = 600.0  # seconds: then a scan finds what was written under names outside of the tree
_MOST_ALONE = 256  # names that are looked at when the queue was read
_MOST_TURNS = 100  # of reading the queue for one report, in a tree that never holds still


class Spot(Struct, eq=False):
    """A folder of the tree. The topmost is the one around the tree's own folder."""

    name: str
    parent: "Spot | None"
    came: int = 0  # the moment at which it came, where that was after the journal began
    number: int = -1  # of its watch
    children: "dict[str, Spot]" = {}


class Unreported(Exception):
    """The system does not report all that happens in a tree. Its text is the reason."""


class TreeJournal:
    """The names that the kernel reported for one tree since the journal began."""

    def __init__(self, tree: WorkingTree, seconds: Callable[[], float] = time.monotonic) -> None:
        self.tree = tree
        self._seconds = seconds
        self._begun = 0.0  # when all who asked were last made to scan
        self._exclusions = exclusions_of(tree)
        self._inotify: Inotify | None = None
        self._forget()

    def _forget(self) -> None:
        self._epoch = b""
        self._identity = (0, 0)
        self._top = Spot("", None)
        self._spots: dict[int, Spot] = {}  # by number of the watch
        self._now = 1
        self._floor = 0  # nothing is known of what happened up to that moment
        self._unseen = 0  # a file that came at that moment went again: see `_follow`
        self._lost = False
        self._changed: dict[Spot, dict[str, int]] = {}
        self._renewed: dict[Spot, dict[str, int]] = {}
        self._names = 0
        self._arrived: dict[tuple[Spot, str], int] = {}  # names: when they came
        self._came: list[tuple[Spot, str]] = []  # the last of them, at which nobody looked
        self._stirred: set[tuple[Spot, str]] = set()  # names of files that the last events are about
        self._is_folded = False  # folders are among what these are about
        self._moving: dict[int, int] = {}  # cookies of renames half seen -> when the name came, or 0
        self._moving_spots: dict[int, Spot] = {}  # the same for folders

    @property
    def queue(self) -> int:
        """The descriptor that can be read when something happened; -1 where nothing is watched."""
        return -1 if self._inotify is None else self._inotify.fd

    def follows(self, tree: WorkingTree) -> bool:
        """Return whether a tree is this one, here or in another place, looked at in the same way."""
        if self._inotify is None or self._lost:
            return False
        if (tree.excluded, tree.patterns) != (self.tree.excluded, self.tree.patterns):
            return False
        return self._is_at(tree.path)

    @property
    def folders(self) -> int:
        """The number of folders that are watched."""
        return len(self._spots)

    def report(self, token: bytes) -> TreeChanges:
        """Return what changed since a token, everything included that was done before this call.

        Unreported where the tree cannot be watched.
        """
        self.catch_up()
        if self._inotify is None or self._lost or not self._is_in_place():
            self._begin()
        moment = self._now
        self._now += 1
        new = self._epoch + moment.to_bytes(_MOMENT, "big")
        since = int.from_bytes(token[_EPOCH:], "big")
        if self._seconds() - self._begun > _LONGEST:  # no process may use a token from before any longer
            self._begun, self._floor = self._seconds(), moment
        known = token[:_EPOCH] == self._epoch and self._floor <= since < moment
        if not known or self._unseen > since:
            return TreeChanges(token=new, paths=None)
        return TreeChanges(
            token=new, paths=self._since(self._changed, since), renewed=self._since(self._renewed, since)
        )

    def catch_up(self) -> None:
        """Take note of all that happened so far; folders that came are watched from then on."""
        if self._inotify is None or self._lost:
            return
        alone: list[tuple[Spot, str]] = []
        for _ in range(_MOST_TURNS):
            self._stirred, self._is_folded = set(), False
            events = self._inotify.events()
            for event in events:
                self._take(event)
                if self._lost:
                    return
            self._settle(alone)
            # The two halves of a rename are put on the queue together: what is left came from outside, or left.
            for spot in self._moving_spots.values():
                self._leave(spot)
            for came in self._moving.values():
                self._unseen = max(self._unseen, came)
            self._moving_spots, self._moving = {}, {}
            alone = self._names_alone()
            if not events and not alone:
                break
        else:
            self._lost = True
        if self._names > _MOST_NAMES:
            self._floor, self._names = self._now, 0
            self._changed, self._renewed, self._arrived = {}, {}, {}

    def close(self) -> None:
        """Watch nothing from now on."""
        if self._inotify is not None:
            self._inotify.close()
            self._inotify = None
        self._forget()

    # --- the folders -----------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Watch every folder of the tree, before anybody looks at it."""
        self.close()
        path = self.tree.path
        if changes_unseen(path):
            raise Unreported("other machines can change it")
        if mounts_below(path):
            raise Unreported("another filesystem is mounted in it")
        try:
            self._inotify = Inotify()
            fd = os.open(path, FOLDER_FLAGS)
            try:
                st = os.fstat(fd)
                self._identity = (st.st_dev, st.st_ino)
            finally:
                os.close(fd)
            self._enter(self._top, ".", self._exclusions)
        except OSError as exc:
            self.close()
            raise Unreported(exc.strerror or str(exc)) from exc
        self._epoch = os.urandom(_EPOCH)
        self._begun = self._seconds()

    def _is_in_place(self) -> bool:
        """Return whether the tree's path leads to the folder that is watched, and to no other filesystem below."""
        return self._is_at(self.tree.path) and not mounts_below(self.tree.path)

    def _is_at(self, path: Path) -> bool:
        try:
            st = os.stat(path, follow_symlinks=False)
        except OSError:
            return False
        return (st.st_dev, st.st_ino) == self._identity

    def _enter(self, parent: Spot, name: str, excluded: Exclusions, came: int = 0) -> None:
        """Watch a folder and all below: each before it is listed, so that what comes meanwhile is reported."""
        waiting = [(parent, name, excluded)]
        tree = os.open(self.tree.path, FOLDER_FLAGS)
        try:
            st = os.fstat(tree)
            if (st.st_dev, st.st_ino) != self._identity:
                raise FileNotFoundError(errno.ENOENT, "a folder above it was moved")
            while waiting:
                parent, name, excluded = waiting.pop()
                try:
                    fd = os.open(path_of(parent, name), FOLDER_FLAGS, dir_fd=tree)
                except (FileNotFoundError, NotADirectoryError, PermissionError):
                    if parent is self._top:
                        raise
                    continue  # it is gone, which is reported, or nobody can look into it
                try:
                    waiting += [
                        (spot, each, excluded.below(each))
                        for spot, each in self._listed(parent, name, fd, excluded, came)
                    ]
                finally:
                    os.close(fd)
        finally:
            os.close(tree)

    def _listed(
        self, parent: Spot, name: str, fd: int, excluded: Exclusions, came: int
    ) -> list[tuple[Spot, str]]:
        assert self._inotify is not None, "the journal has begun"
        number = self._inotify.watch(fd)
        spot = Spot(name, parent, came, number)
        before = self._spots.get(number)
        if before is not None:
            self._detach(before)
        self._spots[number] = spot
        parent.children[name] = spot
        with os.scandir(fd) as entries:
            return [
                (spot, each.name)
                for each in entries
                if each.is_dir(follow_symlinks=False) and not excluded.leave_out(each.name, is_folder=True)
            ]

    def _leave(self, spot: Spot) -> None:
        """Stop watching a folder, and all below, that is in the tree no more."""
        waiting = [spot]
        self._detach(spot)
        while waiting:
            each = waiting.pop()
            waiting += each.children.values()
            if self._spots.get(each.number) is each:
                del self._spots[each.number]
                if self._inotify is not None:
                    self._inotify.forget(each.number)

    @staticmethod
    def _detach(spot: Spot) -> None:
        if spot.parent is not None and spot.parent.children.get(spot.name) is spot:
            del spot.parent.children[spot.name]

    def _is_attached(self, spot: Spot) -> bool:
        while spot.parent is not None:
            if spot.parent.children.get(spot.name) is not spot:
                return False
            spot = spot.parent
        return spot is self._top

    # --- what happens in them --------------------------------------------------------------------------------

    def _take(self, event: Event) -> None:
        if event.mask & inotify.OVERFLOW:
            self._lost = True
            return
        self._is_folded = self._is_folded or not event.name or bool(event.mask & inotify.IS_FOLDER)
        spot = self._spots.get(event.watch)
        if spot is None:
            return  # of a folder that left the tree
        try:
            if event.name:
                self._note(spot, event)
            else:
                self._note_own(spot, event.mask)
        except OSError:  # a limit of the system: the next report begins again, or says so
            self._lost = True

    def _note_own(self, spot: Spot, mask: int) -> None:
        parent = spot.parent
        assert parent is not None, "the folder around the tree is not watched"
        if mask & inotify.UNMOUNT:
            self._lost = True
        elif mask & inotify.IGNORED:
            # Removed. An inode's number is given to the next folder at once: this one must not be taken for it.
            del self._spots[spot.number]
            self._detach(spot)
            self._touch(parent, spot.name, renewed=True)
            self._lost = parent is self._top
        elif mask & inotify.MOVE_SELF:
            pass  # the parent reports it; that of the topmost folder shows when its path is looked at
        elif mask & inotify.DELETE_SELF:
            self._lost = parent is self._top  # any other is reported by its parent
        else:
            self._touch(parent, spot.name)

    def _note(self, spot: Spot, event: Event) -> None:
        mask, name = event.mask, event.name
        is_folder = bool(mask & inotify.IS_FOLDER)
        excluded = exclusions_in(spot, self._exclusions)
        is_left_out = excluded.leave_out(name, is_folder=is_folder)
        self._stirred.add((spot, name))
        self._touch(spot, name)
        if is_folder:
            self._note_folder(spot, event, None if is_left_out else excluded.below(name))
        elif not is_left_out:
            self._follow(spot, name, mask, event.cookie)

    def _note_folder(self, spot: Spot, event: Event, excluded: Exclusions | None) -> None:
        mask, name = event.mask, event.name
        child = spot.children.get(name)
        if excluded is not None:
            self._follow(spot, name, mask, event.cookie)
        if mask & (inotify.MOVED_FROM | inotify.DELETE):
            if child is not None:
                self._detach(child)
                if mask & inotify.MOVED_FROM:
                    self._moving_spots[event.cookie] = child
            if mask & inotify.MOVED_FROM and excluded is not None:
                # Where two names were exchanged, another folder came before this one is reported to have left.
                self._enter(spot, name, excluded, came=self._now)
            return
        if mask & inotify.MOVED_TO and (moved := self._moving_spots.pop(event.cookie, None)) is not None:
            # What patterns exclude depends on the path: its folders are listed again under the new one.
            self._leave(moved)
        if excluded is not None and (child is None or mask & (inotify.CREATE | inotify.MOVED_TO)):
            self._touch(spot, name, renewed=True)  # also one that may be entered only now
            self._enter(spot, name, excluded, came=self._now)

    def _follow(self, spot: Spot, name: str, mask: int, cookie: int) -> None:
        """Follow the names of files and folders that came.

        Another name of a file in the tree shows when it stays: the file has several links. One that goes again leaves
        nothing behind, though the file may have been written through it. For moments before it came, only a scan can
        find out. In a folder that came itself, files may have come before the folder was watched. The spare names under
        which a restore puts files aside come and go with it, and are links to no other.
        """
        place = (spot, name)
        if mask & inotify.CREATE:
            self._arrived[place] = self._now
            self._came.append(place)
        elif mask & inotify.MOVED_TO:
            self._unseen = max(self._unseen, self._arrived.pop(place, 0))
            if came := self._moving.pop(cookie, self._now):
                self._arrived[place] = came
                self._came.append(place)
        elif mask & inotify.MOVED_FROM:
            self._moving[cookie] = self._arrived.pop(place, spot.came)
        elif mask & inotify.DELETE and is_spare_name(name):
            self._arrived.pop(place, None)
        elif mask & inotify.DELETE:
            self._unseen = max(self._unseen, self._arrived.pop(place, spot.came))

    def _names_alone(self) -> list[tuple[Spot, str]]:
        """Return which of the names that came are the only ones of their files."""
        came, self._came = self._came[-_MOST_ALONE:], []
        if not came or not self._is_at(self.tree.path):
            return []
        found: list[tuple[Spot, str]] = []
        with suppress(OSError):
            tree = os.open(self.tree.path, FOLDER_FLAGS)
            try:
                st = os.fstat(tree)
                for place in came if (st.st_dev, st.st_ino) == self._identity else ():
                    with suppress(OSError):
                        st = os.stat(path_of(*place), dir_fd=tree, follow_symlinks=False)
                        if stat.S_ISREG(st.st_mode) and st.st_nlink == 1:
                            found.append(place)
            finally:
                os.close(tree)
        return found

    def _settle(self, alone: list[tuple[Spot, str]]) -> None:
        """Let names be as those that were there before: each was the only one of its file when it was looked at.

        Another name that the file may have had before that went before, which was reported. Nothing is settled where
        something happened between: the queue was read again after that look.
        """
        for place in () if self._is_folded else alone:
            if place not in self._stirred:
                self._arrived.pop(place, None)

    def _touch(self, spot: Spot, name: str, *, renewed: bool = False) -> None:
        for noted in (self._changed, self._renewed) if renewed else (self._changed,):
            names = noted.setdefault(spot, {})
            self._names += name not in names
            names[name] = self._now

    def _since(self, noted: dict[Spot, dict[str, int]], since: int) -> tuple[str, ...]:
        return tuple(
            path_of(spot, name)
            for spot, names in noted.items()
            if self._is_attached(spot)
            for name, moment in names.items()
            if moment > since
        )
