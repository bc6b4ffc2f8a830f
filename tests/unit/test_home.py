"""Where the project home is found, made and refused."""

import os
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from mulligan.adapters.homes.home_creation import HomeKeeper
from mulligan.adapters.homes.home_index import HomeIndex
from mulligan.adapters.homes.home_link import read_link, read_record, write_record
from mulligan.adapters.homes.home_search import ProjectPlace, Standing, find_project, require_project
from mulligan.errors import (
    ProjectCopied,
    ProjectForeign,
    ProjectHomeMissing,
    ProjectNotFound,
    ProjectUncertain,
    ProjectUnusable,
)
from tests.support.raised import raises

Moves = tuple[tuple[str, str], ...]


class World:
    """A folder for project folders, and one for their homes."""

    def __init__(self, base: Path) -> None:
        self.root = base / "homes"
        self.folder = base / "work" / "project"
        self.folder.mkdir(parents=True)
        self.index = HomeIndex(self.root)
        self.followed: list[Moves] = []
        self.keeper = HomeKeeper(
            index=self.index,
            follow=lambda _, moves: self.followed.append(moves),
            recorded_folder=lambda home: (
                (home / "recorded").read_text() if (home / "recorded").exists() else None
            ),
            reserved=lambda folder: "it is a folder of the system" if folder.name == "etc" else "",
            is_tracked=lambda folder: (folder / "tracked").exists(),
            drop_settings=lambda *_: (),
        )

    def make(self, folder: Path | None = None, home: Path | None = None, *, fresh: bool = False) -> Path:
        return self.keeper.make(folder or self.folder, home, fresh=fresh)[0].home

    def find(self, folder: Path | None = None) -> ProjectPlace:
        return find_project(folder or self.folder, self.index)

    def settled(self, folder: Path | None = None) -> ProjectPlace:
        return self.keeper.settle(self.find(folder))

    def copy(self, name: str) -> Path:
        copy = self.folder.with_name(name)
        shutil.copytree(self.folder, copy, symlinks=True)
        return copy


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_the_nearest_one_upwards_is_found(world: World) -> None:
    home = world.make()
    deep = world.folder / "a" / "b"
    deep.mkdir(parents=True)
    assert world.find(deep) == ProjectPlace(folder=world.folder, home=home, standing=Standing.SETTLED)
    inner = world.make(world.folder / "a")
    assert world.find(deep).home == inner != home
    assert world.keeper.make(world.folder, None, fresh=False)[1] is False, "there already"


def test_it_lies_outside_and_is_its_owners_alone(world: World) -> None:
    home = world.make()
    assert home.parent == world.root
    assert (home.stat().st_mode & 0o777, world.root.stat().st_mode & 0o777) == (0o700, 0o700)
    assert home.name.startswith("project-")


def test_the_folder_holds_only_what_names_it_and_git_sees_nothing(world: World) -> None:
    home = world.make()
    small = world.folder / ".mulligan"
    assert sorted(path.name for path in small.iterdir()) == [".gitignore", "home.json"]
    assert "*" in (small / ".gitignore").read_text().splitlines()
    link = read_link(world.folder)
    assert link is not None
    assert link.home == str(home)


def test_a_named_folder_without_one_is_refused(world: World) -> None:
    with pytest.raises(ProjectNotFound, match="no project") as refusal:
        require_project(world.folder, world.index)
    assert "init" in {step.verb for step in refusal.value.next_step.steps}
    with raises(ProjectNotFound, path=str(world.folder / "none")):
        require_project(world.folder / "none", world.index)


@pytest.mark.parametrize("kind", ["file", "link"])
def test_something_else_in_its_place_is_refused_and_kept(world: World, kind: str) -> None:
    place = world.folder / ".mulligan"
    if kind == "file":
        place.write_text("mine")
    else:
        place.symlink_to(world.folder / "elsewhere")
    with pytest.raises(ProjectUnusable):
        world.make()
    assert place.is_symlink() == (kind == "link")
    assert not (world.folder / "elsewhere").exists()


def test_a_folder_that_is_not_there_is_told(world: World) -> None:
    with raises(ProjectUnusable, path=str(world.folder / "missing" / ".mulligan")):
        world.make(world.folder / "missing")


def test_a_reserved_folder_becomes_no_project_and_one_that_is_a_project_stays_one(world: World) -> None:
    reserved = world.folder / "etc"
    reserved.mkdir()
    with raises(ProjectUnusable, path=str(reserved)):
        world.make(reserved)
    assert list(reserved.iterdir()) == []
    home = world.make(world.folder)
    (reserved.parent / ".mulligan").rename(reserved / ".mulligan")
    shutil.rmtree(reserved / ".mulligan")
    assert world.make(world.folder) == home


def test_a_folder_whose_name_is_not_text_is_refused(world: World) -> None:
    odd = world.folder / os.fsdecode(b"caf\xe9")
    odd.mkdir()
    with pytest.raises(ProjectUnusable, match="not UTF-8"):
        world.make(odd)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
@pytest.mark.parametrize("what", ["small folder", "link", "home"])
def test_what_belongs_to_another_user_is_refused(world: World, what: str) -> None:
    home = world.make()
    small = world.folder / ".mulligan"
    if what == "small folder":
        (small / "home.json").unlink()
    os.chown({"small folder": small, "link": small / "home.json", "home": home}[what], 12345, 12345)
    for look in (world.find, world.make, lambda: require_project(world.folder, world.index)):
        with pytest.raises(ProjectForeign) as refusal:
            look()
        assert refusal.value.facts["owner"] == 12345


class TestASmallFolderThatWasLost:
    def test_is_written_again_and_the_home_found_by_the_folder(self, world: World) -> None:
        home = world.make()
        shutil.rmtree(world.folder / ".mulligan")
        assert world.find().standing is Standing.UNLINKED
        assert world.settled().home == home
        assert world.find() == ProjectPlace(folder=world.folder, home=home, standing=Standing.SETTLED)

    def test_does_not_stop_a_command_where_it_cannot_be_written(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        home = world.make()
        shutil.rmtree(world.folder / ".mulligan")

        def refuse(*_arguments: object, **_more: object) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("mulligan.adapters.homes.home_creation.write_link", refuse)
        assert world.settled().home == home

    def test_leads_to_no_home_of_an_earlier_folder_of_that_path(self, world: World) -> None:
        home = world.make()
        world.folder.rename(world.folder.with_name("aside"))
        world.folder.mkdir()
        shutil.rmtree(world.folder.with_name("aside") / ".mulligan")
        with pytest.raises(ProjectUncertain) as refusal:
            world.find()
        assert {step.verb for step in refusal.value.next_step.steps} == {"init"}
        assert world.make(home=home) == home, "as the advice says"
        assert world.settled().home == home

    def test_an_inode_that_is_used_again_is_another_folder(self, world: World) -> None:
        home = world.make()
        record = read_record(home)
        assert record is not None
        if not record.identity.born:
            pytest.skip("this filesystem does not say when a folder was made")
        shutil.rmtree(world.folder / ".mulligan")
        older = replace(record.identity, born=record.identity.born - 1)
        write_record(home, replace(record, identity=older))
        with pytest.raises(ProjectUncertain):
            world.find()
        write_record(home, replace(record, identity=replace(older, born=0)))
        assert world.find().home == home, "where the time of birth is not known the inode decides"

    def test_a_new_home_can_be_started_instead(self, world: World) -> None:
        home = world.make()
        world.folder.rename(world.folder.with_name("aside"))
        world.folder.mkdir()
        assert world.make(fresh=True) != home
        assert home.is_dir(), "nothing is removed"

    def test_names_too_long_for_the_index_are_found_too(self, world: World) -> None:
        long = world.folder.joinpath(*(f"{'n' * 60}{number}" for number in range(6)))
        long.mkdir(parents=True)
        home = world.make(long)
        shutil.rmtree(long / ".mulligan")
        assert world.find(long).home == home


class TestAMovedProject:
    def test_is_recognised_and_its_home_follows(self, world: World) -> None:
        home = world.make()
        moved = world.folder.with_name("moved")
        world.folder.rename(moved)
        assert world.find(moved).standing is Standing.MOVED
        assert world.settled(moved).home == home
        assert world.followed == [((str(world.folder), str(moved)),)]
        record = read_record(home)
        assert record is not None
        assert (record.folder, record.former_folders) == (str(moved), (str(world.folder),))
        assert world.find(moved).standing is Standing.SETTLED
        shutil.rmtree(moved / ".mulligan")
        assert world.settled(moved).home == home, "the index knows the new folder"

    def test_leaves_its_former_path_free(self, world: World) -> None:
        home = world.make()
        moved = world.folder.with_name("moved")
        world.folder.rename(moved)
        world.settled(moved)
        world.folder.mkdir()
        with pytest.raises(ProjectNotFound):
            world.find()
        assert world.make() != home

    def test_comes_back_to_where_it_was(self, world: World) -> None:
        home = world.make()
        moved = world.folder.with_name("moved")
        world.folder.rename(moved)
        world.settled(moved)
        moved.rename(world.folder)
        assert world.settled().home == home
        record = read_record(home)
        assert record is not None
        assert record.former_folders == (str(moved),)

    def test_is_recognised_on_another_filesystem_once_the_original_is_gone(self, world: World) -> None:
        home = world.make()
        copy = world.copy("moved")
        shutil.rmtree(world.folder)
        assert world.settled(copy).home == home

    def test_may_have_been_put_back_from_a_copy(self, world: World) -> None:
        home = world.make()
        copy = world.copy("backup")
        shutil.rmtree(world.folder)
        shutil.copytree(copy, world.folder)
        assert world.settled().home == home

    def test_home_that_was_moved_is_named(self, world: World, tmp_path: Path) -> None:
        home = world.make()
        elsewhere = tmp_path / "elsewhere"
        home.rename(elsewhere)
        with pytest.raises(ProjectHomeMissing):
            world.find()
        assert world.make(home=elsewhere) == elsewhere
        assert world.find().home == elsewhere
        assert world.followed == [((str(home), str(elsewhere)),)]

    def test_homes_that_were_all_moved_are_found(self, world: World, tmp_path: Path) -> None:
        home = world.make()
        world.root.rename(tmp_path / "other homes")
        world.index = HomeIndex(tmp_path / "other homes")
        world.keeper = replace(world.keeper, index=world.index)
        assert world.settled().home == tmp_path / "other homes" / home.name


class TestACopiedProject:
    def test_is_refused_with_the_command_that_starts_its_own_home(self, world: World) -> None:
        home = world.make()
        copy = world.copy("copy")
        with raises(ProjectCopied, path=str(copy), original=str(world.folder), home=str(home)):
            world.find(copy)
        with pytest.raises(ProjectCopied) as refusal:
            world.settled(copy)
        assert [step.facts.get("fresh") for step in refusal.value.next_step.steps] == [True]
        with pytest.raises(ProjectCopied):
            world.make(copy)
        own = world.make(copy, fresh=True)
        assert own != home
        assert (world.find(copy).home, world.find().home) == (own, home)

    def test_is_one_also_where_the_original_lost_its_small_folder(self, world: World) -> None:
        world.make()
        copy = world.copy("copy")
        shutil.rmtree(world.folder / ".mulligan")
        with pytest.raises(ProjectCopied):
            world.find(copy)

    def test_cannot_take_the_home_by_naming_it(self, world: World) -> None:
        home = world.make()
        copy = world.copy("copy")
        with pytest.raises(ProjectCopied):
            world.make(copy, home)

    def test_that_took_the_home_over_has_it_alone(self, world: World) -> None:
        home = world.make()
        copy = world.copy("copy")
        away = world.folder.rename(world.folder.parent.parent / "away")
        assert world.settled(copy).home == home
        away.rename(world.folder)
        with raises(ProjectCopied, path=str(world.folder), original=str(copy), home=str(home)):
            world.find()
        assert world.find(copy).home == home


class TestAHomeOfAnEarlierVersion:
    def old(self, world: World) -> Path:
        small = world.folder / ".mulligan"
        for name in ("store", "locks"):
            (small / name).mkdir(parents=True)
        (small / "mulligan.db").write_text("rows")
        (small / "tools.py").write_text("tools")
        (small / ".gitignore").write_text("*\n")
        small.chmod(0o700)
        return small

    def test_is_found_where_it_is_and_moved(self, world: World) -> None:
        small = self.old(world)
        inode = small.stat().st_ino
        assert world.find() == ProjectPlace(folder=world.folder, home=small, standing=Standing.INSIDE)
        home = world.settled().home
        assert home.parent == world.root
        assert home.stat().st_ino == inode
        assert {path.name for path in home.iterdir()} == {
            *("store", "locks", "mulligan.db", "tools.py", "project.json")
        }
        assert sorted(path.name for path in small.iterdir()) == [".gitignore", "home.json"]
        assert world.followed == [((str(small), str(home)),)]

    def test_stays_while_a_plan_runs(self, world: World) -> None:
        import fcntl

        small = self.old(world)
        with (small / "locks" / "plan.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            assert world.settled().home == small
        assert world.settled().home != small

    def test_is_copied_to_another_filesystem(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        small = self.old(world)
        (small / "store" / "closed").mkdir(mode=0o500)
        (small / "store" / "one").write_text("1")
        (small / "store" / "other").hardlink_to(small / "store" / "one")
        (small / "store" / "link").symlink_to("one")
        os.mkfifo(small / "store" / "pipe")
        rename = Path.rename

        def crosses(self: Path, target: Path) -> Path:
            if self.parent == small and target.parent != small:
                raise OSError(18, "Invalid cross-device link")
            return rename(self, target)

        monkeypatch.setattr(Path, "rename", crosses)
        home = world.settled().home
        assert (home / "mulligan.db").read_text() == "rows"
        assert (home / "store" / "one").stat().st_nlink == 2
        assert (home / "store" / "closed").stat().st_mode & 0o777 == 0o500
        assert (home / "store" / "link").readlink() == Path("one")
        assert (home / "store" / "pipe").is_fifo()
        assert sorted(path.name for path in small.iterdir()) == [".gitignore", "home.json"]
        assert world.find().standing is Standing.SETTLED

    def test_that_was_moved_before_is_followed_from_where_it_was(self, world: World) -> None:
        small = self.old(world)
        (small / "recorded").write_text("/was/there")
        home = world.settled().home
        assert world.followed == [
            (("/was/there/.mulligan", str(home)), ("/was/there", str(world.folder))),
        ]

    def test_of_a_copy_is_refused_and_can_be_set_aside(self, world: World) -> None:
        small = self.old(world)
        copy = world.copy("copy")
        (copy / ".mulligan" / "recorded").write_text(str(world.folder))
        with raises(ProjectCopied, path=str(copy), original=str(world.folder), home=str(small)):
            world.settled(copy)
        own = world.make(copy, fresh=True)
        assert {path.name for path in own.iterdir()} == {"project.json"}
        (aside,) = (home for home in world.index.homes() if home != own)
        assert (aside / "mulligan.db").read_text() == "rows", "nothing is removed"
        assert world.find().home == small, "the original is as it was"

    def test_that_was_moved_is_not_the_copy_of_a_new_project_in_its_former_place(self, world: World) -> None:
        (self.old(world) / "recorded").write_text(str(world.folder))
        moved = world.folder.rename(world.folder.with_name("moved"))
        world.folder.mkdir()
        new = world.make()
        home = world.settled(moved).home
        assert home != new
        assert (home / "mulligan.db").read_text() == "rows"

    def test_beside_a_newer_one_is_refused(self, world: World) -> None:
        world.make()
        shutil.rmtree(world.folder / ".mulligan")
        self.old(world)
        with pytest.raises(ProjectUncertain, match="earlier version"):
            world.find()


class TestAPlaceForHomes:
    def test_inside_the_project_folder_is_refused(self, world: World) -> None:
        for home in (world.folder, world.folder / "state"):
            with raises(ProjectUnusable, path=str(home)):
                world.make(home=home)
        with pytest.raises(ProjectUnusable, match="inside the project folder"):
            world.make(world.root.parent)
        assert not (world.root.parent / ".mulligan").exists()

    def test_that_a_symlink_in_the_project_folder_names_is_refused(
        self, world: World, tmp_path: Path
    ) -> None:
        (tmp_path / "elsewhere").mkdir()
        (world.folder / "homes").symlink_to(tmp_path / "elsewhere")
        (tmp_path / "project").symlink_to(world.folder)
        for home in (world.folder / "homes" / "one", tmp_path / "project" / "homes" / "one"):
            with raises(ProjectUnusable, path=str(home)):
                world.make(home=home)
        assert not os.path.lexists(world.folder / ".mulligan")

    def test_is_not_a_place_for_projects(self, world: World) -> None:
        world.make()
        (world.root / "project").mkdir()
        with pytest.raises(ProjectUnusable, match="where project homes are"):
            world.make(world.root / "project")

    def test_that_holds_other_things_is_refused(self, world: World, tmp_path: Path) -> None:
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "file").touch()
        with raises(ProjectUnusable, path=str(tmp_path / "mine")):
            world.make(home=tmp_path / "mine")

    def test_is_not_another_one_while_there_is_a_home(self, world: World, tmp_path: Path) -> None:
        world.make()
        with pytest.raises(ProjectUnusable, match="already"):
            world.make(home=tmp_path / "other")

    def test_on_a_disk_that_cannot_be_written_is_refused_by_name(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(path: Path) -> None:
            raise OSError(30, "Read-only file system", str(path))

        monkeypatch.setattr("mulligan.adapters.homes.home_creation.make_private_folder", refuse)
        with pytest.raises(ProjectUnusable) as refusal:
            world.make()
        assert "MULLIGAN_HOME" in str(refusal.value.next_step)


def test_inside_of_a_home_the_project_is_found(world: World) -> None:
    home = world.make()
    sandbox = home / "sandboxes" / "plan" / "workspace"
    sandbox.mkdir(parents=True)
    assert world.find(sandbox).folder == world.folder
    shutil.rmtree(world.folder)
    with pytest.raises(ProjectNotFound):
        world.find(sandbox)


def test_a_link_that_says_nothing_is_refused(world: World) -> None:
    world.make()
    (world.folder / ".mulligan" / "home.json").write_text("{")
    with pytest.raises(ProjectUnusable, match="does not name"):
        world.find()


def test_a_project_that_is_yet_to_be_made_is_made_when_it_is_settled(world: World) -> None:
    place = world.keeper.plan_for(world.folder, None)
    assert place.standing is Standing.NEW
    assert not world.root.exists()
    assert world.keeper.settle(place).home == place.home
    other = world.keeper.settle(world.keeper.plan_for(world.folder, None))
    assert other.home == place.home, "another process was faster"
