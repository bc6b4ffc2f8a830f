"""The journals that a server keeps: of the trees that commands asked about last."""

import os
import select
import time
from threading import Lock, Thread

from mulligan.adapters.snapshots.watch.tree_journal import TreeJournal, Unreported
from mulligan.ports import TreeChanges, WorkingTree

_MOST = 8
_RETRY = 60.0  # seconds until a tree that cannot be watched is tried again
_PAUSE = 0.05  # seconds: what happens meanwhile is read at once


class TreeJournals:
    """Journals by tree, for several threads at once; a thread of their own empties the queues of the system."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._journals: dict[WorkingTree, TreeJournal] = {}  # the one asked for longest ago first
        self._refused: dict[WorkingTree, tuple[float, str]] = {}  # when, and why
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._closed = False
        self._reader = Thread(target=self._read, daemon=True, name="journals")
        self._reader.start()

    def report(self, tree: WorkingTree, token: bytes) -> TreeChanges | None:
        """Return what changed in a tree since a token; None where the system does not report it."""
        with self._lock:
            refused = self._refused.get(tree)
            if self._closed or (refused is not None and time.monotonic() - refused[0] < _RETRY):
                return None
            journal = self._journals.pop(tree, None) or self._moved_to(tree) or TreeJournal(tree)
            try:
                report = journal.report(token)
            except Unreported as exc:
                self._refused = {tree: (time.monotonic(), str(exc))}  # the last one
                return None
            self._refused.pop(tree, None)
            self._journals[tree] = journal
            while len(self._journals) > _MOST:
                self._journals.pop(next(iter(self._journals))).close()
            os.eventfd_write(self._wake, 1)
            return report

    def moment(self, tree: WorkingTree) -> bytes:
        """Return a token for the present moment of a tree that has a journal; empty where it has none."""
        with self._lock:
            journal = self._journals.pop(tree, None) or self._moved_to(tree)
            if journal is None:
                return b""
            self._journals[tree] = journal
            if not journal.follows(tree):
                return b""
            try:
                return journal.report(b"").token
            except Unreported:
                return b""

    def _moved_to(self, tree: WorkingTree) -> TreeJournal | None:
        """Return the journal of a tree that was somewhere else when it was last asked about."""
        for known, journal in self._journals.items():
            if journal.follows(tree):
                del self._journals[known]
                journal.tree = tree
                return journal
        return None

    @property
    def count(self) -> int:
        """The number of trees that are watched for commands."""
        return len(self._journals)

    @property
    def refusal(self) -> str:
        """The reason why a tree is not watched for commands; empty where all are."""
        with self._lock:
            return "; ".join(sorted({f"{tree.path}: {why}" for tree, (_, why) in self._refused.items()}))

    def close(self) -> None:
        """Watch nothing from now on."""
        with self._lock:
            self._closed = True
            for journal in self._journals.values():
                journal.close()
            self._journals.clear()
            os.eventfd_write(self._wake, 1)
        self._reader.join()
        os.close(self._wake)

    def _read(self) -> None:
        """Empty the queues while nobody asks: they hold some ten thousand events, and new folders wait for a watch."""
        while True:
            with self._lock:
                if self._closed:
                    return
                queues = [each.queue for each in self._journals.values() if each.queue >= 0]
            poll = select.poll()
            for queue in (*queues, self._wake):
                poll.register(queue, select.POLLIN)
            ready = {queue for queue, _ in poll.poll()}
            with self._lock:
                if self._wake in ready:
                    os.eventfd_read(self._wake)
                for journal in self._journals.values():
                    journal.catch_up()
            time.sleep(_PAUSE)
