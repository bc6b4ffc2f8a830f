"""What a plan made of a folder reaches the real one, three-way, file by file and line by line; or nothing does."""

import os
from pathlib import Path

import pytest

from mulligan.domain.plans.plan import Phase, State
from mulligan.errors import ApplyConflicted
from tests.support.applied import Applying, Files, complete, files_in, write
from tests.support.snapshot_world import picture

LINES = "".join(f"{number}\n" for number in range(1, 10))
DOS = LINES.replace("\n", "\r\n")
BASE: Files = {
    "text": LINES,
    "dos": DOS,
    "cut": LINES + "no end",
    "binary": b"\0" + LINES.encode(),
    "moved": "a file that is renamed, with enough in it to be known again\n" * 3,
    "kept": "kept",
    "gone": "gone",
    "folder/one": "one",
    "folder/two": "two",
}


@pytest.fixture
def site(tmp_path: Path) -> Applying:
    write(tmp_path / "site", BASE)
    return complete(tmp_path)


# What each side does, and what stands there afterwards; None: nothing.
MERGES: dict[str, tuple[Files, Files, Files]] = {
    "one side each": ({"text": "plan\n"}, {"kept": "user"}, {"text": "plan\n", "kept": "user"}),
    "the same twice": ({"text": "same\n"}, {"text": "same\n"}, {"text": "same\n"}),
    "added by each": ({"new": "plan"}, {"mine": "user"}, {"new": "plan", "mine": "user"}),
    "deleted by both": ({"gone": None}, {"gone": None}, {"gone": None}),
    "deleted by the plan": ({"folder/one": None}, {}, {"folder/one": None, "folder/two": "two"}),
    "lines of one file": (
        {"text": LINES.replace("9", "plan")},
        {"text": LINES.replace("1", "user")},
        {"text": LINES.replace("9", "plan").replace("1", "user")},
    ),
    "lines that end as on DOS": (
        {"dos": DOS.replace("9\r", "plan\r")},
        {"dos": DOS.replace("1\r", "user\r")},
        {"dos": DOS.replace("9\r", "plan\r").replace("1\r", "user\r")},
    ),
    "a last line without an end": (
        {"cut": (LINES + "no end").replace("1\n", "plan\n")},
        {"cut": LINES + "still no end"},
        {"cut": LINES.replace("1\n", "plan\n") + "still no end"},
    ),
    "renamed by the plan, changed by the user": (
        {"moved": None, "to/here": BASE["moved"]},
        {"moved": f"{BASE['moved']}user\n"},
        {"moved": None, "to/here": f"{BASE['moved']}user\n"},
    ),
    "renamed by the user, changed by the plan": (
        {"moved": f"plan\n{BASE['moved']}"},
        {"moved": None, "mine": BASE["moved"]},
        {"moved": None, "mine": f"plan\n{BASE['moved']}"},
    ),
    "renamed alike, changed by each": (
        {"moved": None, "here": f"plan\n{BASE['moved']}"},
        {"moved": None, "here": f"{BASE['moved']}user\n"},
        {"moved": None, "here": f"plan\n{BASE['moved']}user\n"},
    ),
    "new in a folder that the plan emptied": (
        {"folder/one": None, "folder/two": None},
        {"folder/mine": "user"},
        {"folder/one": None, "folder/two": None, "folder/mine": "user"},
    ),
}


@pytest.mark.parametrize("name", MERGES)
def test_changes_that_go_together_are_both_there(site: Applying, name: str) -> None:
    plan, user, wanted = MERGES[name]
    write(site.sandbox(), plan)
    write(site.real, user)
    expected = files_in(site.real)
    for path, content in wanted.items():
        expected.pop(path, None)
        if content is not None:
            expected[path] = content.encode() if isinstance(content, str) else content
    status, done = site.apply()
    assert done.error is None
    assert files_in(site.real) == expected
    assert (status.phase, status.state, status.conflicts) == (Phase.APPLY, State.APPLIED, ())
    write(site.real, {"later": "work of others"})
    site.unapplied()
    assert files_in(site.real) == {**files_in_before(user), "later": b"work of others"}


def files_in_before(user: Files) -> dict[str, bytes]:
    """What stood there before the apply."""
    expected = {**BASE, **user}
    return {
        name: content.encode() if isinstance(content, str) else content
        for name, content in expected.items()
        if content is not None
    }


CONFLICTS: dict[str, tuple[Files, Files, dict[str, str]]] = {
    "the same line": (
        {"text": LINES.replace("5", "plan")},
        {"text": LINES.replace("5", "user")},
        {"text": "both sides changed line 5"},
    ),
    "lines that touch": (
        {"text": LINES.replace("5\n6", "plan")},
        {"text": LINES.replace("7", "user")},
        {"text": "both sides changed lines 5-7"},
    ),
    "a binary file": (
        {"binary": b"\0plan"},
        {"binary": b"\0user"},
        {"binary": "both sides changed it, and it is not a text file"},
    ),
    "deleted by the plan": (
        {"kept": None},
        {"kept": "user"},
        {"kept": "changed by others, deleted by the plan"},
    ),
    "deleted by others": (
        {"kept": "plan"},
        {"kept": None},
        {"kept": "deleted by others, changed by the plan"},
    ),
    "added by both": ({"new": "plan"}, {"new": "user"}, {"new": "added by both sides, differently"}),
    "renamed and deleted": (
        {"moved": None, "here": BASE["moved"]},
        {"moved": None},
        {"moved": "deleted by others, renamed to here by the plan"},
    ),
    "deleted and renamed": (
        {"moved": None},
        {"moved": None, "here": BASE["moved"]},
        {"here": "renamed from moved by others, deleted by the plan"},
    ),
    "renamed to two names": (
        {"moved": None, "here": BASE["moved"]},
        {"moved": None, "there": BASE["moved"]},
        {"moved": "renamed to there by others, to here by the plan"},
    ),
    "renamed to a name that is taken": (
        {"moved": None, "here": BASE["moved"]},
        {"moved": f"{BASE['moved']}user\n", "here": "taken"},
        {"here": "added by others, renamed from moved by the plan"},
    ),
    "two at once": (
        {"kept": "plan", "gone": None},
        {"kept": "user", "gone": "user"},
        {"gone": "changed by others, deleted by the plan", "kept": "both sides changed line 1"},
    ),
}


@pytest.mark.parametrize("name", CONFLICTS)
def test_changes_that_overlap_change_nothing_until_they_are_mended(site: Applying, name: str) -> None:
    plan, user, reasons = CONFLICTS[name]
    write(site.sandbox(), plan)
    write(site.real, user)
    before = picture(site.real)
    for dry_run in (True, False):
        status, done = site.apply(dry_run=dry_run)
        assert {c.path: c.reason for c in done.conflicts} == reasons
        assert isinstance(done.error, ApplyConflicted)
        assert done.error.exit_code == 4
        assert all(path in done.error.text for path in reasons)
        assert picture(site.real) == before
    assert (status.phase, status.state) == (Phase.APPLY, State.CONSTRAINED)
    shown = site.project.status("p").conflicts
    assert shown == tuple({"resource": "site", "path": p, "reason": r} for p, r in sorted(reasons.items()))
    for path in {*plan, *user}:  # mended in the real folder: as the plan wants it
        (site.real / path).unlink(missing_ok=True)
    write(site.real, {path: content for path, content in plan.items() if content is not None})
    status, done = site.apply()
    assert done.error is None
    assert (status.phase, status.state, status.conflicts) == (Phase.APPLY, State.APPLIED, ())


def test_modes_links_attributes_and_empty_folders_reach_the_real_folder(site: Applying) -> None:
    sandbox = site.sandbox()
    (sandbox / "kept").chmod(0o750)
    (sandbox / "link").symlink_to("kept")
    (sandbox / "empty").mkdir(mode=0o711)
    os.link(sandbox / "text", sandbox / "folder" / "same")
    os.setxattr(sandbox / "gone", b"user.note", b"kept")
    (sandbox / "folder" / "one").unlink()
    (sandbox / "folder" / "one").mkdir()
    (site.real / "kept").write_text("changed by the user, whose mode the plan changed")
    done = site.applied()
    assert (site.real / "kept").stat().st_mode & 0o777 == 0o750
    assert (site.real / "kept").read_text().startswith("changed by the user")
    assert os.readlink(site.real / "link") == "kept"
    assert (site.real / "empty").stat().st_mode & 0o777 == 0o711
    assert (site.real / "folder" / "same").samefile(site.real / "text")
    assert os.getxattr(site.real / "gone", b"user.note") == b"kept"
    assert (site.real / "folder" / "one").is_dir()
    assert {f.path for f in done.folders} == {"empty", "folder/one"}
    site.unapplied()
    assert files_in(site.real) == {**files_in_before({}), "kept": (site.real / "kept").read_bytes()}
    assert not (site.real / "empty").exists()
    assert (site.real / "text").stat().st_nlink == 1


def _chmod(path: Path, mode: int) -> None:
    path.chmod(mode)


def test_kinds_and_modes_that_both_changed_are_conflicts(site: Applying) -> None:
    for place, mode in ((site.sandbox(), 0o750), (site.real, 0o700)):
        _chmod(place / "kept", mode)
    write(site.sandbox(), {"gone": None, "folder/one": None, "folder/two": None})
    (site.sandbox() / "gone").mkdir()
    (site.sandbox() / "gone" / "inside").write_text("plan")
    (site.real / "gone").write_text("user")
    (site.sandbox() / "folder").rmdir()
    (site.sandbox() / "folder").write_text("no folder any more")
    (site.real / "folder" / "mine").write_text("user")
    before = picture(site.real)
    _, done = site.apply()
    assert {c.path: c.reason for c in done.conflicts} == {
        "folder": "no longer a folder because of the plan, but it holds folder/mine",
        "gone": "a file on one side, a folder on the other",
        "gone/inside": "gone is no longer a folder because of others",
        "kept": "mode 0700 on one side, 0750 on the other",
    }
    assert picture(site.real) == before


def test_a_folder_that_the_user_deleted_comes_back_with_what_is_new_in_it(site: Applying) -> None:
    write(site.sandbox(), {"folder/new": "plan"})
    write(site.real, {"folder/one": None, "folder/two": None})
    (site.real / "folder").rmdir()
    site.applied()
    assert files_in(site.real / "folder") == {"new": b"plan"}


def test_a_plan_that_changed_nothing_ends_all_the_same(site: Applying) -> None:
    before = picture(site.real)
    done = site.applied()
    assert [(each.resource, each.files, each.commit) for each in done.applied] == [("site", 0, None)]
    assert picture(site.real) == before


def test_what_is_not_touched_keeps_inode_and_time(site: Applying) -> None:
    write(site.sandbox(), {"text": "plan\n"})
    before = (site.real / "kept").stat()
    site.applied()
    after = (site.real / "kept").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert (site.real / "text").stat().st_mtime_ns > before.st_mtime_ns  # or build tools would not see it
