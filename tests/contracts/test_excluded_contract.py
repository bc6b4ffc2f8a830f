"""What every kind of sandbox of a folder promises about paths that belong to no checkpoint."""

import os
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from mulligan.adapters.sandboxes.kind_registry import LocalSandboxKinds
from mulligan.adapters.sandboxes.plan_folders import LocalPlanFolders
from mulligan.adapters.snapshots.scan.found_folder import Folder
from mulligan.adapters.snapshots.scan.scan import Scan
from mulligan.adapters.snapshots.store import PackedSnapshotStore
from mulligan.application.sandboxes.sandbox_renewal import SandboxRenewal
from mulligan.domain.checkpoints.checkpoint import Checkpoint
from mulligan.domain.resources.resource import ResourceType, Sandbox
from mulligan.domain.text.ids import CheckpointId
from mulligan.errors import SystemFailed
from mulligan.ports import Publication, WorkingTree
from tests.support.git_world import GIT_ENVIRONMENT, run_git
from tests.support.ordinary_user import as_ordinary_user
from tests.support.sandbox_worlds import FOLDER_WORLDS, World
from tests.support.snapshot_world import Watcher, new_store, picture, removed, restored


@pytest.fixture(params=FOLDER_WORLDS)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    world = FOLDER_WORLDS[request.param](tmp_path)
    fill(world.location)
    return world


def fill(top: Path) -> None:
    """Write what the patterns match, with all that a copy has to keep."""
    (top / "build" / "deep").mkdir(parents=True)
    (top / "build" / "deep" / "x.o").write_bytes(b"x" * 100_000)
    (top / "build" / "link").symlink_to("deep/x.o")
    (top / "build" / "deep").chmod(0o555)
    (top / "sub" / "a.log").write_text("log")
    (top / "sub" / "a.log").chmod(0o640)
    os.utime(top / "sub" / "a.log", ns=(5, 5))
    os.mkfifo(top / "build" / "fifo")
    (top / ".mulliganignore").write_text("# what the build makes\n/build/\n")


def made(world: World) -> Sandbox:
    sandbox, capture = world.kind.create(world.order("data", "*.log"), Watcher())
    assert capture.unheld == ()
    return sandbox


def excluded_in(top: Path) -> dict[bytes, tuple[object, ...]]:
    found = picture(top)
    return {
        path: facts
        for path, facts in found.items()
        if (path.startswith(b"./build") and path != b"./build/fifo") or path.endswith(b".log")
    }


def test_it_exists_in_the_sandbox_and_in_no_snapshot(world: World) -> None:
    sandbox = made(world)
    assert sandbox.patterns == ("*.log", "/build/")
    top = Path(sandbox.path)
    assert excluded_in(top) == excluded_in(world.location)
    assert not (top / "build" / "fifo").exists() or world.in_place
    before = world.kind.capture(sandbox, Watcher()).snapshot
    assert before.same_as(sandbox.base)
    (top / "sub" / "a.log").write_text("changed")
    (top / "sub" / "b.log").write_text("new")
    (top / "build" / "more").write_text("new")
    assert world.kind.capture(sandbox, Watcher()).snapshot.same_as(before)
    assert world.kind.compare(sandbox, before) == ()
    world.write(top, "changed")
    assert world.kind.restore(sandbox, before, Watcher()) == restored(world.file)
    assert ((top / "sub" / "a.log").read_text(), (top / "build" / "more").read_text()) == ("changed", "new")
    shutil.rmtree(top / "build")
    assert world.kind.restore(sandbox, before, Watcher()) == ()
    assert not (top / "build").exists()


def test_making_it_again_completes_it(world: World) -> None:
    sandbox = made(world)
    if world.in_place:
        return
    (Path(sandbox.path) / "build" / "deep").chmod(0o755)
    (Path(sandbox.path) / "build" / "deep" / "x.o").write_text("half")
    (Path(sandbox.path) / "sub" / "a.log").unlink()
    again = made(world)
    assert excluded_in(Path(again.path)) == excluded_in(world.location)


def test_a_fork_gets_that_of_its_parent(world: World) -> None:
    parent = made(world)
    if world.in_place and world.resource.type is ResourceType.GIT_CHECKOUT:
        return
    (Path(parent.path) / "sub" / "a.log").write_text("of the parent")
    fork = world.kind.fork(world.copied("fork"), parent, parent.base, Watcher())
    assert fork.patterns == parent.patterns
    assert excluded_in(Path(fork.path)) == excluded_in(Path(parent.path))
    (Path(fork.path) / "sub" / "a.log").write_text("of the fork")
    assert (Path(parent.path) / "sub" / "a.log").read_text() == "of the parent"
    assert world.kind_of(fork).capture(fork, Watcher()).snapshot.id == fork.base.id


def renewal_in(world: World, sandbox: Sandbox) -> SandboxRenewal:
    return SandboxRenewal(
        kinds=LocalSandboxKinds({(sandbox.type, sandbox.strategy): lambda: world.kind}),
        store=new_store(world.sandboxes.parent / "store"),
        folders=LocalPlanFolders(home=world.sandboxes),
    )


def test_a_sandbox_that_is_made_again_has_it(world: World) -> None:
    sandbox = made(world)
    if world.in_place:
        return
    renewal = renewal_in(world, sandbox)
    log = Path(sandbox.path) / "sub" / "a.log"
    log.write_text("of the sandbox")
    renewal.renew([sandbox], Watcher())
    assert log.read_text() == "of the sandbox"
    subprocess.run(["chmod", "-R", "u+rwx", sandbox.path], check=True)
    shutil.rmtree(sandbox.path)
    assert renewal.remake([(sandbox, sandbox.base)], Watcher()) == [sandbox]
    assert excluded_in(Path(sandbox.path)) == excluded_in(world.location)


def test_it_is_left_out_where_the_snapshot_has_no_such_folder(world: World, tmp_path: Path) -> None:
    (world.location / "sub" / "in").mkdir()
    (world.location / "sub" / "in" / "b.log").write_text("mine")
    sandbox = made(world)
    if world.in_place:
        return
    top, outside = Path(sandbox.path), tmp_path / "outside"
    (outside / "in" / "b.log").mkdir(parents=True)
    for precious in (outside / "a.log", outside / "in" / "b.log" / "precious"):
        precious.write_text("precious")
    shutil.rmtree(top / "sub")
    (top / "sub").symlink_to(outside)
    for name in ("new", "kind"):
        (world.location / name).mkdir()
        (world.location / name / "n.log").write_text("mine")
    (top / "kind").write_text("a file of the plan's")
    snapshot = world.kind.capture(sandbox, Watcher()).snapshot
    before = picture(outside)
    renewal_in(world, sandbox).put([(sandbox, snapshot)], Watcher())
    assert picture(outside) == before
    assert ((top / "sub").is_symlink(), (top / "new").exists(), (top / "kind").is_file()) == (
        True,
        False,
        True,
    )
    assert (top / "build" / "deep" / "x.o").exists()
    assert world.kind.capture(sandbox, Watcher()).snapshot.same_as(snapshot)


def test_no_depth_and_no_length_of_a_path_stop_a_copy(tmp_path: Path) -> None:
    world = FOLDER_WORLDS["directory"](tmp_path)
    fill(world.location)
    try:
        dig(world.location / "build", "d", 1100, "last")
        dig(world.location, "n" * 200, 25, "z.log")
        top = Path(made(world).path)
        assert dug(top / "build", "d") == (1100, ["last"])
        assert dug(top, "n" * 200) == (25, ["z.log"])
    finally:
        subprocess.run(["rm", "-rf", *tmp_path.iterdir()], check=True)


def dig(top: Path, name: str, levels: int, last: str) -> None:
    """Make folders in each other, and a file in the last."""
    fd = os.open(top, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=fd)
        fd = entered(fd, name)
    os.close(os.open(last, os.O_CREAT | os.O_WRONLY, 0o640, dir_fd=fd))
    os.close(fd)


def entered(fd: int, name: str) -> int:
    inner = os.open(name, os.O_RDONLY, dir_fd=fd)
    os.close(fd)
    return inner


def dug(top: Path, name: str) -> tuple[int, list[str]]:
    """Return how many folders are in each other, and what is in the last."""
    fd, found = os.open(top, os.O_RDONLY), 0
    while name in os.listdir(fd):
        fd, found = entered(fd, name), found + 1
    names = os.listdir(fd)
    os.close(fd)
    return found, names


def test_folders_that_come_and_go_while_it_is_copied_are_left_out(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build makes and removes folders between two looks at the real one."""
    if world.in_place:
        return
    matched, scan = PackedSnapshotStore.matched, Scan.run

    def and_remove(each: Scan) -> Folder:
        top = scan(each)
        shutil.rmtree(world.location / "came")
        return top

    def with_a_build(store: PackedSnapshotStore, tree: WorkingTree) -> tuple[str, ...]:
        for name in ("came", "gone"):
            (world.location / name).mkdir()
            (world.location / name / "c.log").write_text("c")
        with monkeypatch.context() as patch:
            patch.setattr(Scan, "run", and_remove)
            found = matched(store, tree)
        shutil.rmtree(world.location / "gone")
        shutil.rmtree(world.location / "build")
        return found

    monkeypatch.setattr(PackedSnapshotStore, "matched", with_a_build)
    top = Path(made(world).path)
    assert not any((top / name).exists() for name in ("came", "gone", "build"))
    assert (top / "sub" / "a.log").read_text() == "log"


def test_a_path_of_another_resource_in_an_excluded_folder_is_not_copied(world: World) -> None:
    (world.location / "build" / "app.db").write_text("a database")
    order = replace(world.order("data"), excluded=frozenset({"build/app.db"}))
    sandbox, _ = world.kind.create(order, Watcher())
    assert (Path(sandbox.path) / "build" / "app.db").exists() == world.in_place


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    def check(home: Path) -> None:
        world = FOLDER_WORLDS["directory"](home)
        fill(world.location)
        (world.location / "sub" / "secret.log").write_text("secret")
        (world.location / "sub" / "secret.log").chmod(0)
        _, capture = world.kind.create(world.order("data", "*.log"), Watcher())
        assert [unheld.path for unheld in capture.unheld] == ["sub/secret.log"]

    as_ordinary_user(tmp_path, check)


def test_a_folder_with_something_excluded_is_not_removed(world: World) -> None:
    sandbox = made(world)
    top = Path(sandbox.path)
    (top / "new").mkdir()
    (top / "new" / "held").touch()
    (top / "new" / "n.log").write_text("n")
    assert world.kind.restore(sandbox, sandbox.base, Watcher()) == removed("new/held")
    assert (top / "new" / "n.log").read_text() == "n"


@pytest.mark.parametrize("content", [b"a\0b", b"x" * (1024 * 1024 + 1)])
def test_a_file_of_patterns_that_cannot_be_one_is_refused(world: World, content: bytes) -> None:
    (world.location / ".mulliganignore").write_bytes(content)
    with pytest.raises(SystemFailed, match="mulliganignore"):
        world.kind.survey(world.order(), Watcher())


def test_a_folder_named_like_the_file_of_patterns_has_none(world: World) -> None:
    (world.location / ".mulliganignore").unlink()
    (world.location / ".mulliganignore").mkdir()
    sandbox, _ = world.kind.create(world.order(), Watcher())
    assert sandbox.patterns == ()


def test_commits_of_checkpoints_are_without_it(world: World) -> None:
    if world.resource.type is not ResourceType.GIT_CHECKOUT:
        return
    (world.location / "tracked.log").write_text("tracked")
    run_git(world.location, "add", "-f", "tracked.log")
    (world.location / "tracked.log").write_text("changed since")
    sandbox = made(world)
    top, at = Path(sandbox.path), datetime(2026, 1, 1, tzinfo=UTC)
    (top / ".gitignore").write_text("nothing\n")  # which makes git look for files again
    (top / "sub" / "b.log").write_text("b")
    (top / "held").write_text("h")
    checkpoint = Checkpoint(
        checkpoint_id=CheckpointId("01JZZZZZZZZZZZZZZZZZZZZZZC"),
        resource=sandbox.resource,
        snapshot=world.kind.capture(sandbox, Watcher()).snapshot,
        sandbox_ref="",
        filesystem_path=sandbox.path,
        size_bytes=0,
        modified=True,
    )
    ref = world.kind.publish(sandbox, Publication(checkpoint=checkpoint, after=None, at=at))
    listed = subprocess.run(
        ["git", f"--git-dir={sandbox.git_dir}", "ls-tree", "-r", "--name-only", ref],
        env=GIT_ENVIRONMENT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    assert {"held", ".gitignore"} < {*listed}
    assert not any(path.startswith("build/") for path in listed)
    assert [path for path in listed if path.endswith(".log")] == ["tracked.log"], "as the index has it"
