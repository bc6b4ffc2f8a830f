"""A project with a tree of files and a plan that ran once over it: what the suites measure on."""

import shutil
import tempfile
from pathlib import Path

import mulligan
from benchmarks.trees import PLAN, SIZES, change, make_tree


class ExecutedPlan:
    """Made anew for every benchmark and size."""

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

    def change(self, count: int) -> None:
        """Change some files of the sandbox, to something they never were."""
        self.mark += 1
        change(self.sandbox, self.files, count, self.mark)
