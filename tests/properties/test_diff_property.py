"""A patch between any two trees is one that git takes, and it makes exactly the other tree."""

import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mulligan.application.queries.tree_diff import DiffOptions, diff_trees
from mulligan.domain.trees.diff import FileDiff, FileStatus, TreeDiff
from mulligan.domain.trees.line_diff import LARGEST_TEXT
from tests.support.long_run import LONGER
from tests.support.snapshot_world import new_store, take

GIT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CEILING_DIRECTORIES": tempfile.gettempdir(),
}


@dataclass(frozen=True)
class Leaf:
    """A file, or with mode 0 a symlink."""

    mode: int
    data: bytes


Tree = Mapping[bytes, Leaf]

NAMES = st.sampled_from(
    [
        b"a",
        b"b",
        b"c",
        b"with space",
        b'q"u',
        b"back\\slash",
        b"new\nline",
        b"tab\t",
        b"\xff",
        b"\xc3\xa9",
        b" b/"[:2],
    ]
)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(b"/".join)
LINES = st.lists(
    st.sampled_from(
        [
            b"a\n",
            b"b\n",
            b"\n",
            b"a\r\n",
            b"caf\xe9\n",
            b"}\n",
            b"-- x\n",
            b"++ y\n",
            b"@@ -1 +1 @@\n",
            b"\\ z\n",
        ]
    ),
    max_size=30,
).map(b"".join)
LONG = st.integers(0, 9).map(lambda n: b"".join(b"line %d\n" % (i if i % 10 != n else -i) for i in range(40)))
TEXTS = st.builds(lambda text, cut: text[:-1] if cut else text, st.one_of(LINES, LONG), st.booleans())
BINARY = st.binary(max_size=3).map(lambda data: data + b"\0" + data)
# Not to each other: a symlink that leads to itself and becomes a folder is more than git itself can apply.
LINKS = st.builds(
    Leaf, st.just(0), st.sampled_from([b"there", b"there/a", b"nowhere", b"/nowhere", b"\xff\n"])
)
THERE = {b"there/a": Leaf(0o644, b"a\n")}
TEXT_LEAVES = st.one_of(st.builds(Leaf, st.sampled_from([0o644, 0o755]), TEXTS), LINKS)
ANY_LEAVES = st.one_of(TEXT_LEAVES, st.builds(Leaf, st.sampled_from([0o644, 0o755]), BINARY))


def _possible(tree: Tree) -> Tree:
    """Without what would lie below a file."""
    return {
        path: leaf for path, leaf in tree.items() if not any(path.startswith(other + b"/") for other in tree)
    }


def _trees(leaves: st.SearchStrategy[Leaf]) -> st.SearchStrategy[tuple[Tree, Tree]]:
    """Two trees: strangers, or one that became the other by moving, editing, adding and deleting."""

    @st.composite
    def pair(draw: st.DrawFn) -> tuple[Tree, Tree]:
        old = draw(st.dictionaries(PATHS, leaves, max_size=6))
        if draw(st.booleans()):
            new = draw(st.dictionaries(PATHS, leaves, max_size=6))
        else:
            new = dict(old)
            for path in draw(st.lists(st.sampled_from(sorted(old)), max_size=3)) if old else []:
                leaf = new.pop(path, None)
                if leaf is not None and draw(st.booleans()):
                    data = leaf.data + draw(st.sampled_from([b"", b"more\n"])) if leaf.mode else leaf.data
                    new[draw(PATHS)] = Leaf(leaf.mode, data)
            new |= draw(st.dictionaries(PATHS, leaves, max_size=2))
        return _possible(old) | THERE, _possible(new) | THERE

    return pair()


def _write(top: Path, tree: Tree) -> None:
    top.mkdir()
    for path, leaf in tree.items():
        place = os.path.join(os.fsencode(top), path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if leaf.mode:
            with open(place, "wb") as file:
                file.write(leaf.data)
            os.chmod(place, leaf.mode)
        else:
            os.symlink(leaf.data, place)


def _read(top: Path) -> Tree:
    found: dict[bytes, Leaf] = {}
    start = os.fsencode(top)
    for folder, folders, names in os.walk(start):
        for name in [*names, *(f for f in folders if os.path.islink(os.path.join(folder, f)))]:
            place = os.path.join(folder, name)
            path = os.path.relpath(place, start)
            if os.path.islink(place):
                found[path] = Leaf(0, os.readlink(place))
            else:
                with open(place, "rb") as file:
                    found[path] = Leaf(os.stat(place).st_mode & 0o777, file.read())
    return found


def _diff(home: Path, old: Tree, new: Tree, *, binary: bool) -> TreeDiff:
    _write(home / "old", old)
    _write(home / "new", new)
    store = new_store(home / "store")
    differences = store.difference(take(store, home / "old").roots[0], take(store, home / "new").roots[0])
    options = DiffOptions(resource="r", prefix="", binary=binary, largest_text=LARGEST_TEXT)
    return diff_trees(differences, store.read, options)


def _git(cwd: Path, *arguments: str, stdin: bytes = b"", codes: tuple[int, ...] = (0,)) -> bytes:
    done = subprocess.run(
        ["git", *arguments], cwd=cwd, input=stdin, capture_output=True, env=GIT, check=False
    )
    assert done.returncode in codes, done.stderr.decode(errors="replace") + stdin.decode(errors="replace")
    return done.stdout


def _numstat(home: Path) -> dict[bytes, tuple[bytes, bytes]]:
    """Insertions and deletions by path, as git counts them."""
    options = ["--no-index", "--no-renames", "--minimal", "--numstat", "-z"]
    words = _git(home, "diff", *options, "old", "new", codes=(0, 1)).split(b"\0")
    found: dict[bytes, tuple[bytes, bytes]] = {}
    while words and words[0]:
        insertions, deletions, _ = words.pop(0).split(b"\t")
        old, new = words.pop(0), words.pop(0)
        path = (new if old == b"/dev/null" else old).partition(b"/")[2]
        found[path] = insertions, deletions
    return found


def _named(files: tuple[FileDiff, ...], *statuses: FileStatus) -> set[bytes]:
    return {os.fsencode(file.path) for file in files if file.status in statuses}


def _check_files(old: Tree, new: Tree, files: tuple[FileDiff, ...]) -> None:
    """The files are those that differ, as two dictionaries tell."""
    moved_from = {os.fsencode(f.old_path) for f in files if f.old_path is not None}
    assert len({f.path for f in files}) == len(files)
    assert _named(files, FileStatus.DELETED) | moved_from == old.keys() - new.keys()
    assert _named(files, FileStatus.ADDED, FileStatus.RENAMED) == new.keys() - old.keys()
    assert _named(files, FileStatus.MODIFIED) == {p for p in old.keys() & new.keys() if old[p] != new[p]}
    for file in files:
        if file.old_path is not None:
            before, after = old[os.fsencode(file.old_path)], new[os.fsencode(file.path)]
            assert (file.similarity == 100) == (before.data == after.data)
            assert bool(before.mode) == bool(after.mode)


@settings(max_examples=25 * LONGER, suppress_health_check=list(HealthCheck))
@given(trees=_trees(TEXT_LEAVES))
def test_git_makes_one_tree_of_the_other(trees: tuple[Tree, Tree]) -> None:
    old, new = trees
    with tempfile.TemporaryDirectory(prefix="diff-property-") as name:
        home = Path(name)
        diff = _diff(home, old, new, binary=False)
        _check_files(old, new, diff.files)
        assert all(file.not_in_patch == () for file in diff.files)
        numbers = _numstat(home)
        for file in diff.files:
            path = os.fsencode(file.path)
            same_kind = (path in old and path in new) and bool(old[path].mode) == bool(new[path].mode)
            if file.status in (FileStatus.ADDED, FileStatus.DELETED) or same_kind:
                counted = numbers.get(path, (b"0", b"0"))
                assert (b"%d" % (file.insertions or 0), b"%d" % (file.deletions or 0)) == counted
        if diff.patch:
            _git(home / "old", "apply", "--whitespace=nowarn", stdin=diff.patch)
            assert _read(home / "old") == new
            _git(home / "old", "apply", "--whitespace=nowarn", "-R", stdin=diff.patch)
            assert _read(home / "old") == old
        else:
            assert old == new


@settings(max_examples=10 * LONGER, suppress_health_check=list(HealthCheck))
@given(trees=_trees(ANY_LEAVES))
def test_with_binary_contents_the_patch_still_carries_everything(trees: tuple[Tree, Tree]) -> None:
    old, new = trees
    with tempfile.TemporaryDirectory(prefix="diff-property-") as name:
        home = Path(name)
        diff = _diff(home, old, new, binary=True)
        _check_files(old, new, diff.files)
        for file in diff.files:
            sides = old.get(os.fsencode(file.old_path or file.path)), new.get(os.fsencode(file.path))
            contents = [side.data for side in sides if side is not None]
            binary = any(b"\0" in data for data in contents) and (
                len(contents) == 1 or len(set(contents)) == 2
            )
            assert file.binary == (file.insertions is None) == (file.deletions is None) == binary
        if diff.patch:
            _git(home / "old", "apply", "--whitespace=nowarn", stdin=diff.patch)
            assert _read(home / "old") == new
