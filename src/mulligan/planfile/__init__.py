"""Plan files: YAML to a checked plan, with the place in the file in every error."""

from mulligan.planfile.append_reader import read_appended
from mulligan.planfile.plan_reader import read_plan_file
from mulligan.planfile.spawn_reader import read_spawn

__all__ = ["read_appended", "read_plan_file", "read_spawn"]
