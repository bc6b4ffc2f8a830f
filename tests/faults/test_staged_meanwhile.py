"""What users stage or check out while an apply or a return lies cut off is theirs: it stays, or stops that by name."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from mulligan.boundaries import watch
from mulligan.domain.plans.event import Event, EventType
from mulligan.errors import ChangedMeanwhile, PlanAlreadyComplete, ResourceUnsuitable
from tests.faults.projects import project_in
from tests.support.applied import Applying, complete, write
from tests.support.git_world import run_git

LINES = "".join(f"{number}\n" for number in range(1, 10))
PLANNED = LINES.replace("9", "plan")


class Death(BaseException):
    """The end of a process, as far as it can be had inside another."""


@pytest.fixture(autouse=True)
def nobody_watches() -> Iterator[None]:
    yield
    watch(None)


def at(moment: str, do: Callable[[], object]) -> None:
    """Do something right before the first act of that name after what is to be done was recorded."""
    passed: set[str] = set()

    def strike(when: str, act: str) -> None:
        if when == "before" and act == moment and passed & {"apply.ready", "return.ready"}:
            watch(None)
            do()
        passed.add(act)

    watch(strike)


def die() -> None:
    raise Death


def repository(top: Path) -> None:
    write(top, {"text": LINES, "other": "other\n", "gone": "gone\n"})
    for words in (
        "init -q -b main",
        "config user.name U",
        "config user.email u@h",
        "add -A",
        "commit -qm first",
    ):
        run_git(top, *words.split())


@pytest.fixture
def site(tmp_path: Path) -> Applying:
    """A checkout with something staged, and a plan that changed a file, made one and removed one."""
    repository(tmp_path / "site")
    world = complete(tmp_path, "site: {type: git-checkout, location: site}")
    write(world.sandbox(), {"text": PLANNED, "new": "plan", "gone": None})
    write(world.real, {"staged": "by the user"})
    run_git(world.real, "add", "staged")
    return world


def status(site: Applying) -> list[str]:
    return run_git(site.real, "status", "--porcelain").splitlines()


def cut_off(site: Applying, moment: str) -> None:
    at(moment, die)
    with pytest.raises(Death):
        site.apply()


def claimed(site: Applying) -> list[str]:
    """Claim the plan, and nothing else; gives what was told of others."""
    with pytest.raises(PlanAlreadyComplete):
        site.project.resume("p")
    told = [str(e.data["message"]) for e in site.project.log("p") if e.type is EventType.MESSAGE]
    return [text for text in told if "by others" in text]


@pytest.mark.parametrize("moment", ["restore.place", "apply.settle"])
def test_what_is_staged_while_an_apply_lies_cut_off_stays_staged(site: Applying, moment: str) -> None:
    run_git(site.real, "update-index", "--assume-unchanged", "text")
    before = status(site)
    cut_off(site, moment)
    write(site.real, {"mine": "mine", "other": "edited and staged\n"})
    run_git(site.real, "add", "mine", "other")
    assert claimed(site) == []
    assert sorted(status(site)) == sorted([*before, "A  mine", "M  other"])
    assert run_git(site.real, "show", ":text") == LINES
    assert run_git(site.real, "ls-files", "-v", "text") == "h text\n"
    assert run_git(site.real, "log", "--format=%s").split() == ["first"]
    assert (site.real / "text").read_text() == LINES
    assert not (site.real / "new").exists()
    assert site.applied().applied[0].commit == run_git(site.real, "rev-parse", "HEAD").strip()
    assert sorted(status(site)) == sorted([*before, "A  mine", "M  other"])


def test_an_entry_that_the_apply_wrote_and_someone_staged_again_is_left_and_named(site: Applying) -> None:
    cut_off(site, "apply.settle")
    mine = PLANNED.replace("1", "user")
    write(site.real, {"text": mine, "gone/file": "where a file was"})
    run_git(site.real, "add", "text", "gone")
    told = claimed(site)
    for path in (".git/index (text)", ".git/index (gone)"):
        assert any(f"{site.real}/{path} was changed by others" in text for text in told), told
    assert run_git(site.real, "show", ":text") == mine
    assert run_git(site.real, "show", ":gone/file") == "where a file was"
    assert run_git(site.real, "log", "--format=%s").split() == ["first"]
    assert "new" not in run_git(site.real, "ls-files").split()


def test_a_look_at_a_checkout_is_no_change_of_it(site: Applying) -> None:
    """`git status` writes the index anew with other times; flags of entries are kept."""
    run_git(site.real, "update-index", "--assume-unchanged", "text")
    run_git(site.real, "update-index", "--skip-worktree", "other")
    before = status(site)
    cut_off(site, "apply.settle")
    for name in ("text", "other"):
        (site.real / name).touch()
    run_git(site.real, "status")
    assert claimed(site) == []
    assert status(site) == before
    assert run_git(site.real, "ls-files", "-v", "text", "other") == "S other\nh text\n"


def test_an_index_that_was_ruined_while_an_apply_lay_cut_off_is_left_and_named(site: Applying) -> None:
    cut_off(site, "apply.settle")
    index = site.real / ".git" / "index"
    index.write_text("ruined")
    told = claimed(site)
    assert any(f"{index} was changed by others" in text for text in told), told
    assert index.read_text() == "ruined"
    assert run_git(site.real, "log", "--format=%s").split() == ["first"]
    assert (site.real / "text").read_text() == LINES


def test_a_branch_that_was_switched_while_an_apply_lay_cut_off_stays(site: Applying) -> None:
    cut_off(site, "apply.settle")
    run_git(site.real, "switch", "-qc", "elsewhere")
    told = claimed(site)
    assert any(f"{site.real}/.git/HEAD was changed by others" in text for text in told), told
    assert run_git(site.real, "branch", "--show-current") == "elsewhere\n"
    assert (site.real / "staged").read_text() == "by the user"


def test_what_is_staged_in_the_very_moment_is_refused_and_named(site: Applying) -> None:
    def stage(event: Event) -> None:
        if event.type is EventType.CHECKPOINT and event.data["checkpoint_type"] == "pre_apply":
            run_git(site.real, "rm", "-q", "--cached", "other")

    with pytest.raises(ChangedMeanwhile) as refused:
        project_in(site.folder, stage).apply("p")
    assert refused.value.facts["paths"] == str(site.real / ".git" / "index")
    assert "D  other" in status(site)
    assert (site.real / "text").read_text() == LINES
    site.applied()
    assert "D  other" in status(site)


def test_what_is_staged_while_files_are_written_is_seen_under_the_lock(site: Applying) -> None:
    at("restore.place", lambda: run_git(site.real, "rm", "-q", "--cached", "other"))
    with pytest.raises(ChangedMeanwhile):
        site.apply()
    assert "D  other" in status(site)
    assert (site.real / "text").read_text() == LINES
    assert run_git(site.real, "log", "--format=%s").split() == ["first"]


def test_a_lock_that_git_takes_right_after_the_index_is_written_is_left_alone(site: Applying) -> None:
    lock = site.real / ".git" / "index.lock"

    def strike(when: str, act: str) -> None:
        if (when, act) == ("after", "position.index"):
            lock.write_text("of a git command that has just begun")

    watch(strike)
    site.applied()
    assert lock.read_text() == "of a git command that has just begun"


IN_PLACE = """name: p
config: {sandbox.strategy: in_place}
resources: {here: {type: git-checkout, location: real}}
steps:
  - {name: edit, tool: shell, args: {command: "echo new > text; git add text; git rm -q gone"}}
"""


@pytest.fixture
def in_place(tmp_path: Path) -> Path:
    """A plan that works in place on a checkout."""
    repository(tmp_path / "real")
    (tmp_path / "plan.yaml").write_text(IN_PLACE)
    project_in(tmp_path).execute(tmp_path / "plan.yaml")
    return tmp_path


def test_a_return_in_place_that_lies_cut_off_stops_at_an_index_that_someone_changed(in_place: Path) -> None:
    real = in_place / "real"
    at("restore.place", die)
    with pytest.raises(Death):
        project_in(in_place).rollback("p", "first")
    run_git(real, "status")  # a look is no change
    run_git(real, "rm", "-q", "--cached", "other")
    staged = run_git(real, "ls-files", "-s")
    with pytest.raises(ChangedMeanwhile) as stopped:
        project_in(in_place).rollback("p", "first")
    assert stopped.value.facts["paths"] == str(real / ".git" / "index")
    assert run_git(real, "ls-files", "-s") == staged
    run_git(real, "add", "other")
    project_in(in_place).rollback("p", "first")
    assert run_git(real, "status", "--porcelain") == ""


def test_a_return_in_place_that_lies_cut_off_waits_for_a_git_command_and_is_not_dropped(
    in_place: Path,
) -> None:
    real = in_place / "real"
    at("position.sync", die)  # all files are back, HEAD and index are not
    with pytest.raises(Death):
        project_in(in_place).rollback("p", "first")
    (real / ".git" / "index.lock").touch()
    with pytest.raises(ResourceUnsuitable, match=r"index\.lock"):
        project_in(in_place).resume("p")
    (real / ".git" / "index.lock").unlink()
    with suppress(PlanAlreadyComplete):
        project_in(in_place).resume("p")
    assert project_in(in_place).status("p").state == "applied"
    assert run_git(real, "status", "--porcelain").splitlines() == ["D  gone", "M  text"]


def test_a_return_in_place_does_not_replace_what_is_staged_while_it_goes_on(in_place: Path) -> None:
    real = in_place / "real"
    at("restore.place", lambda: run_git(real, "rm", "-q", "--cached", "other"))
    with pytest.raises(ChangedMeanwhile) as stopped:
        project_in(in_place).rollback("p", "first")
    assert str(real / ".git" / "index") in stopped.value.text
    assert "other" not in run_git(real, "ls-files").split()
    assert project_in(in_place).status("p").state == "applied", "it was taken back"
    assert run_git(real, "status", "--porcelain").splitlines() == [
        "D  gone",
        "D  other",
        "M  text",
        "?? other",
    ]
    run_git(real, "add", "other")
    project_in(in_place).rollback("p", "first")
    assert run_git(real, "status", "--porcelain") == ""
