"""Groups of commands that name the nearest one when a command is misspelt."""

import click

from mulligan.domain.naming import nearest_word
from mulligan.errors import UsageWrong


class SuggestingGroup(click.Group):
    """A group of commands."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; for a misspelt one name the nearest."""
        found = self.get_command(ctx, args[0])
        if found is None:
            near = nearest_word(args[0], self.list_commands(ctx), at_least=0.7)
            word = f"{ctx.command_path} {near}" if near else f"{ctx.command_path} --help"
            hint = f"did you mean `{word}`?" if near else f"see `{word}`"
            raise UsageWrong(reason=f"there is no command {args[0]!r}", hint=hint)
        return found.name, found, args[1:]
