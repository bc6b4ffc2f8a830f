"""The declaration of commands: common options, and help with example and exit codes."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from mulligan.cli.answers.answer import Answer, Format
from mulligan.cli.invocation import Invocation, option_pair
from mulligan.domain.text.plural import counted

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

pass_invocation = click.make_pass_decorator(Invocation, ensure=True)

_CODES = {
    0: "done",
    1: "failed: a step failed, something is damaged, the system refused something",
    2: "wrong usage, plan file or setting",
    3: "refused: a guard, an unknown or ambiguous name, a declined question",
    4: "conflict",
    130: "interrupted",
}
_Function = TypeVar("_Function", bound=Callable[..., Answer])


def command(
    group: click.Group, name: str, *, example: str, codes: Sequence[int] = (0, 1, 2, 3)
) -> Callable[[_Function], click.Command]:
    """Declare a command of a group; its docstring is its help, and shells can complete its words."""

    def declare(function: _Function) -> click.Command:
        epilog = closing_words([example], codes)
        made = click.command(name, epilog=epilog)(everywhere(pass_invocation(function)))
        named = _Named()
        for parameter in made.params:
            if parameter.type is click.STRING and parameter.name in _NAMED:
                parameter.type = named
        group.add_command(made)
        return made

    return declare


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
    "checkpoint": "checkpoint", "correction": "correction", "decision": "decision", "file": "file", "key": "key",
    "new": "checkpoint", "old": "checkpoint", "path": "dir", "paths": "conflict", "plan": "plan",
    "plan_or_file": "plan or file", "project": "dir", "resource": "dir", "settings": "setting", "tool": "tool",
    "value": "value", "words": "program",
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
    type=click.IntRange(min=1),
    metavar="N",
    help="Show only the newest N, and how many were omitted.",
)


def not_shown(older: int, one: str, many: str | None = None) -> list[str]:
    """Describe what a limit left out of an answer."""
    return [f"{counted(older, f'older {one}', many and f'older {many}')} not shown"] if older else []


def everywhere(function: Any) -> Any:
    """Add the options that may come before or after any command."""
    for option in (
        click.option(
            "--format",
            type=click.Choice([f.value for f in Format]),
            callback=_take,
            expose_value=False,
            help="How to answer: rich on a terminal, else plain; json or yaml for scripts.",
        ),
        click.option(
            "--project",
            type=_Named(),
            metavar="PATH",
            callback=_take,
            expose_value=False,
            help="The project folder; otherwise the nearest one upwards.",
        ),
        click.option(
            "-c",
            "settings",
            type=_Named(),
            metavar="KEY=VALUE",
            multiple=True,
            callback=_take_settings,
            expose_value=False,
            help="Set a setting for this call only.",
        ),
    ):
        function = option(function)
    return function


def _take(context: click.Context, option: click.Parameter, value: str | None) -> None:
    if value is not None:
        setattr(context.ensure_object(Invocation), f"{option.name}_option", value)


def _take_settings(context: click.Context, _option: click.Parameter, value: Sequence[str]) -> None:
    context.ensure_object(Invocation).settings.update(option_pair(text) for text in value)
