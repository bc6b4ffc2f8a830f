"""The entries of a git index are the same whether C or Python walks them."""

import random
from pathlib import Path

import pytest

from mulligan.adapters.sandboxes.git.position import index_file
from mulligan.adapters.sandboxes.git.position.index_file import IndexEntry, IndexFile, listing_of
from tests.support.git_world import run_git


@pytest.fixture(scope="module", params=["sha1", "sha256"])
def indexes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, list[bytes]]:
    """Indexes of one repository in all versions, with all that is more or less than a file."""
    top = tmp_path_factory.mktemp("index")
    run_git(top, "init", "-q", f"--object-format={request.param}")
    inner = top / "inner"
    run_git(top, "init", "-q", f"--object-format={request.param}", str(inner))
    (inner / "file").write_text("inner")
    run_git(inner, "add", "file")
    run_git(inner, "commit", "-q", "-m", "inner")
    for number in range(30):
        (top / f"file {number}").write_text(str(number))
    relative = "/".join(["a" * 200] * 21)  # no folder has to be there
    blob = run_git(top, "hash-object", "-w", str(top / "file 0")).strip()
    lines = [
        f"100644 {blob} 0\t{relative}/name",
        *(f"100644 {blob} {stage}\tin conflict" for stage in (1, 2, 3)),
    ]
    run_git(top, "-c", "advice.addEmbeddedRepo=false", "add", ".")
    run_git(top, "update-index", "--index-info", stdin="\n".join(lines) + "\n")
    found = [(top / ".git" / "index").read_bytes()]
    (top / "announced").write_text("")
    run_git(top, "add", "-N", "announced")
    for version in ("2", "3", "4"):
        run_git(top, "update-index", "--index-version", version, "--force-write-index")
        found.append((top / ".git" / "index").read_bytes())
    return request.param, found


def _odd(data: bytes, object_format: str) -> list[IndexEntry]:
    return list(IndexFile(data, object_format).odd_entries())


def test_both_ways_list_the_same(indexes: tuple[str, list[bytes]], monkeypatch: pytest.MonkeyPatch) -> None:
    object_format, found = indexes
    in_c = [(listing_of(data, object_format), _odd(data, object_format)) for data in found]
    for name in ("odd", "listing", "follow"):
        monkeypatch.setattr(index_file, name, None)
    assert in_c == [(listing_of(data, object_format), _odd(data, object_format)) for data in found]
    listed, odd = in_c[-1]
    assert {e.path for e in odd} == {b"inner", b"in conflict", b"announced"}
    assert {b"in conflict\0" + stage for stage in (b"1", b"2", b"3")} <= listed.keys()
    assert len(listed) == 36


def test_a_broken_index_is_the_same_for_both(
    indexes: tuple[str, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    object_format, found = indexes
    chance = random.Random(7)
    broken: list[bytes] = [b"", b"DIRC"]
    for data in found:
        broken += [data[: chance.randrange(len(data))] for _ in range(20)]
        for _ in range(20):
            edited = bytearray(data)
            edited[chance.randrange(len(data))] = chance.randrange(256)
            broken.append(bytes(edited))
    in_c = [listing_of(data, object_format) for data in broken]
    monkeypatch.setattr(index_file, "listing", None)
    assert in_c == [listing_of(data, object_format) for data in broken]


def test_the_extension_was_built() -> None:
    assert index_file.listing is not None
    assert Path(index_file.__file__).with_name("_entries.c").is_file()
