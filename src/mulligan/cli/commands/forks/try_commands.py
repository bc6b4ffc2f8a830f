"""The command `try`, and what can be done with its variants: `pick`, `diff`, `show`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mulligan.cli.commands.command_groups import SuggestingGroup
from mulligan.cli.commands.declaration import (
    CommandWithPaths,
    after_dashes,
    closing_words,
    command,
    complete_names,
    diff_view,
    diff_views,
    everywhere,
    has_dashes,
    pass_invocation,
    paths_of,
)
from mulligan.domain.text.duration import seconds_in
from mulligan.errors import Advice, NextStep, UsageWrong

if TYPE_CHECKING:
    from collections.abc import Sequence

    from click.shell_completion import CompletionItem

    from mulligan.cli.answers.answer import Answer
    from mulligan.cli.invocation import Invocation

_CODES = (0, 1, 2, 3, 130)


class _TryGroup(SuggestingGroup):
    """The command `try`, which takes another command after `--`; before it the words of its own commands."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the command away before the words are read, unless they name a command of the group."""
        if "--" in args:
            before = args[: args.index("--")]
            _, words, _ = self.make_parser(ctx).parse_args(list(before))
            if not words:
                args = after_dashes(ctx, args)
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click hands it over
        """Return the words of the usage line."""
        return ["[OPTIONS]", "-- COMMAND..."]

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Offer programs and files after `--`."""
        if not has_dashes(ctx):
            return super().shell_complete(ctx, incomplete)
        from mulligan.cli.completion.word_completion import named_words  # here: only shells ask

        return named_words("program", ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; for another word say where the command to try belongs."""
        if self.get_command(ctx, args[0]) is None:
            known = ", ".join(self.list_commands(ctx))
            raise UsageWrong(
                reason=f"{args[0]!r} is none of {known}",
                hint=f"put `--` before a command that is to be tried: `mulligan try -- {shlex.join(args)}`",
            )
        return super().resolve_command(ctx, args)


class _Pair(click.ParamType[tuple[str, str]]):
    """A name and a line of shell."""

    name = "NAME=COMMAND"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        name, sign, line = value.partition("=")
        if not (sign and name.strip() and line.strip()):
            self.fail(f"{value!r} is not NAME=COMMAND", param, ctx)
        return name.strip(), line


class _Duration(click.ParamType[float]):
    """A length of time."""

    name = "DURATION"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds = seconds_in(value) if not value.isdecimal() else float(value)
        if not seconds:
            self.fail(f"{value!r} is not a duration such as 90s, 5m or 1h", param, ctx)
        return seconds


@everywhere
@click.group(
    cls=_TryGroup,
    name="try",
    invoke_without_command=True,
    epilog=closing_words(
        ["mulligan try -n 2 --check 'grep -q v2 api.txt' -- sed -i s/v1/v2/ api.txt"], _CODES
    ),
)
@click.option(
    "-n", "count", type=click.IntRange(min=1), metavar="N", help="How many variants; 2 unless given."
)
@click.option(
    "--variant",
    "variants",
    type=_Pair(),
    multiple=True,
    metavar="NAME=COMMAND",
    help="A variant of its own: a line of shell. May be given several times, in the place of COMMAND.",
)
@click.option("--check", metavar="CMD", help="A line of shell that says whether a variant passes.")
@click.option(
    "--from", "start", metavar="PLAN@M", help="Start from this checkpoint, not from the real files."
)
@click.option("--keep-going", is_flag=True, help="Start the others although a variant could not be run.")
@click.option(
    "--timeout", type=_Duration(), metavar="DURATION", help="How long a command may take, such as 5m."
)
@click.option("--name", metavar="N", help="The plan's name; that of the program unless given.")
@click.option(
    "--resource",
    metavar="PATH",
    help="The folder to work on; unless given the git checkout around the current folder, or else that folder.",
)
@click.pass_context
@pass_invocation
def group(
    invocation: Invocation,
    context: click.Context,
    count: int | None,
    variants: Sequence[tuple[str, str]],
    check: str | None,
    start: str | None,
    keep_going: bool,
    timeout: float | None,
    name: str | None,
    resource: str | None,
) -> Answer | None:
    """Try several ways at once, each in a sandbox of its own, and compare them.

    COMMAND is run N times, or each variant once; MULLIGAN_VARIANT is its number, from 1. All start from the same files.
    The check runs in each sandbox afterwards, and what it writes is dropped; without one a variant passes if its
    command exits with 0. `plan.max-parallel` run at a time. Then `mulligan try pick X` chooses, and `mulligan apply`
    applies that. A try that was cut off goes on with `mulligan resume`: finished variants do not run again.
    """
    if context.invoked_subcommand is not None:
        if any((count, variants, check, start, keep_going, timeout, name, resource)):
            raise UsageWrong(
                reason=f"the options before {context.invoked_subcommand!r} are those of a new try",
                hint="leave them out",
            )
        return None
    from mulligan.api.operations.command_place import command_place
    from mulligan.cli.answers.plans.variant_answer import tried_answer

    words = paths_of(context)
    names = [variant for variant, _ in variants]
    twice = next((each for each in names if names.count(each) > 1), None)
    if twice is not None:
        raise UsageWrong(reason=f"two variants are called {twice!r}", hint="give each its own name")
    if not words and not variants:
        again = NextStep("try_variants", count=3, words=...)
        raise UsageWrong(reason="the command is missing", hint=Advice("name it after `--`: ", again))
    if start is not None and resource is not None:
        raise UsageWrong(
            reason="--from names a checkpoint, which has its resource", hint="leave --resource out"
        )
    if start is not None:
        project = invocation.project()
        real, folder = None, project.folder_in(start, Path.cwd())
    else:
        place = command_place(invocation.around, invocation.project_option, resource, in_place=False)
        project = invocation.project_in(str(place.project))
        real, folder = place.resource, place.folder
    tried = project.try_variants(
        words,
        count=count,
        variants=dict(variants),
        check=check,
        start=start,
        keep_going=keep_going,
        timeout=timeout,
        name=name,
        resource=real,
        folder=folder,
    )
    return tried_answer(tried)


complete_names(group)


@command(group, "show", example="mulligan try show", codes=_CODES)
@click.argument("plan", required=False, metavar="[PLAN]")
def show(invocation: Invocation, plan: str | None) -> Answer:
    """Show the variants of a try as they are now; of the newest try unless named."""
    from mulligan.cli.answers.plans.variant_answer import tried_answer

    return tried_answer(invocation.project().variants(plan))


@command(group, "pick", example="mulligan try pick 2", codes=(0, 1, 2, 3, 4, 130))
@click.argument("variant", metavar="VARIANT")
@click.option("--rationale", metavar="TEXT", help="Why; it is recorded with the decision.")
def pick(invocation: Invocation, variant: str, rationale: str | None) -> Answer:
    """Choose a variant, to be applied; the real files stay as they are until then.

    VARIANT is a name or number in the newest try, or a handle such as `fix.2`. Another one can be picked afterwards:
    the try goes back to the choice first.
    """
    from mulligan.cli.answers.plans.variant_answer import picked_answer

    return picked_answer(invocation.project().pick_variant(variant, rationale=rationale))


@command(group, "diff", example="mulligan try diff --stat 1 2", cls=CommandWithPaths)
@click.argument("variant", metavar="VARIANT")
@click.argument("other_variant", metavar="VARIANT")
@click.option("--binary", is_flag=True, help="Let the patch carry binary files too.")
@click.option("--hidden", is_flag=True, help="Show what sandbox.hide matches too: caches of tools.")
@diff_views
@click.pass_context
def diff(
    context: click.Context,
    invocation: Invocation,
    variant: str,
    other_variant: str,
    binary: bool,
    hidden: bool,
    stat: bool,
    name_only: bool,
) -> Answer:
    """Compare the results of two variants; with PATHs only what these match.

    VARIANT is a name or number in the newest try, or a handle such as `fix.2`.
    """
    from mulligan.cli.answers.diff_answer import diff_answer

    view, paths = diff_view(stat=stat, name_only=name_only), paths_of(context)
    found = invocation.project().diff_of_variants(
        variant,
        other_variant,
        binary=binary,
        hidden=hidden,
        paths=paths,
        folder=Path.cwd() if paths else None,
    )
    return diff_answer(found, view, f"mulligan try diff --stat {shlex.join((variant, other_variant))}")
