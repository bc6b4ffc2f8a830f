"""The tools for single files."""

import os
import threading

import pytest

from mulligan.errors import ToolFailed
from tests.support.raised import raises


class TestWriteFile:
    def test_makes_the_file_and_the_folders_it_needs(self, call, root):
        result = call("write_file", path="a/b/c.txt", content="grüße\n")
        assert (root / "a/b/c.txt").read_text() == "grüße\n"
        assert result.output == "a/b/c.txt"
        assert result.detail == {"bytes": 8, "created": True}

    def test_a_new_file_has_the_mode_that_the_umask_leaves(self, call, root):
        before = os.umask(0o027)
        try:
            call("write_file", path="new", content="")
        finally:
            os.umask(before)
        assert (root / "new").stat().st_mode & 0o7777 == 0o640

    def test_an_existing_file_keeps_its_mode(self, call, root):
        (root / "tool").write_text("old")
        (root / "tool").chmod(0o751)
        assert call("write_file", path="tool", content="new").detail["created"] is False
        assert (root / "tool").read_text() == "new"
        assert (root / "tool").stat().st_mode & 0o7777 == 0o751

    @pytest.mark.parametrize(
        ("mode", "expected"), [("0755", 0o755), ("755", 0o755), ("0o600", 0o600), (0o644, 0o644)]
    )
    def test_a_mode_may_be_given(self, call, root, mode, expected):
        call("write_file", path="f", content="", mode=mode)
        assert (root / "f").stat().st_mode & 0o7777 == expected

    @pytest.mark.parametrize("mode", ["rwx", "0888", 644, -1, "17777", [1], True, 1.5])
    def test_what_is_no_mode_is_refused(self, call, mode):
        with pytest.raises(ToolFailed, match="a file mode in octal"):
            call("write_file", path="f", content="", mode=mode)

    def test_a_symlink_inside_the_sandbox_is_written_through(self, call, root):
        (root / "real").mkdir()
        (root / "real" / "file").write_text("old")
        (root / "link").symlink_to("real/../real/./file")
        (root / "folder").symlink_to("real")
        call("write_file", path="link", content="new")
        assert (root / "real" / "file").read_text() == "new"
        call("write_file", path="folder/other", content="other")
        assert (root / "real" / "other").read_text() == "other"
        assert (root / "link").is_symlink()

    def test_a_dangling_symlink_makes_its_target(self, call, root):
        (root / "link").symlink_to("later/file")
        call("write_file", path="link", content="x")
        assert (root / "later" / "file").read_text() == "x"

    def test_a_failure_leaves_the_old_content_and_no_draft(self, call, root, monkeypatch):
        (root / "f").write_text("old")
        monkeypatch.setattr(os, "rename", no_space)
        with pytest.raises(ToolFailed, match="f: No space left on device"):
            call("write_file", path="f", content="new")
        assert (root / "f").read_text() == "old"
        assert list(root.iterdir()) == [root / "f"]

    def test_attributes_are_kept(self, call, root):
        (root / "f").write_text("old")
        os.setxattr(root / "f", "user.note", b"kept")
        call("write_file", path="f", content="new")
        assert os.getxattr(root / "f", "user.note") == b"kept"

    def test_a_file_system_without_attributes_is_fine(self, call, root, monkeypatch):
        (root / "f").write_text("old")
        monkeypatch.setattr(os, "listxattr", no_space)
        call("write_file", path="f", content="new")
        monkeypatch.delattr(os, "listxattr")
        call("write_file", path="f", content="newer")
        assert (root / "f").read_text() == "newer"

    def test_what_is_no_file_is_refused(self, call, root):
        (root / "folder").mkdir()
        os.mkfifo(root / "fifo")
        for path in ("folder", "fifo"):
            with pytest.raises(ToolFailed, match="exists and is not a file"):
                call("write_file", path=path, content="")
        for path in ("folder/", "new/"):
            with pytest.raises(ToolFailed, match="names a folder"):
                call("write_file", path=path, content="")
        for path in (".", "folder/.."):
            with pytest.raises(ToolFailed, match="Is a directory"):
                call("write_file", path=path, content="")

    def test_a_file_on_the_way_is_told(self, call, root):
        (root / "file").write_text("")
        with pytest.raises(ToolFailed, match="file/x: Not a directory"):
            call("write_file", path="file/x", content="")

    def test_a_loop_of_symlinks_is_told(self, call, root):
        (root / "a").symlink_to("b")
        (root / "b").symlink_to("a")
        with pytest.raises(ToolFailed, match="Too many levels of symbolic links"):
            call("write_file", path="a/x", content="")

    def test_many_new_folders_are_no_loop(self, call, root):
        path = "/".join("d" * 100)
        call("write_file", path=path, content="deep")
        assert (root / path).read_text() == "deep"

    def test_names_and_texts_that_no_file_can_have(self, call):
        with pytest.raises(ToolFailed, match="File name too long"):
            call("write_file", path="x" * 300, content="")
        with pytest.raises(ToolFailed, match="content is not valid Unicode"):
            call("write_file", path="x", content="\ud800")
        with pytest.raises(ToolFailed, match="content: a text is needed"):
            call("write_file", path="x")

    def test_writers_of_one_new_folder_do_not_trip_over_each_other(self, call, root):
        threads = [
            threading.Thread(target=call, args=("write_file",), kwargs={"path": f"new/{n}", "content": "x"})
            for n in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(list((root / "new").iterdir())) == 8


def no_space(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


class TestDeleteFile:
    def test_deletes_files_and_symlinks_but_not_what_they_point_to(self, call, root):
        (root / "f").write_text("x")
        (root / "link").symlink_to("f")
        assert call("delete_file", path="link").detail == {"deleted": True}
        assert (root / "f").exists()
        call("delete_file", path="f")
        assert list(root.iterdir()) == []

    @pytest.mark.parametrize("path", ["missing", "missing/too", "file/below"])
    def test_what_is_missing_is_fine(self, call, root, path):
        (root / "file").write_text("")
        assert call("delete_file", path=path).detail == {"deleted": False}

    def test_a_folder_is_refused(self, call, root):
        (root / "d").mkdir()
        with pytest.raises(ToolFailed, match="d is a folder"):
            call("delete_file", path="d")


class TestEditFile:
    def test_replaces_what_stands_there_once(self, call, root):
        (root / "f").write_bytes(b"caf\xe9\r\nold line\r\n")
        (root / "f").chmod(0o700)
        assert call("edit_file", path="f", old="old line\r\n", new="new\r\n").detail == {"replaced": 1}
        assert (root / "f").read_bytes() == b"caf\xe9\r\nnew\r\n"
        assert (root / "f").stat().st_mode & 0o777 == 0o700

    def test_more_than_once_needs_all(self, call, root):
        (root / "f").write_text("a b a")
        with pytest.raises(ToolFailed, match="old occurs 2 times in f") as failed:
            call("edit_file", path="f", old="a", new="c")
        assert failed.value.facts["count"] == 2
        assert "all: true" in failed.value.next_step
        assert call("edit_file", path="f", old="a", new="c", all=True).detail == {"replaced": 2}
        assert (root / "f").read_text() == "c b c"

    def test_overlapping_places_are_ambiguous(self, call, root):
        (root / "f").write_text("aaa")
        with pytest.raises(ToolFailed, match="occurs 2 times"):
            call("edit_file", path="f", old="aa", new="b")

    def test_not_there_is_told_and_line_breaks_explained(self, call, root):
        (root / "f").write_bytes(b"one\r\ntwo\r\n")
        with pytest.raises(ToolFailed, match="does not occur in f"):
            call("edit_file", path="f", old="three", new="", all=True)
        with pytest.raises(ToolFailed, match="the file has CRLF"):
            call("edit_file", path="f", old="one\ntwo", new="")

    def test_what_cannot_be_edited(self, call, root):
        (root / "d").mkdir()
        with pytest.raises(ToolFailed, match="missing is not there"):
            call("edit_file", path="missing", old="a", new="b")
        with pytest.raises(ToolFailed, match="not a regular file"):
            call("edit_file", path="d", old="a", new="b")
        with pytest.raises(ToolFailed, match="old is empty"):
            call("edit_file", path="d", old="", new="b")

    def test_a_fifo_does_not_hang_it(self, call, root):
        os.mkfifo(root / "fifo")
        with raises(ToolFailed, tool="edit_file"):
            call("edit_file", path="fifo", old="a", new="b")


class TestMoveFile:
    def test_moves_files_folders_and_symlinks(self, call, root):
        (root / "d").mkdir()
        (root / "d" / "f").write_text("x")
        (root / "link").symlink_to("nowhere")
        assert call("move_file", path="d/", to="new/place/e").output == "new/place/e"
        assert (root / "new/place/e/f").read_text() == "x"
        call("move_file", path="link", to="moved")
        assert str((root / "moved").readlink()) == "nowhere"

    def test_nothing_is_overwritten(self, call, root):
        (root / "a").write_text("a")
        (root / "empty").mkdir()
        (root / "dangling").symlink_to("nowhere")
        for to in ("empty", "dangling", "a"):
            with pytest.raises(ToolFailed, match="is there already"):
                call("move_file", path="a", to=to)
        assert (root / "a").read_text() == "a"

    def test_what_cannot_be_moved(self, call, root):
        (root / "d").mkdir()
        with raises(ToolFailed, tool="move_file"):
            call("move_file", path="missing", to="b")
        with pytest.raises(ToolFailed, match="d/e: Invalid argument"):
            call("move_file", path="d", to="d/e")
