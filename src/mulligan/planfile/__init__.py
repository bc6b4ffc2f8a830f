"""Plan files: YAML to a checked plan, with the place in the file in every error."""

from mulligan.planfile.plan import read_plan_file

__all__ = ["read_plan_file"]
