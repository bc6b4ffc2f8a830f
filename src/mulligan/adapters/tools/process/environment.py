"""The environment that a tool's processes see."""

from collections.abc import Mapping
from pathlib import Path

from mulligan.ports import ToolRequest

PLAN_MARK = "MULLIGAN_PLAN_ID"  # by these a later run finds what a killed one left running
CALL_MARK = "MULLIGAN_CALL_ID"

# Variables that make git work on another repository than that of the working folder. A hook or a git alias that calls
# mulligan has them set, and a tool in a sandbox would then change the user's own repository.
_GIT_REDIRECTIONS = {
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_CONFIG", "GIT_DIR", "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_QUARANTINE_PATH", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
}  # fmt: skip


def clean(environment: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment without what redirects git or belongs to an outer run of mulligan."""
    return {
        name: value
        for name, value in environment.items()
        if name not in _GIT_REDIRECTIONS and not name.startswith("MULLIGAN_")
    }


def folder_of(request: ToolRequest) -> Path:
    """Return the working folder of a call's processes: the sandbox, or the folder of a database file."""
    return request.root if request.root.is_dir() else request.root.parent


def seen(request: ToolRequest, path: Path) -> Path:
    """Return the path under which the call's processes see what lies at a path of ours."""
    return path if request.appearance is None else request.appearance.seen(path)


def tool_environment(
    base: Mapping[str, str], request: ToolRequest, folder: Path, own: Mapping[str, str]
) -> dict[str, str]:
    """The whole environment of one call that starts in `folder`, as it is seen; what the step itself sets wins."""
    ceiling = str(seen(request, folder_of(request)).parent)
    ceilings = [ceiling, *filter(None, [base.get("GIT_CEILING_DIRECTORIES")])]
    environment = clean(base)
    environment.pop("OLDPWD", None)
    environment["GIT_CEILING_DIRECTORIES"] = ":".join(ceilings)
    environment["PWD"] = str(folder)
    if request.bounds is not None and request.bounds.temporary is not None:
        environment["TMPDIR"] = request.bounds.temporary
    environment |= request.environment
    environment |= own
    environment |= {PLAN_MARK: request.plan_id, CALL_MARK: request.call_id}
    return environment
