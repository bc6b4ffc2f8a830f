"""The tools: how clients see each, and the functions that do their work."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct, json

from mulligan.mcp_server import look_tools, return_tools, run_tools, tool_arguments, tool_results

if TYPE_CHECKING:
    from mulligan.mcp_server.tool_work import Question, ToolWork

INSTRUCTIONS = """\
mulligan keeps checkpoints of the user's files, so that what commands and edits did can be looked at and taken back.
Look with list_checkpoints and show_changes. To try something without touching the real files, use run_in_sandbox, \
look at its result with show_changes(plan=...), and apply it. restore_files, rewind and apply change real files: they \
ask the user first. Nothing deletes history: what was there is kept in a checkpoint."""


class Tool(Struct, frozen=True, kw_only=True):
    """A tool."""

    name: str
    title: str
    description: str
    arguments: type[Struct]
    result: type[Struct]
    act: Callable[[ToolWork, Any], Struct]
    ask: Callable[[ToolWork, Any], Question | None] | None = None  # before `act`; None: never
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False  # it reaches more than the user's files


_TOOLS = (
    Tool(
        name="list_checkpoints",
        title="List checkpoints",
        description="List the checkpoints of a plan, newest last, and the newest entries: prompts, runs and applies in "
        "this folder, with the checkpoints before and after each.",
        arguments=tool_arguments.ListCheckpoints,
        result=tool_results.CheckpointList,
        act=look_tools.list_checkpoints,
        read_only=True,
        idempotent=True,
    ),
    Tool(
        name="show_changes",
        title="Show changes",
        description="Show what a plan or an entry changed, or compare two checkpoints: paths, and a patch. A long "
        "patch comes in parts: repeat the call with offset=next_offset. Without arguments: what the newest plan "
        "changed.",
        arguments=tool_arguments.ShowChanges,
        result=tool_results.ChangesShown,
        act=look_tools.show_changes,
        read_only=True,
        idempotent=True,
    ),
    Tool(
        name="label_checkpoint",
        title="Label a checkpoint",
        description="Take a checkpoint of a plan as it is now, with a name to go back to; the newest plan unless "
        "named.",
        arguments=tool_arguments.LabelCheckpoint,
        result=tool_results.Labelled,
        act=look_tools.label_checkpoint,
    ),
    Tool(
        name="restore_files",
        title="Restore files",
        description="Bring single real files or folders back from a checkpoint. Asks the user first. What was there is "
        "kept in a checkpoint.",
        arguments=tool_arguments.RestoreFiles,
        result=tool_results.Returned,
        act=return_tools.restore_files,
        ask=return_tools.ask_to_restore,
        destructive=True,
    ),
    Tool(
        name="rewind",
        title="Rewind",
        description="Take back what an entry changed (the newest unless named), or bring all files of a plan back to a "
        "checkpoint. Asks the user first. What was there is kept in a checkpoint.",
        arguments=tool_arguments.Rewind,
        result=tool_results.Returned,
        act=return_tools.rewind,
        ask=return_tools.ask_to_rewind,
        destructive=True,
    ),
    Tool(
        name="run_in_sandbox",
        title="Run in a sandbox",
        description="Run a command in a private copy of the folder, with all that is not committed; the real files "
        "stay as they are. Returns its output, exit status and what it changed. The command has no input.",
        arguments=tool_arguments.RunInSandbox,
        result=tool_results.CommandResult,
        act=run_tools.run_in_sandbox,
        open_world=True,
    ),
    Tool(
        name="try_variants",
        title="Try variants",
        description="Run several lines of shell beside each other, each in a private copy of the folder, and check "
        "each result; the real files stay as they are.",
        arguments=tool_arguments.TryVariants,
        result=tool_results.VariantList,
        act=run_tools.try_variants,
        open_world=True,
    ),
    Tool(
        name="apply",
        title="Apply a result",
        description="Merge the result of a sandbox into the real files, all at once or not at all. Asks the user "
        "first. It can be taken back.",
        arguments=tool_arguments.Apply,
        result=tool_results.Applied,
        act=run_tools.apply,
        ask=run_tools.ask_to_apply,
        destructive=True,
    ),
)

TOOLS = {tool.name: tool for tool in _TOOLS}
_HERE = "#/$defs/{name}"


def schema_of(kind: type[Struct]) -> dict[str, Any]:
    """Return the JSON schema of a type, with all that it refers to inside of it."""
    (schema,), parts = json.schema_components([kind], ref_template=_HERE)
    return cast("dict[str, Any]", _whole(schema, parts))


def _whole(schema: Any, parts: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_whole(each, parts) for each in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    members = cast("dict[str, Any]", schema)
    if "$ref" in members:
        return _whole(parts[members["$ref"].rpartition("/")[2]], parts)
    return {
        name: _whole(value, parts)
        for name, value in members.items()
        if value != [] and not (name == "title" and isinstance(value, str))
    }
