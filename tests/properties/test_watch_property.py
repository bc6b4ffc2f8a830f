"""Whatever processes do to a watched tree, its snapshots are those of a fresh scan that reads everything."""

import json
import mmap
import multiprocessing
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from mulligan.adapters.snapshots.cache import stat_cache
from mulligan.adapters.snapshots.scan import scan
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.paths.path_patterns import PathPatterns
from mulligan.errors import MulliganError, RestoreFailed
from tests.support.long_run import LONGER
from tests.support.snapshot_world import Watcher, new_store, picture, tree_at

_PROCESSES = 3
_ENOUGH = 60  # files and folders

NAMES = st.sampled_from(["a", "b", "c", "d", "ü", "\udcff"])
ACT = st.fixed_dictionaries(
    {
        "verb": st.sampled_from(
            [
                *["write", "write", "append", "truncate", "poke", "replace", "chmod", "touch", "xattr"],
                *["folder", "folder", "symlink", "link", "link", "mapped", "sparse", "fifo"],
                *[
                    "remove",
                    "rename",
                    "rename",
                    "swap_kind",
                    "move_out",
                    "move_in",
                    "chmod_folder",
                    "copy_folder",
                ],
            ]
        ),
        "place": st.integers(0, 40),
        "other": st.integers(0, 40),
        "name": NAMES,
        "content": st.sampled_from(["", "x", "hello\n", "y" * 5000]),
        "mode": st.sampled_from([0o644, 0o600, 0o755, 0o444]),
    }
)
ACTS = st.lists(st.lists(ACT, min_size=1, max_size=6), min_size=1, max_size=_PROCESSES)


def opened(path: str, mode: str) -> IO[Any]:
    """Open a file that may be a fifo by now: that is an error, and does not wait for someone to read."""
    return open(path, mode, opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK, 0o644))


class Hands:
    """Does acts to a tree, in a process of its own; an act that makes no sense where it falls does nothing."""

    def __init__(self, top: str, outside: str) -> None:
        self._top = top
        self._outside = outside
        self._count = 0

    def do(self, act: dict[str, Any]) -> None:
        folders = [self._top]
        everything: list[str] = []
        for folder, names, files in os.walk(self._top):
            inside = [os.path.join(folder, name) for name in sorted(names)]
            folders += [path for path in inside if not os.path.islink(path)]
            everything += inside + [os.path.join(folder, name) for name in sorted(files)]
        if len(everything) > _ENOUGH and act["verb"] in ("copy_folder", "folder", "move_in"):
            return  # copies of copies would double and double again
        here = os.path.join(folders[act["place"] % len(folders)], act["name"])
        there = everything[act["other"] % len(everything)] if everything else here
        verb: Callable[[dict[str, Any], str, str], None] = getattr(self, f"_{act['verb']}")
        try:
            verb(act, here, there)
        except (OSError, shutil.Error, ValueError):
            return  # a name that is taken, gone, or a folder into itself

    def _write(self, act: dict[str, Any], here: str, there: str) -> None:
        with opened(here, "w") as file:
            file.write(act["content"])

    def _append(self, act: dict[str, Any], here: str, there: str) -> None:
        if os.path.isfile(there):
            with opened(there, "a") as file:
                file.write("more")

    def _truncate(self, act: dict[str, Any], here: str, there: str) -> None:
        if os.path.isfile(there):
            os.truncate(there, 3)

    def _poke(self, act: dict[str, Any], here: str, there: str) -> None:
        """Change a byte and put the mtime back."""
        if os.path.isfile(there) and not os.path.islink(there):
            before = os.stat(there).st_mtime_ns
            with opened(there, "r+b") as file:
                file.write(b"\x01")
            os.utime(there, ns=(before, before))

    def _replace(self, act: dict[str, Any], here: str, there: str) -> None:
        """Save as editors do."""
        self._count += 1
        with opened(f"{here}.new", "w") as file:
            file.write(f"{act['content']}{self._count}")
        os.rename(f"{here}.new", here)

    def _chmod(self, act: dict[str, Any], here: str, there: str) -> None:
        if os.path.isfile(there) and not os.path.islink(there):
            os.chmod(there, act["mode"])

    def _chmod_folder(self, act: dict[str, Any], here: str, there: str) -> None:
        os.chmod(os.path.dirname(here), act["mode"] | 0o700)

    def _touch(self, act: dict[str, Any], here: str, there: str) -> None:
        os.utime(there, ns=(act["place"], act["place"] * 10**9), follow_symlinks=False)

    def _xattr(self, act: dict[str, Any], here: str, there: str) -> None:
        os.setxattr(there, "user.test", act["content"][:100].encode())

    def _folder(self, act: dict[str, Any], here: str, there: str) -> None:
        os.makedirs(os.path.join(here, "inner"))
        with opened(os.path.join(here, "inner", "file"), "w") as file:
            file.write(act["content"])

    def _symlink(self, act: dict[str, Any], here: str, there: str) -> None:
        os.symlink(act["name"], here)

    def _link(self, act: dict[str, Any], here: str, there: str) -> None:
        if not os.path.islink(there):
            os.link(there, here)

    def _mapped(self, act: dict[str, Any], here: str, there: str) -> None:
        if os.path.isfile(there) and not os.path.islink(there) and os.path.getsize(there):
            with opened(there, "r+b") as file:
                mapped = mmap.mmap(file.fileno(), 0)
            mapped[0] = (mapped[0] + 1) % 256
            mapped.close()

    def _sparse(self, act: dict[str, Any], here: str, there: str) -> None:
        with opened(here, "wb") as file:
            file.truncate(2_000_000)
            file.seek(1_000_000)
            file.write(act["content"].encode())

    def _fifo(self, act: dict[str, Any], here: str, there: str) -> None:
        os.mkfifo(here)

    def _remove(self, act: dict[str, Any], here: str, there: str) -> None:
        if os.path.isdir(there) and not os.path.islink(there):
            shutil.rmtree(there)
        else:
            os.unlink(there)

    def _rename(self, act: dict[str, Any], here: str, there: str) -> None:
        os.rename(there, here)

    def _swap_kind(self, act: dict[str, Any], here: str, there: str) -> None:
        if os.path.isdir(there) and not os.path.islink(there):
            shutil.rmtree(there)
            with opened(there, "w") as file:
                file.write(act["content"])
        else:
            os.unlink(there)
            os.mkdir(there)

    def _move_out(self, act: dict[str, Any], here: str, there: str) -> None:
        self._count += 1
        os.rename(there, os.path.join(self._outside, f"{os.getpid()}-{self._count}"))

    def _move_in(self, act: dict[str, Any], here: str, there: str) -> None:
        waiting = sorted(os.listdir(self._outside))
        if waiting:
            moved = os.path.join(self._outside, waiting[act["other"] % len(waiting)])
            os.rename(moved, here)

    def _copy_folder(self, act: dict[str, Any], here: str, there: str) -> None:
        """Copy a folder by way of outside: another process may be moving it into where it is copied to."""
        if os.path.isdir(there) and not os.path.islink(there):
            self._count += 1
            copy = os.path.join(f"{self._outside} copies", f"{os.getpid()}-{self._count}")
            shutil.copytree(there, copy, symlinks=True)
            os.rename(copy, here)


def _work(pipe: Connection, top: str, outside: str) -> None:
    hands = Hands(top, outside)
    while acts := pipe.recv():
        for act in json.loads(acts):
            hands.do(act)
        pipe.send("done")


class WatchedTree(RuleBasedStateMachine):
    """Several processes at work on one tree, which is captured, compared and restored under a watch."""

    patterns: tuple[str, ...] = ()  # of what is excluded

    @initialize()
    def begin(self) -> None:
        # On disk: a filesystem in memory gives no timestamp to what is written through a memory map.
        self.home = Path(tempfile.mkdtemp(prefix="watch-property-", dir="/var/tmp"))
        self.tree = tree_at(self.home / "tree", patterns=self.patterns)
        (self.tree.path / "sub").mkdir(parents=True)
        (self.tree.path / "sub" / "file").write_text("first")
        (self.home / "outside").mkdir()
        self._know_an_old_tree()
        self.store = new_store(self.home / "store")
        self.store.keep_watches(1)
        self.watching = self.store.watch(self.tree, others_at_work=False)
        self.watching.__enter__()
        self.pipes: list[Connection] = []
        self.workers: list[multiprocessing.process.BaseProcess] = []
        start = multiprocessing.get_context("fork")
        for _ in range(_PROCESSES):
            ours, theirs = start.Pipe()
            worker = start.Process(
                target=_work, args=(theirs, str(self.tree.path), str(self.home / "outside")), daemon=True
            )
            worker.start()
            self.pipes.append(ours)
            self.workers.append(worker)
        self.snapshots: list[tuple[Snapshot, dict[bytes, tuple[object, ...]]]] = []
        self.looks: list[str] = []

    def _know_an_old_tree(self) -> None:
        """Have the watch begin on a tree that is as the stat cache has it: its folders stay in the archive."""
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(stat_cache, "_WORTH_SAVING_FILES", 1)
        self.patch.setattr(scan, "COARSE_GRAIN_NS", 25_000_000)  # what is older is not looked at in Python
        for folder in ("a/b/c", "a/d/a", "b/a"):
            (self.tree.path / folder).mkdir(parents=True)
            (self.tree.path / folder / "file").write_text(folder)
        time.sleep(0.03)
        new_store(self.home / "store").capture(self.tree, Watcher())

    @rule(acts=ACTS)
    def work(self, acts: list[list[dict[str, Any]]]) -> None:
        """Let several processes work at once, and wait until they are done."""
        busy = list(zip(self.pipes, acts, strict=False))
        for pipe, each in busy:
            pipe.send(json.dumps(each))
        for pipe, _ in busy:
            assert pipe.poll(30), "a process hangs"
            assert pipe.recv() == "done"

    @rule()
    def checkpoint(self) -> None:
        """Capture through the watch: it is what a store that knows nothing finds."""
        snapshot = self.store.capture(self.tree, Watcher())
        self.looks.append(self.store.last_look.reason)
        fresh = self.home / "fresh"
        found = new_store(fresh).capture(self.tree, Watcher())
        shutil.rmtree(fresh)
        assert snapshot.snapshot == found.snapshot, self.looks[-1]
        assert (snapshot.files, snapshot.unheld) == (found.files, found.unheld)
        assert self.store.verify([snapshot.snapshot], quick=False, observer=Watcher()) == {}
        if not found.unheld:
            self.snapshots.append((snapshot.snapshot, picture(self.tree.path)))

    @rule(acts=ACTS)
    def work_on_what_is_old(self, acts: list[list[dict[str, Any]]]) -> None:
        """Work on files that are not read again for their youth: what the watch misses now stays missed."""
        self.checkpoint()
        time.sleep(0.03)
        self.checkpoint()
        self.work(acts)
        self.checkpoint()

    @rule(number=st.integers(0, 20))
    def compare(self, number: int) -> None:
        """Compare through the watch: it is what a store without one finds."""
        if not self.snapshots:  # no precondition: who was first differs from run to run
            return
        snapshot, _ = self.snapshots[number % len(self.snapshots)]
        try:
            expected = new_store(self.home / "store", boot_id="another").compare(snapshot, self.tree)
        except MulliganError as exc:
            expected = str(exc)
        try:
            changes = self.store.compare(snapshot, self.tree)
        except MulliganError as exc:
            changes = str(exc)
        assert changes == expected

    @rule(number=st.integers(0, 20))
    def restore(self, number: int) -> None:
        """Restore through the watch: the tree is what it was."""
        if not self.snapshots:
            return
        snapshot, wanted = self.snapshots[number % len(self.snapshots)]
        for path in self.tree.path.rglob("*"):
            if path.is_fifo():
                path.unlink()
        self.store.restore(snapshot, self.tree, Watcher())
        assert picture(self.tree.path) == wanted

    @rule()
    def work_again_later(self) -> None:
        """Let one piece of work end and another begin on the same tree: the watch goes on in between."""
        self.watching.__exit__(None, None, None)
        self.watching = self.store.watch(self.tree, others_at_work=False)
        self.watching.__enter__()

    @rule(number=st.integers(0, 20))
    def restore_elsewhere(self, number: int) -> None:
        """Let another process restore the tree, one that knows nothing of this watch."""
        if self.snapshots and not self.patterns:
            snapshot, _ = self.snapshots[number % len(self.snapshots)]
            for path in self.tree.path.rglob("*"):
                if path.is_fifo():
                    path.unlink()
            new_store(self.home / "store").restore(snapshot, self.tree, Watcher())

    @invariant()
    def everyone_lives(self) -> None:
        assert all(worker.is_alive() for worker in getattr(self, "workers", []))

    def teardown(self) -> None:
        if not hasattr(self, "workers"):
            return
        self.checkpoint()
        for pipe in self.pipes:
            pipe.send("")
        for worker in self.workers:
            worker.join(30)
            assert worker.exitcode == 0
        self.watching.__exit__(None, None, None)
        self.store.close_watches()
        self.patch.undo()
        shutil.rmtree(self.home)


class ExcludingTree(WatchedTree):
    """The same with names that are excluded; nobody gives a file a second name, under which it could be written."""

    patterns = ("b", "c/", "/d/*", "!/d/a")

    @rule(acts=ACTS)
    def work(self, acts: list[list[dict[str, Any]]]) -> None:
        super().work([[act for act in each if act["verb"] != "link"] for each in acts])

    @rule(number=st.integers(0, 20))
    def restore(self, number: int) -> None:
        """Restore through the watch: what is held is as it was, and what is excluded as it is."""
        if not self.snapshots:
            return
        snapshot, wanted = self.snapshots[number % len(self.snapshots)]
        before = picture(self.tree.path)
        try:
            self.store.restore(snapshot, self.tree, Watcher())
        except RestoreFailed:
            return  # something that is excluded, or cannot be held, is in the way
        after = picture(self.tree.path)
        assert self._excluded(after) == self._excluded(before)
        held = {path: after[path] for path in after.keys() - self._excluded(after).keys()}
        expected = {path: wanted[path] for path in wanted.keys() - self._excluded(wanted).keys()}
        assert {path: held.get(path) for path in expected} == expected
        for path in held.keys() - expected.keys():
            place = self.tree.path / os.fsdecode(path)
            kept = [place, *place.rglob("*")]
            assert any(each.is_fifo() or self._is_excluded(each) for each in kept), path

    def _is_excluded(self, path: Path) -> bool:
        inside = str(path.relative_to(self.tree.path))
        is_folder = path.is_dir() and not path.is_symlink()
        return PathPatterns(self.patterns).match(inside, is_folder=is_folder)

    def _excluded(self, found: dict[bytes, tuple[object, ...]]) -> dict[bytes, object]:
        matching = PathPatterns(self.patterns)
        kinds = {path: stat.S_ISDIR(int(str(facts[0]))) for path, facts in found.items()}
        return {
            path: facts
            for path, facts in found.items()
            if path != b"." and matching.match(os.fsdecode(path[2:]), is_folder=kinds[path])
        }


TestWatchedTree = WatchedTree.TestCase
TestExcludingTree = ExcludingTree.TestCase
TestExcludingTree.settings = TestWatchedTree.settings = settings(
    max_examples=8 * LONGER,
    stateful_step_count=14,
    deadline=None,
    phases=[Phase.generate],  # what several processes do at once does not happen twice: nothing to shrink
    suppress_health_check=list(HealthCheck),
)
