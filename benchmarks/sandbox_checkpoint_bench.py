"""What a checkpoint costs, by the size of the tree: after a few changes, and after none."""

import mulligan
from benchmarks.executed_plan import ExecutedPlan


class CheckpointOverhead(ExecutedPlan):
    """One labelled checkpoint of a plan with one folder, durable when the call returns."""

    def time_five_changes(self, files: int) -> None:
        self.change(5)
        self.project.checkpoints.create(self.plan, "five")

    def time_no_change(self, files: int) -> None:
        self.project.checkpoints.create(self.plan, "none")

    def time_five_changes_in_a_new_process(self, files: int) -> None:
        self.change(5)
        mulligan.open(self.folder).checkpoints.create(self.plan, "fresh")

    def track_bytes_added_by_five_changes(self, files: int) -> int:
        self.change(5)
        return sum(c.size_bytes for c in self.project.checkpoints.create(self.plan, "bytes"))


class FirstStep(ExecutedPlan):
    """From the plan file to the end of its first step: the copy, the first snapshot, the groups."""

    repeat = 1

    def time_first_step_of_another_plan(self, files: int) -> None:
        self.project.execute(self.folder / "plan.yaml")
