"""However a sandbox is made (of a parked tree, copied, written), it is byte for byte what a restore makes."""

import os
import shutil
import signal
import stat
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Self

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from mulligan.adapters.sandboxes import parked_trees
from mulligan.adapters.sandboxes.folder.folder_copy import DirectorySandboxes
from mulligan.adapters.sandboxes.private_sandbox import Workplace
from mulligan.adapters.snapshots.capture import surveys
from mulligan.adapters.snapshots.format import pack_format
from mulligan.adapters.snapshots.watch import tree_watch
from mulligan.adapters.snapshots.watch.tree_journals import TreeJournals
from mulligan.domain.checkpoints.store_report import Capture
from mulligan.domain.resources.resource import Resource, ResourceType, Sandbox
from mulligan.domain.text.ids import PlanId
from mulligan.ports import ChangeReports, SandboxOrder, TreeChanges, Unobserved, WorkingTree
from tests.support.long_run import LONGER
from tests.support.snapshot_world import new_store
from tests.support.walkers import WALKERS, walked

PLANS = [PlanId(f"01JZZZZZZZZZZZZZZZZZZZZZZ{letter}") for letter in "ABCD"]
FILES = 70  # fewer are not parked


@pytest.fixture(autouse=True)
def _as_on_a_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have files recognised by their times, wherever the tests run."""

    def no(_path: Path) -> bool:
        return False

    for module in ("capture.tree_reader", "store"):
        monkeypatch.setattr(f"mulligan.adapters.snapshots.{module}.keeps_no_times", no)


class Copies:
    """Makes and parks working copies of one folder."""

    def __init__(
        self, tmp_path: Path, *, pool: int = 1, ahead_ns: int = 0, reports: ChangeReports | None = None
    ) -> None:
        self.real = tmp_path / "real"
        self.home = tmp_path / f"home-{pool}"
        self.place = Workplace(
            store=new_store(self.home / "store", ahead_ns=ahead_ns, reports=reports),
            home=self.home / "sandboxes",
            project=tmp_path,
            project_home=self.home,
            user_home=Path("/nonexistent/me"),
            pool=lambda: pool,
        )
        self.kind = DirectorySandboxes(self.place)

    def make(
        self, plan_id: PlanId, patterns: tuple[str, ...] = (), excluded: frozenset[str] = frozenset()
    ) -> Sandbox:
        order = self.order(plan_id, patterns, excluded)
        with self.place.store.surveys_kept():
            counted = self.kind.survey(order, Unobserved())
            made, capture = self.kind.create(order, Unobserved())
        assert counted.files == capture.files
        return made

    def order(
        self, plan_id: PlanId, patterns: tuple[str, ...] = (), excluded: frozenset[str] = frozenset()
    ) -> SandboxOrder:
        resource = Resource(
            name="data",
            type=ResourceType.FS_DIRECTORY,
            location="real",
            strategy=None,
            from_revision=None,
            create=False,
        )
        return SandboxOrder(
            plan_id=plan_id,
            resource=resource,
            location=self.real,
            path=self.home / "sandboxes" / plan_id / "data",
            excluded=excluded,
            include_ignored=True,
            patterns=patterns,
        )

    def restored(self, sandbox: Sandbox) -> Path:
        """Restore what a sandbox started from, file by file out of the store."""
        path = self.home / "restored"
        tree = WorkingTree(path=path, cache_key="restored", excluded=frozenset(), real=False)
        self.place.store.restore(sandbox.base, tree, Unobserved())
        return path

    def scanned(self, sandbox: Sandbox) -> Capture:
        """Capture a sandbox as a store does that knows nothing of it."""
        tree = WorkingTree(path=Path(sandbox.path), cache_key="scanned", excluded=frozenset(), real=False)
        return new_store(self.home / f"store-{len(list(self.home.iterdir()))}").capture(tree, Unobserved())

    def parked(self) -> list[Path]:
        return sorted((self.home / "sandboxes" / ".parked").glob("*/*"))


def fill(real: Path) -> None:
    for number in range(FILES):
        folder = real / f"f{number % 7}" / "deep"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.txt").write_text(f"text of {number}")
    (real / "f0" / "link").symlink_to("deep")
    os.link(real / "f1" / "deep" / "1.txt", real / "f2" / "second-name")


def everything(folder: Path) -> dict[str, object]:
    """Return all that distinguishes two trees, owners and hard links too."""
    found: dict[str, object] = {}
    inodes: dict[int, str] = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        st_ = path.lstat()
        name = str(path.relative_to(folder))
        content: object = None
        if stat.S_ISLNK(st_.st_mode):
            content = os.readlink(path)
        elif stat.S_ISREG(st_.st_mode):
            content = (path.read_bytes(), inodes.setdefault(st_.st_ino, name), st_.st_nlink)
        attributes = tuple((a, os.getxattr(path, a)) for a in os.listxattr(path, follow_symlinks=False))
        found[name] = (st_.st_mode, st_.st_uid, st_.st_gid, st_.st_mtime_ns, content, attributes)
    return found


def _write(folder: Path, outside: Path) -> None:
    (folder / "f0" / "deep" / "0.txt").write_text("changed, and longer")


def _same_length_and_time(folder: Path, outside: Path) -> None:
    file = folder / "f1" / "deep" / "8.txt"
    before = file.stat()
    file.write_bytes(file.read_bytes()[::-1])
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def _remove(folder: Path, outside: Path) -> None:
    (folder / "f2" / "deep" / "2.txt").unlink(missing_ok=True)


def _add(folder: Path, outside: Path) -> None:
    (folder / "f3" / "added").mkdir(exist_ok=True)
    (folder / "f3" / "added" / "file").write_text("added")


def _close(folder: Path, outside: Path) -> None:
    (folder / "f4" / "deep").chmod(0o500)
    (folder / "f4" / "deep" / "4.txt").chmod(0o400)


def _link_outside(folder: Path, outside: Path) -> None:
    outside.mkdir(exist_ok=True)
    target = outside / f"name-{len(os.listdir(outside))}"
    os.link(folder / "f5" / "deep" / "5.txt", target)


def _replace_by_symlink(folder: Path, outside: Path) -> None:
    file = folder / "f6" / "deep" / "6.txt"
    file.unlink(missing_ok=True)
    file.symlink_to("/etc/hostname")


def _fifo(folder: Path, outside: Path) -> None:
    if not (folder / "f0" / "fifo").exists():
        os.mkfifo(folder / "f0" / "fifo")


def _own_folder(folder: Path, outside: Path) -> None:
    (folder / "f1" / ".mulligan").mkdir(exist_ok=True)


def _owner(folder: Path, outside: Path) -> None:
    if os.geteuid() == 0:
        os.chown(folder / "f2" / "deep" / "9.txt", 12345, 12345)
        os.chown(folder / "f2", 12345, -1)


def _attributes(folder: Path, outside: Path) -> None:
    os.setxattr(folder / "f3" / "deep" / "3.txt", "user.said", b"by a plan")


def _top(folder: Path, outside: Path) -> None:
    (folder / "at the top").touch()
    folder.chmod(0o700)


def _nothing_left(folder: Path, outside: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        if not path.is_symlink():
            path.chmod(0o700)
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


Change = Callable[[Path, Path], None]
CHANGES: list[Change] = [
    *(_write, _same_length_and_time, _remove, _add, _close, _link_outside, _replace_by_symlink, _fifo),
    *(_own_folder, _owner, _attributes, _top),
]


def tried(change: Change, folder: Path, outside: Path) -> None:
    """Do it where what it needs is still there, and may be changed."""
    with suppress(FileNotFoundError, PermissionError, NotADirectoryError, FileExistsError):
        change(folder, outside)


class Served:
    """A server that reports what changed: as it does, or out of order in some way."""

    def __init__(self, *, answers: int = 1 << 30, lies: bool = False, begins_again: bool = False) -> None:
        self._journals = TreeJournals()
        self._answers, self._lies, self._begins_again = answers, lies, begins_again
        self.reported = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._journals.close()

    def end(self) -> None:
        """Answer no more."""
        self._answers = 0

    def since(self, tree: WorkingTree, token: bytes) -> TreeChanges | None:
        """Ask for what changed."""
        self._answers -= 1
        if self._answers < 0:
            return None
        if self._begins_again:
            self._journals.close()
            self._journals = TreeJournals()
        report = self._journals.report(tree, token)
        if self._lies and report is not None and report.paths is not None:
            names = ("nowhere", "f0/deep/0.txt", "f0/deep/0.txt/below", "f1", ".", "f2/deep", "f3/added/file")
            report = TreeChanges(token=report.token, paths=(*report.paths, *names), renewed=("f2", "none"))
        self.reported += report is not None and report.paths is not None
        return report

    def moment(self, tree: WorkingTree) -> bytes:
        """Ask for the present moment of a tree that has a journal."""
        self._answers -= 1
        return b"" if self._answers < 0 else self._journals.moment(tree)


SERVERS: dict[str, Callable[[], AbstractContextManager[Served | None]]] = {
    "none": nullcontext,
    "one that answers": Served,
    "one that was killed": lambda: Served(answers=4),
    "one that is killed between two questions": lambda: Served(answers=5),
    "one that knows nothing of before": lambda: Served(begins_again=True),
    "one that names what did not change": lambda: Served(lies=True),
}


def test_with_a_server_no_walk_is_needed_to_count_and_capture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    excluded = frozenset({"f6/deep"})
    with Served() as reports:
        copies = Copies(tmp_path, ahead_ns=10**12, reports=reports)
        fill(copies.real)
        for plan in PLANS[:2]:  # from the second on there is a mark
            copies = Copies(tmp_path, ahead_ns=10**12, reports=reports)
            copies.make(plan, excluded=excluded)
        for turn, plan in enumerate(PLANS[2:]):
            _write(copies.real, tmp_path)
            (copies.real / "f1" / f"new {turn}").write_text("new")
            copies = Copies(tmp_path, ahead_ns=10**12, reports=reports)
            before = reports.reported
            monkeypatch.setattr(surveys, "Scan", None)  # none is made
            sandbox = copies.make(plan, excluded=excluded)
            assert reports.reported - before == 2, "the survey, and the capture"
            assert sandbox.base.same_as(copies.scanned(sandbox).snapshot)
            assert (Path(sandbox.path) / "f1" / f"new {turn}").read_text() == "new"


@settings(
    max_examples=12 * LONGER, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    how=st.sampled_from(sorted(WALKERS)),
    by_plan=st.lists(st.sampled_from([*CHANGES, _nothing_left]), max_size=4),
    while_parked=st.lists(st.sampled_from(CHANGES), max_size=4),
    to_real=st.lists(st.sampled_from([_write, _remove, _add, _replace_by_symlink, _attributes]), max_size=3),
    to_sandbox=st.lists(st.sampled_from([*CHANGES, _nothing_left]), max_size=3),
    watched=st.lists(st.sampled_from([*CHANGES, _nothing_left]), max_size=3),
    is_old=st.booleans(),
    server=st.sampled_from(sorted(SERVERS)),
)
def test_a_sandbox_from_a_parked_tree_and_a_new_one_are_what_a_restore_makes(
    tmp_path_factory: pytest.TempPathFactory,
    how: str,
    by_plan: list[Change],
    while_parked: list[Change],
    to_real: list[Change],
    to_sandbox: list[Change],
    watched: list[Change],
    is_old: bool,
    server: str,
) -> None:
    tmp_path = tmp_path_factory.mktemp("parked")
    with SERVERS[server]() as reports:
        _compare_copies(
            tmp_path, how, (by_plan, while_parked, to_real, to_sandbox, watched), reports, is_old=is_old
        )


def _compare_copies(
    tmp_path: Path,
    how: str,
    changes: tuple[list[Change], ...],
    reports: ChangeReports | None,
    *,
    is_old: bool,
) -> None:
    by_plan, while_parked, to_real, to_sandbox, watched = changes
    # To the second store files are old, and so copied; to the first they may be young, and so written.
    warm = Copies(tmp_path, ahead_ns=is_old * 10**12, reports=reports)
    cold = Copies(tmp_path, pool=0, ahead_ns=10**12)
    fill(warm.real)
    if reports is not None:  # one process begins the reports, and each next one asks for them
        earlier = Copies(tmp_path, ahead_ns=is_old * 10**12, reports=reports)
        earlier.kind.remove(earlier.make(PLANS[2]))
    time.sleep(is_old * 0.03)
    first = warm.make(PLANS[0])
    time.sleep(is_old * 0.03)
    for change in by_plan:
        tried(change, Path(first.path), tmp_path / "outside")
    if reports is not None:  # one more looks at what the plan made, and it is reported on from then on
        warm = Copies(tmp_path, ahead_ns=is_old * 10**12, reports=reports)
        seen = warm.kind.capture(first, Unobserved())
        assert seen == replace(warm.scanned(first), size_bytes=seen.size_bytes)
    warm.kind.park(first)
    assert not Path(first.path).exists()
    for parked in warm.parked():
        for change in while_parked:
            tried(change, parked, tmp_path / "outside")
    for change in to_real:
        tried(change, warm.real, tmp_path / "elsewhere")
    if reports is not None:
        warm = Copies(tmp_path, ahead_ns=is_old * 10**12, reports=reports)
    with walked(how):
        second, fresh = warm.make(PLANS[1]), cold.make(PLANS[1])
    expected = everything(cold.restored(fresh))
    assert everything(Path(second.path)) == expected
    assert everything(Path(fresh.path)) == expected
    assert second.base.same_as(fresh.base)
    assert not warm.parked()
    time.sleep(is_old * 0.03)
    for change in to_sandbox:  # before the work on it begins
        tried(change, Path(second.path), tmp_path / "elsewhere")
    with warm.kind.watch(second, others_at_work=False):
        one = warm.kind.capture(second, Unobserved())
        assert one == replace(warm.scanned(second), size_bytes=one.size_bytes)
        time.sleep(is_old * 0.03)
        for change in watched:
            tried(change, Path(second.path), tmp_path / "elsewhere")
        other = warm.kind.capture(second, Unobserved())
        assert other == replace(warm.scanned(second), size_bytes=other.size_bytes)


def test_the_watch_over_an_adopted_tree_goes_on_in_its_place(tmp_path: Path) -> None:
    copies = Copies(tmp_path, ahead_ns=10**12)
    fill(copies.real)
    copies.kind.park(copies.make(PLANS[0]))
    second = copies.make(PLANS[1])
    (Path(second.path) / "f0" / "deep" / "0.txt").write_text("changed")
    with copies.kind.watch(second, others_at_work=False):
        found = copies.kind.capture(second, Unobserved())
        assert copies.place.store.last_look.watched
    assert found.snapshot == copies.scanned(second).snapshot != second.base


@contextmanager
def adopted(tmp_path: Path) -> Generator[tuple[Copies, Sandbox, Served]]:
    """Adopt a tree that a server reports on since the plan before looked at it."""
    with Served() as reports:
        copies = Copies(tmp_path, ahead_ns=10**12, reports=reports)
        fill(copies.real)
        first = copies.make(PLANS[0])
        copies = Copies(tmp_path, ahead_ns=10**12, reports=reports)
        copies.kind.capture(first, Unobserved())
        copies.kind.park(first)
        copies = Copies(tmp_path, ahead_ns=10**12, reports=reports)
        yield copies, copies.make(PLANS[1]), reports


def test_with_a_server_an_adopted_tree_is_asked_about_and_not_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_watch, "Inotify", None)  # none is made
    with adopted(tmp_path) as (copies, second, reports):
        store, before = copies.place.store, reports.reported
        with copies.kind.watch(second, others_at_work=False):
            for text in ("one", "two"):
                (Path(second.path) / "f0" / "deep" / "0.txt").write_text(text)
                found = copies.kind.capture(second, Unobserved())
                assert store.last_look.watched
                assert found.snapshot == copies.scanned(second).snapshot != second.base
        assert reports.reported - before == 2
        later = Copies(tmp_path, ahead_ns=10**12, reports=reports)  # as an apply does
        assert later.kind.capture(second, Unobserved()).snapshot == found.snapshot
        assert later.place.store.last_look.watched


def test_where_the_server_ends_the_adopted_tree_is_watched_after_all(tmp_path: Path) -> None:
    with adopted(tmp_path) as (copies, second, reports):
        store = copies.place.store
        reports.end()
        with copies.kind.watch(second, others_at_work=False):
            for text, is_watched in (("one", False), ("two", True)):
                (Path(second.path) / "f0" / "deep" / "0.txt").write_text(text)
                found = copies.kind.capture(second, Unobserved())
                assert store.last_look.watched == is_watched
                assert found.snapshot == copies.scanned(second).snapshot


def test_who_asks_what_is_written_meanwhile_watches_the_adopted_tree(tmp_path: Path) -> None:
    with adopted(tmp_path) as (copies, second, _), copies.kind.watch(second, others_at_work=False):
        store = copies.place.store
        store.listen()
        copies.kind.capture(second, Unobserved())
        assert not copies.kind.stirred(second)
        (Path(second.path) / "f0" / "deep" / "0.txt").write_text("changed")
        assert copies.kind.stirred(second)


def test_a_write_under_a_name_outside_is_found_once_watches_are_distrusted(tmp_path: Path) -> None:
    with adopted(tmp_path) as (copies, second, reports):
        with copies.kind.watch(second, others_at_work=False):
            before = copies.kind.capture(second, Unobserved())
            outside = tmp_path / "outside"
            os.link(Path(second.path) / "f0" / "deep" / "0.txt", outside)
            outside.write_text("changed")
            copies.place.store.distrust_watches()
            found = copies.kind.capture(second, Unobserved())
            assert found.snapshot == copies.scanned(second).snapshot != before.snapshot
        later = Copies(tmp_path, ahead_ns=10**12, reports=reports)  # nor does the next process rely on it
        assert later.kind.capture(second, Unobserved()).snapshot == found.snapshot


def test_a_tree_that_was_restored_in_a_run_is_known_again(tmp_path: Path) -> None:
    with adopted(tmp_path) as (copies, second, _), copies.kind.watch(second, others_at_work=False):
        start = copies.kind.capture(second, Unobserved()).snapshot
        _add(Path(second.path), tmp_path)
        _remove(Path(second.path), tmp_path)
        copies.kind.restore(second, start, Unobserved())
        assert copies.kind.capture(second, Unobserved()).snapshot == start
        _write(Path(second.path), tmp_path)
        found = copies.kind.capture(second, Unobserved())
        assert found.snapshot == copies.scanned(second).snapshot != start


def test_a_tree_that_others_moved_after_it_was_adopted_is_scanned(tmp_path: Path) -> None:
    copies = Copies(tmp_path, ahead_ns=10**12)
    fill(copies.real)
    copies.kind.park(copies.make(PLANS[0]))
    sandbox = copies.make(PLANS[1])
    place = Path(sandbox.path)
    shutil.copytree(place.rename(place.with_name("moved")), place, symlinks=True)
    (place / "f0" / "deep" / "0.txt").write_text("changed")
    with copies.kind.watch(sandbox, others_at_work=False):
        found = copies.kind.capture(sandbox, Unobserved())
        assert not copies.place.store.last_look.watched
    assert found.snapshot == copies.scanned(sandbox).snapshot


def test_what_nobody_touched_is_kept_and_all_else_is_written_again(tmp_path: Path) -> None:
    copies = Copies(tmp_path, ahead_ns=10**12)
    fill(copies.real)
    first = copies.make(PLANS[0])
    kept = {p.name: p.lstat().st_ino for p in Path(first.path).rglob("*.txt")}
    (Path(first.path) / "f0" / "deep" / "0.txt").write_text("of a plan")
    copies.kind.park(first)
    assert len(copies.parked()) == 1
    second = copies.make(PLANS[1])
    now = {p.name: p.lstat().st_ino for p in Path(second.path).rglob("*.txt")}
    assert {name for name in kept if kept[name] != now[name]} <= {"0.txt"}
    assert (Path(second.path) / "f0" / "deep" / "0.txt").read_text() == "text of 0"


def test_a_file_that_a_program_writes_to_is_never_part_of_a_new_sandbox(tmp_path: Path) -> None:
    copies = Copies(tmp_path, ahead_ns=10**12)
    fill(copies.real)
    first = copies.make(PLANS[0])
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        file = open(Path(first.path) / "f0" / "deep" / "0.txt", "a")  # noqa: SIM115  it stays open
        os.write(writer, b"x")
        os.close(reader)
        signal.pause()
        os._exit(int(file.closed))
    os.read(reader, 1)
    try:
        copies.kind.park(first)
        second = copies.make(PLANS[1])
        assert not copies.parked()
        inodes = {p.lstat().st_ino for p in Path(second.path).rglob("*.txt")}
        assert os.stat(f"/proc/{pid}/fd").st_ino  # it is still there
        held = {os.stat(f"/proc/{pid}/fd/{fd}").st_ino for fd in os.listdir(f"/proc/{pid}/fd")}
        assert not inodes & held
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(reader)
        os.close(writer)


@pytest.mark.parametrize("how", WALKERS)
def test_a_fork_takes_its_files_from_the_sandbox_of_its_parent(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies = Copies(tmp_path, pool=0, ahead_ns=10**12)
    fill(copies.real)
    parent = copies.make(PLANS[0])
    (Path(parent.path) / "f0" / "deep" / "0.txt").write_text("of the parent")
    snapshot = copies.kind.capture(parent, Unobserved()).snapshot
    (Path(parent.path) / "f0" / "deep" / "7.txt").write_text("of a later step")
    read: list[bytes] = []
    real = pack_format.Pack.read

    def noted(pack: pack_format.Pack, object_id: bytes) -> bytes:
        read.append(object_id)
        return real(pack, object_id)

    monkeypatch.setattr(pack_format.Pack, "read", noted)
    with walked(how):
        fork = copies.kind.fork(copies.order(PLANS[1]), parent, snapshot, Unobserved())
    assert len(read) < FILES // 2
    monkeypatch.undo()
    assert everything(Path(fork.path)) == everything(copies.restored(fork))


def test_only_as_many_are_kept_as_the_setting_says(tmp_path: Path) -> None:
    copies = Copies(tmp_path)
    fill(copies.real)
    sandboxes = [copies.make(plan) for plan in PLANS[:3]]
    for sandbox in sandboxes:
        copies.kind.park(sandbox)
    assert len(copies.parked()) == 1
    assert copies.place.parked.clear(wait=True)
    assert copies.parked() == []
    assert not copies.place.parked.clear(wait=True)


def test_none_is_kept_where_the_disk_is_nearly_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parked_trees, "_FREE", 1)  # the whole disk is to stay free
    copies = Copies(tmp_path)
    fill(copies.real)
    copies.kind.park(copies.make(PLANS[0]))
    assert copies.parked() == []


def test_excluded_files_of_the_earlier_plan_are_gone(tmp_path: Path) -> None:
    copies = Copies(tmp_path)
    fill(copies.real)
    (copies.real / "x.log").write_text("real")
    first = copies.make(PLANS[0], ("*.log",))
    (Path(first.path) / "x.log").write_text("of the plan")
    (Path(first.path) / "f0" / "y.log").write_text("of the plan")
    copies.kind.park(first)
    second = copies.make(PLANS[1], ("*.log",))
    found = {str(p.relative_to(second.path)): p.read_text() for p in Path(second.path).rglob("*.log")}
    assert found == {"x.log": "real"}


def test_nothing_is_removed_through_a_symlink_that_the_earlier_plan_made(tmp_path: Path) -> None:
    copies = Copies(tmp_path)
    fill(copies.real)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "own").write_text("of the user")
    first = copies.make(PLANS[0], excluded=frozenset({"f0/deep/own"}))
    shutil.rmtree(Path(first.path) / "f0" / "deep")
    (Path(first.path) / "f0" / "deep").symlink_to(outside)
    copies.kind.park(first)
    second = copies.make(PLANS[1], excluded=frozenset({"f0/deep/own"}))
    assert (outside / "own").read_text() == "of the user"
    assert (Path(second.path) / "f0" / "deep" / "0.txt").read_text() == "text of 0"
    assert not (Path(second.path) / "f0" / "deep").is_symlink()
