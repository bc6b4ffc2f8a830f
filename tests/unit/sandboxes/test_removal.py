"""A sandbox goes away, whatever a plan did to it."""

import fcntl
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mulligan.adapters.sandboxes import removal
from mulligan.adapters.sandboxes.removal import clear_trash, clear_trash_alone, remove_new_tree, remove_tree
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


def _tree(folder: Path, files: int = 40) -> Path:
    for number in range(files):
        (folder / str(number % 7)).mkdir(parents=True, exist_ok=True)
        (folder / str(number % 7) / str(number)).touch()
    return folder


def _wait_until_empty(home: Path) -> None:
    deadline = time.monotonic() + 120
    while list(home.iterdir()):
        assert time.monotonic() < deadline, list(home.iterdir())
        time.sleep(0.01)


@pytest.mark.processes_measured
def test_what_is_large_is_gone_at_once_and_emptied_by_a_process_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "_AT_ONCE", 10)
    (tmp_path / "home").mkdir()
    sandbox = _tree(tmp_path / "home" / "app")
    remove_tree(sandbox, tmp_path / "home")
    assert not sandbox.exists()
    _wait_until_empty(tmp_path / "home")


def test_what_a_killed_remover_left_is_cleared_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "_AT_ONCE", 10)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    remove_tree(_tree(tmp_path / "app"), tmp_path)
    left = list(tmp_path.iterdir())
    assert [path.name[:9] for path in left] == [".removed-"]
    monkeypatch.setattr(removal, "_AT_ONCE", 1000)
    remove_tree(_tree(tmp_path / "app", 1), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_where_no_process_can_be_started_all_is_removed_right_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "_AT_ONCE", 10)
    monkeypatch.setattr(sys, "executable", "/there/is/no/such/program")
    remove_tree(_tree(tmp_path / "app"), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_while_a_remover_is_at_work_others_remove_only_their_own(tmp_path: Path) -> None:
    trash = _tree(tmp_path / ".removed-0123" / "abc")
    with (tmp_path / ".remover").open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        remove_tree(_tree(tmp_path / "app"), tmp_path)
        assert sorted(tmp_path.iterdir()) == [trash.parent, tmp_path / ".remover"]
    clear_trash_alone(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_any_number_of_processes_may_empty_the_same(tmp_path: Path) -> None:
    for number in range(3):
        _tree(tmp_path / f".removed-{number}" / "abc", 400)
    with ThreadPoolExecutor(4) as pool:
        works = (clear_trash, clear_trash_alone, clear_trash, clear_trash_alone)
        for done in [pool.submit(work, tmp_path) for work in works]:
            done.result()
    clear_trash(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_home_that_is_gone_stops_no_remover(tmp_path: Path) -> None:
    clear_trash_alone(tmp_path / "gone")
    clear_trash(tmp_path / "gone")
    assert list(tmp_path.iterdir()) == []


def test_trash_that_may_not_be_removed_stays_and_the_rest_goes(tmp_path: Path) -> None:
    def check(home: Path) -> None:
        _tree(home / ".removed-1" / "abc")
        (home / ".removed-0").symlink_to(home / ".removed-1")  # of someone else: it is never entered
        _tree(home / ".removed-2" / "abc")
        clear_trash_alone(home)
        assert [path.name for path in home.iterdir()] == [".removed-0"]

    as_ordinary_user(tmp_path, check)


def test_a_remover_that_is_killed_in_the_middle_leaves_trash_and_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trash = _tree(tmp_path / ".removed-0123" / "abc", 60).parent
    child = os.fork()
    if not child:  # pragma: no cover  it is killed, and measures nothing
        unlink, left = os.unlink, iter(range(20))

        def dying(*words: str, dir_fd: int) -> None:
            if next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)
            unlink(*words, dir_fd=dir_fd)

        monkeypatch.setattr(os, "unlink", dying)
        clear_trash_alone(tmp_path)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert sum(path.is_file() for path in trash.rglob("*")) == 40
    remove_tree(_tree(tmp_path / "app", 1), tmp_path)
    assert not trash.exists()
    clear_trash(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("leads_to", ["file", "nowhere"])
def test_a_symlink_in_the_place_of_the_lock_is_not_followed_and_stops_no_removal(
    tmp_path: Path, leads_to: str
) -> None:
    home, file = tmp_path / "home", tmp_path / "file"
    _tree(home / ".removed-0123" / "abc")
    file.write_text("of someone else\n")
    (home / ".remover").symlink_to(tmp_path / leads_to)
    remove_tree(_tree(home / "app"), home)
    _tree(home / ".removed-4567" / "abc")
    clear_trash_alone(home)
    assert list(home.iterdir()) == []
    assert sorted(tmp_path.iterdir()) == [file, home]
    assert file.read_text() == "of someone else\n"
