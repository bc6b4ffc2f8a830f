"""Homes of living projects stay: behind symlinks, after moves, on disks that are away; and so do folders of others."""

import json
import os
import shutil
from pathlib import Path

import pytest

import mulligan
from mulligan.adapters.homes.home_creation import HomeKeeper
from mulligan.adapters.homes.home_search import ProjectPlace
from tests.commands.program import answer_of, ask, data_of, start
from tests.support.homes import home_of
from tests.support.ordinary_user import as_ordinary_user

PLAN = "name: p\nsteps: [{name: s, tool: shell, args: {command: 'true'}}]\n"


@pytest.fixture(autouse=True)
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of all homes, reached through a symlink, as it is where /home is one."""
    (tmp_path / "real homes").mkdir(mode=0o700)
    (tmp_path / "homes").symlink_to("real homes")
    monkeypatch.setenv("MULLIGAN_HOME", str(tmp_path / "homes"))
    return tmp_path / "homes"


def made(folder: Path) -> Path:
    """Make a project in a new folder; return its home."""
    folder.mkdir(parents=True)
    data_of(folder, "init")
    return home_of(folder)


def states(folder: Path) -> dict[str, str]:
    return {each["home"]: each["state"] for each in data_of(folder, "projects")["projects"]}


def pruned(folder: Path) -> list[str]:
    return [each["home"] for each in data_of(folder, "projects", "prune", "--yes")["removed"]]


class TestPruning:
    def test_homes_behind_a_symlink_are_in_use(self, tmp_path: Path, homes: Path) -> None:
        home, named = made(tmp_path / "one"), tmp_path / "elsewhere" / "home"
        (tmp_path / "elsewhere real").mkdir()
        (tmp_path / "elsewhere").symlink_to("elsewhere real")
        (tmp_path / "two").mkdir()
        data_of(tmp_path / "two", "init", "--home", str(named))
        assert home.parent == homes
        assert set(states(tmp_path).values()) == {"in_use"}
        assert len(states(tmp_path)) == 2, "each is listed once"
        assert data_of(tmp_path / "one", "doctor")["left_alone"] == []
        assert pruned(tmp_path) == []
        for folder in ("one", "two"):
            shutil.rmtree(tmp_path / folder / ".mulligan")
        assert pruned(tmp_path) == []
        assert data_of(tmp_path / "one", "plan", "list")["plans"] == []
        assert home.is_dir()
        assert named.is_dir()

    def test_the_project_it_runs_in_keeps_its_home_after_a_move(self, tmp_path: Path) -> None:
        home = made(tmp_path / "a" / "project")
        (tmp_path / "a" / "project" / "deep").mkdir()
        (tmp_path / "b").mkdir()
        moved = (tmp_path / "a" / "project").rename(tmp_path / "b" / "moved")
        assert states(moved / "deep") == {str(home): "in_use"}
        assert data_of(moved, "projects", "prune", "--dry-run")["removed"] == []
        assert pruned(moved / "deep") == []
        gone = made(tmp_path / "gone")
        shutil.rmtree(tmp_path / "gone")
        assert pruned(moved / "deep") == [str(gone)]
        assert states(tmp_path) == {str(home): "in_use"}, "the home follows"
        assert home_of(moved) == home

    def test_a_renamed_folder_keeps_its_home_from_anywhere(self, tmp_path: Path) -> None:
        home = made(tmp_path / "a")
        (tmp_path / "a").rename(tmp_path / "b")
        assert pruned(tmp_path) == []
        data_of(tmp_path / "b", "plan", "list")
        assert home_of(tmp_path / "b") == home

    def test_a_folder_that_cannot_be_looked_at_is_not_gone(self, tmp_path: Path) -> None:
        def check(folder: Path) -> None:
            os.environ.update(HOME=str(folder), MULLIGAN_HOME=str(folder / "homes"))
            home = made(folder / "closed" / "project")
            (folder / "closed").chmod(0)
            assert states(folder) == {str(home): "unreachable"}
            assert pruned(folder) == []
            (folder / "closed").chmod(0o700)
            assert states(folder) == {str(home): "in_use"}

        as_ordinary_user(tmp_path, check)

    @pytest.mark.parametrize("project", ["disk/project", "disk"])
    @pytest.mark.parametrize("seen", ["device", "mount"])
    def test_a_folder_on_a_disk_that_is_away_is_not_gone(
        self, tmp_path: Path, project: str, seen: str
    ) -> None:
        home = made(tmp_path / project)
        record = json.loads((home / "project.json").read_text())
        if seen == "device":
            record["identity"] |= {"device": 1, "filesystem": 7}
        else:
            record["mount"] = str(tmp_path / "disk")
        (home / "project.json").write_text(json.dumps(record))
        (tmp_path / "disk").rename(tmp_path / "unmounted")
        (tmp_path / "disk").mkdir()
        listed = ask(tmp_path, "projects")
        assert [each["state"] for each in listed["data"]["projects"]] == ["unreachable"]
        assert str(home) in " ".join(listed["messages"])
        assert pruned(tmp_path) == []
        assert mulligan.prune_projects().removed == []
        assert home.is_dir()

    def test_a_home_whose_record_cannot_be_read_stays(self, tmp_path: Path) -> None:
        home = made(tmp_path / "one")
        shutil.rmtree(tmp_path / "one")
        (home / "project.json").write_text("{")
        assert states(tmp_path) == {str(home): "unreachable"}
        assert pruned(tmp_path) == []

    def test_a_folder_that_is_gone_with_those_around_it_is_gone(self, tmp_path: Path) -> None:
        home = made(tmp_path / "deep" / "er" / "project")
        shutil.rmtree(tmp_path / "deep")
        assert pruned(tmp_path) == [str(home)]
        assert not home.exists()


class TestFoldersOfUsers:
    def test_in_the_folder_of_homes_stay(self, tmp_path: Path, homes: Path) -> None:
        (homes / "photos.part").mkdir()
        (homes / "photos.part" / "image").write_text("precious")
        (homes / "empty").mkdir()
        made(tmp_path / "gone")
        shutil.rmtree(tmp_path / "gone")
        assert len(pruned(tmp_path)) == 1
        assert (homes / "photos.part" / "image").read_text() == "precious"
        assert (homes / "empty").is_dir()

    def test_stay_where_a_project_is_imported(self, tmp_path: Path) -> None:
        made(tmp_path / "one")
        data_of(tmp_path / "one", "project", "export", str(tmp_path / "saved"))
        for name in ("x.part", "y", "two"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "mine").write_text("precious")
        words = ("project", "import", str(tmp_path / "saved"), "--home")
        for home in ("y", "x.part"):
            before = sorted(tmp_path.rglob("*"))
            answer = ask(tmp_path / "two", *words, str(tmp_path / home))
            assert answer["error"]["kind"] == "project_unusable"
            assert sorted(tmp_path.rglob("*")) == before
        data_of(tmp_path / "two", *words, str(tmp_path / "x"))
        assert not (tmp_path / "x" / ".mulligan-part").exists()
        assert (tmp_path / "x.part" / "mine").read_text() == "precious"


class TestFirstCommands:
    @pytest.mark.parametrize("words", [("run", "--", "touch", "b"), ("plan", "execute", "plan.yaml")])
    def test_a_project_that_another_process_makes_meanwhile_is_used(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
    ) -> None:
        folder = tmp_path / "new"
        folder.mkdir()
        (folder / "plan.yaml").write_text(PLAN)
        plan_for = HomeKeeper.plan_for

        def overtaken(keeper: HomeKeeper, place: Path, home: Path | None) -> ProjectPlace:
            planned = plan_for(keeper, place, home)
            monkeypatch.setattr(HomeKeeper, "plan_for", plan_for)
            data_of(folder, "run", "--name", "faster", "--", "touch", "a")
            return planned

        monkeypatch.setattr(HomeKeeper, "plan_for", overtaken)
        answer = ask(folder, *words)
        assert (answer["exit_code"], answer["messages"]) == (0, [])
        plans = data_of(folder, "plan", "list")["plans"]
        assert {plan["handle"] for plan in plans} == {"faster", answer["data"]["handle"]}
        assert len(data_of(folder, "projects")["projects"]) == 1

    def test_several_at_once_in_a_new_folder_all_work(self, tmp_path: Path) -> None:
        folder = tmp_path / "new"
        folder.mkdir()
        (folder / "plan.yaml").write_text(PLAN)
        started = [start(folder, "plan", "execute", "plan.yaml") for _ in range(3)]
        assert [answer_of(each)["exit_code"] for each in started] == [0, 0, 0]
        assert len(data_of(folder, "plan", "list")["plans"]) == 3
