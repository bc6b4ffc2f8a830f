"""Single paths of stored trees: found, listed, left out and restored, whatever the trees are."""

import os
import tempfile
from pathlib import Path
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from mulligan.domain.checkpoints.snapshot import Root, Snapshot
from mulligan.domain.paths.path_set import PathSet
from mulligan.domain.trees.path_edits import edits_of
from mulligan.domain.trees.tree_difference import TreeEntry
from mulligan.ports import SnapshotStore
from tests.properties.test_snapshot_property import ACTS, Act, Playground
from tests.support.long_run import LONGER
from tests.support.snapshot_world import Watcher, bring_back, new_store, take, tree_at

_NAMES = st.sampled_from("abc")
_PATHS = st.lists(_NAMES, min_size=1, max_size=4).map("/".join)


@given(wanted=st.lists(_PATHS, max_size=5), path=_PATHS, whole=st.booleans())
def test_a_set_of_paths_is_what_its_words_say(wanted: list[str], path: str, whole: bool) -> None:
    paths = [*wanted, "."] if whole else wanted
    found = PathSet(paths)
    below = any(each == "." or f"{path}/".startswith(f"{each}/") for each in paths)
    around = any(each.startswith(f"{path}/") for each in paths)
    assert bool(found) is bool(paths)
    assert found.holds(path) is below
    assert found.leads_to(path) is (below or around)
    assert found.leads_to(".")


def _all(store: SnapshotStore, root: Root) -> dict[str, TreeEntry]:
    return {item.path: item.entry for item in store.items(root, ".", recursive=True)}


@settings(max_examples=25 * LONGER, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(before=st.lists(ACTS, max_size=12), then=st.lists(ACTS, max_size=8), choice=st.randoms())
def test_a_restored_path_is_the_old_one_and_all_else_the_new(
    before: list[Act], then: list[Act], choice: Random
) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        store, tree = new_store(folder / "store"), folder / "tree"
        playground = Playground(tree)
        for act in before:
            playground.do(act)
        old = take(store, tree).roots[0]
        for act in then:
            playground.do(act)
        new = take(store, tree).roots[0]
        mine, other = _all(store, old), _all(store, new)
        for path, entry in mine.items():
            assert store.item(old, path) == entry
        if not mine:
            return
        path = choice.choice(sorted(mine))
        differences = store.difference(new, old, [path])
        edits = edits_of(differences, [path], delete=True)
        if edits.in_the_way:
            return
        files = store.graft(new, edits.edits, 1_700_000_000_000_000_000)
        present = tree_at(tree)
        store.restore(Snapshot((files,)), replace(present, only=(path,)), Watcher())
        result = _all(store, take(store, tree).roots[0])
        asked = PathSet([path])
        assert _plain({p: e for p, e in result.items() if asked.holds(p)}) == _plain(
            {p: e for p, e in mine.items() if asked.holds(p)}
        )
        rest = {p: e for p, e in result.items() if not asked.leads_to(p)}
        assert _plain(rest) == _plain({p: e for p, e in other.items() if not asked.leads_to(p)})


def _plain(entries: dict[str, TreeEntry]) -> dict[str, TreeEntry]:
    return {path: replace(entry, shared_with=b"") for path, entry in entries.items()}


@settings(max_examples=25 * LONGER, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(acts=st.lists(ACTS, max_size=14), choice=st.randoms())
def test_a_tree_without_a_path_is_that_tree_and_keeps_its_times(acts: list[Act], choice: Random) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        store = new_store(folder / "store")
        playground = Playground(folder / "tree")
        for act in acts:
            playground.do(act)
        root = take(store, folder / "tree").roots[0]
        held = _all(store, root)
        path = choice.choice(sorted(held)) if held else "nothing"
        (made,) = store.without([root], [path]).values()
        gone = PathSet([path])
        left = _all(store, made)
        assert left.keys() == {each for each in held if not gone.holds(each)}
        assert all(entry.beside.mtime_ns == held[each].beside.mtime_ns for each, entry in left.items())
        assert (made == root) is (path not in held)
        bring_back(store, Snapshot((made,)), folder / "other")
        os.chmod(folder / "other", 0o700)
