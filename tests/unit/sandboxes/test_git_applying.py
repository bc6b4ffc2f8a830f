"""Applying to a git checkout, case by case: what the commit, the index and the working tree get of a plan's change."""

from pathlib import Path

import pytest

from tests.support.applying_cases import CASES, START, Case
from tests.support.applying_world import Checkout
from tests.support.git_world import run_git


def _prepared(case: Case, base: Path) -> Checkout:
    checkout = Checkout.made(base, START)
    case.before(checkout.top)
    sandbox = checkout.start()
    case.plan(sandbox)
    case.meanwhile(checkout.top)
    return checkout


@pytest.mark.parametrize("name", CASES)
def test_with_a_commit(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    checkout = _prepared(case, tmp_path)
    parent = run_git(checkout.top, "rev-parse", "HEAD").strip()
    before = run_git(checkout.top, "status", "--porcelain=v2", "--ignored")
    applied = checkout.apply(case.working)
    assert {path: applied.head(path) for path in case.head} == case.head
    assert {path: applied.index(path) for path in case.index} == case.index
    _assert_working(checkout, case)
    assert applied.status() == list(case.status)
    assert list(applied.composed.uncommitted) == list(case.uncommitted)
    now = run_git(checkout.top, "rev-parse", "HEAD").strip()
    assert (now != parent) == case.commits == (applied.composed.commit is not None)
    if case.commits:
        assert now == applied.composed.commit
        shown = run_git(checkout.top, "show", "-s", "--format=%P|%an <%ae>|%cn <%ce>|%B")
        assert (
            shown.strip() == f"{parent}|A User <user@example.com>|A User <user@example.com>|what the plan did"
        )
        assert run_git(checkout.top, "reflog", "-1", "--format=%gs").strip() == "mulligan: what the plan did"
    assert run_git(checkout.top, "fsck", "--no-dangling") == ""
    applied.take_back()
    assert run_git(checkout.top, "rev-parse", "HEAD").strip() == parent
    assert run_git(checkout.top, "status", "--porcelain=v2", "--ignored") == before


@pytest.mark.parametrize("name", CASES)
def test_without_a_commit(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    checkout = _prepared(case, tmp_path)
    parent, staged = run_git(checkout.top, "rev-parse", "HEAD"), run_git(checkout.top, "ls-files", "-s")
    applied = checkout.apply(case.working, None)
    assert applied.status() == list(case.without_commit)
    _assert_working(checkout, case)
    assert run_git(checkout.top, "rev-parse", "HEAD") == parent
    assert run_git(checkout.top, "ls-files", "-s") == staged
    assert (applied.composed.commit, applied.composed.uncommitted) == (None, ())


def _assert_working(checkout: Checkout, case: Case) -> None:
    for path, text in case.working.items():
        here = checkout.top / path
        assert (here.read_text() if here.is_file() else None) == text
