"""Files in conflict that are edited: their sides, and a new content that is written into the sandbox."""

import os
from pathlib import Path

import pytest

from mulligan.domain.plans.plan import State
from mulligan.errors import ConflictChanged, ConflictNotEditable, ConflictUnknown, MarkersLeft, PlanNotReady
from tests.subplans.families import Family, children, shell


def in_conflict(family: Family, *parts: str) -> Path:
    """Let children do these things, one after the other; return the sandbox in which they are in conflict."""
    plans = {name: [shell(part)] for name, part in zip("abc", parts, strict=False)}
    status = family.project().execute(family.write(children(plans)))
    assert status.state is State.CONSTRAINED
    return family.sandbox()


def test_the_sides_of_a_text_are_shown_and_a_new_content_solves_it(family: Family) -> None:
    change = "sed -i 's/^line 5$/{0}/; s/^line {1}$/near {0}/' text; chmod 750 text"
    top = in_conflict(family, change.format("ours", 1), change.format("theirs", 9))
    project = family.project()

    found = project.conflict_file("p", "text")

    sides = [side.content for side in (found.base, found.ours, found.theirs, found.result)]
    lines = [None if side is None else side.decode().splitlines() for side in sides]
    assert lines[0] == [f"line {n}" for n in range(1, 10)]
    assert lines[1] == [
        "near ours",
        *[f"line {n}" for n in (2, 3, 4)],
        "ours",
        *[f"line {n}" for n in (6, 7, 8, 9)],
    ]
    assert lines[2] is not None
    assert (lines[2][0], lines[2][4]) == ("line 1", "theirs")
    assert lines[3] is not None
    assert "<<<<<<< p" in lines[3]
    assert (found.ours.name, found.theirs.name) == ("p", "b")

    before = (top / "text").read_bytes()
    with pytest.raises(MarkersLeft):
        project.resolve_with("p", "text", found.result.content, seen=found.seen)
    with pytest.raises(ConflictNotEditable, match="binary"):
        project.resolve_with("p", "text", b"\0", seen=found.seen)
    with pytest.raises(ConflictNotEditable, match="bytes"):
        project.resolve_with("p", "text", b"x" * (2 << 20), seen=found.seen)
    with pytest.raises(ConflictUnknown):
        project.resolve_with("p", "../text", b"mine\n")
    (top / "text").write_text("edited by hand\n")
    with pytest.raises(ConflictChanged):
        project.resolve_with("p", "text", b"mine\n", seen=found.seen)
    assert (top / "text").read_text() == "edited by hand\n"
    (top / "text").write_bytes(before)
    (top / "other").write_text("of the user\n")

    solved = project.resolve_with("p", "text", b"both\n", seen=found.seen)

    assert (solved.state, solved.conflicts) == (State.QUEUED, ())
    assert (top / "text").read_text() == "both\n"
    assert (top / "text").stat().st_mode & 0o777 == 0o750
    assert (top / "other").read_text() == "of the user\n"
    with pytest.raises(PlanNotReady):
        project.conflict_file("p", "text")
    assert project.resume("p")[0].state is State.COMPLETE
    assert family.files()["text"] == "both\n"


def test_what_is_no_text_is_refused_by_name_and_no_link_is_followed(family: Family) -> None:
    for name in ("a-binary", "b-latin", "c-mixed", "e-link/file", "f-big"):
        (family.real / name).parent.mkdir(exist_ok=True)
        (family.real / name).write_text("1\n")
    writes = (
        r"printf '{0}\0' > a-binary; printf '\344{0}\n' > b-latin; printf '{0}\r\n{0}\n' > c-mixed;"
        " ln -sf {0} d-link; echo {0} > e-link/file; yes {0} | head -c 1100000 > f-big"
    )
    top = in_conflict(family, writes.format("x"), writes.format("y"))
    project = family.project()
    outside = family.folder / "outside"
    outside.mkdir()
    (outside / "file").write_text("not in the sandbox\n")
    for each in (top / "e-link").iterdir():
        each.unlink()
    (top / "e-link").rmdir()
    (top / "e-link").symlink_to(outside)

    for path, reason in {
        "a-binary": "binary",
        "b-latin": "UTF-8",
        "c-mixed": "lines end",
        "d-link": "symlink",
        "e-link/file": "e-link is not a folder",
        "f-big": "bytes",
    }.items():
        with pytest.raises(ConflictNotEditable, match=reason):
            project.conflict_file("p", path)
        with pytest.raises(ConflictNotEditable, match=reason):
            project.resolve_with("p", path, b"mine\n")

    assert os.listdir(outside) == ["file"]
    assert (outside / "file").read_text() == "not in the sandbox\n"
    assert len(project.status("p").conflicts) == 6


def test_a_deleted_file_comes_back_or_goes_for_good(family: Family) -> None:
    (family.real / "one").write_text("1\n")
    (family.real / "folder").mkdir()
    (family.real / "folder" / "two").write_text("2\n")
    top = in_conflict(family, "rm -r one folder", "echo more >> one; echo more >> folder/two; echo x > new")
    project = family.project()

    found = project.conflict_file("p", "folder/two")
    assert (found.result.content, found.ours.content, found.theirs.content) == (None, None, b"2\nmore\n")
    left = project.resolve_with("p", "folder/two", b"2\nkept\n", seen=found.seen)

    assert [conflict["path"] for conflict in left.conflicts] == ["one"]
    assert (top / "folder" / "two").read_text() == "2\nkept\n"
    (top / "one").write_text("made by hand\n")
    assert project.resolve_with("p", "one", None).conflicts == ()
    assert not (top / "one").exists()
