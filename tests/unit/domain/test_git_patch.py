"""Patches of single files, as git itself would write them; that git takes them is proved by the properties."""

import pytest

from mulligan.domain.trees.git_patch import FilePatch, Version, patch_of, quoted


def _version(data: bytes | None, path: bytes = b"x", mode: bytes = b"100644") -> Version:
    return Version(path, mode, data)


def _patch(old: Version | None, new: Version | None, similarity: int = 0) -> FilePatch:
    return patch_of(old, new, similarity, literal=False)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        pytest.param(
            _version(b"1\n2\n3\n4\n5\n6\n7\n8\n9\n"),
            _version(b"1\n2\n3\n4\nfive\n6\n7\n8\n9\n"),
            b"diff --git a/x b/x\n"
            b"INDEX--- a/x\n+++ b/x\n"
            b"@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n",
            id="a line changed",
        ),
        pytest.param(
            None,
            _version(b"a\nb"),
            b"diff --git a/x b/x\nnew file mode 100644\nINDEX"
            b"--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n",
            id="new, without a line feed at its end",
        ),
        pytest.param(
            _version(b"a\r\n", mode=b"100755"),
            None,
            b"diff --git a/x b/x\ndeleted file mode 100755\nINDEX--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\r\n",
            id="deleted",
        ),
        pytest.param(
            None, _version(b""), b"diff --git a/x b/x\nnew file mode 100644\nINDEX", id="new and empty"
        ),
        pytest.param(
            _version(b"a\n"),
            _version(b"a\n", mode=b"100755"),
            b"diff --git a/x b/x\nold mode 100644\nnew mode 100755\n",
            id="mode only",
        ),
        pytest.param(
            _version(b"a"),
            _version(b"a\n"),
            b"diff --git a/x b/x\nINDEX--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n",
            id="a line feed at the end",
        ),
        pytest.param(
            None,
            _version(b"to", mode=b"120000"),
            b"diff --git a/x b/x\nnew file mode 120000\nINDEX"
            b"--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+to\n\\ No newline at end of file\n",
            id="a symlink",
        ),
        pytest.param(
            _version(b"a\0"),
            _version(b"b\0"),
            b"diff --git a/x b/x\nINDEXBinary files a/x and b/x differ\n",
            id="binary",
        ),
        pytest.param(
            None,
            _version(b"a\0", path=b"t\tx"),
            b'diff --git "a/t\\tx" "b/t\\tx"\nnew file mode 100644\n'
            b'INDEXBinary files /dev/null and "b/t\\tx" differ\n',
            id="new and binary",
        ),
        pytest.param(
            _version(None),
            _version(b"small"),
            b"diff --git a/x b/x\nBinary files a/x and b/x differ\n",
            id="too large to be looked at",
        ),
        pytest.param(
            None,
            _version(b"a\n", path=b"with space"),
            b"diff --git a/with space b/with space\nnew file mode 100644\nINDEX"
            b"--- /dev/null\n+++ b/with space\t\n@@ -0,0 +1 @@\n+a\n",
            id="a name with a space",
        ),
        pytest.param(_version(b"a"), _version(b"a"), b"", id="nothing that git knows of"),
    ],
)
def test_patches(old: Version | None, new: Version | None, text: bytes) -> None:
    got = _without_ids(_patch(old, new).text)
    assert got == _without_ids(text)


def _without_ids(text: bytes) -> bytes:
    lines = text.replace(b"INDEX", b"index \n").split(b"\n")
    return b"\n".join(b"index" if line.startswith(b"index") else line for line in lines)


def test_the_index_line_names_gits_own_ids() -> None:
    text = _patch(_version(b"hello\n"), _version(b"")).text
    ids = b"ce013625030ba8dba906f756967f9e9ca394464a..e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    assert b"\nindex " + ids + b" 100644\n" in text


def test_a_rename() -> None:
    old, new = _version(b"a\nb\n", path=b"o ld"), _version(b"a\nc\n", path=b'n"ew', mode=b"100755")
    assert _without_ids(_patch(old, new, 66).text) == (
        b'diff --git a/o ld "b/n\\"ew"\nold mode 100644\nnew mode 100755\nsimilarity index 66%\n'
        b'rename from o ld\nrename to "n\\"ew"\nindex\n'
        b'--- a/o ld\t\n+++ "b/n\\"ew"\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n'
    )
    same = _patch(_version(b"", path=b"p"), _version(b"", path=b"q"), 100)
    assert same.text == b"diff --git a/p b/q\nsimilarity index 100%\nrename from p\nrename to q\n"


def test_a_file_that_became_a_symlink_is_deleted_and_added() -> None:
    patch = _patch(_version(b"a\nb\n"), _version(b"a", mode=b"120000"))
    assert (patch.insertions, patch.deletions, patch.binary) == (1, 2, False)
    assert patch.text.index(b"deleted file mode 100644") < patch.text.index(b"new file mode 120000")
    binary = _patch(_version(b"\0"), _version(b"a", mode=b"120000"))
    assert (binary.insertions, binary.deletions, binary.binary) == (None, None, True)
    assert binary.carries_content, "git deletes a binary file by its id alone"


def test_far_changes_are_hunks_of_their_own_and_near_ones_share_one() -> None:
    lines = [b"%d\n" % number for number in range(40)]
    near, far = lines.copy(), lines.copy()
    near[10] = near[17] = b"x\n"
    far[10] = far[18] = b"x\n"
    assert _patch(_version(b"".join(lines)), _version(b"".join(near))).text.count(b"\n@@ ") == 1
    assert _patch(_version(b"".join(lines)), _version(b"".join(far))).text.count(b"\n@@ ") == 2


def test_what_is_not_carried_is_known() -> None:
    assert not _patch(None, _version(b"\0")).carries_content
    assert not _patch(_version(None), None).carries_content
    assert patch_of(None, _version(b"\0"), 0, literal=True).carries_content


@pytest.mark.parametrize(
    ("path", "spelled"),
    [
        (b"plain/name", b"plain/name"),
        (b"with space", b"with space"),
        ("naïve/漢字".encode(), "naïve/漢字".encode()),
        (b"new\nline\t\x01\x7f", b'"new\\nline\\t\\001\\177"'),
        (b'qu"ote\\', b'"qu\\"ote\\\\"'),
        (b"latin \xe9", b'"latin \\351"'),
    ],
)
def test_names(path: bytes, spelled: bytes) -> None:
    assert quoted(path) == spelled
