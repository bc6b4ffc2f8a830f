"""What every kind of sandbox promises; each brings a world in which a real thing can be made and changed."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mulligan.adapters.sandboxes.directory import DirectorySandboxes
from mulligan.adapters.sandboxes.git.sandboxes import GitSandboxes
from mulligan.domain.ids import CheckpointId, PlanId
from mulligan.domain.placement import folder_name
from mulligan.domain.resource import Resource, ResourceType
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

    def order(self, name: str = "data") -> SandboxOrder:
        return SandboxOrder(
            plan_id=PLAN,
            resource=replace(self.resource, name=name),
            location=self.location,
            path=self.sandboxes / PLAN / folder_name(name),
            excluded=frozenset(),
            include_ignored=True,
        )

    def looks(self, path: Path) -> dict[bytes, tuple[object, ...]]:
        """All of a tree but a git directory, which is the kind's own to make."""
        found = picture(path)
        return {
            name: what for name, what in found.items() if not f"{os.fsdecode(name)}/".startswith("./.git/")
        }


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
    return World(kind, resource, location, home / "sandboxes", "sub/file")


WORLDS: dict[str, Callable[[Path], World]] = {"directory": _directory_world, "git": _git_world}


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    return WORLDS[request.param](tmp_path)


def test_a_sandbox_looks_like_the_real_thing_and_is_apart_from_it(world: World) -> None:
    world.kind.check(world.resource, world.location)
    sandbox, capture = world.kind.create(world.order(), Watcher())
    assert capture.unheld == ()
    assert capture.snapshot == sandbox.base
    assert world.kind.exists(sandbox)
    assert world.looks(Path(sandbox.path)) == world.looks(world.location)
    (Path(sandbox.path) / world.file).write_text("changed")
    assert (world.location / world.file).read_text() == "real"


def test_only_the_owner_can_get_at_a_sandbox(world: World) -> None:
    sandbox, _ = world.kind.create(world.order(), Watcher())
    assert Path(sandbox.path).parent.stat().st_mode & 0o777 == 0o700


def test_making_it_again_completes_it(world: World) -> None:
    sandbox, _ = world.kind.create(world.order(), Watcher())
    (Path(sandbox.path) / world.file).unlink()
    again, _ = world.kind.create(world.order(), Watcher())
    assert replace(again, base=sandbox.base) == sandbox
    assert again.base.id == sandbox.base.id  # a git directory knows inodes: it is made anew
    assert world.looks(Path(sandbox.path)) == world.looks(world.location)


def test_going_back_and_forward(world: World) -> None:
    sandbox, _ = world.kind.create(world.order(), Watcher())
    first = world.kind.capture(sandbox, Watcher())
    assert first.snapshot.same_as(sandbox.base)
    assert first.size_bytes == 0
    (Path(sandbox.path) / world.file).write_text("changed")
    (Path(sandbox.path) / "added").touch()
    second = world.kind.capture(sandbox, Watcher()).snapshot
    expected = (*removed("added"), *restored(world.file))
    assert world.kind.compare(sandbox, first.snapshot) == expected
    assert world.kind.restore(sandbox, first.snapshot, Watcher()) == expected
    assert (Path(sandbox.path) / world.file).read_text() == "real"
    world.kind.restore(sandbox, second, Watcher())
    assert (Path(sandbox.path) / world.file).read_text() == "changed"


def test_going_back_and_forward_under_a_watch(world: World) -> None:
    sandbox, _ = world.kind.create(world.order(), Watcher())
    with world.kind.watch(sandbox):
        first = world.kind.capture(sandbox, Watcher()).snapshot
        (Path(sandbox.path) / world.file).write_text("changed")
        second = world.kind.capture(sandbox, Watcher()).snapshot
        assert world.kind.restore(sandbox, first, Watcher()) == restored(world.file)
        assert world.kind.capture(sandbox, Watcher()).snapshot == first
        world.kind.restore(sandbox, second, Watcher())
    assert world.kind.capture(sandbox, Watcher()).snapshot == second


def test_what_belongs_to_other_resources_is_neither_copied_nor_touched(world: World) -> None:
    (world.location / "data.db").write_text("theirs")
    order = replace(world.order(), excluded=frozenset({"data.db"}))
    sandbox, _ = world.kind.create(order, Watcher())
    mine = Path(sandbox.path) / "data.db"
    assert not mine.exists()
    mine.write_text("of another resource")
    assert world.kind.capture(sandbox, Watcher()).snapshot.same_as(sandbox.base)
    (Path(sandbox.path) / world.file).write_text("changed")
    world.kind.restore(sandbox, sandbox.base, Watcher())
    assert mine.read_text() == "of another resource"
    assert (Path(sandbox.path) / world.file).read_text() == "real"


def test_a_fork_starts_from_any_snapshot_and_is_apart_from_its_parent(world: World) -> None:
    parent, _ = world.kind.create(world.order(), Watcher())
    (Path(parent.path) / world.file).write_text("changed")
    snapshot = world.kind.capture(parent, Watcher()).snapshot
    (Path(parent.path) / world.file).write_text("changed again")
    fork = world.kind.fork(world.order("fork"), parent, snapshot, Watcher())
    assert fork.base == snapshot
    assert (Path(fork.path) / world.file).read_text() == "changed"
    (Path(fork.path) / world.file).write_text("of the fork")
    assert (Path(parent.path) / world.file).read_text() == "changed again"
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
    assert (world.location / world.file).read_text() == "real"


def test_a_missing_sandbox_is_refused(world: World) -> None:
    sandbox, _ = world.kind.create(world.order(), Watcher())
    world.kind.remove(sandbox)
    with pytest.raises(SandboxMissing):
        world.kind.capture(sandbox, Watcher())
    with pytest.raises(SandboxMissing):
        world.kind.compare(sandbox, sandbox.base)
    with pytest.raises(SandboxMissing):
        world.kind.restore(sandbox, sandbox.base, Watcher())
    Path(sandbox.path).symlink_to(world.location)
    assert not world.kind.exists(sandbox)


def test_an_export_goes_into_a_new_folder_only(world: World, tmp_path: Path) -> None:
    sandbox, _ = world.kind.create(world.order(), Watcher())
    world.kind.export(sandbox.base, tmp_path / "out", Watcher())
    assert world.looks(tmp_path / "out") == world.looks(world.location)
    with pytest.raises(TargetExists):
        world.kind.export(sandbox.base, tmp_path / "out", Watcher())
    (tmp_path / "dangling").symlink_to("nowhere")
    with pytest.raises(TargetExists):
        world.kind.export(sandbox.base, tmp_path / "dangling", Watcher())


def test_a_survey_counts_the_real_thing(world: World) -> None:
    survey = world.kind.survey(world.order(), Watcher())
    assert (survey.files, survey.size_bytes) == (2, 4)


@pytest.mark.parametrize("name", ["../../escape", "a/b", "", ".", "..", "Größe", "x" * 500, "\udcff", "App"])
def test_resources_may_be_called_anything(world: World, tmp_path: Path, name: str) -> None:
    sandbox, _ = world.kind.create(world.order(name), Watcher())
    other, _ = world.kind.create(world.order(name + "'"), Watcher())
    home = tmp_path / "project" / ".mulligan" / "sandboxes" / PLAN
    assert Path(sandbox.path).parent == Path(other.path).parent == home
    assert Path(sandbox.path).resolve() == Path(sandbox.path)
    assert sandbox.path != other.path


def test_a_location_that_is_a_symlink_means_what_it_points_to(world: World, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(world.location)
    order = replace(world.order(), location=tmp_path / "alias")
    sandbox, _ = world.kind.create(order, Watcher())
    assert world.looks(Path(sandbox.path)) == world.looks(world.location)


def test_what_no_plan_may_work_on_is_refused(world: World, tmp_path: Path) -> None:
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
