"""Looking at a tree: through its watch where that can be relied on, at named paths alone, or by scanning all of it."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from mulligan.adapters.snapshots.cache.divergence import diverging, shared_in
from mulligan.adapters.snapshots.cache.marks import Mark
from mulligan.adapters.snapshots.capture.entry_reader import Records
from mulligan.adapters.snapshots.capture.full_capture import Reading, Surveyed
from mulligan.adapters.snapshots.capture.incremental_capture import Doubt, Refreshing
from mulligan.adapters.snapshots.format.signatures import inode_and_links
from mulligan.adapters.snapshots.format.tree_format import ROOT_NAME
from mulligan.adapters.snapshots.scan.filesystems import keeps_no_times
from mulligan.adapters.snapshots.scan.found_folder import Folder
from mulligan.adapters.snapshots.scan.memory_maps import Maps, Moments
from mulligan.adapters.snapshots.scan.scan import Witness
from mulligan.adapters.snapshots.watch.served_watch import ServedWatch
from mulligan.adapters.snapshots.watch.tree_watch import CUT_OFF, NOT_IN_STORE, Look, Watch, watch_naming
from mulligan.ports import WorkingTree

UNWATCHED = "nothing watches this tree"
NAMED = "only the paths that are about to change were looked at"


class Looking(Struct, eq=False):
    """One look at a tree: its content, and how much of it had to be read."""

    tree: WorkingTree
    # The tree as it was looked at before; under a watch it is brought up to date in place.
    known: Folder | None
    watch: Watch | None
    records: Records
    surveyed: Surveyed | None  # a scan of this tree that was made already
    moments: Moments  # which know what other processes have mapped
    inside: dict[tuple[int, int], int] = {}  # files with several links: how many are in this tree
    # The paths to look at in a tree that is not watched, where all else counts as known; None: all of it.
    named: Sequence[str] | None = None
    served: ServedWatch | None = None  # where nothing watches it, and another process may report what changed
    mark: Mark = Mark()  # the moment that the tree describes, seen from the stat cache on disk
    file: bytes = b""  # the hash of that cache
    is_reported: bool = False  # only what another process reported was looked at
    look: Look = Look(watched=False, reason=UNWATCHED)
    touched: Collection[Folder] = ()  # folders whose objects were made

    def run(self, now_ns: Callable[[], int]) -> Folder:
        """Read the tree; return the topmost folder, whose one entry is the tree itself."""
        watch = self.watch
        if self.mark.token:  # a moment is known from which on another process reports what changes
            return self._scanned(Witness(), now_ns)[0]
        if watch is None:
            return self._at_names(now_ns) or self._as_reported(now_ns) or self._scanned(Witness(), now_ns)[0]
        if (reported := self._as_reported(now_ns)) is not None:
            watch.last = None
            return reported
        at_work = watch.others_at_work or self.records.at_work
        maps = self.moments.maps() if at_work else Maps(frozenset(), frozenset())
        self._suspect_mapped(watch, maps, self.known)
        try:
            top = self._through(watch, now_ns)
        except BaseException:
            watch.lost(CUT_OFF)
            raise
        watch.top = top
        self._suspect_mapped(watch, maps, top)  # it can be written at any time without notice
        return top

    def _suspect_mapped(self, watch: Watch, maps: Maps, top: Folder | None) -> None:
        if top is not None and maps.paths:
            for folder, name in _mapped(self.tree, top, maps, watch.shared):
                watch.suspect(folder, name)

    def stored_nothing(self) -> None:
        """Have all that was read read again when it is captured."""
        if self.watch is not None:
            self.watch.not_stored(self.records.made, self.touched)

    def _at_names(self, now_ns: Callable[[], int]) -> Folder | None:
        """Read the named paths; None where only a scan can find out."""
        if self.known is None or self.named is None:
            return None
        refreshing = Refreshing(
            self.tree, self.known, watch_naming(self.tree, self.known, self.named), self.records
        )
        try:
            top = refreshing.run(now_ns)
        except Doubt:
            return None
        self.inside, self.touched = refreshing.inside, refreshing.touched
        self.look = Look(watched=False, reason=NAMED)
        return top

    def _as_reported(self, now_ns: Callable[[], int]) -> Folder | None:
        """Read what another process reports as changed; None where only a scan can find out."""
        served, known = self.served, self.known
        if served is None or known is None:
            return None
        if self.surveyed is not None and self.surveyed.mark.token:
            return None  # it was asked already, and said that a scan is due
        # What is mapped now is read. What was mapped before was reported when it no longer was.
        self._suspect_mapped(served, self.moments.maps(), known)
        refreshing = Refreshing(self.tree, known, served, self.records)
        try:
            top = refreshing.run(now_ns)
        except Doubt:
            self.mark, self.look = served.mark, Look(watched=False, reason=served.reason)
            return None
        served.looked(refreshing.touched)
        self.inside, self.touched = refreshing.inside, refreshing.touched
        self.mark, self.look, self.is_reported = served.mark, Look(watched=True, reason=""), True
        return top

    def _through(self, watch: Watch, now_ns: Callable[[], int]) -> Folder:
        if self.known is not None and self.known is watch.top and not watch.reason:
            refreshing = Refreshing(self.tree, self.known, watch, self.records)
            try:
                top = refreshing.run(now_ns)
            except Doubt:
                pass
            else:
                if refreshing.touched:
                    watch.last = None
                watch.looked(refreshing.touched)
                self.inside, self.touched = refreshing.inside, refreshing.touched
                self.look = Look(watched=True, reason="")
                return top
        self.look = Look(watched=False, reason=watch.reason or NOT_IN_STORE)
        top, links = self._scanned(watch, now_ns)
        watch.scanned(top, links)
        return top

    def _scanned(
        self, witness: Witness, now_ns: Callable[[], int]
    ) -> tuple[Folder, Iterable[tuple[Folder, str]]]:
        """Read the tree by a scan; return it, and the names of files with several links."""
        known, surveyed = self.known, self.surveyed
        if surveyed is not None and surveyed.mark.token:
            self.mark = surveyed.mark
        elif self.mark.token:  # what changed between that scan and the token would be in no report
            surveyed = None
        if keeps_no_times(self.tree.path):
            known = surveyed = None
        reading = Reading(self.tree, known, self.records, witness, surveyed)
        top = reading.run(now_ns)
        self.inside, self.touched = reading.inside, reading.resolved
        if self.mark.token and self.known is not None:
            paths, renewed = diverging(top, self.known, by_content=known is None)
            self.mark = replace(self.mark.later(self.mark.token, paths, renewed), shared=shared_in(top))
        return top, reading.links


def _mapped(
    tree: WorkingTree, known: Folder, maps: Maps, shared: Mapping[Folder, Iterable[str]]
) -> list[tuple[Folder, str]]:
    """The known names of files that some process can write without a system call."""
    prefix = f"{tree.path.resolve()}/"
    found: list[tuple[Folder, str]] = []
    for path in maps.paths:
        if path.startswith(prefix):
            *folders, name = path.removeprefix(prefix).split("/")
            folder = known.children.get(ROOT_NAME)
            for each in folders:
                folder = folder.children.get(each) if folder else None
            if folder is not None and name in folder.stats:
                found.append((folder, name))
    found.extend(  # mapped under another name, which may be outside
        (folder, name)
        for folder, names in shared.items()
        for name in names
        if name in folder.stats and inode_and_links(folder.stats[name])[0][1] in maps.inodes
    )
    return found
