"""`list`: the names of all packs that are put."""

from collections.abc import Callable
from itertools import count
from threading import Event, Thread

from mulligan.ports import PackStorage
from tests.support.stored_packs import content, put


def test_a_new_storage_has_no_packs(storage: PackStorage) -> None:
    assert set(storage.list()) == set()


def test_packs_of_all_processes_are_listed(
    storage: PackStorage, open_storage: Callable[[], PackStorage]
) -> None:
    put(storage, "a.pack", b"a")
    put(open_storage(), "b.pack", b"b")
    assert set(storage.list()) == set(open_storage().list()) == {"a.pack", "b.pack"}


def test_a_pack_that_another_process_removed_is_not_listed(
    storage: PackStorage, open_storage: Callable[[], PackStorage]
) -> None:
    put(storage, "a.pack", b"a")
    assert content(storage, "a.pack") == b"a"
    open_storage().remove("a.pack")
    assert set(storage.list()) == set()


def test_a_pack_that_stays_is_listed_whatever_comes_and_goes(
    storage: PackStorage, open_storage: Callable[[], PackStorage]
) -> None:
    put(storage, "steady.pack", b"steady")
    failures: list[BaseException] = []
    looked = Event()

    def change(number: int) -> None:
        try:
            other = open_storage()
            for turn in count():
                if turn >= 20 and looked.is_set():
                    break
                name = f"{number}-{turn}.pack"
                put(other, name, name.encode())
                other.remove(name)
        except BaseException as exc:  # noqa: BLE001 - raised in the test's thread
            failures.append(exc)

    threads = [Thread(target=change, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        names = storage.list()
        assert "steady.pack" in names
        for name in set(names) - {"steady.pack"}:
            try:
                assert content(storage, name) == name.encode(), "a pack that is seen is whole"
            except FileNotFoundError:
                continue
        looked.set()
    for thread in threads:
        thread.join()
    assert not failures
    assert set(storage.list()) == {"steady.pack"}
