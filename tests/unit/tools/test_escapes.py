"""No path leads a file tool outside the sandbox: not by its words, not by symlinks, not by races."""

import ctypes
import os
import threading
import time

import pytest

from mulligan.errors import MulliganError, PathEscapes, PathReserved, ToolFailed
from tests.support.patience import PATIENCE
from tests.support.raised import raises

NEW_FILE = "--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+stolen\n"
CHANGE = "--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-untouched\n+stolen\n"
DELETE = "--- a/{path}\n+++ /dev/null\n@@ -1 +0,0 @@\n-untouched\n"

# Every way to name a path to a file tool.
ATTEMPTS = {
    "write_file": lambda path: ("write_file", {"path": path, "content": "stolen"}),
    "delete_file": lambda path: ("delete_file", {"path": path}),
    "edit_file": lambda path: ("edit_file", {"path": path, "old": "untouched", "new": "stolen"}),
    "move_file from": lambda path: ("move_file", {"path": path, "to": "inside"}),
    "move_file to": lambda path: ("move_file", {"path": "mine", "to": path}),
    "apply_patch new": lambda path: ("apply_patch", {"patch": NEW_FILE.format(path=path)}),
    "apply_patch change": lambda path: ("apply_patch", {"patch": CHANGE.format(path=path)}),
    "apply_patch delete": lambda path: ("apply_patch", {"patch": DELETE.format(path=path)}),
}


@pytest.fixture(autouse=True)
def surroundings(root, outside):
    """A sandbox full of ways out."""
    (root / "mine").write_text("untouched\n")
    (root / "folder").mkdir()
    (root / "absolute").symlink_to(outside)
    (root / "relative").symlink_to("../outside")
    (root / "folder" / "twice").symlink_to("../relative")
    (root / "up").symlink_to("..")
    (root / "home").symlink_to(".mulligan")
    (root / ".mulligan").mkdir()
    (root / ".mulligan" / "precious").write_text("untouched\n")
    yield
    assert [path.name for path in outside.iterdir()] == ["precious"]
    assert (outside / "precious").read_text() == "untouched\n"
    assert [path.name for path in (root / ".mulligan").iterdir()] == ["precious"]
    assert (root / ".mulligan" / "precious").read_text() == "untouched\n"


@pytest.mark.parametrize("attempt", ATTEMPTS)
@pytest.mark.parametrize(
    "path",
    [
        "../outside/precious",
        "folder/../../outside/precious",
        "absolute/precious",
        "relative/precious",
        "folder/twice/precious",
        "up/outside/precious",
        "up/sandbox/mine",
        ".mulligan/precious",
        "folder/../.mulligan/precious",
        "home/precious",
        ".MULLIGAN/precious",
    ],
)
def test_ways_out_are_refused(call, attempt, path):
    tool, args = ATTEMPTS[attempt](path)
    with pytest.raises(PathEscapes):
        call(tool, **args)


@pytest.mark.parametrize("attempt", [name for name in ATTEMPTS if not name.startswith("apply_patch")])
@pytest.mark.parametrize("path", ["", "/etc/passwd", "a\0b", "\ud800"])
def test_words_that_are_no_relative_path_are_refused(call, attempt, path):
    tool, args = ATTEMPTS[attempt](path)
    with pytest.raises(PathEscapes):
        call(tool, **args)


def test_an_absolute_path_is_refused_even_if_it_leads_inside(call, root):
    with pytest.raises(PathEscapes):
        call("write_file", path=f"{root}/mine", content="")
    (root / "loop").symlink_to(root)
    with pytest.raises(PathEscapes):
        call("write_file", path="loop/mine", content="")


def test_a_symlink_at_the_end_is_not_written_through_to_the_outside(call, root, outside):
    (root / "link").symlink_to("../outside/precious")
    for tool, more in (("write_file", {"content": "x"}), ("edit_file", {"old": "untouched", "new": "x"})):
        with pytest.raises(PathEscapes):
            call(tool, path="link", **more)
    with raises(ToolFailed, tool="apply_patch"):
        call("apply_patch", patch=CHANGE.format(path="link"))
    call("move_file", path="link", to="moved")
    call("delete_file", path="moved")


def test_a_project_home_is_told_apart(call):
    with raises(PathReserved, path=".mulligan/config.toml"):
        call("write_file", path=".mulligan/config.toml", content="")


@pytest.mark.parametrize(
    "attempt", ["write_file", "edit_file", "apply_patch change", "apply_patch new", "move_file to"]
)
def test_swapping_a_folder_for_a_symlink_meanwhile_moves_no_byte_outside(call, root, outside, attempt):
    """Someone exchanges `swing`, a folder, with a symlink to the outside as fast as the kernel can."""
    (root / "swing").mkdir()
    (root / "link").symlink_to(outside)
    stop = threading.Event()
    racer = threading.Thread(target=swap_until, args=(root / "swing", root / "link", stop))
    racer.start()
    seen: set[str] = set()
    patience, number = time.monotonic() + PATIENCE, 0
    try:
        while number < 300 or ("path_escapes" not in seen and time.monotonic() < patience):
            number += 1
            (root / "mine").write_text("untouched\n")
            path = f"swing/{number}" if attempt != "edit_file" else "swing/precious"
            tool, args = ATTEMPTS[attempt](path)
            try:
                call(tool, **args)
                seen.add("done")
            except MulliganError as exc:
                seen.add(exc.kind)
    finally:
        stop.set()
        racer.join()
    assert "path_escapes" in seen  # the race was on


def swap_until(folder, link, stop):
    """Exchange the two names atomically, over and over (renameat2 with RENAME_EXCHANGE)."""
    libc = ctypes.CDLL(None, use_errno=True)
    while not stop.is_set():
        if libc.renameat2(-100, os.fsencode(folder), -100, os.fsencode(link), 2) != 0:
            raise OSError(ctypes.get_errno(), "renameat2")
