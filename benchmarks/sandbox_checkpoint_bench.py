"""The cost of a checkpoint by the size of the trees, the number of resources, and how many are kept."""

import mulligan
from benchmarks.executed_plan import ExecutedPlan, LongHistory


class CheckpointOverhead(ExecutedPlan):
    """One labelled checkpoint of a plan, durable when the call returns."""

    def time_five_changes(self, files: int, resources: int) -> None:
        self.change(5)
        self.project.checkpoints.create(self.plan, "five")

    def time_no_change(self, files: int, resources: int) -> None:
        self.project.checkpoints.create(self.plan, "none")

    def time_five_changes_in_a_new_process(self, files: int, resources: int) -> None:
        self.change(5)
        mulligan.open(self.folder).checkpoints.create(self.plan, "fresh")

    def track_bytes_added_by_five_changes(self, files: int, resources: int) -> int:
        self.change(5)
        return sum(c.size_bytes for c in self.project.checkpoints.create(self.plan, "bytes"))


class FirstStep(ExecutedPlan):
    """From the plan file to the end of its first step: the copy, the first snapshot, the groups."""

    repeat = 1

    def time_first_step_of_another_plan(self, files: int, resources: int) -> None:
        self.project.execute(self.plan_file)


class CheckpointsKept(LongHistory):
    """The cost of a checkpoint, of listing all, and of a prune, by their number."""

    def time_one_more(self, checkpoints: int) -> None:
        self.take()

    def time_list(self, checkpoints: int) -> None:
        self.project.checkpoints.list(self.plan)

    def time_prune_to_ten(self, checkpoints: int) -> None:
        self.project.checkpoints.prune(self.plan, keep=10)
