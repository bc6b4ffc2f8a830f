"""The tool `shell`: any command, in the sandbox of the step's resource."""

import os
import stat
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from mulligan.adapters.tools.builtin.call_arguments import text, text_list, text_map
from mulligan.adapters.tools.builtin.declarations import EVERY_RESOURCE, declare
from mulligan.adapters.tools.builtin.file_replacement import failing_as
from mulligan.adapters.tools.builtin.sandbox_paths import open_sandbox
from mulligan.adapters.tools.process.command_runner import Command, Launchers, Outcome
from mulligan.adapters.tools.process.environment import folder_of, seen, tool_environment
from mulligan.adapters.tools.process.scratch import Scratch, scratch_of
from mulligan.adapters.tools.process.tool_output import MEBIBYTE, RECORDED, TAIL, Excerpted
from mulligan.domain.plans.interpolation import PLAN_HANDLE
from mulligan.domain.plans.tool import Argument, ArgumentType, ToolResult
from mulligan.domain.text.exit_status import signal_name
from mulligan.domain.text.json_value import JsonObject
from mulligan.domain.views.printed import CallInterrupted
from mulligan.errors import SystemFailed, ToolFailed
from mulligan.ports import StepHost, Streams, ToolRequest

if TYPE_CHECKING:
    from mulligan.adapters.tools.process.attachment import Attachment

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
        at_real_path=True,
    )

    launchers: Launchers
    scratch: Path  # where calls put files

    def call(self, request: ToolRequest, host: StepHost) -> ToolResult:
        folder = seen(request, _working_folder(request))
        own = text_map("shell", request, "env")
        environment = tool_environment(self.launchers.environment, request, folder, own)
        with ExitStack() as stack:
            attachment: Attachment | None = None
            recorded = Excerpted("shell", host.output)
            if request.streams is not None:
                attachment = stack.enter_context(_attached(request.streams))
                shown, by_terminal = (attachment.stdout, attachment.stderr), attachment.on_terminal
                recorded = Excerpted("shell", *shown, by_terminal=by_terminal)
                environment |= attachment.environment
                if (
                    request.streams.interactive
                ):  # the prompt of a shell shows it, where it is the usual one of Debian
                    environment["debian_chroot"] = f"mulligan {request.environment[PLAN_HANDLE]}"
            scratch = stack.enter_context(scratch_of(request, self.scratch))
            # Values that no variable can hold: the variable names a file.
            for number, (name, value) in enumerate(request.large_values.items()):
                content = value.encode("utf-8", "surrogateescape")
                environment[name] = str(scratch.write(str(number), content))
            argv = _argv(request, scratch)
            command = Command(
                argv=argv,
                folder=folder,
                environment=environment,
                bounds=request.bounds,
                appearance=request.appearance,
            )
            with _kept_of_failures(recorded):
                outcome = self.launchers.run("shell", request, command, recorded, host, attachment)
                if outcome.exit_status != 0 and not _is_interactive(request):
                    raise _failure(outcome, folder, seen=_is_seen(request))
        return _result(outcome, full_screen=attachment is not None and attachment.full_screen)


def _is_interactive(request: ToolRequest) -> bool:
    return request.streams is not None and request.streams.interactive


def _is_seen(request: ToolRequest) -> bool:
    """Return whether what the command printed on stderr went to the user's own stream: it is not repeated."""
    return request.streams is not None and request.streams.stderr is not None


def _attached(streams: Streams) -> "Attachment":
    from mulligan.adapters.tools.process.attachment import Attachment  # here: steps of plan files have none

    return Attachment(streams)


@contextmanager
def _kept_of_failures(recorded: Excerpted) -> Generator[None]:
    """Hand what a command printed to the record of the call, for which it is a fact of the error."""
    try:
        yield
    except (ToolFailed, SystemFailed) as exc:
        exc.facts |= recorded.printed().stored(None)
        raise
    except KeyboardInterrupt as exc:
        raise CallInterrupted(recorded.printed()) from exc


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


def _result(outcome: Outcome, *, full_screen: bool) -> ToolResult:
    printed = outcome.printed
    text = printed.stdout.decode(errors="replace")
    messages = [str(leftover) for leftover in outcome.leftovers]
    if "\ufffd" in text and text.encode() != printed.stdout:
        messages.append("what the command printed is not UTF-8: bytes that are none were replaced by U+FFFD")
    detail: JsonObject = {
        "exit_status": outcome.exit_status,
        "leftovers": [each.content() for each in outcome.leftovers],
    }
    if omitted := printed.stdout_omitted:
        detail |= {"truncated": True, "omitted_bytes": omitted}
        messages.append(
            f"printed more than {RECORDED // MEBIBYTE} MiB on stdout: its beginning and its end are recorded,"
            f" without {omitted} bytes between them; send it to a file (`> FILE`) if later steps need all of it"
        )
    if full_screen:
        detail["full_screen"] = True  # and could not
    output = text[:-2] if text.endswith("\r\n") else text.removesuffix("\n")
    return ToolResult(output=output, detail=detail | printed.stored(output), messages=tuple(messages))


def _failure(outcome: Outcome, folder: Path, *, seen: bool) -> ToolFailed:
    if outcome.exit_status < 0:
        reason = f"was ended by {signal_name(-outcome.exit_status)}"
    else:
        reason = f"ended with exit status {outcome.exit_status}"
    stderr = outcome.stderr_tail.decode(errors="replace")
    lines = [] if seen else stderr.strip().splitlines()[-SHOWN_LINES:]
    # On a terminal the two cannot be distinguished, and the user has just seen it.
    stderr = stderr or outcome.printed.stdout[-TAIL:].decode(errors="replace")
    return ToolFailed(
        tool="shell",
        reason="\n".join([reason + (":" if lines else ""), *lines]),
        exit_status=outcome.exit_status,
        stderr=stderr,
        folder=str(folder),
        leftovers=[leftover.content() for leftover in outcome.leftovers],
        hint="correct the command or what it works on",
    )
