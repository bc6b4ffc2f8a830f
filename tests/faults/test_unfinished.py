"""What was cut off and cannot be finished any more is taken back, and never holds a plan for ever."""

from pathlib import Path

import pytest

from mulligan.api.project import Project
from mulligan.domain.plans.intent import ReturnWork
from mulligan.domain.plans.plan import State
from mulligan.errors import SandboxMissing, SnapshotDamaged
from mulligan.rows.transaction import Transaction
from tests.faults.projects import InterruptedAtCommit, Watching, nothing, project_in, services_in
from tests.support.homes import home_of


def _plan(folder: Path, *commands: str) -> Path:
    file = folder / "plan.yaml"
    steps = [f"  - {{name: step {i}, tool: shell, args: {{command: {c!r}}}}}" for i, c in enumerate(commands)]
    config = "config: {sandbox.isolate: 'off', sandbox.at: own-path}"  # a step reaches into the project home
    file.write_text("\n".join(["name: p", config, "steps:", *steps, ""]))
    return file


def test_a_plan_whose_return_cannot_be_finished_can_be_cancelled(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("file")
    plan = _plan(tmp_path, "rm file; mkfifo file; exit 1")  # what no snapshot holds stands in the way
    assert project_in(tmp_path).execute(plan).state is State.ERRORED

    status = project_in(tmp_path).cancel("p", "no way on")

    assert status.state is State.CANCELLED


def _is_ready_to_restore(db: Transaction) -> bool:
    intents = db.intents.list(db.plans.resolve("latest").plan_id)
    return any(isinstance(i.work, ReturnWork) and i.work.before is not None for i in intents)


def _first_pack(folder: Path) -> Path:
    return min((home_of(folder) / "store/packs").iterdir(), key=lambda pack: pack.stat().st_mtime_ns)


def test_a_rollback_that_was_cut_off_is_taken_back_when_its_target_is_damaged(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    done = project.execute(_plan(tmp_path, "echo made > made"))
    services = services_in(tmp_path)
    services.adapters.database = InterruptedAtCommit(services.adapters, _is_ready_to_restore)
    with pytest.raises(KeyboardInterrupt):
        Project(services=services, observer=Watching(nothing)).rollback("p", "first")
    _first_pack(tmp_path).unlink()  # what the target stands on

    with pytest.raises(SnapshotDamaged):
        project_in(tmp_path).rollback("p", "first")
    back = project_in(tmp_path).rollback("p", str(done.last_checkpoint_id))

    assert back.rollback_summary.files_reverted == 0
    assert (Path(done.sandboxes[0].path) / "made").read_text() == "made\n"


def test_a_failed_step_whose_way_back_is_damaged_leaves_the_other_ways_open(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("as it was")
    hurt = "rm data; for f in ../../../store/packs/*; do echo x > $f; done; exit 1"
    plan = _plan(tmp_path, "true", hurt)
    assert project_in(tmp_path).execute(plan).state is State.ERRORED

    project = project_in(tmp_path)
    assert project.checkpoints.verify().damaged
    kept = project.checkpoints.create("p", "what is left")

    assert project.rollback("p", "what is left").rollback_summary.checkpoint == kept[0].checkpoint_id


def test_a_plan_with_a_damaged_store_still_tells_where_it_stands(tmp_path: Path) -> None:
    project_in(tmp_path).execute(_plan(tmp_path, "echo made > made"))
    for pack in (home_of(tmp_path) / "store/packs").iterdir():
        pack.unlink()

    status = project_in(tmp_path).status("p")

    assert status.state is State.COMPLETE
    assert any("damaged" in message for message in status.messages)
    assert project_in(tmp_path).cancel("p").state is State.CANCELLED


def test_what_a_step_made_unfit_for_a_checkpoint_is_told(tmp_path: Path) -> None:
    status = project_in(tmp_path).execute(_plan(tmp_path, "mkfifo pipe", "true"))

    told = [message for message in status.messages if "pipe" in message]
    assert told == ["workspace: cannot hold pipe (it is a fifo)"]
    logged = [event.data for event in project_in(tmp_path).log("p") if "pipe" in str(event.data)]
    assert logged == [{"message": told[0]}]


def test_a_sandbox_that_a_symlink_leads_away_from_is_not_there(tmp_path: Path) -> None:
    done = project_in(tmp_path).execute(_plan(tmp_path, "echo made > made"))
    place, outside = Path(done.sandboxes[0].path).parent, tmp_path.parent / f"{tmp_path.name}-outside"
    place.rename(outside)
    place.symlink_to(outside)

    with pytest.raises(SandboxMissing):
        project_in(tmp_path).rollback("p", "first")

    assert (outside / "workspace" / "made").exists()
