"""`size`: the length of a pack."""

import pytest

from mulligan.ports import PackStorage
from tests.support.stored_packs import put


@pytest.mark.parametrize("length", [0, 1, 200_000])
def test_the_size_is_what_was_written(storage: PackStorage, length: int) -> None:
    put(storage, "a.pack", bytes(length))
    assert storage.size("a.pack") == length


def test_a_missing_pack_is_not_found(storage: PackStorage) -> None:
    with pytest.raises(FileNotFoundError):
        storage.size("a.pack")


def test_a_name_that_is_refused(storage: PackStorage) -> None:
    with pytest.raises(ValueError, match="not the name of a pack"):
        storage.size("../a.pack")
