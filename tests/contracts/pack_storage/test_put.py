"""`draft` and `put`: a pack is whole or not there."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mulligan.ports import PackStorage
from tests.support.forks import killed_at
from tests.support.stored_packs import content, put

LARGE = os.urandom(300_000)


def test_what_was_written_is_stored(storage: PackStorage, open_storage: Callable[[], PackStorage]) -> None:
    put(storage, "a.pack", LARGE)
    put(storage, "empty.pack", b"")
    for each in (storage, open_storage()):
        assert content(each, "a.pack") == LARGE
        assert content(each, "empty.pack") == b""


def test_a_draft_is_not_seen(storage: PackStorage, open_storage: Callable[[], PackStorage]) -> None:
    draft = storage.draft()
    draft.file.write(LARGE)
    draft.file.flush()
    assert set(open_storage().list()) == set()
    draft.put("a.pack")
    assert set(open_storage().list()) == {"a.pack"}
    draft.close()


def test_a_draft_that_is_given_up_leaves_nothing(storage: PackStorage, tmp_path: Path) -> None:
    draft = storage.draft()
    draft.file.write(LARGE)
    draft.close()
    draft.close()
    assert set(storage.list()) == set()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_drafts_do_not_disturb_each_other(storage: PackStorage) -> None:
    one, other = storage.draft(), storage.draft()
    one.file.write(b"one")
    other.file.write(b"other")
    other.put("other.pack")
    one.put("one.pack")
    one.close()
    other.close()
    assert (content(storage, "one.pack"), content(storage, "other.pack")) == (b"one", b"other")


@pytest.mark.parametrize(
    "name", ["", "a", "a.idx", "a/b.pack", "../a.pack", "/a.pack", "a\0.pack", "a.pack/"]
)
def test_names_that_are_refused(storage: PackStorage, name: str) -> None:
    draft = storage.draft()
    draft.file.write(b"data")
    with pytest.raises(ValueError, match="not the name of a pack"):
        draft.put(name)
    draft.close()
    assert set(storage.list()) == set()


def test_a_put_that_is_killed_anywhere_is_whole_or_not_there(
    open_folder: Callable[[], PackStorage], tmp_path: Path
) -> None:
    open_storage = open_folder
    seen: list[bool] = []
    put(open_storage(), "first.pack", b"")
    while killed_at(len(seen) + 1, lambda: put(open_storage(), "new.pack", LARGE)):
        storage = open_storage()
        seen.append("new.pack" in storage.list())
        assert not seen[-1] or content(storage, "new.pack") == LARGE
        storage.remove("new.pack")
        put(storage, f"after {len(seen)}.pack", b"goes on")
    assert not seen[0]
    assert seen[-1], "the last call makes the name durable"
    packs = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert packs == set(open_storage().list()), "killed processes left nothing else"
