"""The program: finds the command, runs it, and turns every error into an answer and an exit code."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import click
from msgspec.structs import replace

from mulligan import errors
from mulligan.cli.answers.answer import Answer, Format, Line
from mulligan.cli.commands.command_groups import SuggestingGroup
from mulligan.cli.commands.declaration import closing_words, everywhere
from mulligan.cli.invocation import Invocation
from mulligan.cli.terminal.render import render, write
from mulligan.errors import Interrupted, MulliganError

VERSION = "0.1.0"  # that of the distribution, whose metadata takes as long to read as a short command

# The modules that declare the commands of each group, and the commands without a group; loaded when one is called.
_GROUPS = {
    "agent": "mulligan.cli.agents.agent_commands",
    "plan": "mulligan.cli.commands.plans.plan_group",
    "checkpoint": "mulligan.cli.commands.checkpoint_commands",
    "config": "mulligan.cli.commands.config_commands",
    "database": "mulligan.cli.commands.database_commands",
    "project": "mulligan.cli.commands.home_commands",
    "tool": "mulligan.cli.commands.tool_commands",
    "try": "mulligan.cli.commands.forks.try_commands",
    "worker": "mulligan.cli.commands.workers.worker_commands",
}
# Commands that run another one: their exit code is that of the other, and 125 is a failure of their own.
_WRAPPERS = ("run", "shell")
_COMMANDS = {
    **dict.fromkeys(
        ("completion", "doctor", "gc", "help", "init", "projects", "serve"),
        "mulligan.cli.commands.project_commands",
    ),
    "log": "mulligan.cli.commands.plans.log_command",
    **dict.fromkeys(("bisect", "redo", "undo"), "mulligan.cli.commands.timeline_commands"),
    "hook": "mulligan.cli.agents.hook_command",
    "mcp": "mulligan.cli.agents.mcp_command",
    "ui": "mulligan.cli.page.ui_command",
    **dict.fromkeys(("forget", "restore"), "mulligan.cli.commands.path_commands"),
    **dict.fromkeys(_WRAPPERS, "mulligan.cli.commands.run_command"),
}
# Commands of groups that may be called without the name of their group.
_VERBS = {
    **dict.fromkeys(
        (
            *("accept", "answer", "apply", "cancel", "correct", "diff", "list", "resume", "rollback"),
            *("fork", "rm", "status", "submit", "unapply"),
        ),
        "plan",
    ),
    "show": "checkpoint",
    **dict.fromkeys(("pause", "unpause"), "agent"),
}
# Options that may come before the words of a command.
_WITH_VALUE = (
    *("--format", "--project", "-c", "--limit", "-n"),
    *("--resource", "--name", "--on", "--message", "-m", "--good", "--bad"),
    *("--variant", "--check", "--from", "--timeout", "--rationale", "--queue", "-q", "--slots", "--retries"),
)


class _Program(SuggestingGroup):
    """The top group: its own groups are loaded when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click hands it over
        return sorted((*_GROUPS, *_COMMANDS, *_VERBS))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = _GROUPS.get(_VERBS.get(cmd_name, cmd_name)) or _COMMANDS.get(cmd_name)
        if module is None:
            return None
        group: click.Group = importlib.import_module(module).group
        return group if cmd_name in _GROUPS else group.get_command(ctx, cmd_name)


class _Shown(Exception):
    """The answer of an option that is one."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer


def _show_version(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    raise _Shown(Answer(data={"version": VERSION}, blocks=[Line(f"mulligan, version {VERSION}")]))


@everywhere
@click.group(
    cls=_Program,
    name="mulligan",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},  # all below it take them from here
    epilog=closing_words(
        ["mulligan run -- sed -i s/v1/v2/ api.txt", "mulligan diff", "mulligan apply"],
        (0, 1, 2, 3, 4, 130),
    ),
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
@click.pass_context
def program(context: click.Context) -> Answer | None:
    """Run plans so that nothing they do is final until you say so.

    A plan works in sandboxes, takes checkpoints automatically, and can be rolled back to any of them.
    Start with: mulligan run -- COMMAND, or with a plan file: mulligan plan execute FILE
    """
    if context.invoked_subcommand is not None:
        return None
    text = context.get_help()
    return Answer(
        data={"command": "mulligan", "help": text}, blocks=[Line(line) for line in text.split("\n")]
    )


def run(arguments: Sequence[str]) -> int:
    """Run one command line; return the exit code."""
    if "_MULLIGAN_COMPLETE" in os.environ:
        from mulligan.cli.completion.word_completion import answer_shell  # here: only shells ask

        answer_shell(program, os.environ)
        return 0
    started, clock = datetime.now(UTC), time.monotonic()
    invocation = Invocation(format_option=_format_in(arguments))
    signal.signal(signal.SIGTERM, _interrupt)
    name = _command_name(arguments)
    try:
        result = program.main(list(arguments), "mulligan", standalone_mode=False, obj=invocation)
        if not isinstance(result, Answer):
            return result if isinstance(result, int) else 0  # help or version, printed already
        answer = result
    except _Shown as exc:
        answer = exc.answer
    except MulliganError as exc:
        answer = Answer(data=None, error=exc)
    except click.exceptions.NoArgsIsHelpError as exc:
        if not invocation.format.is_document:
            click.echo(exc.ctx.get_help() if exc.ctx else "")
            return errors.UsageWrong.exit_code
        answer = Answer(data=None, error=_misused(click.UsageError("a command is missing", exc.ctx), name))
    except click.ClickException as exc:
        answer = Answer(data=None, error=_misused(exc, name))
    except (KeyboardInterrupt, click.Abort):
        answer = Answer(data=None, error=Interrupted())
    except Exception as exc:  # noqa: BLE001 - a script gets its document and an exit code from a bug too
        answer = Answer(data=None, error=_unforeseen(exc, invocation))
    if name in _WRAPPERS and answer.error is not None and answer.exit_code is None:
        from mulligan.api.operations.command_run import code_of

        answer = replace(answer, exit_code=code_of(answer.error))
    if invocation.told:
        answer = replace(answer, messages=[*invocation.told, *answer.messages])
    try:
        invocation.live.close()
        format = invocation.format
    except ValueError:
        format = Format.PLAIN
    try:
        took = timedelta(seconds=time.monotonic() - clock)
        render(answer, name or "mulligan", format, started, took, invocation.names, invocation.page)
        invocation.close()
    except OSError as exc:  # the answer is lost, and a script must not take that for a success
        click.echo(f"error: the answer could not be written: {exc.strerror}", err=True)
        return answer.code or errors.SystemFailed.exit_code
    return answer.code


def _interrupt(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _unforeseen(exc: Exception, invocation: Invocation) -> MulliganError:
    """Return the cause of an unexpected error: the system, an impossible file name, invalid rows, or a bug."""
    from mulligan.api.operations.foreign_errors import our_error  # here: seldom needed

    error = our_error(exc)
    if not isinstance(error, errors.InternalError):
        return error
    if explained := invocation.unsound_rows():
        return explained
    import traceback

    from mulligan.api.document import harmless_lines

    write(sys.stderr, harmless_lines("".join(traceback.format_exception(exc))))
    return error


def _misused(exc: click.ClickException, command: str) -> errors.UsageWrong:
    from mulligan.cli.commands.usage_errors import usage_error  # here: only a mistake needs it

    return usage_error(exc, command)


def _format_in(arguments: Sequence[str]) -> str | None:
    """Return the format asked for anywhere on the line, so that a usage error is in it too."""
    own = _without_command(arguments)
    for argument, following in zip(own, (*own[1:], ""), strict=False):
        option, _, value = argument.partition("=")
        if option == "--format":
            asked = following if option == argument else value
            return asked if asked in list(Format) else None
    return None


def _without_command(arguments: Sequence[str]) -> Sequence[str]:
    """Return the arguments up to the command that `run` is given: what follows belongs to that command."""
    words: list[str] = []
    for index, word in _words(arguments):
        if word == "--" or words == ["run"]:
            return arguments[:index]
        words.append(word)
    return arguments


def _command_name(arguments: Sequence[str]) -> str:
    """Return the words that name the command, for the envelope; always with its group."""
    named = [word for _, word in _words(arguments)]
    words = [word for word in named if word != "--"]
    if words[:1] == ["try"]:  # what follows `--` is the command to try
        return " ".join(named[: named.index("--") if "--" in named else None][:2])
    if words[:1] == ["log"]:
        return "plan log" if len(words) > 1 else "log"  # without a plan it is the timeline
    if words and words[0] in _VERBS:
        return f"{_VERBS[words[0]]} {words[0]}"
    return " ".join(words[: 2 if words[:1] and words[0] in _GROUPS else 1])


def _words(arguments: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the arguments that are neither options nor values of options, with their positions."""
    skip = False
    for index, argument in enumerate(arguments):
        if not skip and (argument == "--" or not argument.startswith("-")):
            yield index, argument
        skip = not skip and argument in _WITH_VALUE
