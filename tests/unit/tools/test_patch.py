"""The tool `apply_patch`: what git and diff write, all of it or nothing."""

import os
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mulligan.adapters.tools.process.command_runner import Launchers
from mulligan.adapters.tools.toolbox import LocalToolbox
from mulligan.errors import ToolFailed
from tests.support.recording_host import RecordingHost, a_request


def files_of(root):
    """Every file with content and execute bit."""
    return {
        str(path.relative_to(root)): (path.read_bytes(), os.access(path, os.X_OK))
        for path in root.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(root).parts
    }


def git(folder, *args):
    return subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.autocrlf=false", *args],
        cwd=folder,
        check=True,
        capture_output=True,
    ).stdout


def write(root, files):
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)


@pytest.fixture
def tree(root):
    write(
        root,
        {
            "poem": b"one\ntwo\nthree\nfour\nfive\nsix\nseven\n",
            "sub/crlf": b"one\r\ntwo\r\nthree\r\n",
            "no newline": b"last",
            "empty": b"",
        },
    )
    return root


HUNK = "@@ -2,3 +2,3 @@\n two\n-three\n+THREE\n four\n"


@pytest.mark.parametrize(
    "names",
    [
        "--- a/poem\n+++ b/poem\n",
        "--- poem\t2024-01-01 10:00:00\n+++ poem\t2024-01-02 10:00:00\n",
        "diff --git a/poem b/poem\nindex 123..456 100644\n--- a/poem\n+++ b/poem\n",
        "diff --git i/poem w/poem\n--- i/poem\n+++ w/poem\n",
        "diff --git poem poem\n--- poem\n+++ poem\n",
        "From abc\nSubject: x\n\n- a list\n---\n poem | 2 +-\n\n--- a/poem\r\n+++ b/poem\r\n",
        '--- "a/poem"\n+++ "b/poem"\n',
    ],
)
def test_the_names_may_be_written_as_git_or_diff_do(call, tree, names):
    result = call("apply_patch", patch=names + HUNK)
    assert (tree / "poem").read_bytes() == b"one\ntwo\nTHREE\nfour\nfive\nsix\nseven\n"
    assert result.output == ["poem"]
    assert result.messages == ()


def test_what_git_format_patch_writes_can_be_applied(call, tree, tmp_path):
    there = tmp_path / "repository"
    there.mkdir()
    git(there, "init", "-q")
    write(there, files := {path: data for path, (data, _) in files_of(tree).items()})
    git(there, "add", "-A")
    git(there, "commit", "-qm", "first")
    write(there, {"poem": files["poem"].replace(b"six", b"6"), "ä b\t.txt": b"new\n", "tool": b"#!/bin/sh\n"})
    (there / "tool").chmod(0o755)
    (there / "no newline").write_bytes(b"last\nline")
    (there / "sub/crlf").rename(there / "moved")
    (there / "empty").unlink()
    (there / "fresh").write_bytes(b"")
    git(there, "add", "-A")
    git(there, "commit", "-qm", "second\n\n- with a list\n+ in it")
    call("apply_patch", patch=git(there, "format-patch", "--stdout", "-M", "HEAD^").decode())
    assert files_of(tree) == files_of(there)


def test_modes_change_and_copies_are_made(call, tree):
    (tree / "poem").chmod(0o640)
    patch = (
        "diff --git a/poem b/poem\nold mode 100644\nnew mode 100755\n"
        "diff --git a/poem b/copy\nsimilarity index 90%\ncopy from poem\ncopy to copy\n"
        "--- a/poem\n+++ b/copy\n" + HUNK
    )
    call("apply_patch", patch=patch)
    assert (tree / "poem").stat().st_mode & 0o777 == 0o750
    assert b"THREE" in (tree / "copy").read_bytes()
    assert b"three" in (tree / "poem").read_bytes()
    call("apply_patch", patch="diff --git a/poem b/poem\nold mode 100755\nnew mode 100644\n")
    assert (tree / "poem").stat().st_mode & 0o777 == 0o640


def test_two_files_may_change_places(call, tree):
    patch = (
        "diff --git a/poem b/empty\nsimilarity index 100%\nrename from poem\nrename to empty\n"
        "diff --git a/empty b/poem\nsimilarity index 100%\nrename from empty\nrename to poem\n"
    )
    call("apply_patch", patch=patch)
    assert (tree / "poem").read_bytes() == b""
    assert (tree / "empty").read_bytes().startswith(b"one\n")


def test_parts_for_one_file_follow_each_other(call, tree):
    again = HUNK.replace("-three\n+THREE", "-THREE\n+drei")
    names = "--- a/poem\n+++ b/poem\n"
    call("apply_patch", patch=names + HUNK + names + again)
    assert b"two\ndrei\nfour" in (tree / "poem").read_bytes()


def test_a_deleted_file_can_be_made_anew(call, tree):
    patch = "--- a/no newline\n+++ /dev/null\n@@ -1 +0,0 @@\n-last\n\\ No newline at end of file\n"
    patch += "--- /dev/null\n+++ b/no newline\n@@ -0,0 +1 @@\n+first\n"
    call("apply_patch", patch=patch)
    assert (tree / "no newline").read_bytes() == b"first\n"


def test_a_folder_may_take_the_place_of_a_file(call, tree):
    patch = "--- a/no newline\n+++ /dev/null\n@@ -1 +0,0 @@\n-last\n\\ No newline at end of file\n"
    patch += "--- /dev/null\n+++ b/no newline/x\n@@ -0,0 +1 @@\n+first\n"
    call("apply_patch", patch=patch)
    assert (tree / "no newline" / "x").read_bytes() == b"first\n"


def test_plain_diffs_tell_new_and_deleted_files_by_their_date(call, tree):
    old = "1970-01-01 00:00:00.000000000 +0000"
    patch = f"--- new\t{old}\n+++ new\t2024-01-01 00:00:00\n@@ -0,0 +1 @@\n+x\n"
    patch += f"--- poem\t2024-01-01 00:00:00\n+++ poem\t{old}\n@@ -1,7 +0,0 @@\n"
    patch += "".join(f"-{line}\n" for line in ("one", "two", "three", "four", "five", "six", "seven"))
    call("apply_patch", patch=patch)
    assert (tree / "new").read_bytes() == b"x\n"
    assert not (tree / "poem").exists()


def test_plain_diffs_may_leave_open_whether_a_file_is_new(call, tree):
    for path in ("empty", "other"):
        call("apply_patch", patch=f"--- {path}\n+++ {path}\n@@ -0,0 +1 @@\n+x\n")
        assert (tree / path).read_bytes() == b"x\n"


def test_git_diffs_may_lack_the_lines_about_modes(call, tree):
    patch = "diff --git a/new b/new\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n"
    patch += "diff --git a/no newline b/no newline\n--- a/no newline\n+++ /dev/null\n@@ -1 +0,0 @@\n"
    call("apply_patch", patch=patch + "-last\n\\ No newline at end of file\n")
    assert (tree / "new").read_bytes() == b"x\n"
    assert not (tree / "no newline").exists()


def test_hunks_that_moved_are_found_and_told(call, tree):
    (tree / "poem").write_bytes(b"zero\n" * 3 + (tree / "poem").read_bytes())
    patch = "--- a/poem\n+++ b/poem\n" + HUNK + "@@ -6,2 +6,2 @@\n six\n-seven\n+SEVEN\n"
    result = call("apply_patch", patch=patch)
    assert (tree / "poem").read_bytes().endswith(b"two\nTHREE\nfour\nfive\nsix\nSEVEN\n")
    assert result.messages == ("poem: hunk 1 stands 3 lines further down",)
    (tree / "poem").write_bytes(b"two\nthree\nfour\n")
    assert "1 lines further up" in call("apply_patch", patch="--- a/poem\n+++ b/poem\n" + HUNK).messages[0]


def test_line_breaks_at_the_end_are_exact(call, tree):
    patch = "--- a/no newline\n+++ b/no newline\n@@ -1 +1,2 @@\n-last\n\\ No newline at end of file\n"
    call("apply_patch", patch=patch + "+last\n+more\n")
    assert (tree / "no newline").read_bytes() == b"last\nmore\n"


def test_files_with_crlf_are_patched_byte_by_byte(call, tree):
    call("apply_patch", patch="--- a/sub/crlf\n+++ b/sub/crlf\n@@ -2 +2 @@\n-two\r\n+zwei\r\n")
    assert (tree / "sub/crlf").read_bytes() == b"one\r\nzwei\r\nthree\r\n"


def test_a_patch_that_lost_its_last_line_break_or_blanks_at_line_ends(call, tree):
    (tree / "poem").write_bytes(b"a\n\nb\n")
    call("apply_patch", patch="--- a/poem\n+++ b/poem\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c")
    assert (tree / "poem").read_bytes() == b"a\n\nc\n"


def test_hunks_without_context_stand_where_they_say(call, tree):
    call("apply_patch", patch="--- a/poem\n+++ b/poem\n@@ -1,0 +2 @@\n+between\n")
    assert (tree / "poem").read_bytes().startswith(b"one\nbetween\ntwo\n")


NAMES = "--- a/poem\n+++ b/poem\n"


@pytest.mark.parametrize(
    ("patch", "reason"),
    [
        ("", "no change in it"),
        ("some words\n", "no change in it"),
        (NAMES, "no hunk below them"),
        (HUNK, "a hunk without the names"),
        (NAMES + "@@ -x +y @@\n", "header is not as it must be"),
        (NAMES + "@@ -1,2 +1,2 @@\n one\n", "fewer lines"),
        (NAMES + "@@ -1,2 +1 @@\n one\n+new\n two\n", "other lines than its header says"),
        (NAMES + "@@ -1 +1 @@\n*one\n", "other lines than its header says"),
        (NAMES + HUNK + "+and one more\n", "line 8 of the patch: more lines than the hunk above"),
        (NAMES + HUNK.replace("three", "drei"), "poem: hunk 1, line 2: its lines are not there, 'two'"),
        (
            NAMES + HUNK + "@@ -6,1 +6,1 @@\n-sieben\n+7\n",
            "poem: hunk 2, line 6: its lines are not there",
        ),
        (NAMES + "@@ -90,0 +91 @@\n+x\n", "there is no such line"),
        (NAMES.replace("poem", "sub/crlf") + "@@ -2 +2 @@\n-two\n+zwei\n", "only with other line breaks"),
        (NAMES.replace("poem", "no newline") + "@@ -1 +1 @@\n-last\n+x\n", "only with other line breaks"),
        (NAMES.replace("poem", "missing") + HUNK, "missing is not there"),
        (NAMES.replace("poem", "sub") + HUNK, "sub is not a regular file"),
        (NAMES.replace("poem", "poem/x") + HUNK, "poem/x is not there"),
        ("--- /dev/null\n+++ b/poem\n@@ -0,0 +1 @@\n+x\n", "poem is there already"),
        ("--- a/poem\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n", "holds more than the patch says"),
        ("--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n" * 2, "n is made twice"),
        ("diff --git a/poem b/empty\nrename from poem\nrename to empty\n", "empty is there already"),
        ("diff --git a/missing b/x\nrename from missing\nrename to x\n", "missing is not there"),
        (
            NAMES + HUNK + "diff --git a/poem b/x\nrename from poem\nrename to x\n",
            "poem is changed by one part of the patch and moved by another",
        ),
        ("diff --git a/x b/x\nindex 1..2\nGIT binary patch\nliteral 1\n", "binary patches cannot be applied"),
        ("diff --git a/x b/x\nindex 1..2\nBinary files a/x and b/x differ\n", "binary patches cannot"),
        ("diff --git a/x b/x\nnew file mode 120000\n", "a symlink cannot be patched"),
        ("diff --git a/x b/x\ndeleted file mode 160000\n", "a submodule cannot be patched"),
        ("diff --git a/x b/x\nindex 1..2 040000\n", "no regular file cannot be patched"),
        ('diff --git "a/\\q" "b/\\q"\nnew file mode 100644\n', "unknown escape"),
    ],
)
def test_what_cannot_be_applied_is_told_and_changes_nothing(call, tree, patch, reason):
    before = files_of(tree)
    first = "--- /dev/null\n+++ b/first\n@@ -0,0 +1 @@\n+x\n" if patch.startswith("---") else ""
    with pytest.raises(ToolFailed) as failed:
        call("apply_patch", patch=(patch if "line 8" in reason else first + patch))
    assert reason in failed.value.text
    assert files_of(tree) == before


def test_a_failure_while_writing_puts_everything_back(call, tree, monkeypatch):
    before = files_of(tree)
    real = os.rename
    left = [2]

    def full(*args: object, **more: object) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise OSError(28, "No space left on device")
        real(*args, **more)

    monkeypatch.setattr(os, "rename", full)
    patch = "--- a/no newline\n+++ /dev/null\n@@ -1 +0,0 @@\n-last\n\\ No newline at end of file\n"
    patch += NAMES + HUNK + "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n"
    with pytest.raises(ToolFailed, match="No space left"):
        call("apply_patch", patch=patch)
    assert left[0] < 0
    assert files_of(tree) == before


def test_what_cannot_even_be_put_back_is_named(call, tree, monkeypatch):
    monkeypatch.setattr(os, "rename", no_space)
    with pytest.raises(ToolFailed, match=r"No space left.*these could not be put back: poem"):
        call("apply_patch", patch=NAMES + HUNK)


def no_space(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


LINES = st.lists(st.sampled_from(["a", "b", "c", "}", "", "x\r", "ä", "--- q", "+++ q", "\\ x"]), max_size=12)
TEXTS = st.tuples(LINES, st.booleans()).map(lambda pair: "\n".join(pair[0]) + "\n" * pair[1])
TREES = st.dictionaries(st.sampled_from(["f", "d/g", "a b", "ü", "a/b/h"]), TEXTS, max_size=4)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=TREES, after=TREES, context=st.sampled_from([0, 1, 3]), renames=st.booleans())
def test_any_difference_that_git_shows_is_applied_as_git_applies_it(
    tmp_path_factory, before, after, context, renames
):
    """From any tree to any other: the result of git's own diff is the other tree, to the byte."""
    folder = tmp_path_factory.mktemp("git")
    there, here = folder / "there", folder / "here"
    there.mkdir()
    here.mkdir()
    git(there, "init", "-q")
    write(here, {path: text.encode() for path, text in before.items()})
    write(there, {path: text.encode() for path, text in before.items()})
    git(there, "add", "-A")
    git(there, "commit", "-q", "--allow-empty", "-m", "before")
    for path in before:
        (there / path).unlink()
    write(there, {path: text.encode() for path, text in after.items()})
    git(there, "add", "-A")
    patch = git(there, "diff", "--cached", "--text", f"-U{context}", *(["-M", "-C"] if renames else []))
    if patch:
        toolbox = LocalToolbox(launchers=Launchers(python="none", environment={}), scratch=folder)
        toolbox.tool("apply_patch").call(a_request(here, {"patch": patch.decode()}), RecordingHost())
    assert files_of(here) == files_of(there)
