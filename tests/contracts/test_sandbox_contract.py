"""What every kind of sandbox promises; each brings a world in which a real thing can be made and changed."""

import sqlite3
import stat
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from mulligan.adapters.sandboxes.directory import DirectorySandboxes
from mulligan.adapters.sandboxes.git.sandboxes import GitSandboxes
from mulligan.adapters.sandboxes.sqlite import SqliteSandboxes, Workplace
from mulligan.domain.ids import CheckpointId, PlanId
from mulligan.domain.placement import folder_name
from mulligan.domain.resource import Resource, ResourceType, Sandbox
from mulligan.domain.store_report import PathChange
from mulligan.errors import ResourceUnsuitable, SandboxMissing, TargetExists
from mulligan.ports import SandboxKind, SandboxOrder
from tests.git_world import GIT_ENVIRONMENT, run_git
from tests.snapshot_world import Watcher, new_store, picture, removed, restored

PLAN = PlanId("01JZZZZZZZZZZZZZZZZZZZZZZZ")


@dataclass(frozen=True)
class World:
    """A kind of sandbox, a real thing for it, and a file in either that can be changed."""

    kind: SandboxKind
    resource: Resource
    location: Path
    sandboxes: Path
    file: str

    def write(self, path: Path, text: str) -> None:
        (path / self.file).write_text(text)

    def read(self, path: Path) -> str:
        return (path / self.file).read_text()

    def lose(self, path: Path) -> None:
        (path / self.file).unlink()

    def picture(self, path: Path) -> object:
        return picture(path)

    def add_another(self, path: Path) -> tuple[PathChange, ...]:
        """Make what the sandbox does not have yet; gives what going back from there does to it."""
        (path / "added").touch()
        return removed("added")

    def folder(self, sandbox: Sandbox) -> Path:
        """The folder that is the sandbox's own."""
        return Path(sandbox.path)

    def size(self) -> tuple[int, int]:
        return (2, 4)

    def order(self, name: str = "data") -> SandboxOrder:
        return SandboxOrder(
            plan_id=PLAN,
            resource=replace(self.resource, name=name),
            location=self.location,
            path=self.sandboxes / PLAN / folder_name(name),
            excluded=frozenset(),
            include_ignored=True,
        )


def _directory_world(tmp_path: Path) -> World:
    project = tmp_path / "project"
    location = project / "real"
    (location / "sub").mkdir(parents=True)
    (location / "sub" / "file").write_text("real")
    (location / "read-only").mkdir()
    (location / "read-only" / "inner").touch()
    (location / "read-only").chmod(0o500)
    home = project / ".mulligan"
    kind = DirectorySandboxes(
        store=new_store(home / "store"),
        home=home / "sandboxes",
        project_home=home,
        user_home=tmp_path / "users" / "me",
    )
    resource = Resource(
        name="data",
        type=ResourceType.FS_DIRECTORY,
        location="real",
        strategy=None,
        from_revision=None,
        create=False,
    )
    return World(kind, resource, location, home / "sandboxes", "sub/file")


class DatabaseWorld(World):
    """A database with one text in it, which stands for the file of the others."""

    def write(self, path: Path, text: str) -> None:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE t SET text = ?", (text,))

    def read(self, path: Path) -> str:
        with closing(sqlite3.connect(path)) as connection:
            return str(connection.execute("SELECT text FROM t").fetchone()[0])

    def lose(self, path: Path) -> None:
        path.unlink()

    def picture(self, path: Path) -> object:
        file = path / self.file if path.is_dir() else path
        with closing(sqlite3.connect(file)) as connection:
            return list(connection.iterdump()), stat.S_IMODE(file.stat().st_mode)

    def add_another(self, path: Path) -> tuple[PathChange, ...]:
        return ()

    def folder(self, sandbox: Sandbox) -> Path:
        return Path(sandbox.path).parent

    def size(self) -> tuple[int, int]:
        return (1, self.location.stat().st_size)

    def order(self, name: str = "data") -> SandboxOrder:
        order = super().order(name)
        return replace(order, path=order.path / "app.db")


def _database_world(tmp_path: Path) -> World:
    project = tmp_path / "project"
    project.mkdir()
    location = project / "real.db"
    with closing(sqlite3.connect(location)) as connection, connection:
        connection.execute("CREATE TABLE t (text)")
        connection.execute("INSERT INTO t VALUES ('real')")
    home = project / ".mulligan"
    kind = SqliteSandboxes(
        Workplace(
            store=new_store(home / "store"),
            home=home / "sandboxes",
            project_home=home,
            now_ns=time.time_ns,
            boot_id="this boot",
            busy_limit=1.0,
        )
    )
    resource = Resource(
        name="data",
        type=ResourceType.SQLITE,
        location="real.db",
        strategy=None,
        from_revision=None,
        create=False,
    )
    return DatabaseWorld(kind, resource, location, home / "sandboxes", "app.db")


class GitWorld(World):
    """A checkout; its git directory is the kind's own to make."""

    def picture(self, path: Path) -> object:
        found = picture(path)
        return {name: what for name, what in found.items() if name.split(b"/")[1:2] != [b".git"]}


def _git_world(tmp_path: Path) -> World:
    project = tmp_path / "project"
    location = project / "real"
    (location / "sub").mkdir(parents=True)
    (location / "sub" / "file").write_text("real")
    for command in (("init", "-q", "."), ("add", "sub/file"), ("commit", "-q", "-m", "first")):
        run_git(location, *command)
    run_git(project, "init", "-q")
    (location / "untracked").touch()
    home = project / ".mulligan"
    home.mkdir()
    kind = GitSandboxes(
        store=new_store(home / "store"),
        home=home / "sandboxes",
        git_home=home / "git",
        project_home=home,
        user_home=tmp_path / "users" / "me",
        environment=GIT_ENVIRONMENT,
    )
    resource = Resource(
        name="data",
        type=ResourceType.GIT_CHECKOUT,
        location="real",
        strategy=None,
        from_revision=None,
        create=False,
    )
    return GitWorld(kind, resource, location, home / "sandboxes", "sub/file")


FOLDER_WORLDS: dict[str, Callable[[Path], World]] = {"directory": _directory_world, "git": _git_world}
WORLDS: dict[str, Callable[[Path], World]] = {**FOLDER_WORLDS, "database": _database_world}


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    return WORLDS[request.param](tmp_path)


@pytest.fixture(params=FOLDER_WORLDS)
def folder_world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    return FOLDER_WORLDS[request.param](tmp_path)


def test_a_sandbox_looks_like_the_real_thing_and_is_apart_from_it(world: World) -> None:
    world.kind.check(world.resource, world.location)
    sandbox, capture = world.kind.create(world.order(), Watcher())
    assert capture.unheld == ()
    assert capture.snapshot == sandbox.base
    assert world.kind.exists(sandbox)
    assert world.picture(Path(sandbox.path)) == world.picture(world.location)
    world.write(Path(sandbox.path), "changed")
    assert world.read(world.location) == "real"


def test_only_the_owner_can_get_at_a_sandbox(world: World) -> None:
    sandbox, _ = world.kind.create(world.order(), Watcher())
    assert Path(sandbox.path).parent.stat().st_mode & 0o777 == 0o700


def test_making_it_again_completes_it(world: World) -> None:
    sandbox, _ = world.kind.create(world.order(), Watcher())
    world.lose(Path(sandbox.path))
    again, _ = world.kind.create(world.order(), Watcher())
    assert replace(again, base=sandbox.base) == sandbox
    assert again.base.id == sandbox.base.id  # a git directory knows inodes: it is made anew
    assert world.picture(Path(sandbox.path)) == world.picture(world.location)


def test_going_back_and_forward(world: World) -> None:
    sandbox, _ = world.kind.create(world.order(), Watcher())
    first = world.kind.capture(sandbox, Watcher())
    assert first.snapshot.same_as(sandbox.base)
    assert first.size_bytes == 0
    world.write(Path(sandbox.path), "changed")
    expected = (*world.add_another(Path(sandbox.path)), *restored(world.file))
    second = world.kind.capture(sandbox, Watcher()).snapshot
    assert world.kind.compare(sandbox, first.snapshot) == expected
    assert world.kind.restore(sandbox, first.snapshot, Watcher()) == expected
    assert world.read(Path(sandbox.path)) == "real"
    world.kind.restore(sandbox, second, Watcher())
    assert world.read(Path(sandbox.path)) == "changed"


def test_going_back_and_forward_under_a_watch(world: World) -> None:
    sandbox, _ = world.kind.create(world.order(), Watcher())
    with world.kind.watch(sandbox):
        first = world.kind.capture(sandbox, Watcher()).snapshot
        world.write(Path(sandbox.path), "changed")
        second = world.kind.capture(sandbox, Watcher()).snapshot
        assert world.kind.restore(sandbox, first, Watcher()) == restored(world.file)
        assert world.kind.capture(sandbox, Watcher()).snapshot == first
        world.kind.restore(sandbox, second, Watcher())
    assert world.kind.capture(sandbox, Watcher()).snapshot == second


def test_what_belongs_to_other_resources_is_neither_copied_nor_touched(folder_world: World) -> None:
    world = folder_world
    (world.location / "data.db").write_text("theirs")
    order = replace(world.order(), excluded=frozenset({"data.db"}))
    sandbox, _ = world.kind.create(order, Watcher())
    mine = Path(sandbox.path) / "data.db"
    assert not mine.exists()
    mine.write_text("of another resource")
    assert world.kind.capture(sandbox, Watcher()).snapshot.same_as(sandbox.base)
    world.write(Path(sandbox.path), "changed")
    world.kind.restore(sandbox, sandbox.base, Watcher())
    assert mine.read_text() == "of another resource"
    assert world.read(Path(sandbox.path)) == "real"


def test_a_fork_starts_from_any_snapshot_and_is_apart_from_its_parent(world: World) -> None:
    parent, _ = world.kind.create(world.order(), Watcher())
    world.write(Path(parent.path), "changed")
    snapshot = world.kind.capture(parent, Watcher()).snapshot
    world.write(Path(parent.path), "changed again")
    fork = world.kind.fork(world.order("fork"), parent, snapshot, Watcher())
    assert fork.base == snapshot
    assert world.read(Path(fork.path)) == "changed"
    world.write(Path(fork.path), "of the fork")
    assert world.read(Path(parent.path)) == "changed again"
    assert world.kind.capture(fork, Watcher()).snapshot != snapshot


def test_checkpoints_are_published_and_taken_back(world: World) -> None:
    sandbox, _ = world.kind.create(world.order(), Watcher())
    checkpoint_id = CheckpointId("01JZZZZZZZZZZZZZZZZZZZZZZC")
    at = datetime(2026, 1, 1, tzinfo=UTC)
    assert world.kind.publish(sandbox, checkpoint_id, sandbox.base, None, at)
    world.kind.retire(sandbox, ())
    world.kind.retire(sandbox, ())


def test_removing_it_twice_is_fine(world: World) -> None:
    sandbox, _ = world.kind.create(world.order(), Watcher())
    world.kind.remove(sandbox)
    assert not world.kind.exists(sandbox)
    world.kind.remove(sandbox)
    assert world.read(world.location) == "real"


def test_a_missing_sandbox_is_refused(world: World) -> None:
    sandbox, _ = world.kind.create(world.order(), Watcher())
    world.kind.remove(sandbox)
    with pytest.raises(SandboxMissing):
        world.kind.capture(sandbox, Watcher())
    with pytest.raises(SandboxMissing):
        world.kind.compare(sandbox, sandbox.base)
    with pytest.raises(SandboxMissing):
        world.kind.restore(sandbox, sandbox.base, Watcher())
    world.folder(sandbox).symlink_to(world.location)
    assert not world.kind.exists(sandbox)


def test_an_export_goes_into_a_new_folder_only(world: World, tmp_path: Path) -> None:
    sandbox, _ = world.kind.create(world.order(), Watcher())
    world.kind.export(sandbox.base, tmp_path / "out", Watcher())
    assert world.picture(tmp_path / "out") == world.picture(world.location)
    with pytest.raises(TargetExists):
        world.kind.export(sandbox.base, tmp_path / "out", Watcher())
    (tmp_path / "dangling").symlink_to("nowhere")
    with pytest.raises(TargetExists):
        world.kind.export(sandbox.base, tmp_path / "dangling", Watcher())


def test_a_survey_counts_the_real_thing(world: World) -> None:
    survey = world.kind.survey(world.order(), Watcher())
    assert (survey.files, survey.size_bytes) == world.size()


@pytest.mark.parametrize("name", ["../../escape", "a/b", "", ".", "..", "Größe", "x" * 500, "\udcff", "App"])
def test_resources_may_be_called_anything(world: World, tmp_path: Path, name: str) -> None:
    sandbox, _ = world.kind.create(world.order(name), Watcher())
    other, _ = world.kind.create(world.order(name + "'"), Watcher())
    home = tmp_path / "project" / ".mulligan" / "sandboxes" / PLAN
    assert world.folder(sandbox).parent == world.folder(other).parent == home
    assert Path(sandbox.path).resolve() == Path(sandbox.path)
    assert sandbox.path != other.path


def test_a_location_that_is_a_symlink_means_what_it_points_to(world: World, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(world.location)
    order = replace(world.order(), location=tmp_path / "alias")
    sandbox, _ = world.kind.create(order, Watcher())
    assert world.picture(Path(sandbox.path)) == world.picture(world.location)


def test_what_no_plan_may_work_on_is_refused(folder_world: World, tmp_path: Path) -> None:
    world = folder_world
    (tmp_path / "users" / "me").mkdir(parents=True)
    (tmp_path / "project" / ".mulligan" / "inside").mkdir(parents=True)
    (tmp_path / "alias").symlink_to(tmp_path / "users" / "me")
    refused = {
        Path("/"): "root of the whole",
        tmp_path / "users" / "me": "home folder",
        tmp_path / "users": "home folder",
        tmp_path / "alias": "home folder",
        tmp_path / "project" / ".mulligan": "project home",
        tmp_path / "project" / ".mulligan" / "inside": "project home",
        tmp_path / "nothing": "does not exist",
        world.location / world.file: "not a folder",
    }
    for location, reason in refused.items():
        with pytest.raises(ResourceUnsuitable, match=reason):
            world.kind.check(world.resource, location)
    world.kind.check(world.resource, tmp_path / "project")
