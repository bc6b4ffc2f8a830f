"""The cost of a checkpoint by the size of the trees, the number of resources, and how many are kept."""

import json

import mulligan
from benchmarks.executed_plan import ExecutedPlan, LongHistory
from benchmarks.trees import SIZES


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


class StepAtWork(ExecutedPlan):
    """A step of two seconds that writes ten times a second, with and without groups inside it."""

    params = (SIZES, ("off", "on_interval", "on_quiet"))
    param_names = ("files", "trigger")

    def setup(self, files: int, trigger: str) -> None:
        super().setup(files, 1)
        triggers = ["before_step"] if trigger == "off" else ["before_step", trigger]
        config = {
            "sandbox.checkpoint.auto-create-on": triggers,
            "sandbox.checkpoint.interval-seconds": 0.5,
            "sandbox.checkpoint.quiet-seconds": 0.5,
        }
        plan = json.loads(self.plan_file.read_text())
        work = "for n in $(seq 20); do echo $n > at-work; sleep 0.1; done"
        plan |= {"config": config, "steps": [{"name": "work", "run": work}]}
        self.plan_file.write_text(json.dumps(plan))

    def time_the_whole_plan(self, files: int, trigger: str) -> None:
        self.project.execute(self.plan_file)
