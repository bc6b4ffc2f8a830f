"""The tool `sql`: statements on the database of the step's resource, all in one transaction or nothing."""

import json
from pathlib import Path
from typing import cast

from msgspec import Struct

from mulligan.adapters.tools.builtin.call_arguments import text, text_list
from mulligan.adapters.tools.builtin.declarations import declare
from mulligan.adapters.tools.builtin.file_replacement import failing_as, read
from mulligan.adapters.tools.builtin.sandbox_paths import open_sandbox
from mulligan.adapters.tools.process.command_runner import Command, Launchers, Outcome
from mulligan.adapters.tools.process.environment import seen, tool_environment
from mulligan.adapters.tools.process.launcher_client import LOAD, PROGRAMS
from mulligan.adapters.tools.process.scratch import scratch_of
from mulligan.adapters.tools.process.tool_output import MEBIBYTE, Recorded
from mulligan.adapters.tools.sql.rows_table import rows_table
from mulligan.adapters.tools.sql.statements import Statement, from_list, from_script
from mulligan.domain.plans.tool import Argument, ArgumentType, ToolResult
from mulligan.domain.resources.resource import ResourceType
from mulligan.domain.text.json_value import Json, JsonObject
from mulligan.errors import ToolFailed
from mulligan.ports import StepHost, ToolRequest

BUSY_LIMIT = 10.0  # seconds to wait for a lock
MOST_ROWS = 1000  # recorded as output
MOST_BYTES = MEBIBYTE  # of them as JSON
_PROGRAM = LOAD + "load('sql.sql_process').main(sys.argv[2:])"


class Sql(Struct, frozen=True, eq=False):
    """Runs statements; its output is the rows of the last one that returns any."""

    declaration = declare(
        "sql",
        "Run SQL on a database, in one transaction",
        Argument("statements", ArgumentType.TEXT_LIST, required=False),
        Argument("script", ArgumentType.PATH, required=False),
        exactly_one_of=("statements", "script"),
        resource_types=frozenset({ResourceType.SQLITE}),
        idempotent=False,
        at_real_path=True,
    )

    launchers: Launchers
    scratch: Path  # where statements are handed over

    def call(self, request: ToolRequest, host: StepHost) -> ToolResult:
        statements = _statements(request)
        for statement in statements:
            if statement.refusal:
                raise _failure(f"{statement.place}: {statement.refusal}")
        trusted = _trusted_folder(request)
        root = seen(request, trusted)
        order = {
            "root": str(root),
            "inside": list(request.root.relative_to(trusted).parts),
            "statements": [[statement.text, statement.place] for statement in statements],
            "busy_limit": BUSY_LIMIT,
            "most_rows": MOST_ROWS,
            "most_bytes": MOST_BYTES,
        }
        with scratch_of(request, self.scratch) as scratch:
            file = scratch.write("order.json", json.dumps(order).encode())
            command = Command(
                argv=(self.launchers.python, "-I", "-c", _PROGRAM, PROGRAMS, str(file)),
                folder=root,
                environment=tool_environment(self.launchers.environment, request, root, {}),
                bounds=request.bounds,
                appearance=request.appearance,
            )
            recorded = Recorded("sql", lambda _: None)  # what it prints is its answer to us
            outcome = self.launchers.run("sql", request, command, recorded, host)
        return _result(outcome, len(statements), host)


def _statements(request: ToolRequest) -> list[Statement]:
    if "script" in request.args:
        path = text("sql", request, "script")
        statements = from_script(path, _script(request, path))
    else:
        statements = from_list(text_list("sql", request, "statements"))
    if not statements:
        raise _failure("there is no statement in it")
    return statements


def _script(request: ToolRequest, path: str) -> str:
    if request.script_root is None:
        raise ToolFailed(
            tool="sql",
            reason="a script is a file of the plan's first file resource, and the plan has none",
            hint="list the folder with the script under `resources:`, or give `statements`",
        )
    with failing_as("sql", path), open_sandbox(request.script_root) as sandbox:
        content = read(sandbox.find(path, follow=True, make_parents=False))
    if content is None:
        raise ToolFailed(tool="sql", reason=f"there is no script {path}", path=path)
    try:
        return content.data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise ToolFailed(tool="sql", reason=f"{path} is not UTF-8: {exc}", path=path) from exc


def _trusted_folder(request: ToolRequest) -> Path:
    """The folder from which the database is reached without following symlinks: the sandbox around it, if any."""
    around = [
        path for path in request.sandboxes.values() if path != request.root and path in request.root.parents
    ]
    return max(around, key=lambda path: len(path.parts), default=request.root.parent)


def _result(outcome: Outcome, count: int, host: StepHost) -> ToolResult:
    if outcome.exit_status != 0:
        stderr = outcome.stderr_tail.decode(errors="replace").strip()
        raise _failure(f"its process ended with status {outcome.exit_status}: {stderr[-500:]}")
    answer = cast("JsonObject", json.loads(outcome.printed.stdout))
    if "failed" in answer:
        place = f"{answer['place']}: " if answer["place"] else ""
        raise _failure(f"{place}{answer['failed']}")
    detail: JsonObject = {"statements": count, "changes": answer["changes"]}
    rows = cast("list[JsonObject] | None", answer["rows"])
    if rows is None:
        return ToolResult(output=None, detail=detail, messages=())
    cut_off = bool(answer["cut_off"])
    host.output(rows_table(rows, cut_off=cut_off).encode())
    messages: tuple[str, ...] = ()
    if cut_off:
        limit = f"at most {MOST_ROWS} rows and {MOST_BYTES // MEBIBYTE} MiB are"
        messages = (f"only the first {len(rows)} rows are recorded ({limit}): choose fewer with LIMIT",)
    return ToolResult(output=cast("Json", rows), detail=detail, messages=messages)


def _failure(reason: str) -> ToolFailed:
    hint = "nothing of the step's statements was kept; correct them"
    return ToolFailed(tool="sql", reason=reason, hint=hint)
