"""Commands on single paths of the project folder: `restore`, `forget`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from mulligan.cli.answers.answer import Answer
from mulligan.cli.commands.declaration import command
from mulligan.domain.plans.handle import entry_reference, group_reference
from mulligan.errors import UsageWrong

if TYPE_CHECKING:
    from mulligan.cli.invocation import Invocation

group = click.Group("mulligan")


@command(group, "restore", example="mulligan restore --dry-run @1 api.txt", codes=(0, 1, 2, 3, 130))
@click.argument("checkpoint_and_paths", nargs=-1, metavar="[CHECKPOINT|NUMBER] PATH...")
@click.option(
    "--from", "checkpoint", metavar="CP", help="The checkpoint by label or id: `@3` needs no option."
)
@click.option("--sandbox", is_flag=True, help="Into the sandbox of the plan, not into the real folder.")
@click.option("--delete", is_flag=True, help="Remove what the checkpoint does not have.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Show what would happen; change nothing.")
def restore(
    invocation: Invocation,
    checkpoint_and_paths: tuple[str, ...],
    checkpoint: str | None,
    sandbox: bool,
    delete: bool,
    yes: bool,
    dry_run: bool,
) -> Answer:
    """Bring single files, folders and symlinks back from a checkpoint, all at once or not at all.

    CHECKPOINT is a number (`tune@3`; `@3` of the newest plan). NUMBER is an entry of `mulligan log`: each PATH comes
    back as it was right after that entry, and without PATH all that the entry changed. Without either each PATH comes
    from the newest checkpoint in which it was different. PATH is relative to the current folder; a file called 3 is
    `./3`. The present contents are kept in a pre_restore checkpoint. Index and HEAD of a git checkout stay as they are;
    a database is restored as a whole. `checkpoint restore --to` writes a whole checkpoint into a new folder.
    """
    from mulligan.cli.answers.paths.path_restore_answer import path_restore_answer

    paths = list(checkpoint_and_paths)
    entry: int | None = None
    if checkpoint is None and paths:
        if group_reference(paths[0]) is not None:
            checkpoint = paths.pop(0)
        elif (entry := entry_reference(paths[0])) is not None:
            paths.pop(0)
    if not paths and entry is None:
        raise UsageWrong(
            reason="PATH is missing",
            hint="name a path, such as `mulligan restore notes.md`; `.` is everything",
        )
    project = invocation.project()
    here = invocation.around.folder
    perform = partial(
        project.restore_paths,
        [here / path for path in paths],
        checkpoint=checkpoint,
        entry=entry,
        sandbox=sandbox,
        delete=delete,
    )

    def act(dry: bool) -> Answer:
        return path_restore_answer(invocation, project, perform(dry_run=dry))

    if dry_run or yes:
        return act(dry_run)
    found = perform(dry_run=True)
    preview = path_restore_answer(invocation, project, found)
    if not any(each.changes for each in found.restores):
        return preview
    invocation.show(preview)
    invocation.confirm("Restore?")
    return act(False).after(preview)


@command(group, "forget", example="mulligan forget --dry-run api.txt", codes=(0, 1, 2, 3, 130))
@click.argument("forgotten", nargs=-1, required=True, metavar="PATH...")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Show which checkpoints hold it; change nothing.")
def forget(invocation: Invocation, forgotten: tuple[str, ...], yes: bool, dry_run: bool) -> Answer:
    """Purge paths, such as a file with a secret, from all checkpoints of the project, and their bytes from the store.

    PATH is a file or folder, relative to the current folder. Files of the real folder and of sandboxes stay, and no
    rollback touches them from now on. The answer names where the bytes still are: in sandboxes, in git directories of
    checkpoints, in what steps printed, under other paths. Plan files are not searched.
    """
    from mulligan.cli.answers.paths.purge_answer import purge_answer

    project = invocation.project()
    here = invocation.around.folder
    wanted = [here / path for path in forgotten]

    def act(dry: bool) -> Answer:
        return purge_answer(project.forget(wanted, dry_run=dry))

    return invocation.confirmed(act, "Purge for good?", dry_run=dry_run, yes=yes)
