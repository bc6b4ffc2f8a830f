"""The declaration of commands: common options, and help with example and exit codes."""

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from mulligan import errors
from mulligan.cli.answers.answer import Answer, Format
from mulligan.cli.invocation import Invocation, option_pair
from mulligan.domain.plans.plan import Phase, State
from mulligan.domain.text.plural import counted

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from mulligan.cli.answers.diff_answer import DiffView

pass_invocation = click.make_pass_decorator(Invocation, ensure=True)

_CODES = {
    0: "done",
    1: "failed: a step failed, something is damaged, the system refused something",
    2: "wrong usage, plan file or setting",
    3: "refused: a guard, an unknown or ambiguous name, a declined question",
    4: "conflict",
    125: "a failure of mulligan itself; `error.kind` says which, as with 1 to 4 elsewhere",
    126: "the command was found, and could not be started",
    127: "the command was not found",
    128: "and more: a signal ended the command; 128 and its number",
    130: "interrupted",
}
_Function = TypeVar("_Function", bound=Callable[..., Answer])
_Command = TypeVar("_Command", bound=click.Command)


class ExplainedCommand(click.Command):
    """A command whose help shows its example in the words that were typed: with its group, or without it."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write example and exit codes."""
        text = self.epilog or ""
        if ctx.parent is ctx.find_root():
            group = example_of(self).split()[1]
            text = text.replace(f"mulligan {group} {self.name} ", f"mulligan {self.name} ", 1)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(text)


class CommandWithPaths(ExplainedCommand):
    """A command that takes paths after `--`, whatever comes before it; `paths_of` has them."""

    after = "[-- PATH...]"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the paths away before the words are read."""
        return super().parse_args(ctx, after_dashes(ctx, args) if "--" in args else args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return the words of the usage line."""
        return [*super().collect_usage_pieces(ctx), self.after]

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem[str]]":
        """Offer files after `--`."""
        from click.shell_completion import CompletionItem

        return [CompletionItem("", "file")] if has_dashes(ctx) else super().shell_complete(ctx, incomplete)


class CommandAfterPlan(CommandWithPaths):
    """A command that takes another one after `--`; `paths_of` has its words."""

    after = "-- COMMAND..."


_PATHS = "mulligan.paths"


def after_dashes(context: click.Context, args: list[str]) -> list[str]:
    """Keep the words after `--` for `paths_of`, and return those before it."""
    place = args.index("--")
    context.meta[_PATHS] = tuple(args[place + 1 :])
    return args[:place]


def has_dashes(context: click.Context) -> bool:
    """Return whether the line has a `--`."""
    return _PATHS in context.meta


def paths_of(context: click.Context) -> tuple[str, ...]:
    """Return the paths after `--` on the line."""
    return context.meta.get(_PATHS, ())


def command(
    group: click.Group,
    name: str,
    *,
    example: str,
    codes: Sequence[int] = (0, 1, 2, 3),
    cls: type[click.Command] = ExplainedCommand,
) -> Callable[[_Function], click.Command]:
    """Declare a command of a group; its docstring is its help, and shells can complete its words."""

    def declare(function: _Function) -> click.Command:
        epilog = closing_words([example], codes)
        made = click.command(name, cls=cls, epilog=epilog)(pass_invocation(_started(function)))
        complete_names(made)
        group.add_command(everywhere(made))
        return made

    return declare


def complete_names(made: click.Command) -> None:
    """Let shells complete the words of a command that name something."""
    named = _Named()
    for parameter in made.params:
        if parameter.type is click.STRING and parameter.name in _NAMED:
            parameter.type = named


def _started(function: _Function) -> _Function:
    """Return a command that starts again where another process made the project of its folder meanwhile."""

    @functools.wraps(function)
    def start(invocation: Invocation, *words: Any, **options: Any) -> Answer:
        try:
            return function(invocation, *words, **options)
        except errors.ProjectMadeMeanwhile:  # nothing is recorded yet
            invocation.close()
            return function(invocation, *words, **options)

    return cast("_Function", start)


def closing_words(examples: Sequence[str], codes: Sequence[int]) -> str:
    """Return the end of a help: the example and the exit codes."""
    shown = "\n".join(f"  {example}" for example in examples)
    listed = "\n".join(f"  {code:<4}{_CODES[code]}" for code in codes)
    return f"\b\nExample:\n{shown}\n\n\b\nExit codes:\n{listed}"


def example_of(command: click.Command) -> str:
    """The example in a command's help; empty of what has none."""
    return (command.epilog or "").partition("Example:\n  ")[2].partition("\n")[0]


# What a word names, by what its parameter is called: the shell can complete it.
_NAMED = {
    "bad": "checkpoint", "checkpoint": "checkpoint", "checkpoint_and_paths": "checkpoint or file",
    "choice": "alternative", "correction": "correction", "decision": "decision", "file": "file", "forgotten": "file",
    "good": "checkpoint", "home": "dir", "key": "key", "new": "checkpoint", "old": "checkpoint", "on": "plan",
    "other": "checkpoint", "other_variant": "variant", "path": "dir", "paths": "conflict", "plan": "plan",
    "plan_or_file": "plan or file", "project": "dir", "resource": "dir", "settings": "setting", "start": "checkpoint",
    "stored": "file", "tool": "tool", "value": "value", "variant": "variant", "what": "plan or entry",
    "words": "program",
}  # fmt: skip


class _Named(click.types.StringParamType):
    """A text that names something."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem[str]]":
        from mulligan.cli.completion.word_completion import named_words

        return named_words(_NAMED[param.name or ""], ctx, incomplete)


# The option of lists that may be long.
newest = click.option(
    "--limit",
    "-n",
    type=click.IntRange(min=1),
    metavar="N",
    help="Show only the newest N, and how many were omitted.",
)


class _StateChoice(click.Choice[str]):
    """A state, by its word in documents or in the list of plans."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from mulligan.cli.answers.plain_words import STATES  # here: seldom asked for

        shown = {
            words: state.value for (phase, state), words in STATES.items() if phase is not Phase.STRATEGIZE
        }
        return super().convert(shown.get(value, value), param, ctx)


in_state = click.option(
    "--state",
    type=_StateChoice([state.value for state in State]),
    help="Only plans in this state; its word in the list will do.",
)

on_any_branch = click.option(
    "--onto-branch",
    is_flag=True,
    help="Act on the branch that a checkout is on now, although it was switched since.",
)


def of_commits(function: Any) -> Any:
    """Add the options of commands that apply a plan: whether a git checkout gets a commit, and with which message."""
    for option in (
        click.option(
            "--message",
            "-m",
            metavar="TEXT",
            help="Commit with this message; the plan's name and description unless given.",
        ),
        click.option(
            "--commit/--no-commit",
            default=None,
            help="Make a commit in a git checkout, or change its working tree only; `apply.commit` unless given.",
        ),
    ):
        function = option(function)
    return function


def not_shown(older: int, one: str, many: str | None = None) -> list[str]:
    """Describe what a limit left out of an answer."""
    return [f"{counted(older, f'older {one}', many and f'older {many}')} not shown"] if older else []


def diff_views(function: Any) -> Any:
    """Add the options that choose what is shown of a difference."""
    for option in (
        click.option("--stat", is_flag=True, help="Show how much of each path differs instead of the patch."),
        click.option("--name-only", is_flag=True, help="Show only the paths that differ."),
    ):
        function = option(function)
    return function


def diff_view(*, stat: bool, name_only: bool) -> "DiffView":
    """Return what is to be shown of a difference."""
    from mulligan.cli.answers.diff_answer import DiffView

    if stat and name_only:
        raise errors.UsageWrong(reason="--stat does not go with --name-only", hint="leave one of them out")
    return DiffView.STAT if stat else DiffView.NAMES if name_only else DiffView.PATCH


def _take(context: click.Context, option: click.Parameter, value: str | None) -> None:
    if value is not None:
        setattr(context.ensure_object(Invocation), f"{option.name}_option", value)


def _switch(context: click.Context, option: click.Parameter, value: bool) -> None:
    if value:  # what an outer command switched on stays on
        setattr(context.ensure_object(Invocation), f"{option.name}_option", True)


def _take_settings(context: click.Context, _option: click.Parameter, value: Sequence[str]) -> None:
    context.ensure_object(Invocation).settings.update(option_pair(text) for text in value)


# The options that may come before or after any command: one object each, which all commands share.
_EVERYWHERE: Sequence[click.Parameter] = (
    click.Option(
        ["--verbose", "-v"],
        is_flag=True,
        callback=_switch,
        expose_value=False,
        help="Show every checkpoint while a plan runs.",
    ),
    click.Option(
        ["--no-pager"],
        is_flag=True,
        callback=_switch,
        expose_value=False,
        help="Show long answers without a pager.",
    ),
    click.Option(
        ["--ids"],
        is_flag=True,
        callback=_switch,
        expose_value=False,
        help="Show the ids of plans and checkpoints, too.",
    ),
    click.Option(
        ["-c", "settings"],
        type=_Named(),
        metavar="KEY=VALUE",
        multiple=True,
        callback=_take_settings,
        expose_value=False,
        help="Set a setting for this call only.",
    ),
    click.Option(
        ["--project"],
        type=_Named(),
        metavar="PATH",
        callback=_take,
        expose_value=False,
        help="The project folder; otherwise the nearest one upwards.",
    ),
    click.Option(
        ["--format"],
        type=click.Choice([f.value for f in Format]),
        callback=_take,
        expose_value=False,
        help="How to answer: rich on a terminal, else plain; json or yaml for scripts.",
    ),
)


def everywhere(made: _Command) -> _Command:
    """Add to a command the options that may come before or after any command."""
    made.params[:0] = _EVERYWHERE
    return made
