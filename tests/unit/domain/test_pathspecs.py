"""Paths that people name after `--`, as git reads them."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mulligan.domain.paths.pathspecs import Pathspecs, read_pathspecs
from mulligan.errors import UsageWrong

PATHS = ["a.py", "src/a.py", "src/deep/b.py", "src/deep/c.txt", "docs/x.md", "docs/src/a.py"]
WORDS = ["src", "docs", "*.py", "src/*", ":!docs", ":!*.txt", ":/src", "a?py"]
ROOTS = {"workspace": ["/p", "/home/sandboxes/x"]}


def wanted(*words: str, folder: str | None = "/p") -> list[str]:
    specs = read_pathspecs(words, folder, ROOTS)["workspace"]
    return [path for path in PATHS if specs.match(path)]


@pytest.mark.parametrize(
    ("words", "folder", "found"),
    [
        (["src"], "/p", ["src/a.py", "src/deep/b.py", "src/deep/c.txt"]),
        (["src/"], "/p", ["src/a.py", "src/deep/b.py", "src/deep/c.txt"]),
        (["deep"], "/p/src", ["src/deep/b.py", "src/deep/c.txt"]),
        (["../docs"], "/p/src", ["docs/x.md", "docs/src/a.py"]),
        (["."], "/p/docs", ["docs/x.md", "docs/src/a.py"]),
        ([".."], "/p/docs", PATHS),
        (["*.py"], "/p/src", ["src/a.py", "src/deep/b.py"]),
        (["*/a.py"], "/p", ["src/a.py", "docs/src/a.py"]),
        (["[ab].py"], "/p", ["a.py"]),
        ([":/docs"], "/p/src", ["docs/x.md", "docs/src/a.py"]),
        (["src", ":!src/deep"], "/p", ["src/a.py"]),
        ([":^*.py"], "/p", ["src/deep/c.txt", "docs/x.md"]),
        (["/p/src/deep"], "/elsewhere", ["src/deep/b.py", "src/deep/c.txt"]),
        (["deep"], "/home/sandboxes/x/src", ["src/deep/b.py", "src/deep/c.txt"]),
        (["src/deep"], "/elsewhere", ["src/deep/b.py", "src/deep/c.txt"]),
        (["src/deep"], None, ["src/deep/b.py", "src/deep/c.txt"]),
        (["sr"], "/p", []),
    ],
)
def test_a_path_means_itself_and_all_below_it(words: list[str], folder: str | None, found: list[str]) -> None:
    assert wanted(*words, folder=folder) == found


@pytest.mark.parametrize(
    ("word", "folder"), [("../x", "/p"), ("/q", "/p"), ("../x", None), ("..", None), ("", "/p"), (":!", None)]
)
def test_a_path_that_is_outside_or_empty_is_refused(word: str, folder: str | None) -> None:
    with pytest.raises(UsageWrong):
        wanted(word, folder=folder)


def test_of_several_resources_only_the_one_that_has_the_path_is_shown() -> None:
    found = read_pathspecs(["x"], "/p/a", {"one": ["/p/a"], "two": ["/p/b"]})
    assert found == {"one": Pathspecs(("x",), ()), "two": Pathspecs((), ())}
    assert not found["two"].match("x")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkout")
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    for path in PATHS:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).touch()
    return folder


@given(words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3))
def test_git_finds_the_same(checkout: Path, words: list[str]) -> None:
    command = ["git", "ls-files", "--others", "--", *words]
    listed = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=True).stdout.split()
    assert wanted(*words) == [path for path in PATHS if path in listed]
