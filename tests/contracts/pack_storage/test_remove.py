"""`remove`: a pack goes, once."""

from collections.abc import Callable

import pytest

from mulligan.ports import PackStorage
from tests.support.stored_packs import content, put


def test_a_removed_pack_is_gone(storage: PackStorage, open_storage: Callable[[], PackStorage]) -> None:
    put(storage, "a.pack", b"a")
    put(storage, "b.pack", b"b")
    assert content(storage, "a.pack") == b"a"
    storage.remove("a.pack")
    for each in (storage, open_storage()):
        assert set(each.list()) == {"b.pack"}
        assert content(each, "b.pack") == b"b"
        with pytest.raises(FileNotFoundError):
            each.read("a.pack", 0, 1)


def test_packs_are_removed_together(storage: PackStorage) -> None:
    for name in ("a.pack", "b.pack", "c.pack"):
        put(storage, name, name.encode())
    assert set(storage.remove("a.pack", "c.pack")) == {"a.pack", "c.pack"}
    assert set(storage.list()) == {"b.pack"}


def test_packs_go_at_once_when_another_has_all_that_they_held(
    storage: PackStorage, open_storage: Callable[[], PackStorage]
) -> None:
    for name in ("a.pack", "b.pack", "both.pack"):
        put(storage, name, name.encode())
    assert set(storage.replace(["a.pack", "b.pack"], "both.pack")) == {"a.pack", "b.pack"}
    assert set(open_storage().list()) == {"both.pack"}


def test_packs_stay_when_the_other_one_is_gone(
    storage: PackStorage, open_storage: Callable[[], PackStorage]
) -> None:
    for name in ("a.pack", "both.pack"):
        put(storage, name, name.encode())
    open_storage().remove("both.pack")
    assert set(storage.replace(["a.pack"], "both.pack")) == set()
    assert set(storage.list()) == {"a.pack"}


def test_no_pack_is_missing_or_left_over(storage: PackStorage) -> None:
    put(storage, "a.pack", b"a")
    storage.spare(["a.pack"])
    assert set(storage.leaving()) == set(storage.missing()) == set()
    assert storage.clear(dry_run=False) == (0, 0)
    assert content(storage, "a.pack") == b"a"


def test_a_pack_that_is_gone_already_is_fine(
    storage: PackStorage, open_storage: Callable[[], PackStorage]
) -> None:
    storage.remove("never.pack")
    put(storage, "a.pack", b"a")
    open_storage().remove("a.pack")
    storage.remove("a.pack")
    assert set(storage.list()) == set()


@pytest.mark.parametrize("name", ["", "a", "../a.pack", "/a.pack", "a\0.pack"])
def test_names_that_are_refused(storage: PackStorage, name: str) -> None:
    with pytest.raises(ValueError, match="not the name of a pack"):
        storage.remove(name)


def test_a_name_can_be_used_again(open_folder: Callable[[], PackStorage]) -> None:
    storage = open_folder()
    put(storage, "a.pack", b"old")
    assert content(storage, "a.pack") == b"old"
    storage.remove("a.pack")
    put(storage, "a.pack", b"newer")
    assert content(storage, "a.pack") == b"newer"
