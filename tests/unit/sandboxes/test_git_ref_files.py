"""Refs that are read from files: the same as git lists, and git is asked where they are not plain."""

from collections.abc import Callable
from pathlib import Path

import pytest

from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.position.ref_files import refs_of
from tests.support.git_world import GIT_ENVIRONMENT, run_git

ID = "12" * 20


class Counted:
    """Git that counts its processes."""

    def __init__(self, git: Git) -> None:
        self.git = git
        self.asked = 0

    def run(self, *words: str) -> bytes:
        self.asked += 1
        return self.git.run(*words)


@pytest.fixture
def top(tmp_path: Path) -> Path:
    run_git(tmp_path, "init", "-q", "-b", "main")
    run_git(tmp_path, "commit", "-q", "--allow-empty", "-m", "first")
    for name in ("a/b", "a-b", "a.b", "loose"):
        run_git(tmp_path, "branch", name)
    run_git(tmp_path, "tag", "-a", "-m", "one", "v1")
    run_git(tmp_path, "pack-refs", "--all")
    run_git(tmp_path, "commit", "-q", "--allow-empty", "-m", "second")
    run_git(tmp_path, "branch", "-f", "loose")
    run_git(tmp_path, "branch", "new/one")
    return tmp_path


def listed(top: Path, *prefixes: str) -> dict[str, str]:
    lines = run_git(top, "for-each-ref", "--format=%(refname) %(objectname)", *prefixes).splitlines()
    return dict(line.split(" ") for line in lines)


def read(top: Path, *prefixes: str) -> tuple[list[tuple[str, str]], int]:
    there = Counted(Git.within(GIT_ENVIRONMENT, top))
    return [*refs_of(there, top / ".git", *prefixes).items()], there.asked  # type: ignore[arg-type]  # it counts what git is asked


@pytest.mark.parametrize("prefixes", [("refs/heads/",), ("refs/heads/a/", "refs/tags/"), ("refs/none/",)])
def test_plain_refs_are_read_as_git_lists_them(top: Path, prefixes: tuple[str, ...]) -> None:
    (top / ".git" / "refs" / "heads" / "loose.lock").touch()
    assert read(top, *prefixes) == ([*listed(top, *prefixes).items()], 0)


UNUSUAL: dict[str, Callable[[Path], object]] = {
    "names another": lambda refs: (refs / "heads" / "alias").write_text("ref: refs/heads/main\n"),
    "a symlink": lambda refs: (refs / "heads" / "alias").symlink_to("main"),
    "other letters": lambda refs: (refs / "heads" / "umläut").write_text(f"{ID}\n"),
    "spaces after it": lambda refs: (refs / "heads" / "wide").write_text(f"{ID}  \n"),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_git_is_asked_where_a_ref_is_unusual(top: Path, name: str) -> None:
    UNUSUAL[name](top / ".git" / "refs")
    assert read(top, "refs/heads/") == ([*listed(top, "refs/heads/").items()], 1)
