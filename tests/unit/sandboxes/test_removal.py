"""A sandbox goes away, whatever a plan did to it."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mulligan.adapters.sandboxes.removal import clear_trash, remove_new_tree, remove_tree
from mulligan.errors import SystemFailed
from tests.support.ordinary_user import as_ordinary_user


def test_no_symlink_is_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o750)
    (outside / "precious").write_text("keep")
    home = tmp_path / "home"
    sandbox = home / "plan" / "app"
    sandbox.mkdir(parents=True)
    (sandbox / "to folder").symlink_to(outside)
    (sandbox / "to file").symlink_to(outside / "precious")
    remove_tree(sandbox, home)
    assert (outside / "precious").read_text() == "keep"
    assert outside.stat().st_mode & 0o777 == 0o750
    assert list(home.rglob("*")) == [home / "plan"]


def test_a_symlink_in_place_of_the_sandbox_goes_alone(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    home = tmp_path / "home"
    home.mkdir()
    (home / "app").symlink_to(outside)
    remove_tree(home / "app", home)
    assert outside.is_dir()
    assert list(home.iterdir()) == []


def test_one_that_is_gone_is_fine_and_leftovers_go(tmp_path: Path) -> None:
    leftover = tmp_path / ".removed-0123" / "abc"
    leftover.mkdir(parents=True)
    (leftover / "file").touch()
    remove_tree(tmp_path / "app", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_no_depth_is_too_deep(tmp_path: Path) -> None:
    sandbox = tmp_path / "app"
    sandbox.mkdir()
    fd = os.open(sandbox, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("n" * 20, dir_fd=fd)
        inner = os.open("n" * 20, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = inner
    os.close(fd)
    remove_tree(sandbox, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_folders_that_nobody_may_enter_go_too(tmp_path: Path) -> None:
    def check(home: Path) -> None:
        closed = home / "app" / "closed"
        closed.mkdir(parents=True)
        (closed / "file").touch()
        (closed / "inner").mkdir()
        (closed / "inner").chmod(0)
        closed.chmod(0)
        (home / "app").chmod(0o500)
        remove_tree(home / "app", home)
        assert list(home.iterdir()) == []

    as_ordinary_user(tmp_path, check)


def test_a_refusal_of_the_system_is_told(tmp_path: Path) -> None:
    def check(home: Path) -> None:
        (home / "plan" / "app").mkdir(parents=True)
        (home / "plan").chmod(0o500)
        with pytest.raises(SystemFailed, match="Permission denied"):
            remove_tree(home / "plan" / "app", home)
        assert (home / "plan" / "app").is_dir()

    as_ordinary_user(tmp_path, check)


def test_a_new_folder_goes_and_nothing_beside_it(tmp_path: Path) -> None:
    def check(home: Path) -> None:
        (home / ".removed-mine").mkdir()
        (home / ".removed-mine" / "file").touch()
        (home / "outside").mkdir()
        (home / "outside" / "precious").touch()
        inner = home / "new" / "closed" / "inner"
        inner.mkdir(parents=True)
        (inner / "file").touch()
        (home / "new" / "file").touch()
        (home / "new" / "link").symlink_to(home / "outside")
        for folder in (inner, inner.parent, home / "new"):
            folder.chmod(0)
        remove_new_tree(home / "new")
        remove_new_tree(home / "new")  # gone already
        found = sorted(str(path.relative_to(home)) for path in home.rglob("*"))
        assert found == [".removed-mine", ".removed-mine/file", "outside", "outside/precious"]

    as_ordinary_user(tmp_path, check)


def test_what_stands_in_place_of_a_new_folder_stays(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "file").touch()
    remove_new_tree(tmp_path / "link")
    remove_new_tree(tmp_path / "file")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link", "outside"]


def test_a_new_folder_that_may_not_be_removed_is_told(tmp_path: Path) -> None:
    def check(home: Path) -> None:
        (home / "around" / "new").mkdir(parents=True)
        (home / "around").chmod(0o500)
        with pytest.raises(SystemFailed, match="Permission denied"):
            remove_new_tree(home / "around" / "new")

    as_ordinary_user(tmp_path, check)


def test_many_may_remove_at_once_and_clear_what_the_others_move_away(tmp_path: Path) -> None:
    """Each clears all trash that it finds, that of the others too, in whatever state it is."""

    def remove(number: int) -> None:
        for turn in range(60):
            folder = tmp_path / f"{number}-{turn}"
            (folder / "in" / "side").mkdir(parents=True)
            (folder / "in" / "file").touch()
            remove_tree(folder, tmp_path)
            assert not folder.exists()

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(remove, number) for number in range(4)]:
            done.result()
    clear_trash(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_whose_trash_others_always_clear_first_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sandbox").mkdir()
    making, cleared = Path.mkdir, list[Path]()

    def mkdir(path: Path, mode: int = 0o777) -> None:
        making(path, mode)
        path.rmdir()
        cleared.append(path)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    with pytest.raises(SystemFailed) as caught:
        remove_tree(tmp_path / "sandbox", tmp_path)
    assert caught.value.facts["path"] == str(tmp_path / "sandbox")
    assert 1 < len(cleared) < 1000
    assert (tmp_path / "sandbox").is_dir()
