"""Trees are merged into a stored one: with conflicts left as ours, marked, or taken from the other side."""

import os
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mulligan.adapters.snapshots.store import PackedSnapshotStore
from mulligan.application.apply.snapshot_merge import Merged, MergeRules, MergeService, OnOverlap
from mulligan.domain.checkpoints.snapshot import Root, Snapshot
from mulligan.domain.trees.text_merge import Labels
from tests.support.applied import Files, files_in, write
from tests.support.snapshot_world import bring_back, new_store, take

BASE: Files = {
    "text": "1\n2\n3\n",
    "other": "a\nb\nc\n",
    "binary": b"\0",
    "gone": "gone",
    "folder/file": "file",
}


class _Clock:
    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class World:
    folder: Path
    store: PackedSnapshotStore

    def side(self, name: str, files: Files) -> Path:
        """A folder that is the base with these changes."""
        place = self.folder / name
        shutil.copytree(self.folder / "base", place, symlinks=True) if name != "base" else place.mkdir()
        write(place, files)
        return place

    def root(self, name: str) -> Root:
        return take(self.store, self.folder / name).roots[0]

    def merge(
        self, on_overlap: OnOverlap = OnOverlap.STOP, *, hidden: tuple[str, ...] = (), included: str = ""
    ) -> Merged:
        rules = MergeRules(
            names=Labels("ours", "theirs"),
            on_overlap=on_overlap,
            included=frozenset({included} if included else ()),
            hidden=hidden,
        )
        service = MergeService(store=self.store, clock=_Clock())
        return service.merge(self.root("base"), self.root("ours"), self.root("theirs"), rules)

    def files(self, merged: Merged) -> dict[str, bytes]:
        target = self.folder / "result"
        bring_back(self.store, Snapshot((merged.files,)), target)
        return files_in(target)


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path, new_store(tmp_path / "store"))
    world.side("base", BASE)
    return world


OURS: Files = {"text": "ours\n2\n3\n", "other": "a\nb\nours\n", "binary": b"\0ours", "gone": "ours"}
THEIRS: Files = {"text": "theirs\n2\n3\n", "other": "theirs\nb\nc\n", "binary": b"\0theirs", "gone": None}


def test_conflicts_leave_ours(world: World) -> None:
    world.side("ours", OURS), world.side("theirs", THEIRS)
    merged = world.merge()
    assert [c.path for c in merged.conflicts] == ["binary", "gone", "text"]
    found = world.files(merged)
    assert (found["text"], found["binary"], found["gone"]) == (b"ours\n2\n3\n", b"\0ours", b"ours")
    assert found["other"] == b"theirs\nb\nours\n", "what goes together is merged all the same"


def test_conflicts_in_texts_are_marked(world: World) -> None:
    world.side("ours", OURS), world.side("theirs", THEIRS)
    merged = world.merge(OnOverlap.MARK)
    assert {c.path for c in merged.conflicts} == {"gone", "text", "binary"}
    found = world.files(merged)
    assert found["text"] == b"<<<<<<< ours\nours\n=======\ntheirs\n>>>>>>> theirs\n2\n3\n"
    assert (found["binary"], found["gone"]) == (b"\0ours", b"ours")


def test_the_other_side_wins(world: World) -> None:
    world.side("ours", {**OURS, "mine": "ours"}), world.side("theirs", THEIRS)
    merged = world.merge(OnOverlap.TAKE_THEIRS)
    assert merged.conflicts == ()
    found = world.files(merged)
    assert (found["text"], found["binary"], found.get("gone")) == (b"theirs\n2\n3\n", b"\0theirs", None)
    assert found["mine"] == b"ours"


def test_nothing_of_theirs_is_nothing_to_do(world: World) -> None:
    world.side("ours", OURS), world.side("theirs", {})
    assert world.merge().files == world.root("ours")


def test_a_folder_against_a_file_is_a_conflict_on_either_side(world: World) -> None:
    ours, theirs = world.side("ours", {"folder/new": "ours"}), world.side("theirs", {"folder/file": None})
    (theirs / "folder").rmdir()
    (theirs / "folder").write_text("a file")
    assert [c.path for c in world.merge().conflicts] == ["folder"]
    shutil.rmtree(theirs)
    world.side("theirs", {"folder/new": "theirs"})
    shutil.rmtree(ours / "folder")
    (ours / "folder").symlink_to("text")
    assert [c.path for c in world.merge().conflicts] == ["folder", "folder/new"]


@pytest.mark.parametrize(
    ("change", "conflicts"), [(b"same as the other side's\n", []), (b"another\n", ["text", "twin"])]
)
def test_a_file_under_several_names_stays_one(world: World, change: bytes, conflicts: list[str]) -> None:
    os.link(world.folder / "base" / "text", world.folder / "base" / "twin")
    for name in ("ours", "theirs"):
        place = world.side(name, {})
        (place / "twin").unlink()
        os.link(place / "text", place / "twin")
        write(place, {"text": b"same as the other side's\n" if name == "theirs" else change})
    assert [c.path for c in world.merge().conflicts] == conflicts


def test_a_name_that_one_side_added_to_a_file_that_the_other_changed_is_a_conflict(world: World) -> None:
    for name in ("base", "ours", "theirs"):
        place = world.side(name, {}) if name != "base" else world.folder / "base"
        (place / "twin").unlink(missing_ok=True)
        os.link(place / "text", place / "twin")
    os.link(world.folder / "ours" / "text", world.folder / "ours" / "zwilling")
    write(world.folder / "theirs", {"text": "theirs"})
    assert [c.path for c in world.merge().conflicts] == ["text", "twin"]


def test_attributes_and_symlinks_of_both_sides_are_conflicts(world: World) -> None:
    (world.folder / "base" / "link").symlink_to("text")
    for name in ("ours", "theirs"):
        place = world.side(name, {})
        (place / "link").unlink()
        (place / "link").symlink_to(f"{name}")
        os.setxattr(place / "gone", b"user.note", name.encode())
    assert {c.path: c.reason for c in world.merge().conflicts} == {
        "gone": "both sides changed its attributes, differently",
        "link": "a symlink that leads elsewhere on each side",
    }


CACHES = ("__pycache__/", "*.cache")


def test_hidden_changes_are_counted_and_not_taken(world: World) -> None:
    cached: Files = {"folder/__pycache__/a.pyc": b"\0theirs", "new/__pycache__/b.pyc": b"\0", "x.cache": "x"}
    world.side("ours", {"folder/__pycache__/a.pyc": b"\0ours"})
    world.side("theirs", {"text": "1\n2\n", "new/file": "new", **cached})
    merged = world.merge(hidden=CACHES)
    assert (merged.conflicts, merged.hidden) == ((), 3)
    assert {d.path for d in merged.changed if d.of_files} == {"text", "new/file"}
    found = world.files(merged)
    assert (found["text"], found["new/file"]) == (b"1\n2\n", b"new")
    assert found["folder/__pycache__/a.pyc"] == b"\0ours"
    assert found.keys().isdisjoint({"new/__pycache__/b.pyc", "x.cache"})


def test_a_hidden_path_that_is_named_is_taken(world: World) -> None:
    world.side("ours", {})
    world.side("theirs", {"folder/__pycache__/a.pyc": b"\0a", "x.cache": "x"})
    merged = world.merge(hidden=CACHES, included="folder/__pycache__")
    found = world.files(merged)
    assert (merged.hidden, "x.cache" in found, found["folder/__pycache__/a.pyc"]) == (1, False, b"\0a")


def test_only_hidden_changes_leave_our_tree_as_it_is(world: World) -> None:
    world.side("ours", {"text": "ours"})
    world.side("theirs", {"x.cache": "x"})
    merged = world.merge(hidden=CACHES)
    assert (merged.files, merged.changed, merged.hidden) == (world.root("ours"), (), 1)


def test_a_folder_that_they_removed_goes_with_the_caches_in_it(world: World) -> None:
    write(world.folder / "base", {"folder/__pycache__/a.pyc": b"\0"})
    world.side("ours", {"folder/__pycache__/b.pyc": b"\0ours"})
    shutil.rmtree(world.side("theirs", {}) / "folder")
    merged = world.merge(hidden=CACHES)
    assert merged.conflicts == ()
    assert not any(path.startswith("folder") for path in world.files(merged))


def test_a_folder_that_they_removed_stays_for_what_we_added(world: World) -> None:
    write(world.folder / "base", {"folder/__pycache__/a.pyc": b"\0"})
    world.side("ours", {"folder/ours": "ours"})
    shutil.rmtree(world.side("theirs", {}) / "folder")
    found = world.files(world.merge(hidden=CACHES))
    assert {path for path in found if path.startswith("folder")} == {
        "folder/ours",
        "folder/__pycache__/a.pyc",
    }
