"""A sweep that takes what nothing names is noticed, although a report or a survey says that nothing changed."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mulligan.adapters.snapshots.cache import stat_cache
from mulligan.adapters.snapshots.store import PackedSnapshotStore
from mulligan.adapters.snapshots.watch.tree_journals import TreeJournals
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.ports import TreeChanges, WorkingTree
from tests.support.snapshot_world import (
    Watcher,
    age,
    bring_back,
    new_store,
    picture,
    sound,
    sweep,
    take,
    tree_at,
)


class World:
    """A tree, a process that watches it, and a store of which each process opens its own."""

    def __init__(self, place: Path) -> None:
        self.home, self.tree = place / "store", place / "tree"
        self.journals = TreeJournals()

    def since(self, tree: WorkingTree, token: bytes) -> TreeChanges | None:
        """Report what changed."""
        return self.journals.report(tree, token)

    def moment(self, tree: WorkingTree) -> bytes:
        """Return the present moment of a tree that has a journal."""
        return self.journals.moment(tree)

    def store(self) -> PackedSnapshotStore:
        return new_store(self.home, reports=self)

    def write(self, text: str) -> None:
        for number in range(50):
            file = self.tree / "small" / f"f{number}"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{text} {number}")
        age(self.tree)

    def take(self) -> Snapshot:
        return take(self.store(), self.tree)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(stat_cache, "_WORTH_SAVING_FILES", 0)  # a small tree is written down, too
    world = World(tmp_path)
    yield world
    world.journals.close()


@pytest.fixture
def half_gone(world: World) -> World:
    """The topmost folder of the tree is in a pack that stays, and what is below it in one that was removed."""
    world.write("old")
    world.take()
    (world.tree / "large").write_bytes(os.urandom(100_000))  # what lies beside it is too little to be swept
    wanted = world.take()
    world.write("new")
    kept = world.take()
    bring_back(world.store(), wanted, world.tree)
    age(world.tree)
    world.take()
    store = world.store()
    assert take(store, world.tree) == wanted
    assert store.last_look.watched
    assert sweep(world.store(), kept).packs_removed == 1
    return world


def test_what_was_swept_is_stored_again(half_gone: World) -> None:
    again = half_gone.take()
    assert sound(half_gone.home, again)
    new_store(half_gone.home).restore(again, tree_at(half_gone.home.parent / "copy"), Watcher())
    assert picture(half_gone.home.parent / "copy") == picture(half_gone.tree)


def test_what_a_survey_found_swept_is_stored_again(half_gone: World) -> None:
    store = half_gone.store()
    store.survey(tree_at(half_gone.tree), Watcher())
    assert sound(half_gone.home, take(store, half_gone.tree))


def test_what_is_swept_after_a_survey_is_stored_again(world: World) -> None:
    world.write("small")
    world.take()
    store = new_store(world.home)
    with store.surveys_kept():
        store.survey(tree_at(world.tree), Watcher())
        assert sweep(new_store(world.home)).packs_removed == 1
        assert sound(world.home, take(store, world.tree))
