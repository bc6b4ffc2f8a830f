"""The trees that another process reports on: the moments at which they are known, for the next look or process."""

from contextlib import suppress

from msgspec.structs import replace

from mulligan.adapters.snapshots.cache.divergence import racy_in
from mulligan.adapters.snapshots.cache.marks import MOST_PATHS
from mulligan.adapters.snapshots.cache.stat_cache import StatCache
from mulligan.adapters.snapshots.capture.tree_reader import Looking
from mulligan.adapters.snapshots.scan.found_folder import Folder
from mulligan.adapters.snapshots.watch.served_watch import ServedWatch
from mulligan.ports import ChangeReports, WorkingTree


class ServedTrees:
    """Asks for reports where that is worth it, and keeps the marks of the stat cache true."""

    def __init__(self, cache: StatCache, reports: ChangeReports | None, ask_from: int) -> None:
        """Trees of fewer files than `ask_from` are never asked about."""
        self._cache = cache
        self._reports = reports
        self._ask_from = ask_from
        self._watches: dict[str, ServedWatch] = {}  # by cache key: what they say of trees in memory

    def watch_over(self, tree: WorkingTree, top: Folder | None, *, asks: bool) -> ServedWatch | None:
        """Return a watch over a tree by another process; None where it is not worth asking one."""
        served, mark = self._watches.pop(tree.cache_key, None), self._cache.take_mark(tree.cache_key)
        if self._reports is None or not asks or mark is None or top is None:
            return None
        if top.files < self._ask_from:
            return None
        if served is not None and served.top is top and served.tree == tree:
            return served
        return ServedWatch(tree, reports=self._reports, top=top, mark=mark)

    def moment(self, tree: WorkingTree, known: Folder) -> bytes:
        """Return the present moment of a tree that is reported on already; empty where it is not."""
        if self._reports is None or known.files < self._ask_from:
            return b""
        return self._reports.moment(tree)

    def is_marked(self, tree: WorkingTree) -> bool:
        """Return whether a moment is known from which on reports can be asked for."""
        mark = self._cache.mark_of(tree.cache_key)
        return mark is not None and bool(mark.token)

    def note(self, looking: Looking, top: Folder) -> None:
        """Keep the moment that a tree was looked at, for the next look and the next process."""
        key, mark, served = looking.tree.cache_key, looking.mark, looking.served
        if not mark.token:
            return
        busy = looking.records.moves.busy
        if len(mark.paths) > MOST_PATHS // 2:
            self._cache.flush(key)
        if self._cache.file_of(key) != looking.file:  # it was written down just now
            mark = replace(mark, paths=racy_in(top) | busy, renewed=frozenset())
        elif busy:
            mark = mark.later(mark.token, busy, ())
        self._cache.note_mark(key, mark)
        if served is not None and looking.is_reported:
            served.top, served.mark = top, mark
            self._watches[key] = served

    def note_adopted(self, looking: Looking) -> None:
        """Keep a moment after an adoption, which left the tree as it is known now, for the next look at it."""
        key, mark = looking.tree.cache_key, looking.mark
        top, file = self._cache.top_of(key), self._cache.file_of(key)
        if mark.token and top is not None:
            if file != looking.file:  # written down when all was set right: what differed before does not now
                mark = replace(mark, paths=racy_in(top), renewed=frozenset())
            self._cache.note_mark(key, mark)
            self._cache.renew_mark(looking.tree, file, mark, self._reports)

    def keep(self, looking: Looking) -> None:
        """Keep the moment of a look that stored nothing; what was read then is read again when it is captured."""
        if looking.mark.token:
            self._cache.note_mark(looking.tree.cache_key, looking.mark)
            if looking.is_reported or looking.watch is None:
                self._cache.let_go(looking.tree.cache_key)

    def flush(self, key: str) -> None:
        """Write down what is known of a tree; the moment at which it is known stays."""
        with suppress(OSError):  # a hint for the next process: no reason to fail after all was done
            mark, before = self._cache.mark_of(key), self._cache.file_of(key)
            self._cache.flush(key)
            top = self._cache.top_of(key)
            if mark is not None and mark.token and top is not None and self._cache.file_of(key) != before:
                self._cache.note_mark(key, replace(mark, paths=mark.paths | racy_in(top)))

    def distrust(self, tree: WorkingTree) -> None:
        """Rely on no report about a tree until it was scanned."""
        self.let_go(tree)
        self._cache.forget_mark(tree.cache_key)

    def let_go(self, tree: WorkingTree) -> None:
        """Drop what is in memory."""
        self._watches.pop(tree.cache_key, None)
