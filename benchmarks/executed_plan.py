"""A project with a tree of files and a plan that ran once over it: what the suites measure on."""

import json
import shutil
import tempfile
from pathlib import Path

import mulligan
from benchmarks.trees import HISTORIES, RESOURCES, SIZES, change, make_tree


def make_plan(folder: Path, resources: int, kept: int) -> Path:
    """A plan file over that many folders; it is JSON, which is YAML too."""
    plan = {
        "name": "bench",
        "resources": {f"part{n}": {"type": "fs-directory", "location": f"part{n}"} for n in range(resources)},
        "config": {"max_checkpoints_per_plan": kept},
        "steps": [
            {"name": "start", "tool": "write_file", "args": {"path": "started", "content": "yes"}},
        ],
    }
    file = folder / "plan.yaml"
    file.write_text(json.dumps(plan))
    return file


class ExecutedPlan:
    """Made again for every benchmark, size, and number of resources that the files are spread over."""

    params = (SIZES, RESOURCES)
    param_names = ("files", "resources")
    timeout = 600
    number = 1

    def setup(self, files: int, resources: int) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="bench"))
        self.files = [make_tree(self.folder / f"part{n}", files // resources) for n in range(resources)]
        self.plan_file = make_plan(self.folder, resources, kept=50)
        self.home = self.folder.with_name(f"{self.folder.name}-home")
        self.project = mulligan.init(self.folder, home=self.home)
        status = self.project.execute(self.plan_file)
        self.plan = status.plan_id
        self.sandboxes = [Path(sandbox.path) for sandbox in status.sandboxes]
        self.mark = 0

    def teardown(self, files: int, resources: int) -> None:
        for folder in (self.folder, self.home):
            shutil.rmtree(folder)

    def change(self, count: int) -> None:
        """Change some files of the sandboxes, to something they never were."""
        self.mark += 1
        for number, (sandbox, files) in enumerate(zip(self.sandboxes, self.files, strict=True)):
            change(sandbox, files, len(range(number, count, len(self.sandboxes))), self.mark)


class LongHistory:
    """A plan that has as many checkpoints as it may keep."""

    params = HISTORIES
    param_names = ("checkpoints",)
    timeout = 1200
    number = 1

    def setup(self, checkpoints: int) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="bench"))
        make_tree(self.folder / "part0", 20)
        self.home = self.folder.with_name(f"{self.folder.name}-home")
        self.project = mulligan.init(self.folder, home=self.home)
        status = self.project.execute(make_plan(self.folder, 1, kept=checkpoints))
        self.plan = status.plan_id
        self.changed = Path(status.sandboxes[0].path) / "changed"
        self.mark = 0
        for _ in range(checkpoints):
            self.take()

    def teardown(self, checkpoints: int) -> None:
        for folder in (self.folder, self.home):
            shutil.rmtree(folder)

    def take(self) -> None:
        """One more checkpoint, of something new."""
        self.mark += 1
        self.changed.write_text(f"{self.mark}")
        self.project.checkpoints.create(self.plan, f"c{self.mark}")
