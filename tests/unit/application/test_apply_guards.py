"""What an apply refuses, what it takes only when told, and what is left when it is done."""

from collections.abc import Callable
from pathlib import Path

import pytest

from mulligan.application.timeline import cut_off_work
from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.plans.plan import Phase, State
from mulligan.errors import (
    ApplyUnderWay,
    ChangedMeanwhile,
    LocationChanged,
    LocationTaken,
    NextStep,
    NothingApplied,
    PlanAlreadyApplied,
    PlanAlreadyComplete,
    PlanNotReady,
    SandboxMissing,
    UsageWrong,
)
from tests.faults.projects import project_in, services_of
from tests.support.applied import FOLDER, Applying, complete, files_in, make_database, rows_of, write
from tests.support.snapshot_world import picture


@pytest.fixture
def site(tmp_path: Path) -> Applying:
    write(tmp_path / "site", {"text": "before\n", "kept": "kept"})
    return complete(tmp_path)


def test_a_plan_that_is_not_complete_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "site", {"text": "before\n"})
    (tmp_path / "plan.yaml").write_text(
        f"name: p\nresources:\n  {FOLDER}\nsteps:\n  - {{name: fail, tool: shell, args: {{command: exit 1}}}}\n"
    )
    project = project_in(tmp_path)
    project.create(tmp_path / "plan.yaml")
    for dry_run in (True, False):
        with pytest.raises(PlanNotReady) as refused:
            project.apply("p", dry_run=dry_run)
        assert "execute" in {step.verb for step in refused.value.next_step.steps}
    project.run("p")
    with pytest.raises(PlanNotReady) as refused:
        project.apply("p")
    assert "execute/errored" in refused.value.text


def test_after_it_the_plan_is_at_its_end(site: Applying) -> None:
    write(site.sandbox(), {"text": "plan\n"})
    sandbox = site.sandbox()
    done = site.applied()
    assert done.sandbox_cleanup == "removed"
    assert not sandbox.exists()
    for refused in (
        site.apply,
        lambda: site.project.rollback("p", "first"),
        lambda: site.project.resume("p"),
        lambda: site.project.cancel("p"),
    ):
        with pytest.raises(PlanAlreadyApplied) as said:
            refused()
        assert "unapply" in {step.verb for step in said.value.next_step.steps}
    site.unapplied()
    with pytest.raises(NothingApplied, match="the real resources do not contain its result"):
        site.project.unapply("p")
    assert (site.sandbox() / "text").read_text() == "plan\n"
    assert site.applied().sandbox_cleanup == "removed"
    assert (site.real / "text").read_text() == "plan\n"


@pytest.mark.parametrize(
    ("cleanup", "stays"), [("on_apply", False), ("on_terminal", False), ("manual", True)]
)
def test_sandboxes_are_removed_as_configured(tmp_path: Path, cleanup: str, stays: bool) -> None:
    write(tmp_path / "site", {"text": "before\n"})
    world = complete(tmp_path, config=f"{{sandbox.cleanup: {cleanup}}}")
    sandbox = world.sandbox()
    write(sandbox, {"text": "plan\n"})
    status, done = world.apply()
    assert sandbox.exists() == stays
    assert done.sandbox_cleanup == ("kept" if stays else "removed")
    assert [s.path for s in status.sandboxes] == ([str(sandbox)] if stays else [])
    world.unapplied()
    assert files_in(world.real) == {"text": b"before\n"}
    assert files_in(sandbox) == {"text": b"plan\n"}


def test_a_failure_to_remove_a_sandbox_does_not_undo_the_apply(
    site: Applying, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mulligan.adapters.sandboxes.folder.folder_copy import DirectorySandboxes
    from mulligan.errors import SystemFailed

    def fail(_: object, sandbox: object) -> None:
        raise SystemFailed(path="there", reason="it will not go")

    monkeypatch.setattr(DirectorySandboxes, "park", fail)
    write(site.sandbox(), {"text": "plan\n"})
    _, done = site.apply()
    assert done.error is None
    assert any("it will not go" in text and "project.gc()" in text for text in done.messages)
    assert (site.real / "text").read_text() == "plan\n"


def test_a_real_folder_that_is_gone_or_something_else_is_refused(site: Applying, tmp_path: Path) -> None:
    site.real.rename(tmp_path / "away")
    for change in (lambda: None, lambda: site.real.write_text("a file now")):
        change()
        with pytest.raises(LocationChanged) as refused:
            site.apply()
        assert str(site.real) in refused.value.text
    site.real.unlink()
    (tmp_path / "away").rename(site.real)
    write(site.sandbox(), {"text": "plan\n"})
    site.applied()
    site.real.rename(tmp_path / "away")
    with pytest.raises(LocationChanged):
        site.project.unapply("p")


def test_a_sandbox_that_is_gone_is_refused(site: Applying, tmp_path: Path) -> None:
    site.sandbox().rename(tmp_path / "away")
    with pytest.raises(SandboxMissing):
        site.apply()
    assert site.project.status("p").state is State.COMPLETE


def test_what_worked_in_place_has_nothing_to_merge(tmp_path: Path) -> None:
    write(tmp_path / "site", {"text": "before\n"})
    world = complete(tmp_path, config="{sandbox.strategy: in_place}")
    write(world.real, {"text": "by hand\n"})
    before = picture(world.real)
    status, done = world.apply()
    assert (status.phase, status.state) == (Phase.APPLY, State.APPLIED)
    assert done.applied == ()
    assert any("in place" in text for text in done.messages)
    assert picture(world.real) == before
    with pytest.raises(NothingApplied) as refused:
        world.project.unapply("p")
    assert "undo" in {step.verb for step in refused.value.next_step.steps}


def test_before_it_is_applied_nothing_can_be_taken_back(site: Applying) -> None:
    with pytest.raises(NothingApplied) as refused:
        site.project.unapply("p")
    assert "checkpoints.list" in {step.verb for step in refused.value.next_step.steps}


def test_where_another_plan_works_in_place_nothing_is_applied(tmp_path: Path) -> None:
    write(tmp_path / "site", {"text": "before\n"})
    world = complete(tmp_path)
    (tmp_path / "other.yaml").write_text(
        f"name: other\nconfig: {{sandbox.strategy: in_place}}\nresources:\n  {FOLDER}\nsteps:\n"
        "  - {name: fail, tool: shell, args: {command: exit 1}}\n"
    )
    world.project.run(tmp_path / "other.yaml")
    write(world.sandbox(), {"text": "plan\n"})
    with pytest.raises(LocationTaken):
        world.apply()
    assert world.project.status("p").state is State.COMPLETE
    world.project.cancel("other")
    world.applied()


def test_where_another_plan_is_being_applied_nothing_is(
    site: Applying, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cut_off_work, "_PATIENCE", 0.5)
    (site.folder / "other.yaml").write_text(
        (site.folder / "plan.yaml").read_text().replace("p\n", "other\n", 1)
    )
    site.project.execute(site.folder / "other.yaml")
    write(site.sandbox(), {"text": "plan\n"})

    def meanwhile(event: Event) -> None:
        if event.type is EventType.CHECKPOINT and event.data["checkpoint_type"] == "pre_apply":
            with pytest.raises(ApplyUnderWay) as refused:
                project_in(site.folder).apply("other")
            assert site.project.status("p").plan_id in refused.value.text

    _, done = project_in(site.folder, meanwhile).apply("p")
    assert done.error is None
    project_in(site.folder).apply("other")


def test_where_a_plan_is_being_applied_none_starts_in_place(site: Applying) -> None:
    (site.folder / "other.yaml").write_text(
        f"name: other\nconfig: {{sandbox.strategy: in_place}}\nresources:\n  {FOLDER}\nsteps:\n"
        "  - {name: one, tool: shell, args: {command: echo other > text}}\n"
    )
    site.project.create(site.folder / "other.yaml")
    write(site.sandbox(), {"text": "plan\n"})
    told: list[tuple[NextStep, ...]] = []

    def meanwhile(event: Event) -> None:
        if event.type is EventType.CHECKPOINT and event.data["checkpoint_type"] == "pre_apply":
            with pytest.raises(ApplyUnderWay) as refused:
                project_in(site.folder).execute("other")
            told.append(refused.value.next_step.steps)

    _, done = project_in(site.folder, meanwhile).apply("p")
    assert done.error is None
    assert told == [(NextStep("status", plan=site.project.status("p").plan_id),)]
    assert site.project.status("other").phase is Phase.STRATEGIZE
    assert (site.real / "text").read_text() == "plan\n"
    project_in(site.folder).execute("other")
    assert (site.real / "text").read_text() == "other\n"


def _once(change: Callable[[], object]) -> Callable[[Event], None]:
    def act(event: Event) -> None:
        if event.type is EventType.CHECKPOINT and event.data["checkpoint_type"] == "pre_apply":
            change()

    return act


def test_what_someone_changed_meanwhile_is_named_and_never_overwritten(site: Applying) -> None:
    write(site.sandbox(), {"text": "plan\n"})
    change = _once(lambda: write(site.real, {"text": "in this very moment"}))
    with pytest.raises(ChangedMeanwhile) as refused:
        project_in(site.folder, change).apply("p")
    assert str(site.real / "text") in refused.value.text
    assert (site.real / "text").read_text() == "in this very moment"
    status = site.project.status("p")
    assert (status.phase, status.state) == (Phase.EXECUTE, State.COMPLETE)
    status, done = site.apply()
    assert done.error is not None


@pytest.mark.parametrize("path", ["kept", "new"])
def test_what_someone_writes_meanwhile_beside_what_the_plan_changed_stays(site: Applying, path: str) -> None:
    write(site.sandbox(), {"text": "plan\n"})
    change = _once(lambda: write(site.real, {path: "in this very moment"}))
    _, done = project_in(site.folder, change).apply("p")
    assert done.error is None
    assert (site.real / path).read_text() == "in this very moment"
    assert (site.real / "text").read_text() == "plan\n"
    site.unapplied()
    assert (site.real / path).read_text() == "in this very moment"
    assert (site.real / "text").read_text() == "before\n"


def test_git_directories_are_taken_only_by_name(site: Applying) -> None:
    write(site.sandbox(), {"text": "plan\n", "lib/.git/hooks/pre-commit": "code", "lib/.git/config": "[x]"})
    _, dry = site.apply(dry_run=True)
    assert any("lib/.git is not applied" in text and "include='lib/.git'" in text for text in dry.messages)
    with pytest.raises(UsageWrong) as refused:
        site.apply(include=["lib/.git/hooks/other"])
    assert "lib/.git/hooks/other cannot be included" in refused.value.text
    assert site.project.status("p").state is State.COMPLETE
    site.applied(include=["lib/.git/hooks"])
    assert files_in(site.real) == {"text": b"plan\n", "kept": b"kept", "lib/.git/hooks/pre-commit": b"code"}
    site.unapplied()
    assert files_in(site.real) == {"text": b"before\n", "kept": b"kept"}


def test_a_folder_whose_git_directory_the_plan_deleted_stays_with_it(tmp_path: Path) -> None:
    write(tmp_path / "site", {"lib/.git/config": "[x]", "lib/file": "file"})
    world = complete(tmp_path)
    write(world.sandbox(), {"lib/.git/config": None, "lib/file": None})
    (world.sandbox() / "lib" / ".git").rmdir()
    (world.sandbox() / "lib").rmdir()
    world.applied()
    assert files_in(world.real) == {"lib/.git/config": b"[x]"}


def test_a_message_without_a_commit_is_refused(site: Applying) -> None:
    with pytest.raises(UsageWrong) as refused:
        site.apply(message="for nothing")
    assert "a message is for a commit" in refused.value.text


def test_a_dry_run_says_all_and_changes_nothing(site: Applying) -> None:
    write(site.sandbox(), {"text": "plan\n", "new": "1\n2\n", "kept": None})
    before, groups = picture(site.real), len(site.project.checkpoints.list("p"))
    status, dry = site.apply(dry_run=True)
    assert picture(site.real) == before
    assert len(site.project.checkpoints.list("p")) == groups
    assert (status.phase, status.state) == (Phase.EXECUTE, State.COMPLETE)
    done = site.applied()
    assert (dry.files, dry.applied, dry.sandbox_cleanup) == (done.files, done.applied, done.sandbox_cleanup)
    assert [(f.status, f.path) for f in done.files] == [
        ("deleted", "kept"),
        ("added", "new"),
        ("modified", "text"),
    ]
    assert [(each.files, each.insertions, each.deletions) for each in done.applied] == [(3, 3, 2)]


def test_the_group_of_what_was_there_is_no_place_to_go_and_stays(site: Applying) -> None:
    write(site.sandbox(), {"text": "plan\n"})
    last = site.project.status("p").last_checkpoint_id
    site.applied()
    project = site.project
    (kept,) = [c for c in project.checkpoints.list("p") if c.checkpoint_type == "pre_apply"]
    assert (kept.filesystem_path, kept.metadata["phase"]) == (str(site.real), "apply")
    assert project.status("p").last_checkpoint_id == last
    pruned = project.checkpoints.prune("p", keep=2)
    assert kept.group_id not in {g.group_id for g in pruned.pruned}
    project.gc()
    assert not project.checkpoints.verify().damaged
    site.unapplied()
    assert (site.real / "text").read_text() == "before\n"


def test_a_plan_without_checkpoints_can_be_applied_and_taken_back(tmp_path: Path) -> None:
    write(tmp_path / "site", {"text": "before\n"})
    world = complete(tmp_path, policy="{enabled: false}")
    write(world.sandbox(), {"text": "plan\n"})
    world.applied()
    world.project.gc()
    assert not list(world.project.checkpoints.list("p"))
    world.unapplied()
    assert files_in(world.real) == {"text": b"before\n"}


def test_work_done_since_stays_and_what_overlaps_with_it_changes_nothing(site: Applying) -> None:
    write(site.sandbox(), {"text": "plan\n", "new": "plan"})
    site.applied()
    write(site.real, {"new": "changed since", "kept": "changed since"})
    before = picture(site.real)
    for dry_run in (True, False):
        status, done = site.project.unapply("p", dry_run=dry_run)
        assert {c.path: c.reason for c in done.conflicts} == {
            "new": "changed by others since, deleted by taking it back"
        }
        assert done.error is not None
        assert done.error.exit_code == 4
        assert (status.phase, status.state) == (Phase.APPLY, State.APPLIED)
    assert picture(site.real) == before
    write(site.real, {"new": "plan"})
    site.unapplied()
    assert files_in(site.real) == {"text": b"before\n", "kept": b"changed since"}


def test_a_constrained_plan_can_be_rolled_back_or_cancelled(site: Applying) -> None:
    write(site.sandbox(), {"text": "plan\n"})
    write(site.real, {"text": "user\n"})
    site.apply()
    with pytest.raises(PlanAlreadyComplete):
        site.project.resume("p")
    site.project.rollback("p", "first")
    status = site.project.status("p")
    assert (status.phase, status.state, status.conflicts) == (Phase.EXECUTE, State.QUEUED, ())
    assert (site.sandbox() / "text").read_text() == "before\n"
    site.project.execute("p")
    write(site.sandbox(), {"text": "plan\n"})
    site.apply()
    assert site.project.cancel("p").state is State.CANCELLED


def test_the_log_tells_of_it(site: Applying) -> None:
    write(site.sandbox(), {"text": "plan\n"})
    site.applied()
    site.unapplied()
    told = [(e.type.value, e.data) for e in site.project.log("p") if e.type.value in ("applied", "unapplied")]
    resources = [{"resource": "site", "files": 1, "commit": None}]
    assert told == [("applied", {"resources": resources}), ("unapplied", {"resources": resources})]


def test_rows_and_bytes_go_when_nothing_can_be_taken_back_any_more(site: Applying) -> None:
    write(site.sandbox(), {"text": "plan\n"})
    site.applied()
    services = services_of(site.folder)
    with services.adapters.database.reading() as db:
        plan_id = db.plans.resolve("p").plan_id
        (change,) = db.real_changes.list(plan_id)
        assert change.real.path == str(site.real)
    services.adapters.database.close()
    site.unapplied()
    services = services_of(site.folder)
    with services.adapters.database.reading() as db:
        assert list(db.real_changes.list(plan_id)) == []
    services.adapters.database.close()


def test_a_plan_over_copies_and_the_real_thing_merges_the_copies(tmp_path: Path) -> None:
    write(tmp_path / "site", {"text": "before\n"})
    (tmp_path / "here").mkdir()
    make_database(tmp_path / "app.db", "create table t (x)")
    world = complete(
        tmp_path,
        FOLDER,
        "here: {type: fs-directory, location: here, strategy: in_place}",
        "data: {type: sqlite, location: app.db}",
    )
    write(world.sandbox(), {"text": "plan\n"})
    write(tmp_path / "here", {"by hand": "stays"})
    make_database(world.sandbox("data"), "insert into t values (1)")
    done = world.applied()
    assert [each.resource for each in done.applied] == ["site", "data"]
    world.unapplied()
    assert (tmp_path / "here" / "by hand").read_text() == "stays"
    assert (files_in(world.real), rows_of(tmp_path / "app.db")) == ({"text": b"before\n"}, [])
