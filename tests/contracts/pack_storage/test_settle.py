"""`settle`: packs of other processes last; that they do is shown in tests/faults/test_power_loss.py."""

from collections.abc import Callable

from mulligan.ports import PackStorage
from tests.support.stored_packs import content, put


def test_packs_of_other_processes_are_left_as_they_are(
    storage: PackStorage, open_storage: Callable[[], PackStorage]
) -> None:
    put(open_storage(), "a.pack", b"a")
    storage.settle()
    assert set(storage.list()) == {"a.pack"}
    assert content(storage, "a.pack") == b"a"
