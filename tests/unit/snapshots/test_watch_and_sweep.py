"""A sweep that takes what nothing names yet does not make a watched tree forget what it holds."""

from pathlib import Path

import pytest

from tests.support.snapshot_world import Watcher, new_store, picture, take, tree_at


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "top").write_text("top")
    (tree / "sub" / "file").write_text("below")
    return tree


def test_a_capture_after_a_sweep_holds_everything(tmp_path: Path, tree: Path) -> None:
    store, other = new_store(tmp_path / "store"), new_store(tmp_path / "store")
    with store.watch(tree_at(tree), others_at_work=False):
        unnamed = take(store, tree)
        assert take(store, tree) == unnamed
        assert store.last_look.watched
        other.sweep(lambda: (), dry_run=False, observer=Watcher())  # no row names what was captured
        again = take(store, tree)
        assert again.id == unnamed.id
        assert not store.last_look.watched, "the watch alone cannot know what went"
    assert other.verify([again], quick=False, observer=Watcher()) == {}
    new_store(tmp_path / "store").restore(again, tree_at(tmp_path / "copy"), Watcher())
    assert picture(tmp_path / "copy") == picture(tree)


def test_packs_that_are_only_joined_cost_the_watch_nothing(tmp_path: Path, tree: Path) -> None:
    store, other = new_store(tmp_path / "store"), new_store(tmp_path / "store")
    with store.watch(tree_at(tree), others_at_work=False):
        first = take(store, tree)
        (tree / "top").write_text("changed")
        second = take(store, tree)
        other.sweep(lambda: (first, second), dry_run=False, observer=Watcher())
        (tree / "sub" / "file").write_text("changed too")
        third = take(store, tree)
        assert store.last_look.watched
    assert other.verify([first, second, third], quick=False, observer=Watcher()) == {}
