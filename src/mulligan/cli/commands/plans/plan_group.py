"""The group `plan`, and the module of each of its commands."""

import click

from mulligan.cli.commands.command_groups import DividedGroup
from mulligan.cli.commands.declaration import everywhere

_HERE = "mulligan.cli.commands.plans"


@everywhere
@click.group(
    cls=DividedGroup,
    name="plan",
    modules={
        **dict.fromkeys(("list", "log", "status"), f"{_HERE}.look_commands"),
        **dict.fromkeys(("diff", "report", "tree"), f"{_HERE}.story_commands"),
        **dict.fromkeys(
            ("accept", "answer", "cancel", "create", "execute", "resume"), f"{_HERE}.execution_commands"
        ),
        **dict.fromkeys(("correct", "resolve", "rollback"), f"{_HERE}.return_commands"),
        **dict.fromkeys(("apply", "rm", "unapply"), f"{_HERE}.result_commands"),
        "submit": "mulligan.cli.commands.workers.submit_command",
        "fork": "mulligan.cli.commands.forks.fork_command",
    },
)
def group() -> None:
    """Create, run, look at, compare, roll back, correct and apply plans."""
