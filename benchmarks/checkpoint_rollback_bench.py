"""Time of a rollback by the size of the trees, the number of resources, and the length of the history."""

import mulligan
from benchmarks.executed_plan import ExecutedPlan, LongHistory


class RollbackLatency(ExecutedPlan):
    """A rollback over fifteen changed paths: comparison, way back, restore and rows, durable when it returns."""

    def time_fifteen_paths(self, files: int, resources: int) -> None:
        self.change(15)
        self.project.rollback(self.plan, "first")

    def time_fifteen_paths_in_a_new_process(self, files: int, resources: int) -> None:
        self.change(15)
        mulligan.open(self.folder).rollback(self.plan, "first")

    def time_dry_run(self, files: int, resources: int) -> None:
        self.change(15)
        self.project.rollback(self.plan, "first", dry_run=True)


class RollbackOfLongHistory(LongHistory):
    """A rollback past many checkpoints, which are superseded."""

    def time_to_the_first(self, checkpoints: int) -> None:
        self.take()
        self.project.rollback(self.plan, "first")
