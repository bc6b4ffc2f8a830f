"""Commands about coding agents: hooks that call mulligan, in the configuration of each agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mulligan.cli.commands.command_groups import SuggestingGroup
from mulligan.cli.commands.declaration import command, everywhere
from mulligan.domain.agents.agent_table import AGENTS
from mulligan.domain.agents.hook_entries import Scope
from mulligan.errors import UsageWrong

if TYPE_CHECKING:
    from mulligan.cli.answers.answer import Answer
    from mulligan.cli.invocation import Invocation


@everywhere
@click.group(cls=SuggestingGroup, name="agent")
def group() -> None:
    """Let coding agents take checkpoints while they work: their hooks call mulligan."""


_names = click.argument("names", nargs=-1, type=click.Choice(list(AGENTS)), metavar="[NAME]...")
_scope = click.option(
    "--scope",
    type=click.Choice([scope.value for scope in Scope]),
    default=Scope.USER.value,
    show_default=True,
    help="The configuration of the user, for all folders, or that of this project.",
)
_dry_run = click.option("--dry-run", is_flag=True, help="Only show the change.")
_yes = click.option("--yes", "-y", is_flag=True, help="Do not ask.")


@command(group, "install", example="mulligan agent install --dry-run claude-code")
@_names
@click.option("--all", "every", is_flag=True, help="All agents that are found on this machine.")
@_scope
@click.option(
    "--strict", is_flag=True, help="Block the agent where mulligan fails, instead of going on without it."
)
@click.option("--everywhere", "in_checkouts", is_flag=True, help="Make a project in every git checkout.")
@_dry_run
@_yes
def install(
    invocation: Invocation,
    names: tuple[str, ...],
    every: bool,
    scope: str,
    strict: bool,
    in_checkouts: bool,
    dry_run: bool,
    yes: bool,
) -> Answer:
    """Write hooks for agents NAME into their own configuration, beside other hooks.

    The change is shown first. A copy of each file is kept, and `agent uninstall` takes the hooks out again. In a folder
    without a project the hooks do nothing.
    """
    from mulligan.api.agents import agent_install
    from mulligan.cli.agents.agent_answer import changes_answer

    _need_names(names, every=every)

    def act(dry: bool) -> Answer:
        done = agent_install.install(
            invocation.around,
            names,
            every=every,
            scope=scope,
            strict=strict,
            everywhere=in_checkouts,
            dry_run=dry,
        )
        return changes_answer(done, "install")

    return invocation.confirmed(act, "Install?", dry_run=dry_run, yes=yes)


@command(group, "uninstall", example="mulligan agent uninstall --dry-run claude-code")
@_names
@click.option("--all", "every", is_flag=True, help="All agents.")
@_scope
@_dry_run
@_yes
def uninstall(
    invocation: Invocation, names: tuple[str, ...], every: bool, scope: str, dry_run: bool, yes: bool
) -> Answer:
    """Take the hooks of agents NAME out of their configuration.

    A file that nobody changed since is byte for byte as it was before; of another one only our entries go.
    """
    from mulligan.api.agents import agent_install
    from mulligan.cli.agents.agent_answer import changes_answer

    _need_names(names, every=every)

    def act(dry: bool) -> Answer:
        done = agent_install.uninstall(invocation.around, names, every=every, scope=scope, dry_run=dry)
        return changes_answer(done, "uninstall")

    return invocation.confirmed(act, "Uninstall?", dry_run=dry_run, yes=yes)


@command(group, "list", example="mulligan agent list")
def list_agents(invocation: Invocation) -> Answer:
    """List the agents that mulligan knows: found, installed, trusted, and the newest event of each."""
    from mulligan.api.agents.agent_overview import list_agents as listed
    from mulligan.cli.agents.agent_answer import agents_answer

    return agents_answer(listed(invocation.around), invocation.when)


@command(group, "doctor", example="mulligan agent doctor")
@_names
def doctor(invocation: Invocation, names: tuple[str, ...]) -> Answer:
    """Send a test event through the installed hooks, all or those of agents NAME, and show what they answer.

    The event comes from a temporary folder without a project: nothing is recorded.
    """
    from mulligan.api.agents.agent_overview import try_hooks
    from mulligan.cli.agents.agent_answer import tests_answer

    return tests_answer(try_hooks(invocation.around, names))


@command(group, "pause", example="mulligan agent pause")
def pause(invocation: Invocation) -> Answer:
    """Switch the hooks of all agents off in this project: no checkpoints until `unpause`."""
    from mulligan.api.entrance import pause_hooks
    from mulligan.cli.agents.agent_answer import pause_answer

    project = invocation.project()
    pause_hooks(project.folder)
    return pause_answer(project.folder, paused=True)


@command(group, "unpause", example="mulligan agent unpause")
def unpause(invocation: Invocation) -> Answer:
    """Switch the hooks on again."""
    from mulligan.api.entrance import pause_hooks
    from mulligan.cli.agents.agent_answer import pause_answer

    project = invocation.project()
    pause_hooks(project.folder, paused=False)
    return pause_answer(project.folder, paused=False)


def _need_names(names: tuple[str, ...], *, every: bool) -> None:
    if every is bool(names):
        reason = "--all does not go with names" if names else "name an agent, or say --all"
        raise UsageWrong(reason=reason, hint=f"the agents are {', '.join(AGENTS)}")
