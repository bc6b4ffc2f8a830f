"""A git checkout gets one commit with the plan's changes, and loses it again, whatever comes in between."""

from pathlib import Path

import pytest

from mulligan.boundaries import watch
from mulligan.domain.plans.plan import Phase, State
from mulligan.errors import Interrupted, MulliganError, RestoreFailed
from tests.support.applied import Applying, complete, make_database, rows_of, write
from tests.support.git_world import run_git

LINES = "".join(f"{number}\n" for number in range(1, 10))
CHECKOUT = "site: {type: git-checkout, location: site}"
DATA = "data: {type: sqlite, location: site/app.db}"


@pytest.fixture
def site(tmp_path: Path) -> Applying:
    write(tmp_path / "site", {"text": LINES, ".gitignore": "*.db\n"})
    make_database(tmp_path / "site" / "app.db", "create table t (x)")
    for words in (
        "init -q -b main",
        "config user.name User",
        "config user.email user@here",
        "add -A",
        "commit -qm first",
    ):
        run_git(tmp_path / "site", *words.split())
    world = complete(tmp_path, CHECKOUT, DATA)
    write(world.sandbox(), {"text": LINES.replace("9", "plan"), "new": "plan"})
    make_database(world.sandbox("data"), "insert into t values ('plan')")
    write(world.real, {"text": LINES.replace("1", "user")})
    return world


def _git(site: Applying, *words: str) -> str:
    return run_git(site.real, *words).strip()


def _log(site: Applying) -> list[str]:
    return _git(site, "log", "--format=%s").splitlines()


def test_the_plan_s_part_is_committed_and_withdrawn(site: Applying) -> None:
    dry = site.applied(dry_run=True)
    assert [each.commit for each in dry.applied] == [None, None]
    assert _log(site) == ["first"]
    done = site.applied(message="Say so")
    assert done.applied[0].commit == _git(site, "rev-parse", "HEAD")
    assert _log(site) == ["Say so", "first"]
    assert _git(site, "show", "--format=", "--name-only", "HEAD").split() == ["new", "text"]
    assert (site.real / "text").read_text() == LINES.replace("9", "plan").replace("1", "user")
    assert rows_of(site.real / "app.db") == ["plan"]
    site.unapplied()
    assert _log(site) == ["first"]
    assert (site.real / "text").read_text() == LINES.replace("1", "user")
    assert _git(site, "status", "--porcelain") == "M text"
    assert rows_of(site.real / "app.db") == []
    assert _git(site, "for-each-ref", "refs/mulligan") != ""  # of the sandbox, which was made again
    site.applied(message="Say it again")
    assert _log(site) == ["Say it again", "first"]
    assert rows_of(site.real / "app.db") == ["plan"]
    assert _git(site, "status", "--porcelain") == "M text"
    assert _git(site, "for-each-ref", "refs/mulligan") == ""


def test_without_a_commit_only_the_working_tree_changes(site: Applying) -> None:
    done = site.applied(commit=False)
    assert done.applied[0].commit is None
    assert _log(site) == ["first"]
    assert _git(site, "status", "--porcelain").split() == ["M", "text", "??", "new"]
    site.unapplied()
    assert _log(site) == ["first"]
    assert (site.real / "text").read_text() == LINES.replace("1", "user")


def _interrupt_at(site: Applying, name: str) -> None:
    def strike(when: str, act: str) -> None:
        if (when, act) == ("before", name):
            watch(None)
            raise KeyboardInterrupt

    watch(strike)
    try:
        with pytest.raises(Interrupted):
            site.apply()
    finally:
        watch(None)


def test_a_signal_right_before_the_end_takes_the_commit_back(site: Applying) -> None:
    before = _git(site, "status", "--porcelain")
    _interrupt_at(site, "apply.settle")
    assert _log(site) == ["first"]
    assert _git(site, "status", "--porcelain") == before
    assert (site.real / "text").read_text() == LINES.replace("1", "user")
    status = site.project.status("p")
    assert (status.phase, status.state) == (Phase.EXECUTE, State.COMPLETE)
    site.applied()
    assert _log(site) == ["p", "first"]


def test_a_branch_that_others_moved_on_meanwhile_stays_there(site: Applying) -> None:
    def strike(when: str, act: str) -> None:
        if (when, act) == ("before", "apply.settle"):
            watch(None)
            write(site.real, {"mine": "committed by the user, on top"})
            _git(site, "add", "mine")
            _git(site, "commit", "-qm", "on top")
            raise KeyboardInterrupt

    watch(strike)
    try:
        with pytest.raises(Interrupted):
            site.apply()
    finally:
        watch(None)
    assert _log(site) == ["on top", "p", "first"]
    told = [e.data["message"] for e in site.project.log("p") if e.type.value == "message"]
    assert any(".git/branch" in str(text) and "left as it is" in str(text) for text in told)
    assert (site.real / "mine").read_text() == "committed by the user, on top"


def test_an_unapply_that_is_stopped_leaves_the_plan_applied(site: Applying) -> None:
    site.applied()
    log = _log(site)

    failures = [KeyboardInterrupt(), RestoreFailed(path="there", reason="no room")]

    def strike(when: str, act: str) -> None:
        if (when, act) == ("before", "apply.settle"):
            watch(None)
            raise failures.pop()

    while failures:
        watch(strike)
        try:
            with pytest.raises(MulliganError) as stopped:
                site.project.unapply("p")
        finally:
            watch(None)
        assert stopped.value.next_step
        assert _log(site) == log
        assert site.project.status("p").state is State.APPLIED
        assert rows_of(site.real / "app.db") == ["plan"]
    site.unapplied()
    assert rows_of(site.real / "app.db") == []
