"""Plan files: YAML to a checked plan, with the place in the file in every error."""

from mulligan.planfile.appending import read_appended
from mulligan.planfile.plan import read_plan_file
from mulligan.planfile.spawning import read_spawn

__all__ = ["read_appended", "read_plan_file", "read_spawn"]
