"""What every kind of sandbox promises; each brings a world in which a real thing can be made and changed."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from mulligan.adapters.sandboxes.kind_registry import LocalSandboxKinds
from mulligan.adapters.sandboxes.plan_folders import LocalPlanFolders
from mulligan.application.sandboxes.sandbox_renewal import SandboxRenewal
from mulligan.domain.checkpoints.checkpoint import Checkpoint
from mulligan.domain.resources.resource import Sandbox, Strategy
from mulligan.domain.text.ids import CheckpointId
from mulligan.errors import ResourceUnsuitable, SandboxMissing, TargetExists
from mulligan.ports import Publication
from tests.support.sandbox_worlds import COPIES, FOLDER_WORLDS, PLAN, WORLDS, World
from tests.support.snapshot_world import Watcher, new_store, restored


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    return WORLDS[request.param](tmp_path)


@pytest.fixture(params=COPIES)
def copied_world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    return COPIES[request.param](tmp_path)


@pytest.fixture(params=FOLDER_WORLDS)
def folder_world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    return FOLDER_WORLDS[request.param](tmp_path)


def test_a_sandbox_looks_like_the_real_thing_and_is_apart_from_it(copied_world: World) -> None:
    world = copied_world
    world.kind.check(world.resource, world.location)
    sandbox, capture = world.kind.create(world.order(), Watcher())
    assert capture.unheld == ()
    assert capture.snapshot == sandbox.base
    assert world.kind.exists(sandbox)
    assert world.picture(Path(sandbox.path)) == world.picture(world.location)
    world.write(Path(sandbox.path), "changed")
    assert world.read(world.location) == "real"


def test_only_the_owner_can_get_at_a_sandbox(copied_world: World) -> None:
    world = copied_world
    sandbox, _ = world.kind.create(world.order(), Watcher())
    assert Path(sandbox.path).parent.stat().st_mode & 0o777 == 0o700


def test_making_it_again_completes_it(copied_world: World) -> None:
    world = copied_world
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
    with world.kind.watch(sandbox, others_at_work=False):
        first = world.kind.capture(sandbox, Watcher()).snapshot
        world.write(Path(sandbox.path), "changed")
        second = world.kind.capture(sandbox, Watcher()).snapshot
        assert world.kind.restore(sandbox, first, Watcher()) == restored(world.file)
        assert world.kind.capture(sandbox, Watcher()).snapshot.same_as(first)
        world.kind.restore(sandbox, second, Watcher())
    assert world.kind.capture(sandbox, Watcher()).snapshot.same_as(second)


def test_what_belongs_to_other_resources_is_neither_copied_nor_touched(folder_world: World) -> None:
    world = folder_world
    (world.location / "data.db").write_text("theirs")
    order = replace(world.order(), excluded=frozenset({"data.db"}))
    sandbox, _ = world.kind.create(order, Watcher())
    mine = Path(sandbox.path) / "data.db"
    assert mine.exists() is world.in_place
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
    fork = world.kind.fork(world.copied("fork"), parent, snapshot, Watcher())
    assert fork.base is not None
    # The git directory of a fork is its own: of a checkout in place it is made for it.
    assert fork.base.roots[:1] == snapshot.roots[:1]
    assert fork.base == snapshot or (world.in_place and len(snapshot.roots) > 1)
    assert world.read(Path(fork.path)) == "changed"
    world.write(Path(fork.path), "of the fork")
    assert world.read(Path(parent.path)) == "changed again"
    assert world.kind_of(fork).capture(fork, Watcher()).snapshot != snapshot


def test_checkpoints_are_published_and_taken_back(world: World) -> None:
    sandbox, _ = world.kind.create(world.order(), Watcher())
    checkpoint_id = CheckpointId("01JZZZZZZZZZZZZZZZZZZZZZZC")
    at = datetime(2026, 1, 1, tzinfo=UTC)
    unpublished = Checkpoint(
        checkpoint_id=checkpoint_id,
        resource=sandbox.resource,
        snapshot=sandbox.base,
        sandbox_ref="",
        filesystem_path=sandbox.path,
        size_bytes=0,
        modified=True,
    )
    ref = world.kind.publish(sandbox, Publication(checkpoint=unpublished, after=None, at=at))
    wanted = [Publication(checkpoint=replace(unpublished, sandbox_ref=ref), after=None, at=at)]
    assert world.kind.republish(sandbox, wanted) == {}
    if sandbox.git_dir is not None:
        shutil.rmtree(sandbox.git_dir)
        assert world.kind.republish(sandbox, wanted) == {checkpoint_id: ref}
    world.kind.retire(sandbox, ())
    world.kind.retire(sandbox, ())


def test_removing_it_leaves_the_real_thing_and_nothing_else(world: World, tmp_path: Path) -> None:
    before = world.picture(world.location)
    sandbox, capture = world.kind.create(world.order(), Watcher())
    assert (capture.snapshot, capture.unheld) == (sandbox.base, ())
    assert (sandbox.strategy is Strategy.IN_PLACE) == (sandbox.path == str(world.location)) == world.in_place
    again, _ = world.kind.create(world.order(), Watcher())
    assert again.base.id == sandbox.base.id
    world.kind.remove(sandbox)
    world.kind.remove(sandbox)
    assert world.picture(world.location) == before
    left = tmp_path / "project" / ".mulligan"
    assert [path for name in ("sandboxes", "git") for path in (left / name).glob("*/*")] == []


def test_a_copy_that_is_gone_is_made_anew_and_a_real_thing_is_its_users(world: World) -> None:
    sandbox, _ = world.kind.create(world.order(), Watcher())
    world.write(Path(sandbox.path), "changed")
    snapshot = world.kind.capture(sandbox, Watcher()).snapshot
    renewal = SandboxRenewal(
        kinds=LocalSandboxKinds({(sandbox.type, sandbox.strategy): lambda: world.kind}),
        store=new_store(world.sandboxes.parent / "store"),
        folders=LocalPlanFolders(home=world.sandboxes),
    )

    def remade() -> list[Sandbox]:
        return renewal.remake([(sandbox, snapshot)], Watcher())

    assert remade() == []  # it is there
    if world.in_place:
        return
    _remove(world.folder(sandbox))
    world.folder(sandbox).symlink_to(world.location.parent)
    assert remade() == []
    world.folder(sandbox).unlink()
    assert remade() == [sandbox]
    assert world.kind.exists(sandbox)
    assert world.read(Path(sandbox.path)) == "changed"
    assert world.kind.capture(sandbox, Watcher()).snapshot.same_as(snapshot)
    world.kind.restore(sandbox, sandbox.base, Watcher())
    assert world.read(Path(sandbox.path)) == "real"


def _remove(folder: Path) -> None:
    for inner in (folder, *folder.rglob("*")):
        if inner.is_dir() and not inner.is_symlink():
            inner.chmod(0o700)
    shutil.rmtree(folder)


def test_what_others_put_there_while_a_return_lay_cut_off_is_named(world: World) -> None:
    sandbox, _ = world.kind.create(world.order(), Watcher())
    world.write(Path(sandbox.path), "changed")
    before = world.kind.capture(sandbox, Watcher()).snapshot
    states = (sandbox.base, before)
    assert list(world.kind.changed_by_others(sandbox, *states, Watcher())) == []
    world.kind.restore(sandbox, sandbox.base, Watcher())
    assert list(world.kind.changed_by_others(sandbox, *states, Watcher())) == []
    world.write(Path(sandbox.path), "by hand")
    file = sandbox.path if Path(sandbox.path).is_file() else f"{sandbox.path}/{world.file}"
    named = list(world.kind.changed_by_others(sandbox, *states, Watcher()))
    assert named == ([file] if world.in_place else [])


def test_removing_it_twice_is_fine(copied_world: World) -> None:
    world = copied_world
    sandbox, _ = world.kind.create(world.order(), Watcher())
    world.kind.remove(sandbox)
    assert not world.kind.exists(sandbox)
    world.kind.remove(sandbox)
    assert world.read(world.location) == "real"


def test_a_missing_sandbox_is_refused(copied_world: World) -> None:
    world = copied_world
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
def test_resources_may_be_called_anything(copied_world: World, tmp_path: Path, name: str) -> None:
    world = copied_world
    sandbox, _ = world.kind.create(world.order(name), Watcher())
    other, _ = world.kind.create(world.order(name + "'"), Watcher())
    home = tmp_path / "project" / ".mulligan" / "sandboxes" / PLAN
    assert world.folder(sandbox).parent == world.folder(other).parent == home
    assert Path(sandbox.path).resolve() == Path(sandbox.path)
    assert sandbox.path != other.path


def test_a_location_that_is_a_symlink_means_what_it_points_to(copied_world: World, tmp_path: Path) -> None:
    world = copied_world
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
