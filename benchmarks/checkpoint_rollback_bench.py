"""How long a rollback takes, by the size of the tree."""

import shutil
import tempfile
from pathlib import Path

import mulligan
from benchmarks.trees import PLAN, SIZES, change, make_tree


class RollbackLatency:
    """A rollback over fifteen changed paths: comparison, way back, restore and rows, durable when it returns."""

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

    def time_fifteen_paths(self, files: int) -> None:
        self.mark += 1
        change(self.sandbox, self.files, 15, self.mark)
        self.project.rollback(self.plan, "first")

    def time_fifteen_paths_in_a_new_process(self, files: int) -> None:
        self.mark += 1
        change(self.sandbox, self.files, 15, self.mark)
        mulligan.open(self.folder).rollback(self.plan, "first")

    def time_dry_run(self, files: int) -> None:
        self.mark += 1
        change(self.sandbox, self.files, 15, self.mark)
        self.project.rollback(self.plan, "first", dry_run=True)
