"""`read`: a range of a pack, as far as the pack goes."""

from collections.abc import Callable
from threading import Thread

import pytest

from mulligan.ports import PackStorage
from tests.support.stored_packs import put


def test_a_range_is_read(storage: PackStorage) -> None:
    put(storage, "a.pack", b"0123456789")
    assert storage.read("a.pack", 0, 10) == b"0123456789"
    assert storage.read("a.pack", 3, 4) == b"3456"
    assert storage.read("a.pack", 3, 0) == b""


def test_a_range_beyond_the_end_is_cut_off(storage: PackStorage) -> None:
    put(storage, "a.pack", b"0123456789")
    assert storage.read("a.pack", 8, 5) == b"89"
    assert storage.read("a.pack", 10, 5) == b""
    assert storage.read("a.pack", 1000, 5) == b""


def test_a_missing_pack_is_not_found(storage: PackStorage) -> None:
    with pytest.raises(FileNotFoundError):
        storage.read("a.pack", 0, 1)
    put(storage, "b.pack", b"b")
    with pytest.raises(FileNotFoundError):
        storage.read("a.pack", 0, 1)


@pytest.mark.parametrize("name", ["", "a", "../a.pack", "/a.pack", "a\0.pack"])
def test_names_that_are_refused(storage: PackStorage, name: str) -> None:
    with pytest.raises(ValueError, match="not the name of a pack"):
        storage.read(name, 0, 1)


def test_a_pack_that_another_process_removed_is_not_found_after_a_listing(
    storage: PackStorage, open_storage: Callable[[], PackStorage]
) -> None:
    put(storage, "a.pack", b"a")
    assert storage.read("a.pack", 0, 1) == b"a"
    open_storage().remove("a.pack")
    storage.list()
    with pytest.raises(FileNotFoundError):
        storage.read("a.pack", 0, 1)


def test_threads_read_many_packs_at_once(storage: PackStorage) -> None:
    names = [f"{number}.pack" for number in range(60)]
    for name in names:
        put(storage, name, name.encode())
    wrong: list[object] = []

    def read() -> None:
        try:
            found = [(name, storage.read(name, 0, 99)) for name in names * 3]
            wrong.extend(name for name, data in found if data != name.encode())
        except BaseException as exc:  # noqa: BLE001 - asserted below
            wrong.append(exc)

    threads = [Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
