"""Commands on a whole project, and those without a group: `init`, `gc`, `doctor`, `undo`, `completion`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mulligan.cli.answers.answer import Answer, Line
from mulligan.cli.commands.declaration import command
from mulligan.domain.text.plural import counted

if TYPE_CHECKING:
    from mulligan.cli.invocation import Invocation

group = click.Group("mulligan")


@command(group, "init", example="mulligan init")
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


@command(group, "gc", example="mulligan gc --dry-run", codes=(0, 1, 2, 3, 130))
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


@command(group, "doctor", example="mulligan doctor")
def doctor(invocation: Invocation) -> Answer:
    """Check database, store, sandboxes, processes and leftovers; repair what is safe, and say what is left.

    Looks at presence and structure of the store; `checkpoint verify` reads and hashes every byte.
    """
    from mulligan.cli.command_words import in_commands
    from mulligan.errors import ProjectUnwell

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


@command(group, "undo", example="mulligan undo --yes", codes=(0, 1, 2, 3, 130))
@click.argument("plan", default="latest", metavar="[PLAN_ID]")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def undo(invocation: Invocation, plan: str, yes: bool) -> Answer:
    """Roll a plan back to the state before its last completed step; the newest plan unless named.

    A step that failed or was cut off, and whose changes are still there, goes first. Again: one step further back. The
    current state is kept in a pre_rollback checkpoint. A plan that was applied is taken back with `plan unapply`.
    """
    from mulligan.cli.answers.rollback_answer import rollback_answer

    project = invocation.project()
    preview = project.undo(plan, dry_run=True)
    plan_id, checkpoint = preview.plan_id, preview.rollback_summary.checkpoint
    if not yes:
        invocation.show(rollback_answer(preview))
        look = f"`mulligan plan rollback --dry-run {plan_id} {checkpoint}` shows what it would do"
        invocation.confirm("Undo?", otherwise=f"{look}; repeat the command with --yes")
    # What was shown is what is done, whatever happened to the plan meanwhile.
    done = rollback_answer(invocation.trusting(project, lambda: project.rollback(plan_id, checkpoint)))
    return done if yes else done.without_tables()


@command(group, "completion", example="mulligan completion bash", codes=(0, 2))
@click.argument("shell", metavar="SHELL", type=click.Choice(["bash", "zsh", "fish"]))
def completion(_invocation: Invocation, shell: str) -> Answer:
    """Print a script that lets SHELL (bash, zsh or fish) complete commands, options and what a project knows.

    \b
    bash:  eval "$(mulligan completion bash)"           in ~/.bashrc
    zsh:   eval "$(mulligan completion zsh)"            in ~/.zshrc, after compinit
    fish:  mulligan completion fish | source            in ~/.config/fish/config.fish
    """  # noqa: D301 - click keeps the lines of a paragraph that begins with this character
    from mulligan.cli.completion.completion_scripts import SCRIPTS

    script = SCRIPTS[shell]
    return Answer(
        data={"shell": shell, "script": f"{script}\n"}, blocks=[Line(line) for line in script.split("\n")]
    )
