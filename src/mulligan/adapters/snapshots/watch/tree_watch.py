"""A watch over a tree: which names must be looked at again, learned from the kernel while it happens.

It never knows more than it saw: whatever leaves a doubt makes it lost, with the reason, until the next scan of
the whole tree sets it up again. What it cannot see at all is written down in docs/adr/0004-watch.md.
"""

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from mulligan.adapters.snapshots.format.signatures import inode_and_links
from mulligan.adapters.snapshots.format.tree_format import ROOT_NAME
from mulligan.adapters.snapshots.scan.exclusions import exclusions_in, exclusions_of
from mulligan.adapters.snapshots.scan.filesystems import changes_unseen
from mulligan.adapters.snapshots.scan.found_folder import Folder
from mulligan.adapters.snapshots.scan.scan import Witness
from mulligan.adapters.snapshots.watch import inotify
from mulligan.adapters.snapshots.watch.inotify import Event, Inotify
from mulligan.adapters.snapshots.watch.watched_folders import WatchedFolders
from mulligan.domain.checkpoints.store_report import Capture
from mulligan.osfiles.directory_handles import path_of
from mulligan.ports import WorkingTree

FIRST_LOOK = "nothing was known yet"
OVERFLOW = "more happened than the system's queue holds"
LOST_TREE = "the tree's own folder was moved, removed or unmounted"
UNSEEN_NAME = "a file came and went, which may have been another name of one that stayed"
OTHER_NAME = "a file got another name, or may have, under which it may have been written"
NO_WATCH = "the system has no watches"
ON_A_NETWORK = "other machines can change it, and no watch sees that"
TOO_MANY = "the system has no watches left"
NOT_IN_STORE = "what was known of it is gone from the store, or was learned by another look"
CUT_OFF = "the last look was cut off"


class Look(Struct, frozen=True):
    """The way in which a tree was last read."""

    watched: bool  # only what the watch named was looked at
    reason: str  # why all of it was scanned instead; empty where it was not


class Watch(Witness):
    """The watch over one tree. It is the witness of the scans that it builds on."""

    def __init__(self, tree: WorkingTree, *, others_at_work: bool) -> None:
        self.tree = tree
        self.others_at_work = others_at_work
        self.reason = FIRST_LOOK  # why it is lost; empty while it can be relied on
        self.top: Folder | None = None  # the tree as it was last looked at, or restored
        self.asks = False  # another process reports what changes: no folder is watched while it does
        self.dirty: dict[Folder, set[str]] = {}  # names to look at; those also in a folder's `racy`, to read
        self.renewed: set[tuple[Folder, str]] = set()  # folders that are not the ones known by these names
        self.shared: dict[Folder, set[str]] = {}  # files with several links: always looked at
        self.searched: dict[tuple[int, int], int] = {}  # inodes whose other names were looked for -> links
        self.grouped: set[Folder] = set()  # folders with names that share a file with others in the tree
        self.unstored: set[Folder] = set()  # folders whose objects are yet to be made, or stored
        self.last: Capture | None = None  # of the tree exactly as it is known
        self._exclusions = exclusions_of(tree)
        self._inotify: Inotify | None = None
        self._given_up = ""
        self._watched = WatchedFolders()
        self._entered: list[Folder] = []  # since the last look
        self._arrived: set[tuple[Folder, str]] = set()  # files, since the last look
        self._moving: dict[int, bool] = {}  # cookies of renames half seen -> had the file arrived
        self._is_moving = False  # the tree's own folder was just moved by us, and the event is to come
        self._fresh: dict[int, Path] = {}  # by number of the watch: folders that no look has entered yet

    # --- as the witness of a scan ----------------------------------------------------------------------------

    def begin(self) -> None:
        """Start again, before a scan of the whole tree."""
        self.close()
        self.dirty, self.renewed, self.shared, self.searched = {}, set(), {}, {}
        self.grouped, self.unstored, self.last = set(), set(), None
        self._watched, self._arrived, self._moving, self._fresh = WatchedFolders(), set(), {}, {}
        self._entered = []
        if changes_unseen(self.tree.path):
            self._given_up = ON_A_NETWORK
        self.reason = self._given_up
        if self.reason:
            return
        try:
            self._inotify = Inotify()
        except OSError as exc:
            self._give_up(f"{NO_WATCH}: {exc}")

    @property
    def queue(self) -> int:
        return -1 if self._inotify is None else self._inotify.fd

    def entered(self, folder: Folder, fd: int) -> None:
        """Watch a folder from now on, under this object; it may have been known under another."""
        if self._inotify is None:
            return
        try:
            number = self._inotify.watch(fd)
        except OSError as exc:
            self._give_up(f"{TOO_MANY}: {exc}")
        else:
            self._known_as(folder, number)

    def queued(self, folder: Folder, number: int) -> None:
        """Watch a folder that was put on the queue before it was listed."""
        if self._inotify is None:
            return
        if number < 0:
            self._give_up(f"{TOO_MANY}: {OSError(-number, os.strerror(-number))}")
        else:
            self._known_as(folder, number)

    def queued_below(self, folder: Folder, numbers: bytes) -> None:
        """Watch the folders below one that were put on the queue; a negative number is an errno."""
        if self._inotify is not None and (refused := self._watched.add_below(folder, numbers)) < 0:
            self._give_up(f"{TOO_MANY}: {OSError(-refused, os.strerror(-refused))}")

    def _known_as(self, folder: Folder, number: int) -> None:
        self._entered.append(folder)
        before = self._watched.add(folder, number)
        if before is not None:
            self._carry_over(before, folder)

    def lost(self, reason: str) -> None:
        """Rely on nothing until the next scan."""
        self.reason = self.reason or reason

    # --- while it is relied on -------------------------------------------------------------------------------

    def catch_up(self) -> None:
        """Take note of all that happened so far."""
        if self._inotify is None:
            return
        for event in self._inotify.events():
            if event.mask & inotify.OVERFLOW:
                self.lost(OVERFLOW)
                continue
            folder = self._watched.folder(event.watch)
            if folder is None:
                continue  # of a folder that left the tree
            if event.name:
                self._note(folder, event)
            else:
                self._note_own(folder, event)
        if any(self._moving.values()):
            self.lost(UNSEEN_NAME)

    def moved_to(self, tree: WorkingTree) -> None:
        """Go on with a tree that we have just moved as a whole."""
        self.tree, self._is_moving = tree, True
        self.catch_up()
        if self._is_moving:  # the event is missing: it may be another folder
            self.lost(LOST_TREE)
        self._is_moving = False

    @property
    def blind(self) -> str:
        """Return why no write is reported; empty where they are."""
        return self._given_up if self._inotify is None else ""

    def stirred(self) -> bool:
        """Return whether something was written since this was last asked, or all was looked at.

        What is excluded does not count. The next look finds all of it in any case.
        """
        found = False
        for event in self._inotify.arrived() if self._inotify is not None else ():
            if self._counts(event):
                found = True
                if event.mask & inotify.IS_FOLDER and event.mask & (inotify.CREATE | inotify.MOVED_TO):
                    self._listen_below(event)
        return found

    def _counts(self, event: Event) -> bool:
        folder = self._watched.folder(event.watch)
        if folder is None or not event.name:
            return bool(event.mask & inotify.OVERFLOW) or event.watch in self._fresh
        excluded = exclusions_in(folder, self._exclusions)
        is_folder = bool(event.mask & inotify.IS_FOLDER)
        return event.name in folder.stats or not excluded.leave_out(event.name, is_folder=is_folder)

    def _listen_below(self, event: Event) -> None:
        """Hear of writes in a new folder, and below, before the next look enters it."""
        known = self._watched.folder(event.watch)
        if known is None:
            waiting = [self._fresh[event.watch] / event.name]
        else:
            waiting = [self.tree.path / path_of(known, event.name)]
        while waiting and self._inotify is not None:
            path = waiting.pop()
            try:
                fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    self._fresh[self._inotify.watch(fd)] = path
                    waiting += [
                        path / each.name for each in os.scandir(fd) if each.is_dir(follow_symlinks=False)
                    ]
                finally:
                    os.close(fd)
            except OSError:
                continue  # it is gone, or there is no watch left: the next look says so

    def suspect(self, folder: Folder, name: str) -> None:
        """Have a name read at the next look, by whatever way that looks."""
        self.dirty.setdefault(folder, set()).add(name)
        folder.unseal()
        folder.racy.add(name)

    def leave(self, folder: Folder) -> None:
        """Stop watching a folder, and all below, that is in the tree no more."""
        for each in folder.walk():
            self.dirty.pop(each, None)
            self.shared.pop(each, None)
            self.unstored.discard(each)
            number = self._watched.remove(each)
            if number is not None and self._inotify is not None:  # else another object is known by it by now
                self._inotify.forget(number)

    def share(self, folder: Folder, name: str) -> None:
        """Have a name with several links looked at every time."""
        self.shared.setdefault(folder, set()).add(name)

    def unshare(self, folder: Folder, name: str) -> None:
        """Take note that a name is the only one of its file, or gone."""
        names = self.shared.get(folder)
        if names is not None:
            names.discard(name)
            if not names:
                del self.shared[folder]

    def looked(self, touched: dict[Folder, None]) -> None:
        """Begin the next window: what was looked at is known, but for what was too young to be trusted."""
        self.dirty = {folder: set(folder.racy) for folder in touched if folder.racy}
        self.renewed, self._arrived, self._moving, self._fresh = set(), set(), {}, {}
        self.unstored, self._entered = set(), []

    def scanned(self, top: Folder, links: Iterable[tuple[Folder, str]]) -> None:
        """Build on a scan of the whole tree, to which this was the witness."""
        self._entered = []
        for folder in top.walk_unsealed():  # in a sealed one, and below, nothing is odd
            if folder.racy:
                self.dirty[folder] = set(folder.racy)
            if folder.groups:
                self.grouped.add(folder)
        for folder, name in links:
            self.share(folder, name)
            if name in folder.stats:
                inode, count = inode_and_links(folder.stats[name])
                self.searched[inode] = count

    def not_stored(self, made: Mapping[Folder, Iterable[str]], touched: Iterable[Folder]) -> None:
        """Take note that what the last look read went nowhere: it is to be read again when it is captured."""
        for folder in touched:
            folder.unseal()
            folder.address = b""
            self.unstored.add(folder)
            self.last = None
        for folder, names in made.items():
            for name in names:
                if name in folder.stats:
                    self.suspect(folder, name)

    def restored(self, top: Folder) -> None:
        """Take over the tree that a restore left; its own events come like any others.

        But for the names it brought: nobody else knows those files by another name, so that they may go again
        before anyone looks.
        """
        self.top, self.last = top, None
        self.dirty = {folder: names for folder, names in self.dirty.items() if attached(folder, top)}
        self.shared = {folder: names for folder, names in self.shared.items() if attached(folder, top)}
        self.grouped = {folder for folder in self.grouped if attached(folder, top)}
        for folder in self._entered:
            if attached(folder, top):
                self._share_names_in(folder)
        self._entered = []
        for folder in [top, *self._watched.opened(), *self.unstored]:
            if not folder.address and attached(folder, top):
                self._take_over(folder)
        if not self.others_at_work:
            self.catch_up()
            self._arrived.clear()

    def _carry_over(self, before: Folder, folder: Folder) -> None:
        """Keep what happened in a folder that is known by another object from now on."""
        names = self.dirty.pop(before, set())
        self.dirty.setdefault(folder, set()).update(names)
        self.renewed |= {(folder, name) for place, name in self.renewed if place is before}
        self._arrived |= {(folder, name) for place, name in self._arrived if place is before}

    def _take_over(self, folder: Folder) -> None:
        """Mark a folder for another look if the restore does not know its state."""
        folder.unseal()
        self.unstored.add(folder)
        for name in self.dirty.get(folder, ()):
            if name in folder.stats:
                folder.racy.add(name)
        unknown = {name for name in folder.stats if name not in folder.records} | folder.racy
        for name, child in folder.children.items():
            if self._watched.number(child) is None:  # never listed
                self.renewed.add((folder, name))
                unknown.add(name)
        self.dirty.setdefault(folder, set()).update(unknown)
        self._share_names_in(folder)

    def _share_names_in(self, folder: Folder) -> None:
        if folder.groups:
            self.grouped.add(folder)
        for name, packed in folder.stats.items():
            if name not in folder.children and inode_and_links(packed)[1] > 1:
                self.share(folder, name)

    def close(self) -> None:
        if self._inotify is not None:
            self._inotify.close()
            self._inotify = None

    def _give_up(self, reason: str) -> None:
        """Stay lost for good: a limit of the system is not gone at the next checkpoint."""
        self.close()
        self._given_up = reason
        self.lost(reason)

    def _note_own(self, folder: Folder, event: Event) -> None:
        parent = folder.parent
        if event.mask & inotify.UNMOUNT or parent is None:
            self.lost(LOST_TREE)
        elif event.mask & inotify.IGNORED:
            # Removed. An inode's number is given to the next folder at once: this one must not be taken for it.
            self._watched.remove(folder)
            self.renewed.add((parent, folder.name))
            self.suspect(parent, folder.name)
        elif event.mask & (inotify.MOVE_SELF | inotify.DELETE_SELF):
            if parent.parent is None:  # any other is reported by its parent
                if not (self._is_moving and event.mask & inotify.MOVE_SELF):
                    self.lost(LOST_TREE)
                self._is_moving = False
        else:
            self.suspect(parent, folder.name)

    def _note(self, folder: Folder, event: Event) -> None:
        mask, name = event.mask, event.name
        excluded = exclusions_in(folder, self._exclusions)
        if excluded.leave_out(name, is_folder=bool(mask & inotify.IS_FOLDER)) and name not in folder.stats:
            self.dirty.setdefault(folder, set()).add(name)
            return
        self.suspect(folder, name)
        if mask & inotify.IS_FOLDER:
            if mask & (inotify.CREATE | inotify.MOVED_TO):
                self.renewed.add((folder, name))
        else:
            self._follow(folder, name, mask, event.cookie)

    def _follow(self, folder: Folder, name: str, mask: int, cookie: int) -> None:
        """Follow the names of files that came since the last look.

        Another name of a known file shows when it stays: the file has several links. One that goes again
        leaves nothing behind, though the file may have been written through it.
        """
        place = (folder, name)
        arrived = place in self._arrived
        if mask & inotify.MOVED_TO:
            came = self._moving.pop(cookie, True)
            if arrived:
                self.lost(UNSEEN_NAME)
            if came:
                self._arrived.add(place)
        elif mask & inotify.CREATE:
            self._arrived.add(place)
        elif not arrived and name not in folder.stats and name not in folder.unheld:
            self.lost(UNSEEN_NAME)
        elif mask & inotify.MOVED_FROM:
            self._moving[cookie] = arrived
            self._arrived.discard(place)
        elif mask & inotify.DELETE and arrived:
            self.lost(UNSEEN_NAME)


def watch_naming(tree: WorkingTree, top: Folder, paths: Iterable[str]) -> Watch:
    """Return a watch, without the kernel's help, that names these paths and the folders on the way there.

    What is known of all else counts as it is.
    """
    watch = Watch(tree, others_at_work=False)
    watch.reason, watch.top = "", top
    name_paths(watch, top, paths)
    return watch


def name_paths(watch: Watch, top: Folder, paths: Iterable[str], renewed: Collection[str] = ()) -> None:
    """Have a watch name these paths of a known tree, and the folders on the way there.

    Those that are renewed may be other folders than the known ones.
    """
    for path in paths:
        folder: Folder | None = top
        names = [ROOT_NAME, *(path.split("/") if path != ROOT_NAME else ())]
        while folder is not None and names:  # what is below comes with a folder that is not known
            folder.unseal()
            watch.suspect(folder, name := names.pop(0))
            if path in renewed and not names:
                watch.renewed.add((folder, name))
            folder = folder.children.get(name)


def why_unwatchable(folder: Path) -> str:
    """Return why trees in a folder cannot be watched; empty where they can."""
    if changes_unseen(folder):
        return ON_A_NETWORK
    try:
        queue = Inotify()
    except OSError as exc:
        return f"{NO_WATCH}: {exc}"
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            queue.watch(fd)
        finally:
            os.close(fd)
    except FileNotFoundError:
        return ""  # nothing was kept in it yet
    except OSError as exc:
        return f"{TOO_MANY}: {exc}"
    finally:
        queue.close()
    return ""


def attached(folder: Folder, top: Folder) -> bool:
    """Return whether a folder is in the tree, or was when it was last known."""
    while folder.parent is not None:
        if folder.parent.children.get(folder.name) is not folder:
            return False
        folder = folder.parent
    return folder is top
