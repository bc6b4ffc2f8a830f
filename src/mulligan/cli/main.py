"""The program: finds the command, runs it, and turns every error into an answer and an exit code."""

import importlib
import os
import signal
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import click
from msgspec.structs import replace

from mulligan.cli.answers.answer import Answer, Format, Line
from mulligan.cli.command_words import in_commands
from mulligan.cli.commands.command_groups import SuggestingGroup
from mulligan.cli.commands.declaration import closing_words, command, everywhere
from mulligan.cli.invocation import Invocation
from mulligan.cli.terminal.render import render, write
from mulligan.domain.text.plural import counted
from mulligan.errors import InternalError, Interrupted, MulliganError, ProjectUnwell, SystemFailed, UsageWrong

# Which module declares the commands of each group; loaded when one of them is called.
_GROUPS = {
    "plan": (
        "mulligan.cli.commands.plan_commands",
        "Create, run, look at, compare, roll back, correct and apply plans.",
    ),
    "checkpoint": (
        "mulligan.cli.commands.checkpoint_commands",
        "List, show, compare, take, check, restore and prune checkpoints.",
    ),
    "config": ("mulligan.cli.commands.config_commands", "Look at and change settings."),
    "tool": ("mulligan.cli.commands.tool_commands", "List, show and trust tools."),
}
# Top-level commands, each in a module of its own.
_COMMANDS = {
    "completion": "mulligan.cli.commands.completion_command",
    "run": "mulligan.cli.commands.run_command",
    "undo": "mulligan.cli.commands.undo_command",
}
_WITH_VALUE = (
    "--format",
    "--project",
    "-c",
    "--resource",
    "--name",
)  # options that may come before its words


class _Program(SuggestingGroup):
    """The top group: its own groups are loaded when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *_GROUPS, *_COMMANDS})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _COMMANDS:
            own: click.Group = importlib.import_module(_COMMANDS[cmd_name]).group
            return own.get_command(ctx, cmd_name)
        if cmd_name in _GROUPS:
            found: click.Command = importlib.import_module(_GROUPS[cmd_name][0]).group
            return found
        return super().get_command(ctx, cmd_name)


@click.group(
    cls=_Program,
    name="mulligan",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},  # all below it take them from here
    epilog=closing_words(
        ["mulligan run -- sed -i s/v1/v2/ api.txt", "mulligan plan diff", "mulligan plan apply latest"],
        (0, 1, 2, 3, 4, 130),
    ),
)
@everywhere
@click.version_option(package_name="mulligan")
@click.pass_context
def program(context: click.Context) -> None:
    """Run plans so that nothing they do is final until you say so.

    A plan works in sandboxes, takes checkpoints automatically, and can be rolled back to any of them.
    Start with: mulligan run -- COMMAND, or with a plan file: mulligan plan execute FILE
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@command(program, "init", example="mulligan init", codes=(0, 1, 2, 3))
@click.argument("path", default=".")
def init(invocation: Invocation, path: str) -> Answer:
    """Make a project in PATH (the current folder): a folder .mulligan that holds all mulligan needs."""
    project, new = invocation.new_project(path)
    project.prepare()
    word = "made" if new else "was there already:"
    return Answer(
        data={"project": str(project.folder), "database": str(project.database), "new": new},
        blocks=[Line(f"project {word} {project.folder}")],
    )


@command(program, "gc", example="mulligan gc --dry-run", codes=(0, 1, 2, 3, 130))
@click.option("--dry-run", is_flag=True, help="Only count what would be freed.")
def gc(invocation: Invocation, dry_run: bool) -> Answer:
    """Free what no checkpoint refers to, and what killed processes left behind.

    Plans may run meanwhile. Pruning frees most of it automatically; this frees the rest. With the setting
    sandbox.cleanup=on_terminal it removes the sandboxes of plans that were applied or cancelled, too.
    """
    report = invocation.project().gc(dry_run=dry_run)
    would = "would be " if dry_run else ""
    lines = [
        Line(f"{counted(report.bytes_freed, 'byte')} {would}freed"),
        Line(f"needed in packs: {counted(report.bytes_kept, 'byte')}"),
        Line(f"objects {would}removed: {report.objects_removed}, kept: {report.objects_kept}"),
        Line(f"packs {would}removed: {report.packs_removed}, rewritten: {report.packs_rewritten}"),
    ]
    lines += [Line(f"sandbox {would}removed: {path}") for path in report.sandboxes_removed]
    leftovers = report.work_folders_removed + report.stat_caches_removed + report.scratch_folders_removed
    if leftovers:
        lines.append(Line(f"leftovers {would}removed: {leftovers}"))
    packs = counted(report.packs_unreadable, "pack")
    unreadable = f"{packs} cannot be read and stay: see `mulligan checkpoint verify`"
    messages = [unreadable] if report.packs_unreadable else []
    return Answer(data=report, blocks=lines, messages=messages, warn=bool(messages))


@command(program, "doctor", example="mulligan doctor", codes=(0, 1, 2, 3))
def doctor(invocation: Invocation) -> Answer:
    """Check database, store, sandboxes, processes and leftovers; repair what is safe, and say what is left.

    Looks at presence and structure of the store; `checkpoint verify` reads and hashes every byte.
    """
    diagnosis = invocation.project().doctor()
    lines = [
        Line(
            f"{'repaired' if f.repaired else 'wrong'}, {f.area}: {f.what}{f.remedy and f'; {in_commands(f.remedy)}'}"
        )
        for f in diagnosis.findings
    ]
    lines += [Line(f"waiting: {in_commands(text)}") for text in diagnosis.waiting]
    lines += [Line(f"left alone: {text}") for text in diagnosis.left_alone]
    left = sum(not finding.repaired for finding in diagnosis.findings)
    lines.append(Line("all is well" if not left else f"left wrong: {left}", title=True))
    return Answer(data=diagnosis, blocks=lines, error=ProjectUnwell(count=left) if left else None)


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
    except MulliganError as exc:
        answer = Answer(data=None, error=exc)
    except click.exceptions.NoArgsIsHelpError as exc:
        if not invocation.format.is_document:
            click.echo(exc.ctx.get_help() if exc.ctx else "")
            return UsageWrong.exit_code
        answer = Answer(data=None, error=_misused(click.UsageError("a command is missing", exc.ctx), name))
    except click.ClickException as exc:
        answer = Answer(data=None, error=_misused(exc, name))
    except (KeyboardInterrupt, click.Abort):
        answer = Answer(data=None, error=Interrupted())
    except OSError as exc:  # a name too long for the system, for one; work is translated where it is done
        answer = Answer(data=None, error=_system_error(exc))
    except Exception as exc:  # noqa: BLE001 - a script gets its document and an exit code from a bug too
        answer = Answer(data=None, error=_unforeseen(exc, invocation))
    if invocation.told:
        answer = replace(answer, messages=[*invocation.told, *answer.messages])
    try:
        invocation.live.close()
        format = invocation.format
    except ValueError:
        format = Format.PLAIN
    try:
        render(answer, name, format, started, timedelta(seconds=time.monotonic() - clock))
        invocation.close()
    except OSError as exc:  # the answer is lost, and a script must not take that for a success
        click.echo(f"error: the answer could not be written: {exc.strerror}", err=True)
        return answer.code or SystemFailed.exit_code
    return answer.code


def _interrupt(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _unforeseen(exc: Exception, invocation: Invocation) -> MulliganError:
    """Return the cause of an unexpected error: an impossible file name, invalid rows, or a bug."""
    if isinstance(exc, UnicodeEncodeError) or (isinstance(exc, ValueError) and "embedded null" in str(exc)):
        return UsageWrong(reason="a path has a character that no file name has", hint="give another one")
    if explained := invocation.unsound_rows():
        return explained
    import traceback

    from mulligan.api.document import harmless_lines

    write(sys.stderr, harmless_lines("".join(traceback.format_exception(exc))))
    return InternalError(reason=f"{type(exc).__name__}: {exc}")


def _misused(exc: click.ClickException, command: str) -> UsageWrong:
    from mulligan.cli.commands.usage_errors import usage_error  # here: only a mistake needs it

    return usage_error(exc, command)


def _system_error(exc: OSError) -> SystemFailed:
    if isinstance(exc.filename, str):
        return SystemFailed(path=exc.filename, reason=exc.strerror or str(exc))
    return SystemFailed(path="the system", reason=exc.strerror or str(exc), hint=SystemFailed.usual_advice())


def _format_in(arguments: Sequence[str]) -> str | None:
    """Return the format asked for anywhere on the line, so that a usage error is in it too."""
    words = {f.value for f in Format}
    arguments = _without_command(arguments)
    for index, argument in enumerate(arguments):
        if argument.startswith("--format="):
            value = argument.removeprefix("--format=")
        elif argument == "--format" and index + 1 < len(arguments):
            value = arguments[index + 1]
        else:
            continue
        return value if value in words else None
    return None


def _without_command(arguments: Sequence[str]) -> Sequence[str]:
    """The words up to the command that `run` is given: what follows belongs to that command."""
    words = list[str]()
    skip = False
    for index, argument in enumerate(arguments):
        if skip:
            skip = False
        elif argument == "--" or (words == ["run"] and not argument.startswith("-")):
            return arguments[:index]
        elif argument in _WITH_VALUE:
            skip = True
        elif not argument.startswith("-"):
            words.append(argument)
    return arguments


def _command_name(arguments: Sequence[str]) -> str:
    """The words that name the command, for the envelope."""
    skip = False
    words: list[str] = []
    for argument in arguments:
        if skip:
            skip = False
        elif argument in _WITH_VALUE:
            skip = True
        elif not argument.startswith("-"):
            words.append(argument)
            if words[0] not in _GROUPS or len(words) == 2:
                break
    return " ".join(words)
