"""The commands that show what a plan did: `plan diff`, `tree`, `report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mulligan.api.operations.command_words import in_commands
from mulligan.cli.answers.answer import Answer, Document, Line
from mulligan.cli.commands.declaration import (
    CommandWithPaths,
    command,
    diff_view,
    diff_views,
    paths_of,
)
from mulligan.cli.commands.plans.plan_group import group
from mulligan.cli.word_pairs import compared_words
from mulligan.domain.text.plural import counted
from mulligan.errors import UsageWrong

if TYPE_CHECKING:
    from mulligan.cli.invocation import Invocation


@command(group, "tree", example="mulligan plan tree upgrade-api --show-superseded")
@click.argument("plan", default="latest", metavar="[PLAN]")
@click.option("--show-superseded", "superseded", is_flag=True, help="What a rollback left behind too.")
def tree(invocation: Invocation, plan: str, superseded: bool) -> Answer:
    """Show a plan's decisions, and the checkpoints taken on the way, as a tree; the newest plan unless named."""
    from mulligan.cli.answers.tree_answer import tree_answer  # here: no other command shows a tree

    return tree_answer(invocation.project().tree(plan, superseded=superseded))


@command(group, "report", example="mulligan plan report upgrade-api --html report.html")
@click.argument("plan", default="latest", metavar="[PLAN]")
@click.option(
    "--html", "file", required=True, metavar="FILE", help="Where to write the page; `-`: to stdout."
)
@click.option("--force", is_flag=True, help="Replace FILE where it exists.")
def report(invocation: Invocation, plan: str, file: str, force: bool) -> Answer:
    """Write the story of a plan as one HTML page to send to someone; of the newest plan unless named.

    Its steps, tool calls with their output, decisions, checkpoints, and what differs between them. The page
    needs no network and has no scripts.
    """
    if file != "-":
        saved, problems = invocation.project().save_report(plan, Path(file), force=force, words=in_commands)
        blocks = [Line(f"{saved.file}: {counted(saved.size_bytes, 'byte')}")]
        return Answer(data=saved, blocks=blocks, messages=problems, warn=bool(problems))
    if invocation.format.is_document:
        raise UsageWrong(
            reason="stdout holds one document, and that is the answer", hint="name a FILE for the page"
        )
    page, problems = invocation.project().report_with_problems(plan, in_commands)
    return Answer(data=None, blocks=[Document(page.encode())], messages=problems, warn=bool(problems))


@command(
    group, "diff", example="mulligan plan diff upgrade-api --from draft | git apply", cls=CommandWithPaths
)
@click.argument("plan", required=False, metavar="[PLAN|CP]")
@click.argument("other", required=False, metavar="[CP]")
@click.option("--from", "old", metavar="CP", help="The older side; the first live checkpoint unless given.")
@click.option("--to", "new", metavar="CP", help="The newer side; the latest checkpoint unless given.")
@click.option("--binary", is_flag=True, help="Let the patch carry binary files too.")
@click.option("--hidden", is_flag=True, help="Show what sandbox.hide matches too: caches of tools.")
@click.option("--correction", metavar="ID", help="The attempts before and after a correction.")
@diff_views
@click.pass_context
def diff(
    context: click.Context,
    invocation: Invocation,
    plan: str | None,
    other: str | None,
    old: str | None,
    new: str | None,
    binary: bool,
    hidden: bool,
    correction: str | None,
    stat: bool,
    name_only: bool,
) -> Answer:
    """Show what a plan changed: files, folders, and a patch that `git apply` takes; the newest plan unless named.

    `tune@3` shows what changed up to that checkpoint, `tune@1 tune@3` compares the two, and so do
    labels, ids, first and latest. The number of an entry of the
    timeline (`mulligan log`), in the place of a plan, shows what that entry changed. With PATHs only what these match,
    as in git: seen from the current folder, or from the top of the resource.
    """
    import shlex  # here, as the next: few commands show a difference

    from mulligan.cli.answers.diff_answer import diff_answer

    view, project = diff_view(stat=stat, name_only=name_only), invocation.project()
    paths = paths_of(context)
    folder = Path.cwd() if paths else None
    wish = compared_words(project, plan, other, old, new)
    if wish.groups is not None and correction is None:
        found = project.checkpoints.diff(
            *wish.groups, binary=binary, hidden=hidden, paths=paths, folder=folder
        )
        return diff_answer(found, view, f"mulligan diff --stat {shlex.join(wish.groups)}")
    plan, old, new = wish.plan, wish.old, wish.new
    number = project.entry_number(plan) if plan and not (correction or old or new) else None
    if number is not None:
        found = project.diff_of_entry(number, binary=binary, hidden=hidden, paths=paths, folder=folder)
        return diff_answer(found, view, f"mulligan diff --stat {number}")
    if correction is None:
        named = plan or ("latest" if old or new else project.newest_for("diff"))
        found = project.diff(
            named, old=old, new=new, binary=binary, hidden=hidden, paths=paths, folder=folder
        )
        sides = [f" {option} {word}" for option, word in (("--from", old), ("--to", new)) if word is not None]
        return diff_answer(found, view, f"mulligan diff --stat {plan or found.new.plan_id}{''.join(sides)}")
    if old is not None or new is not None or wish.groups is not None:
        raise UsageWrong(
            reason="--correction says what is compared: it does not go with --from or --to",
            hint="leave one of them out",
        )
    found = project.diff_of_correction(
        correction, plan=plan, binary=binary, hidden=hidden, paths=paths, folder=folder
    )
    return diff_answer(found, view, f"mulligan diff --stat --correction {correction}")
