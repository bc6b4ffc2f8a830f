"""What a checkpoint costs, by the size of the tree: after a few changes, and after none."""

import shutil
import tempfile
from pathlib import Path

import mulligan
from benchmarks.trees import PLAN, SIZES, change, make_tree


class CheckpointOverhead:
    """One labelled checkpoint of a plan with one folder, durable when the call returns."""

    params = SIZES
    param_names = ["files"]
    timeout = 600
    number = 1

    def setup(self, files: int) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="bench"))
        self.files = make_tree(self.folder, files)
        (self.folder / "plan.yaml").write_text(PLAN)
        self.project = mulligan.init(self.folder)
        status = self.project.execute(self.folder / "plan.yaml")
        self.plan = status.plan_id
        self.sandbox = Path(status.sandboxes[0].path)
        self.mark = 0

    def teardown(self, files: int) -> None:
        shutil.rmtree(self.folder)

    def time_five_changes(self, files: int) -> None:
        self.mark += 1
        change(self.sandbox, self.files, 5, self.mark)
        self.project.checkpoints.create(self.plan, "five")

    def time_no_change(self, files: int) -> None:
        self.project.checkpoints.create(self.plan, "none")

    def time_five_changes_in_a_new_process(self, files: int) -> None:
        self.mark += 1
        change(self.sandbox, self.files, 5, self.mark)
        mulligan.open(self.folder).checkpoints.create(self.plan, "fresh")

    def track_bytes_added_by_five_changes(self, files: int) -> int:
        change(self.sandbox, self.files, 5, 999)
        return sum(c.size_bytes for c in self.project.checkpoints.create(self.plan, "bytes"))


class FirstStep:
    """From the plan file to the end of its first step: the copy, the first snapshot, the groups."""

    params = SIZES
    param_names = ["files"]
    timeout = 600
    number = 1
    repeat = 1

    def setup(self, files: int) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="bench"))
        make_tree(self.folder, files)
        (self.folder / "plan.yaml").write_text(PLAN)
        self.project = mulligan.init(self.folder)

    def teardown(self, files: int) -> None:
        shutil.rmtree(self.folder)

    def time_first_step(self, files: int) -> None:
        self.project.execute(self.folder / "plan.yaml")
