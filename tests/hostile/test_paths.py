"""Paths that lead out: not a byte outside, whatever is planted and whatever is swapped while we restore."""

import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.hostile.program import refused, say
from tests.support.snapshot_world import picture

PLAN = """\
name: p
config: {sandbox.isolate: "off"}
resources: {code: {type: fs-directory, location: code}}
steps:
  - {name: change, tool: shell, args: {command: 'for i in 1 2 3 4 5 6 7 8; do echo new > folder/f$i; done; rm gone'}}
"""
SWAPS = 12


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    place = tmp_path / "outside"
    (place / "inner").mkdir(parents=True)
    for number in range(1, 9):
        (place / f"f{number}").write_text("precious")
    (place / "gone").write_text("precious")
    (place / "gone").chmod(0o604)
    return place


@pytest.fixture
def project(tmp_path: Path, outside: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "code" / "folder").mkdir(parents=True)
    for number in range(1, 9):
        (folder / "code" / "folder" / f"f{number}").write_text("old")
    (folder / "code" / "gone").write_text("precious")
    (folder / "plan.yaml").write_text(PLAN)
    assert say(folder, "plan", "execute", "plan.yaml").code == 0
    return folder


def sandbox(project: Path) -> Path:
    return Path(say(project, "plan", "status").document["data"]["sandboxes"][0]["path"])


def test_targets_that_no_checkpoint_is_written_to(project: Path, outside: Path) -> None:
    (project / "file").touch()
    (project / "dangling").symlink_to(outside / "nowhere")
    (project / "loop").symlink_to(project / "loop")
    (project / "way").symlink_to(outside)
    before = picture(outside)
    for target in (
        *(
            "",
            ".",
            "..",
            "/",
            str(outside),
            "file",
            "file/x",
            "dangling",
            "loop",
            "loop/x",
            "way",
            "way/inner",
        ),
        *("a\0b", "x" * 300, "/proc/self/x", "/dev/null/x", "\ud800", ".mulligan", "code"),
    ):
        refused(project, ("checkpoint", "restore", "first", "--to", target), 1, 2, 3)
    assert picture(outside) == before
    assert sorted(os.listdir(project)) == [
        ".mulligan",
        "code",
        "dangling",
        "file",
        "loop",
        "plan.yaml",
        "way",
    ]


def planted(project: Path, outside: Path) -> dict[str, Callable[[Path], object]]:
    return {
        "a symlink in the place of a folder": lambda top: _replace(top / "folder", outside),
        "a symlink in the place of a file": lambda top: _replace(top / "folder" / "f1", outside / "f1"),
        "a hard link to a file outside": lambda top: _link(outside / "f1", top / "folder" / "f1"),
        "a hard link whose content is the wanted one": lambda top: _link(outside / "gone", top / "gone"),
        "a symlink in the place of the sandbox": lambda top: _replace(top, outside),
        "a symlink in the place of the plan's folder": lambda top: _replace(top.parent, outside),
    }


@pytest.mark.parametrize("what", planted(Path(), Path()))
def test_what_a_stranger_planted_is_not_followed(project: Path, outside: Path, what: str) -> None:
    top = sandbox(project)
    planted(project, outside)[what](top)
    before = without_times(outside)
    said = say(project, "plan", "rollback", "--yes", "p", "first")
    assert without_times(outside) == before
    if said.code == 0:
        assert (top / "folder" / "f1").read_text() == "old"
        assert not (top / "folder").is_symlink()


def test_a_folder_that_is_swapped_for_a_link_while_we_restore(project: Path, outside: Path) -> None:
    top, before = sandbox(project), without_times(outside)
    with swapping(top / "folder", outside):
        for _ in range(SWAPS):
            with suppress(OSError):
                change(top / "folder")
            say(project, "plan", "rollback", "--yes", "p", "first")
    assert without_times(outside) == before
    assert say(project, "plan", "rollback", "--yes", "p", "first").code == 0
    assert [(top / "folder" / f"f{n}").read_text() for n in range(1, 9)] == ["old"] * 8


def change(folder: Path) -> None:
    """Change what is in a folder, if it is one: something to be restored."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        for number in range(1, 9):
            file = os.open(f"f{number}", os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, dir_fd=fd)
            os.write(file, b"new")
            os.close(file)
    finally:
        os.close(fd)


@contextmanager
def swapping(folder: Path, target: Path) -> Iterator[None]:
    """Let a folder be itself and a link to somewhere else in turn, as fast as it can be done."""
    over, aside = threading.Event(), folder.with_name("aside")

    def swap() -> None:
        while not over.is_set():
            try:
                folder.rename(aside)
                folder.symlink_to(target)
                folder.unlink()
                aside.rename(folder)
            except OSError:
                if folder.is_symlink():
                    folder.unlink(missing_ok=True)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def without_times(folder: Path) -> dict[bytes, tuple[object, ...]]:
    """What is outside, but for the count of names: contents, modes, and when each was written."""
    return {name: what for name, what in picture(folder).items() if stat.S_ISREG(int(str(what[0])))} | {
        name: what[:3] for name, what in picture(folder).items() if not stat.S_ISREG(int(str(what[0])))
    }


def _replace(place: Path, target: Path) -> None:
    place.rename(place.with_name(f"moved-{place.name}"))
    place.symlink_to(target)


def _link(target: Path, place: Path) -> None:
    place.unlink(missing_ok=True)
    os.link(target, place)
