"""Corners of patterns of paths: each is asked of git too."""

import os
import subprocess
from pathlib import Path

import pytest

from mulligan.domain.paths.path_patterns import PathPatterns, lines_of
from tests.support.git_world import GIT_ENVIRONMENT

# A pattern, a name, and whether it is matched.
CASES = [
    ("[[:upper:]]x", "Ax", True),
    ("[[:upper:]]x", "ax", False),
    ("[[:digit:][:space:]]", "7", True),
    ("[[:nonsense:]]", "n", False),
    ("[[:alpha", "[", False),
    ("[[:]", ":", True),
    ("[[:a]", "a", True),
    ("[\\]a]", "]", True),
    ("[a\\", "a", False),
    ("[a-\\c]", "b", True),
    ("[a-\\", "a", False),
    ("[a-", "a", False),
    ("[!a]", "b", True),
    ("[^a]", "a", False),
    ("[]]", "]", True),
    ("[a-]", "-", True),
    ("[[]", "[", True),
    ("a\\", "a", False),
    ("a\\*", "a*", True),
    ("a\\*", "ab", False),
    ("b\\ ", "b ", True),
    ("b  ", "b", True),
    ("d\\", "d\\", False),
    ("?x", "/x", False),
    ("sub/?", "sub/a", True),
    ("sub?a", "sub/a", False),
    ("sub[/]a", "sub/a", False),
    ("sub/*", "sub/a", True),
    ("s*a", "sub/a", False),
    ("**/a", "sub/a", True),
    ("sub/**", "sub/deep/a", True),
    ("sub/**/a", "sub/a", True),
    ("sub/x**a", "sub/xya", True),
    ("abc*", "ab", False),
    ("a*b*c*d", "aXbXcX", False),
    ("*a*a*a*b", "aaaaaaaaaaaa", False),
]


@pytest.fixture(scope="module")
def ignored_by_git(tmp_path_factory: pytest.TempPathFactory) -> set[int]:
    folder = tmp_path_factory.mktemp("patterns")
    environment = os.environ | GIT_ENVIRONMENT
    subprocess.run(["git", "init", "-q"], cwd=folder, env=environment, check=True)
    asked: dict[str, int] = {}
    for number, (pattern, name, _) in enumerate(CASES):
        around = folder / str(number)
        path = around / name.lstrip("/")
        path.parent.mkdir(parents=True)
        path.touch()
        (around / ".gitignore").write_text(f"{pattern}\n")
        asked[f"{number}/{name.lstrip('/')}"] = number
    found = subprocess.run(
        ["git", "check-ignore", "--no-index", "-z", "--stdin"],
        cwd=folder,
        env=environment,
        input="\0".join(asked),
        capture_output=True,
        text=True,
        check=False,
    )
    return {asked[path] for path in found.stdout.split("\0") if path}


@pytest.mark.parametrize("number", range(len(CASES)), ids=[f"{p} {n}" for p, n, _ in CASES])
def test_a_pattern_means_what_it_means_to_git(number: int, ignored_by_git: set[int]) -> None:
    pattern, name, matched = CASES[number]
    patterns = PathPatterns(lines_of(pattern.encode()))
    assert patterns.match(name.lstrip("/"), is_folder=False) is matched
    assert (number in ignored_by_git) is matched


def test_no_patterns_choose_nothing(tmp_path: Path) -> None:
    patterns = PathPatterns(lines_of(b"\xef\xbb\xbf# only a comment\r\n\n"))
    assert not patterns
    assert patterns.choose("a", is_folder=True) is False
    assert patterns.match("a", is_folder=True) is False
