"""Who asks at the same time shares a search, and no answer is older than its question."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mulligan.adapters.snapshots.scan import shared_searches
from mulligan.adapters.snapshots.scan.shared_searches import SharedSearches
from tests.support.patience import wait_until


class Slow:
    """A search that waits until it may end; each finds its own number."""

    def __init__(self) -> None:
        self.begun = 0
        self.may_end = threading.Semaphore(0)
        self.fails = False

    def __call__(self, _folder: Path) -> frozenset[int]:
        self.begun += 1
        number = self.begun
        self.may_end.acquire()
        if self.fails:
            raise OSError("no search")
        return frozenset([number])


class Counted(threading.Condition):
    """A condition that counts how often it was waited for."""

    waits = 0

    def wait(self, timeout: float | None = None) -> bool:
        self.waits += 1  # under its lock
        return super().wait(timeout)


@pytest.fixture
def changed(monkeypatch: pytest.MonkeyPatch) -> Counted:
    """Return the condition on which searches wait."""
    counted = Counted()
    monkeypatch.setattr(shared_searches, "Condition", lambda: counted)
    return counted


def test_all_who_ask_during_a_search_share_the_next_one(tmp_path: Path, changed: Counted) -> None:
    search = Slow()
    searches = SharedSearches(search)
    with ThreadPoolExecutor(6) as threads:
        first = threads.submit(searches.on_device_of, tmp_path)
        wait_until(lambda: search.begun == 1, "a search is under way")
        others = [threads.submit(searches.on_device_of, tmp_path) for _ in range(5)]
        wait_until(lambda: changed.waits == 5, "all others wait")
        search.may_end.release(2)
        assert first.result() == {1}
        assert {answer.result() for answer in others} == {frozenset([2])}
    assert search.begun == 2
    search.may_end.release()
    assert searches.on_device_of(tmp_path) == {3}


def test_a_search_that_fails_is_repeated_by_who_waits(tmp_path: Path, changed: Counted) -> None:
    search = Slow()
    searches = SharedSearches(search)
    search.fails = True
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(searches.on_device_of, tmp_path)
        wait_until(lambda: search.begun == 1, "a search is under way")
        other = threads.submit(searches.on_device_of, tmp_path)
        wait_until(lambda: changed.waits == 1, "the other one waits")
        search.may_end.release()
        with pytest.raises(OSError, match="no search"):
            first.result()
        search.fails = False
        search.may_end.release()
        assert other.result() == {2}
