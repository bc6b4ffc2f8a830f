"""The command `completion`: the script that lets a shell complete what is typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mulligan.cli.answers.answer import Answer, Line
from mulligan.cli.commands.declaration import command
from mulligan.cli.completion.completion_scripts import SCRIPTS

if TYPE_CHECKING:
    from mulligan.cli.invocation import Invocation

group = click.Group("mulligan")


@command(group, "completion", example="mulligan completion bash", codes=(0, 2))
@click.argument("shell", metavar="SHELL", type=click.Choice(list(SCRIPTS)))
def completion(_invocation: Invocation, shell: str) -> Answer:
    """Print a script that lets SHELL (bash, zsh or fish) complete commands, options and what a project knows.

    \b
    bash:  eval "$(mulligan completion bash)"           in ~/.bashrc
    zsh:   eval "$(mulligan completion zsh)"            in ~/.zshrc, after compinit
    fish:  mulligan completion fish | source            in ~/.config/fish/config.fish
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with this character
    script = SCRIPTS[shell]
    return Answer(
        data={"shell": shell, "script": f"{script}\n"}, blocks=[Line(line) for line in script.split("\n")]
    )
