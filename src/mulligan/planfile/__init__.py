"""Plan files: YAML to a checked plan, with the place in the file in every error."""

from mulligan.planfile.child_reader import read_appended, read_spawn
from mulligan.planfile.plan_reader import read_plan_file

__all__ = ["read_appended", "read_plan_file", "read_spawn"]
