"""Whatever a tree holds and whatever is done to it: a restore brings back exactly what was captured."""

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.long_run import LONGER
from tests.support.snapshot_world import Watcher, bring_back, inodes, new_store, picture, take, tree_at

_BYTE = st.integers(1, 255).filter(lambda value: value != ord("/"))
NAMES = st.one_of(
    st.sampled_from([b"a", b"b", b"c"]),  # few names, so that operations meet
    st.lists(_BYTE, min_size=1, max_size=6).map(bytes),
    st.sampled_from([b"new\nline", b"\xff\xfe", "ü".encode(), b"-rf", b" ", b"x" * 255]),
).filter(lambda name: name not in (b".", b"..", b".mulligan"))
MODES = st.sampled_from([0o644, 0o600, 0o755, 0o444, 0o000, 0o4755, 0o2711, 0o1777])
FOLDER_MODES = st.sampled_from([0o755, 0o700, 0o555, 0o500, 0o000, 0o2775, 0o1777])
CONTENTS = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([b"", b"same", b"\0" * 5000, b"text " * 3000, bytes(range(256)) * 5000]),
)
TARGETS = st.sampled_from([b"nowhere", b"/etc", b"a", b"../..", b".", b"a/b", b"\xff"])
TIMES = st.integers(0, 2**33 * 10**9)
PLACES = st.integers(0, 30)
_LATER = ("remove", "rename", "append", "poke")  # what needs something to be there


@dataclass(frozen=True)
class Act:
    """One thing done to a tree: what, where (a number that chooses among what is there), and with what."""

    verb: str
    place: int
    name: bytes
    content: bytes
    mode: int
    folder_mode: int
    target: bytes
    mtime: int
    other: int


ACTS = st.builds(
    Act,
    verb=st.sampled_from(
        [*["file"] * 3, "folder", "folder", "symlink", "link", "sparse", "xattr", "chmod", "touch", *_LATER]
    ),
    place=PLACES,
    name=NAMES,
    content=CONTENTS,
    mode=MODES,
    folder_mode=FOLDER_MODES,
    target=TARGETS,
    mtime=TIMES,
    other=PLACES,
)


class Playground:
    """A tree on which acts are done; an act that makes no sense where it falls does nothing."""

    def __init__(self, path: Path) -> None:
        self.top = os.fsencode(path)
        os.mkdir(self.top)

    def do(self, act: Act) -> None:
        folder = self._choose(self._walk(folders=True), act.place)
        path = os.path.join(folder, act.name)
        victim = self._choose(self._walk(folders=False), act.place)
        try:
            getattr(self, f"_{act.verb}")(act, path, victim)
        except OSError:
            return  # a name that is taken, a folder into itself

    def _walk(self, *, folders: bool) -> list[bytes]:
        found = [self.top] if folders else []
        for folder, names, files in os.walk(self.top):
            inside = [os.path.join(folder, name) for name in sorted(names)]
            found += [path for path in inside if not folders or not os.path.islink(path)]
            if not folders:
                found += [os.path.join(folder, name) for name in sorted(files)]
        return found

    @staticmethod
    def _choose(paths: list[bytes], number: int) -> bytes:
        return paths[number % len(paths)] if paths else b""

    def _file(self, act: Act, path: bytes, victim: bytes) -> None:
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        elif os.path.islink(path):
            os.unlink(path)
        with open(path, "wb") as file:
            file.write(act.content)
        os.chmod(path, act.mode)
        os.utime(path, ns=(act.mtime, act.mtime))

    def _folder(self, act: Act, path: bytes, victim: bytes) -> None:
        if os.path.lexists(path) and (os.path.islink(path) or not os.path.isdir(path)):
            os.unlink(path)
        os.mkdir(path)
        os.chmod(path, act.folder_mode)

    def _symlink(self, act: Act, path: bytes, victim: bytes) -> None:
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        elif os.path.lexists(path):
            os.unlink(path)
        os.symlink(act.target, path)

    def _link(self, act: Act, path: bytes, victim: bytes) -> None:
        if os.path.isfile(victim) and not os.path.islink(victim):
            os.link(victim, path)

    def _sparse(self, act: Act, path: bytes, victim: bytes) -> None:
        with open(path, "xb") as file:
            file.truncate(2_000_000)
            file.seek(1_000_000)
            file.write(act.content)

    def _xattr(self, act: Act, path: bytes, victim: bytes) -> None:
        os.setxattr(victim, b"user." + (act.name if b"\xff" not in act.name else b"x"), act.content[:100])

    def _chmod(self, act: Act, path: bytes, victim: bytes) -> None:
        if not os.path.islink(victim):
            os.chmod(victim, act.folder_mode if os.path.isdir(victim) else act.mode)

    def _touch(self, act: Act, path: bytes, victim: bytes) -> None:
        os.utime(victim, ns=(act.mtime, act.mtime), follow_symlinks=False)

    def _remove(self, act: Act, path: bytes, victim: bytes) -> None:
        if os.path.isdir(victim) and not os.path.islink(victim):
            shutil.rmtree(victim)
        else:
            os.unlink(victim)

    def _rename(self, act: Act, path: bytes, victim: bytes) -> None:
        os.rename(victim, path)

    def _append(self, act: Act, path: bytes, victim: bytes) -> None:
        if os.path.isfile(victim) and not os.path.islink(victim):
            with open(victim, "ab") as file:
                file.write(act.content)

    def _poke(self, act: Act, path: bytes, victim: bytes) -> None:
        """Change bytes and put the mtime back: only ctime tells."""
        if os.path.isfile(victim) and not os.path.islink(victim) and os.path.getsize(victim):
            before = os.stat(victim).st_mtime_ns
            with open(victim, "r+b") as file:
                file.write(b"\x01")
            os.utime(victim, ns=(before, before))


@settings(max_examples=50 * LONGER, deadline=None, suppress_health_check=list(HealthCheck))
@given(before=st.lists(ACTS, max_size=14), after=st.lists(ACTS, max_size=8))
def test_a_restore_brings_back_exactly_what_was_captured(before: list[Act], after: list[Act]) -> None:
    with tempfile.TemporaryDirectory(prefix="snapshot-property-") as name:
        home = Path(name)
        tree = home / "tree"
        playground = Playground(tree)
        for act in before:
            playground.do(act)
        store = new_store(home / "store")
        wanted = picture(tree)
        kept = inodes(tree)
        snapshot = take(store, tree)

        for act in after:
            playground.do(act)
        changed = picture(tree)
        now_there = inodes(tree)
        again = take(store, tree)
        assert again.id == take(new_store(home / "fresh"), tree).id, "the stat cache hid a change"

        planned = store.compare(snapshot, tree_at(tree))
        assert picture(tree) == changed, "a comparison touched something"
        done = bring_back(store, snapshot, tree)
        assert done == planned
        assert picture(tree) == wanted
        assert store.compare(snapshot, tree_at(tree)) == ()
        touched = {os.fsencode(change.path) for change in done}
        for path, inode in inodes(tree).items():
            # Only an mtime that came back alone may have been given to a new inode, where names are shared.
            if path not in touched and wanted[os.path.join(b".", path)] == changed.get(
                os.path.join(b".", path)
            ):
                assert inode == now_there[path], path
        assert set(kept) == set(inodes(tree))
        assert take(store, tree) == snapshot

        bring_back(store, again, tree)
        assert picture(tree) == changed, "going forward again"

        copy = home / "elsewhere" / "copy"
        bring_back(store, snapshot, copy)
        assert picture(copy) == wanted
        copied = new_store(home / "other").capture(tree_at(copy), Watcher()).snapshot
        assert copied.id == snapshot.id, "equal trees in other places have equal ids"
        assert store.verify([snapshot, again], quick=False, observer=Watcher()) == {}
        assert store.verify([snapshot, again], quick=True, observer=Watcher()) == {}
