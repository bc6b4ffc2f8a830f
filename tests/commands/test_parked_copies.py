"""Parked copies through the program: kept after a plan, adopted by the next, shown, limited and removed."""

from pathlib import Path

import pytest

from mulligan.adapters.snapshots.capture import tree_reader
from mulligan.adapters.snapshots.format import signatures
from tests.commands.program import ask, data_of
from tests.support.git_world import run_git
from tests.support.homes import home_of


@pytest.fixture(autouse=True)
def _as_later_on_a_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have files recognised by their times wherever the tests run, and none so young that it is read again."""
    monkeypatch.setattr(tree_reader, "keeps_no_times", lambda _path: False)
    monkeypatch.setattr(signatures, "_FINE_GRAIN_NS", -(10**15))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a hundred files in which one plan was applied."""
    folder = tmp_path / "project"
    folder.mkdir()
    for number in range(100):
        (folder / f"{number}.txt").write_text(f"text of {number}\n")
    data_of(folder, "run", "--name", "first", "--", "sh", "-c", "echo more >> 1.txt; echo new > new")
    data_of(folder, "apply", "first", "--yes")
    return folder


def parked(folder: Path) -> list[Path]:
    return sorted((home_of(folder) / "sandboxes" / ".parked").glob("*/*"))


def test_the_next_plan_works_in_the_copy_of_the_last_one(project: Path) -> None:
    (copy,) = parked(project)
    (copy / "5.txt").write_text("changed by someone\n")
    (copy / "left").write_text("by someone")
    inode = (copy / "7.txt").stat().st_ino
    data_of(project, "run", "--name", "second", "--", "sh", "-c", "ls > list; cat 1.txt 5.txt > both")
    assert parked(project) == []
    sandbox = Path(data_of(project, "status", "second")["sandboxes"][0]["path"])
    assert (sandbox / "7.txt").stat().st_ino == inode
    assert (sandbox / "both").read_text() == "text of 1\nmore\ntext of 5\n"
    assert "left" not in (sandbox / "list").read_text().split()
    names = {each["path"] for each in data_of(project, "diff", "second")["files"]}
    assert names == {"both", "list"}
    data_of(project, "apply", "second", "--yes")
    assert (project / "5.txt").read_text() == "text of 5\n"
    assert len(parked(project)) == 1


def test_gc_and_doctor_name_them_and_gc_removes_them(project: Path) -> None:
    (copy,) = parked(project)
    assert any(str(copy) in text for text in data_of(project, "doctor")["left_alone"])
    assert str(copy) in data_of(project, "gc", "--dry-run")["sandboxes_removed"]
    assert parked(project) == [copy]
    done = data_of(project, "gc")
    assert str(copy) in done["sandboxes_removed"]
    assert parked(project) == []


@pytest.mark.parametrize("words", [("rm", "first", "--yes"), ("forget", "new", "--yes")])
def test_what_is_forgotten_is_in_no_parked_copy(project: Path, words: tuple[str, ...]) -> None:
    data_of(project, *words)
    assert parked(project) == []


def test_none_are_kept_where_the_setting_says_so(project: Path) -> None:
    data_of(project, "config", "set", "sandbox.pool", "0")
    data_of(project, "run", "--name", "second", "--", "sh", "-c", "echo > file")
    data_of(project, "apply", "second", "--yes")
    assert parked(project) == []


def test_they_go_first_where_the_homes_hold_too_much(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MULLIGAN_CORE_DISK_LIMIT", "1")
    refused = ask(project, "run", "--", "true")
    assert refused["error"]["kind"] == "disk_limit_exceeded"
    assert parked(project) == []


def test_a_checkout_is_adopted_with_its_own_git_directory(tmp_path: Path) -> None:
    folder = tmp_path / "checkout"
    folder.mkdir()
    for number in range(100):
        (folder / f"{number}.txt").write_text(f"text of {number}\n")
    for words in (
        "init -q -b main",
        "config user.name U",
        "config user.email u@h",
        "add -A",
        "commit -qm first",
    ):
        run_git(folder, *words.split())
    change = "git checkout -qb side; echo x >> 1.txt; git commit -qam side; git config user.name other; echo y > 2.txt"
    data_of(folder, "run", "--name", "one", "--", "sh", "-c", change)
    data_of(folder, "apply", "one", "--yes")
    assert len(parked(folder)) == 1
    ask_git = "git status --porcelain; git branch; git config user.name; git log --format=%s"
    said = data_of(folder, "run", "--name", "two", "--", "sh", "-c", ask_git)
    real = "".join(
        run_git(folder, *words)
        for words in (
            ("status", "--porcelain"),
            ("branch",),
            ("config", "user.name"),
            ("log", "--format=%s"),
        )
    )
    assert said["steps"][0]["stdout"] == real
    assert data_of(folder, "diff", "two")["files"] == []
    assert parked(folder) == []
