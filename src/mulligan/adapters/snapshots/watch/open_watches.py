"""The watches that a store has open: those of work in progress, and those kept for the next work on their trees."""

from collections.abc import Generator
from contextlib import contextmanager

from mulligan.adapters.snapshots.watch.tree_watch import Watch
from mulligan.ports import WorkingTree


class OpenWatches:
    """Watches by tree. A process that lives on keeps some of them open between one piece of work and the next."""

    def __init__(self) -> None:
        self._current: dict[str, Watch] = {}  # by the cache key of the tree
        self._open: list[Watch] = []  # also those that another one of their tree replaces for a while
        self._kept: dict[str, Watch] = {}  # by cache key, the one used longest ago first
        self._handed_on: dict[str, Watch] = {}  # by cache key: begun for the work that comes next
        self._most = 0

    def keep(self, most: int) -> None:
        """Keep so many watches open from now on when their work is done."""
        self._most = most

    @property
    def keeps(self) -> bool:
        """Return whether watches are kept open."""
        return self._most > 0

    @property
    def kept(self) -> int:
        """The number of watches that are open and that no work uses."""
        return len(self._kept)

    def of(self, tree: WorkingTree) -> Watch | None:
        """Return the watch over a tree by the work in progress."""
        watch = self._current.get(tree.cache_key)
        return watch if watch is not None and watch.tree == tree else None  # excluding the same

    @contextmanager
    def over(self, tree: WorkingTree, *, others_at_work: bool) -> Generator[bool]:
        """Watch a tree meanwhile, and yield whether the watch is kept afterwards."""
        key = tree.cache_key
        outer, watch = self._current.get(key), self._handed_on.pop(key, None) or self._kept.pop(key, None)
        if watch is not None and (watch.tree != tree or watch.others_at_work != others_at_work):
            watch.close()
            watch = None
        watch = watch or Watch(tree, others_at_work=others_at_work)
        keep = self.keeps and outer is None
        self._current[key] = watch
        self._open.append(watch)
        try:
            yield keep
        finally:
            self._open.remove(watch)
            del self._current[key]
            if outer is not None:
                self._current[key] = outer
            if keep:
                self._kept[key] = watch
                self._close_oldest()
            else:
                watch.close()

    @contextmanager
    def hand_on(self, tree: WorkingTree) -> Generator[Watch]:
        """Watch a tree from now on, for the work on it that comes next."""
        self.drop(tree.cache_key)
        watch = Watch(tree, others_at_work=False)
        before = self._current.get(tree.cache_key)
        self._current[tree.cache_key] = watch
        try:
            yield watch
        except BaseException:
            watch.close()
            raise
        else:
            self._handed_on[tree.cache_key] = watch
        finally:
            if before is None:
                del self._current[tree.cache_key]
            else:
                self._current[tree.cache_key] = before

    def moved(self, tree: WorkingTree, place: WorkingTree) -> None:
        """Go on with a watch that was handed on where its tree was moved to, just now and by us."""
        watch = self._handed_on.get(tree.cache_key)
        if watch is not None and watch.tree == tree:
            watch.moved_to(place)

    def drop(self, key: str) -> None:
        """Close a watch that was handed on and that no work took."""
        if key in self._handed_on:
            self._handed_on.pop(key).close()

    def close_kept(self) -> list[WorkingTree]:
        """Close the watches that no work uses; return their trees."""
        trees = [watch.tree for watch in self._kept.values()]
        for watch in self._kept.values():
            watch.close()
        self._kept.clear()
        for key in list(self._handed_on):
            self.drop(key)
        return trees

    def distrust(self, reason: str) -> list[WorkingTree]:
        """Rely on none of them until the next scan of its tree; return their trees."""
        found = [*self._open, *self._kept.values(), *self._handed_on.values()]
        for watch in found:
            watch.asks = False
            watch.lost(reason)
        return [watch.tree for watch in found]

    def listen(self) -> None:
        """Have each tree watched in this process from its next look on, also where another one reports what changes."""
        for watch in self._open:
            watch.asks = False

    def _close_oldest(self) -> None:
        while len(self._kept) > self._most:
            self._kept.pop(next(iter(self._kept))).close()
