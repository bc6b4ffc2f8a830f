"""Patterns mean what they mean to git, in Python and in the walker in C, whatever they and the names are."""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mulligan.adapters.snapshots.scan.exclusions import exclusions_of
from mulligan.adapters.snapshots.scan.scan import Scan, Witness
from mulligan.domain.paths.path_patterns import PathPatterns, lines_of
from mulligan.osfiles.directory_handles import Folders, path_of
from tests.support.git_world import GIT_ENVIRONMENT
from tests.support.long_run import LONGER
from tests.support.snapshot_world import tree_at
from tests.support.walkers import WALKERS, walked

PARTS = st.sampled_from(
    [
        *["*", "**", "?", "/", "a", "b", "c", "ab", "*.a", "**/", "/**", "/", "a", "b"],
        *[
            "[ab]",
            "[!a]",
            "[^b]",
            "[a-c]",
            "[]a]",
            "[\\]]",
            "[a-",
            "[",
            "]",
            "[[:alpha:]]",
            "[[:foo:]]",
            "[[:",
        ],
        *[
            "[[:upper:]]",
            "[[:punct:][:space:]]",
            "[[:xdigit:]]",
            "[![:alnum:]]",
            "[[:graph:]]",
            "[[:cntrl:]]",
        ],
        *["\\*", "\\a", "\\", "\\ ", " ", "!", "#", "-", "é", "[[:digit:]-]", "[--0]", "[b-a]", "[\\a-c]"],
    ]
)
LINES = st.tuples(st.sampled_from(["", "", "", "!", "/"]), st.lists(PARTS, min_size=1, max_size=5)).map(
    lambda parts: parts[0] + "".join(parts[1])
)
NAMES = st.sampled_from(
    ["a", "b", "c", "ab", "a.a", "*", "é", "#a", "!a", "a ", "[", "]", "-", "\\", "1", "B", "~", "\t"]
)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)


def _make(tree: Path, paths: list[str]) -> list[tuple[str, bool]]:
    """Make files, where another is not in the way; return all paths that there are, and which are folders."""
    for path in paths:
        try:
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).touch()
        except OSError:
            continue
    found = [*tree.rglob("*")]
    return [(str(path.relative_to(tree)), path.is_dir()) for path in found]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("patterns") / "repository"
    subprocess.run(["git", "init", "-q", made], check=True, env=GIT_ENVIRONMENT)
    return made


def _ignored_by_git(repository: Path, tree: Path, text: bytes, paths: list[str]) -> set[str]:
    (repository / ".git" / "info" / "exclude").write_bytes(text)
    asked = subprocess.run(
        [
            *("git", f"--git-dir={repository}/.git", f"--work-tree={tree}"),
            *("check-ignore", "--no-index", "-z", "--stdin"),
        ],
        cwd=tree,
        env=GIT_ENVIRONMENT,
        input=b"".join(os.fsencode(path) + b"\0" for path in paths),
        stdout=subprocess.PIPE,
        check=False,
    )
    assert asked.returncode in (0, 1)
    return {os.fsdecode(path) for path in asked.stdout.split(b"\0") if path}


def _held_by_scan(tree: Path, patterns: tuple[str, ...]) -> set[str]:
    exclusions = exclusions_of(tree_at(tree, patterns=patterns))
    with Folders(tree) as folders:
        top = Scan(folders, exclusions, time.time_ns(), Witness()).run()
    return {path_of(folder, name) for folder in top.walk() for name in folder.stats} - {"."}


@settings(max_examples=60 * LONGER, deadline=None, suppress_health_check=list(HealthCheck))
@given(lines=st.lists(LINES, min_size=1, max_size=4), paths=st.lists(PATHS, min_size=1, max_size=12))
@example(lines=["a/ab**/c"], paths=["a/ab1/b/c", "a/ab/c"])
@example(lines=["*" * 40 + "b"], paths=["a" * 200])
@example(lines=["a*" * 30 + "b"], paths=["a" * 200, "x/" + "a" * 200])
def test_patterns_match_what_git_ignores(repository: Path, lines: list[str], paths: list[str]) -> None:
    home = Path(tempfile.mkdtemp(prefix="patterns-property-"))
    tree = home / "tree"
    tree.mkdir()
    there = _make(tree, paths)
    text = "\n".join(lines).encode() + b"\r\n"
    expected = _ignored_by_git(repository, tree, text, [path for path, _ in there])
    patterns = lines_of(text)
    matching = PathPatterns(patterns)
    assert {path for path, is_folder in there if matching.match(path, is_folder=is_folder)} == expected
    for how in WALKERS:
        with walked(how):
            assert _held_by_scan(tree, patterns) == {path for path, _ in there} - expected, how
    shutil.rmtree(home)


def test_lines_are_read_as_git_reads_them() -> None:
    text = b"\xef\xbb\xbf# a comment\n\n  \n\\#name\r\nspaces   \nkept\\ \n/\n!\nlast"
    assert lines_of(text) == ("\\#name", "spaces   ", "kept\\ ", "last")
