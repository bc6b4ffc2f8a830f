"""The errors of mulligan, each with a kind, an exit code, facts and a next step; `docs/reference/json.md` lists them.

The class `MulliganError` and its five families are in `root`:

- `Failed`: exit code 1, in `failures`
- `Misused`: exit code 2, in `misuses`
- `Refused`: exit code 3; `refused_plans` is about plans, checkpoints, decisions and sessions, `refused_places` about
  the project, resources, sandboxes, tools and the machine
- `Conflicted`: exit code 4, in `conflicts`
- `Interrupted`: exit code 130

An error is raised with facts; its message and hint are templates over them. Facts are part of the JSON
output, so their names are as stable as the fields of any other answer. A hint that names operations is `Advice`:
`next_step` has the operations as data, and each front door words them.
"""

# ruff: noqa: F403 - these modules define errors only, and a test compares their names with the tree of classes

from mulligan.errors.conflicts import *
from mulligan.errors.failures import *
from mulligan.errors.misuses import *
from mulligan.errors.next_step import Advice as Advice
from mulligan.errors.next_step import NextStep as NextStep
from mulligan.errors.refused_places import *
from mulligan.errors.refused_plans import *
from mulligan.errors.root import *

__all__ = [name for name, value in vars().items() if isinstance(value, type)]  # pyright: ignore[reportUnsupportedDunderAll] - computed: each name is in one list only
