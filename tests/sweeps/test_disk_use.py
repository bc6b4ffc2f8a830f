"""Disk use is bounded by what is kept, not by what was ever made.

Ten thousand checkpoints take minutes: `nox -s sweeps` makes them all, the default run a sample.
"""

import os
import random
from pathlib import Path

from tests.faults.projects import project_in, services_in
from tests.support.homes import home_of
from tests.support.snapshot_world import bring_back, new_store, packs, sound, take

MADE = int(os.environ.get("MULLIGAN_TEST_CHECKPOINTS", "150"))
KEPT = 50
SLACK = 256 << 10  # a store is not swept by itself for less


def _project(folder: Path) -> tuple[str, Path]:
    """A project with a plan at rest; gives the plan's id and its sandbox."""
    chance = random.Random(1)
    (folder / "src").mkdir()
    for number in range(60):
        (folder / "src" / f"{number}").write_bytes(chance.randbytes(4_000))
    (folder / "plan.yaml").write_text("name: long\nsteps: [{name: begin, checkpoint: begun}]\n")
    status = project_in(folder).execute(folder / "plan.yaml")
    return status.plan_id, Path(status.sandboxes[0].path)


def test_what_is_pruned_does_not_stay_on_disk(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    plan_id, sandbox = _project(folder)
    home = home_of(folder) / "store"
    chance = random.Random(2)
    most_packs = largest = 0
    for number in range(MADE):  # each as a process of its own would do it
        for _ in range(5):
            (sandbox / "src" / str(chance.randrange(60))).write_bytes(chance.randbytes(4_000))
        project_in(folder).checkpoints.create(plan_id, f"number {number}")
        most_packs, largest = max(most_packs, len(packs(home))), max(largest, sum(packs(home).values()))
    by_itself = sum(packs(home).values())

    with services_in(folder).adapters.database.reading() as db:
        groups = db.checkpoints.list(next(iter(db.plans.list(None))).plan_id, superseded=True)
        live = [group.checkpoints[0].snapshot for group in groups]
        base = db.sandboxes.all()[0].base
    assert len(live) == KEPT
    only_these = new_store(tmp_path / "only these")
    for snapshot in (base, *live):
        bring_back(new_store(home), snapshot, tmp_path / "copy")
        assert take(only_these, tmp_path / "copy") == snapshot
    needed = sum(packs(tmp_path / "only these").values())

    swept = project_in(folder).gc()
    after = sum(packs(home).values())
    print(
        f"\n{MADE} made, {KEPT} kept: {needed} bytes needed; {by_itself} left by itself ({by_itself / needed:.3f}x,"
        f" {largest / needed:.3f}x at most), {after} after gc ({after / needed:.3f}x, {swept.packs_kept} packs);"
        f" at most {most_packs} packs"
    )
    assert after <= 1.2 * needed
    assert by_itself <= 1.2 * needed + SLACK
    assert largest <= 1.5 * needed + SLACK
    assert most_packs < 80
    assert sound(home, base, *live)
