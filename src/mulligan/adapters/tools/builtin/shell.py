"""The tool `shell`: any command, in the sandbox of the step's resource."""

import os
import signal
import stat
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from mulligan.adapters.tools.builtin.call_arguments import text, text_list, text_map
from mulligan.adapters.tools.builtin.declarations import EVERY_RESOURCE, declare
from mulligan.adapters.tools.builtin.file_replacement import failing_as
from mulligan.adapters.tools.builtin.sandbox_paths import open_sandbox
from mulligan.adapters.tools.process.command_runner import Command, Launchers, Outcome
from mulligan.adapters.tools.process.environment import folder_of, tool_environment
from mulligan.adapters.tools.process.scratch import Scratch, scratch_of
from mulligan.adapters.tools.process.tool_output import MEBIBYTE, RECORDED, Excerpted
from mulligan.domain.plans.tool import Argument, ArgumentType, ToolResult
from mulligan.domain.text.json_value import JsonObject
from mulligan.errors import ToolFailed
from mulligan.ports import StepHost, ToolRequest

LONGEST_ARGUMENT = 100 * 1024  # bytes; the kernel takes 128 KiB
SHOWN_LINES = 10  # of stderr, in the message of a failure


class Shell(Struct, frozen=True, eq=False):
    """Runs a command; its output is what it printed on stdout."""

    declaration = declare(
        "shell",
        "Run a command in the sandbox",
        Argument("command", ArgumentType.COMMAND, required=False),
        Argument("argv", ArgumentType.TEXT_LIST, required=False),
        Argument("cwd", ArgumentType.PATH, required=False),
        Argument("env", ArgumentType.TEXT_MAP, required=False),
        exactly_one_of=("command", "argv"),
        resource_types=EVERY_RESOURCE,
        idempotent=False,
    )

    launchers: Launchers
    scratch: Path  # where calls put files

    def call(self, request: ToolRequest, host: StepHost) -> ToolResult:
        folder = _working_folder(request)
        own = text_map("shell", request, "env")
        environment = tool_environment(self.launchers.environment, request, folder, own)
        recorded = Excerpted("shell", host.output)
        with scratch_of(request, self.scratch) as scratch:
            # Values that no variable can hold: the variable names a file.
            for number, (name, value) in enumerate(request.large_values.items()):
                content = value.encode("utf-8", "surrogateescape")
                environment[name] = str(scratch.write(str(number), content))
            argv = _argv(request, scratch)
            command = Command(argv=argv, folder=folder, environment=environment, bounds=request.bounds)
            outcome = self.launchers.run("shell", request, command, recorded)
        if outcome.exit_status != 0:
            raise _failure(outcome, folder)
        return _result(outcome)


def _argv(request: ToolRequest, scratch: Scratch) -> tuple[str, ...]:
    if "argv" in request.args:
        return tuple(text_list("shell", request, "argv"))
    command = text("shell", request, "command")
    if len(os.fsencode(command)) < LONGEST_ARGUMENT:
        return ("/bin/sh", "-c", command)
    return ("/bin/sh", str(scratch.write("command.sh", os.fsencode(command))))


def _working_folder(request: ToolRequest) -> Path:
    """Return the working folder of the command: `cwd` may pass through symlinks that stay in the sandbox."""
    root = folder_of(request)
    if "cwd" not in request.args:
        return root
    cwd = text("shell", request, "cwd")
    # IsADirectoryError: `.`, or `..` after a folder. No name is left to look at, so it is a folder.
    with failing_as("shell", cwd), open_sandbox(root) as sandbox, suppress(IsADirectoryError):
        found = sandbox.find(cwd, follow=True, make_parents=False).stat()
        if found is None or not stat.S_ISDIR(found.st_mode):
            raise ToolFailed(tool="shell", reason=f"cwd: there is no folder {cwd}", path=cwd)
    # Without `..` and symlinks, which a shell would keep in its PWD.
    return root / (root / cwd).resolve().relative_to(root.resolve())


def _result(outcome: Outcome) -> ToolResult:
    text = outcome.stdout.decode(errors="replace")
    messages = [str(leftover) for leftover in outcome.leftovers]
    if "\ufffd" in text and text.encode() != outcome.stdout:
        messages.append("what the command printed is not UTF-8: bytes that are none were replaced by U+FFFD")
    detail: JsonObject = {"exit_status": 0, "leftovers": [each.content() for each in outcome.leftovers]}
    if outcome.omitted:
        detail |= {"truncated": True, "omitted_bytes": outcome.omitted}
        messages.append(
            f"printed more than {RECORDED // MEBIBYTE} MiB on stdout: its beginning and its end are recorded,"
            f" without {outcome.omitted} bytes between them; send it to a file (`> FILE`) if later steps need all of it"
        )
    return ToolResult(
        output=text[:-2] if text.endswith("\r\n") else text.removesuffix("\n"),
        detail=detail,
        messages=tuple(messages),
    )


def _failure(outcome: Outcome, folder: Path) -> ToolFailed:
    if outcome.exit_status < 0:
        reason = f"was ended by {_signal_name(-outcome.exit_status)}"
    else:
        reason = f"ended with exit status {outcome.exit_status}"
    stderr = outcome.stderr_tail.decode(errors="replace")
    lines = stderr.strip().splitlines()[-SHOWN_LINES:]
    return ToolFailed(
        tool="shell",
        reason="\n".join([reason + (":" if lines else ""), *lines]),
        exit_status=outcome.exit_status,
        stderr=stderr,
        folder=str(folder),
        leftovers=[leftover.content() for leftover in outcome.leftovers],
        hint="correct the command or what it works on",
    )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
