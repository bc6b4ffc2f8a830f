"""Second places of borrowed objects: every private git directory knows them, whoever made it and wherever home was."""

import os
import shutil
from pathlib import Path

import pytest

from mulligan.adapters.sandboxes.git.places.lenders import lent_to, with_places
from mulligan.adapters.sandboxes.git.places.moved_places import follow_in


@pytest.fixture
def git_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "sandbox" / ".git"
    (folder / "objects" / "info").mkdir(parents=True)
    return folder


def lent(git_dir: Path, home: Path) -> list[tuple[str, str]]:
    """Ask what the git directory borrows; the repositories beside its sandbox lend."""
    top = git_dir.parent
    return lent_to(top, [git_dir], top.parent.glob("*/objects"), home)


def alternates(git_dir: Path) -> Path:
    return git_dir / "objects" / "info" / "alternates"


def test_places_are_made_once_for_each_lender(tmp_path: Path) -> None:
    lenders = [tmp_path / "a" / "objects", tmp_path / "b" / "objects"]
    found = with_places(lenders, tmp_path / "home")
    assert found[:2] == lenders
    assert len(set(found)) == 4
    assert all(place.is_dir() and place.name == "objects" for place in found[2:])
    assert with_places(lenders, tmp_path / "home") == found


@pytest.mark.parametrize("name", ["plain", "with space", '"quoted', "line\nbreak"])
def test_a_list_of_an_earlier_version_gets_them(git_dir: Path, tmp_path: Path, name: str) -> None:
    lender = tmp_path / name / "objects"
    lender.mkdir(parents=True)
    # As git writes them: quoted where a line could not hold the name.
    text = str(lender).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    line = f'"{text}"' if "\n" in name else str(lender)
    alternates(git_dir).write_text(f"# theirs\n{line}\n../relative\n{tmp_path}/gone\n")
    ((found, place),) = lent(git_dir, tmp_path / "home")
    assert found == str(lender)
    assert Path(place).is_dir()
    lines = alternates(git_dir).read_text().splitlines()
    assert lines == ["# theirs", line, "../relative", f"{tmp_path}/gone", place]


def test_a_list_that_has_them_is_left_as_it_is(git_dir: Path, tmp_path: Path) -> None:
    lender = tmp_path / "lender" / "objects"
    lender.mkdir(parents=True)
    lines = with_places([lender], tmp_path / "home")
    alternates(git_dir).write_text("".join(f"{line}\n" for line in lines))
    before = os.stat(alternates(git_dir))
    assert lent(git_dir, tmp_path / "home") == [(str(lender), str(lines[1]))]
    assert os.stat(alternates(git_dir)) == before


def test_places_in_a_home_that_lay_elsewhere_are_replaced(git_dir: Path, tmp_path: Path) -> None:
    lender = tmp_path / "lender" / "objects"
    lender.mkdir(parents=True)
    old = with_places([lender], tmp_path / "old")
    alternates(git_dir).write_text("".join(f"{line}\n" for line in old))
    ((_, place),) = lent(git_dir, tmp_path / "new")
    assert alternates(git_dir).read_text() == f"{lender}\n{place}\n"


def test_a_git_directory_that_borrows_nothing_needs_none(git_dir: Path, tmp_path: Path) -> None:
    assert lent(git_dir, tmp_path / "home") == []
    assert not alternates(git_dir).exists()
    assert not (tmp_path / "home").exists()


def test_only_what_is_known_to_lend_is_shown(git_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "lender" / "objects").mkdir(parents=True)
    (tmp_path / "real").mkdir()
    alternates(git_dir).write_text(f"{tmp_path}/lender/../lender/objects\n{tmp_path}/real\n")
    ((found, place),) = lent(git_dir, tmp_path / "home")
    assert found == str(tmp_path / "lender" / "objects")
    assert [str(each) for each in (tmp_path / "home" / "lenders").glob("*/objects")] == [place]


@pytest.mark.parametrize("replaced", ["objects/info/alternates", "objects/info", "objects"])
def test_a_symlink_leads_to_no_list_of_others(git_dir: Path, tmp_path: Path, replaced: str) -> None:
    other = tmp_path / "other"
    (other / "objects" / "info").mkdir(parents=True)
    (tmp_path / "lender" / "objects").mkdir(parents=True)
    alternates(other).write_text(f"{tmp_path}/lender/objects\n")
    before = alternates(other).read_bytes()
    shutil.rmtree(git_dir / replaced) if (git_dir / replaced).is_dir() else None
    (git_dir / replaced).symlink_to(other / replaced)
    assert lent(git_dir, tmp_path / "home") == []
    (git_dir / "HEAD").touch()
    follow_in(git_dir, ((str(tmp_path / "lender"), str(tmp_path / "moved")),))
    assert alternates(other).read_bytes() == before
