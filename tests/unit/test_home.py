"""Where the project home is found, made and refused."""

import os
from pathlib import Path

import pytest

from mulligan.adapters.project_home import find_project, make_project, require_project
from mulligan.errors import ProjectForeign, ProjectNotFound, ProjectUnusable
from tests.support.raised import raises


def test_the_nearest_one_upwards_is_found(tmp_path: Path) -> None:
    assert make_project(tmp_path)
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    assert find_project(deep) == tmp_path
    assert make_project(tmp_path / "a")
    assert find_project(deep) == tmp_path / "a"
    assert not make_project(tmp_path), "there already"


def test_it_is_its_owners_alone_and_hidden_from_git(tmp_path: Path) -> None:
    make_project(tmp_path)
    home = tmp_path / ".mulligan"
    assert home.stat().st_mode & 0o777 == 0o700
    assert "*" in (home / ".gitignore").read_text().splitlines()


def test_a_named_folder_without_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProjectNotFound, match="no project") as refusal:
        require_project(tmp_path)
    assert "init" in {step.verb for step in refusal.value.next_step.steps}


@pytest.mark.parametrize("kind", ["file", "link"])
def test_something_else_in_its_place_is_refused_and_kept(tmp_path: Path, kind: str) -> None:
    place = tmp_path / ".mulligan"
    if kind == "file":
        place.write_text("mine")
    else:
        place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ProjectUnusable):
        make_project(tmp_path)
    assert place.is_symlink() == (kind == "link")
    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with raises(ProjectUnusable, path=str(tmp_path / "missing" / ".mulligan")):
        make_project(tmp_path / "missing")


def test_a_folder_whose_name_is_not_text_is_refused(tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"caf\xe9")
    odd.mkdir()
    with pytest.raises(ProjectUnusable, match="not UTF-8"):
        make_project(odd)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_the_home_of_another_user_is_refused(tmp_path: Path) -> None:
    make_project(tmp_path)
    os.chown(tmp_path / ".mulligan", 12345, 12345)
    for look in (find_project, require_project, make_project):
        with pytest.raises(ProjectForeign) as refusal:
            look(tmp_path)
        assert refusal.value.facts["owner"] == 12345
