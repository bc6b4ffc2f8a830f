"""Commands on a whole project, and those without a group: `init`, `gc`, `doctor`, `serve`, `help`, `completion`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click
from msgspec.structs import asdict

from mulligan.cli.answers.answer import Answer, Line
from mulligan.cli.commands.declaration import command
from mulligan.domain.text.plural import counted
from mulligan.errors import UsageWrong

if TYPE_CHECKING:
    from mulligan.cli.invocation import Invocation
    from mulligan.domain.server.words import ServerStatus

group = click.Group("mulligan")


@command(group, "init", example="mulligan init")
@click.argument("path", default=".")
@click.option("--home", metavar="PATH", help="Where the project home is to be, or was moved to.")
@click.option(
    "--fresh", is_flag=True, help="Start a new home, without plans; one that there was stays as it is."
)
@click.option(
    "--database",
    metavar="ADDRESS",
    help="A PostgreSQL database for plans and checkpoints, as postgresql://HOST/DATABASE?schema=NAME.",
)
@click.option(
    "--store",
    metavar="ADDRESS",
    help="A bucket for the packs of checkpoints, as s3://BUCKET/PREFIX; only with --database.",
)
def init(
    invocation: Invocation,
    path: str,
    home: str | None,
    fresh: bool,
    database: str | None,
    store: str | None,
) -> Answer:
    """Make a project in PATH (the current folder).

    Its home, with plans and checkpoints, lies outside of the folder: in $MULLIGAN_HOME, or else in the user's state
    folder. In PATH there is only a small folder .mulligan that names it.

    With --database its plans and checkpoints are recorded in a PostgreSQL server. The address holds no password: that
    comes from PGPASSWORD, from ~/.pgpass or from a service file.

    With --store too the bytes of its checkpoints are in a bucket of Amazon S3 or of a server that speaks S3, which
    AWS_ENDPOINT_URL names. Credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or from ~/.aws.
    """
    project, new = invocation.new_project(path, home, fresh=fresh, database=database, store=store)
    project.prepare()
    word = "made" if new else "was there already:"
    data = {
        "project": str(project.folder),
        "home": str(project.home),
        "database": str(project.database),
        "new": new,
    }
    blocks = [Line(f"project {word} {project.folder}"), Line(f"home: {project.home}")]
    if project.is_shared:
        blocks.append(Line(f"database: {project.database}"))
    if store is not None:
        blocks.append(Line(f"store: {store}"))
    return Answer(data=data, blocks=blocks)


@command(group, "projects", example="mulligan projects")
@click.argument("action", required=False, type=click.Choice(["prune"]))
@click.option("--dry-run", is_flag=True, help="With prune: only list what would be removed.")
@click.option("--yes", "-y", is_flag=True, help="With prune: do not ask.")
def projects(invocation: Invocation, action: str | None, dry_run: bool, yes: bool) -> Answer:
    """List the homes of all your projects, with their sizes and last use; `projects prune` removes unneeded ones.

    A home is not needed when its project folder is gone, or has another home. With it go its plans and checkpoints.
    """
    from mulligan.api.operations.home_operations import list_projects, prune_projects
    from mulligan.cli.answers.homes_answer import projects_answer, pruned_answer

    if action is None:
        if dry_run or yes:
            raise UsageWrong(reason="--dry-run and --yes go with `projects prune`", hint="leave them out")
        return projects_answer(list_projects(invocation.around), invocation.when)
    question = "Remove these homes, with their plans and checkpoints?"
    preview = prune_projects(invocation.around, dry_run=True)
    if dry_run:
        return pruned_answer(preview, invocation.when)
    if not preview.removed:
        return pruned_answer(prune_projects(invocation.around, dry_run=False), invocation.when)
    return invocation.confirmed(
        lambda only_look: pruned_answer(
            prune_projects(invocation.around, dry_run=only_look), invocation.when
        ),
        question,
        dry_run=False,
        yes=yes,
    )


@command(group, "gc", example="mulligan gc --dry-run", codes=(0, 1, 2, 3, 130))
@click.option("--dry-run", is_flag=True, help="Only count what would be freed.")
def gc(invocation: Invocation, dry_run: bool) -> Answer:
    """Free what no checkpoint refers to, and what killed processes left behind.

    Plans may run meanwhile. Pruning frees most of it automatically; this frees the rest. With the setting
    sandbox.cleanup=on_terminal it removes the sandboxes of plans that were applied or cancelled, too. It names the
    sandboxes that stay, with why and what frees them.
    """
    project = invocation.project()
    report = project.gc(dry_run=dry_run)
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
    if report.sandboxes_kept:
        from mulligan.api.operations.command_words import in_commands

        total = sum(kept.size_bytes for kept in report.sandboxes_kept)
        lines.append(Line(f"left in sandboxes: {counted(total, 'byte')}"))
        lines += [
            Line(
                f"  {kept.handle}: {counted(kept.size_bytes, 'byte')}, {kept.reason}; {in_commands(kept.remedy)}"
            )
            for kept in report.sandboxes_kept
        ]
    packs = counted(report.packs_unreadable, "pack")
    unreadable = f"{packs} cannot be read and stay: see `mulligan checkpoint verify`"
    messages = [unreadable] if report.packs_unreadable else []
    messages += project.full_homes()
    return Answer(data=report, blocks=lines, messages=messages, warn=bool(report.packs_unreadable))


@command(group, "doctor", example="mulligan doctor")
def doctor(invocation: Invocation) -> Answer:
    """Check database, store, sandboxes, processes and leftovers; repair what is safe, and say what is left.

    Looks at presence and structure of the store; `checkpoint verify` reads and hashes every byte.
    """
    from mulligan.api.operations.command_words import in_commands
    from mulligan.errors import ProjectUnwell

    diagnosis = invocation.project().doctor()
    said = Counter(
        f"{'repaired' if f.repaired else 'wrong'}, {f.area}: {f.what}{f.remedy and f'; {in_commands(f.remedy)}'}"
        for f in diagnosis.findings
    )
    lines = [Line(text if count == 1 else f"{text} ({count} times)") for text, count in said.items()]
    lines += [Line(f"waiting: {in_commands(text)}") for text in diagnosis.waiting]
    lines += [Line(f"left alone: {in_commands(text)}") for text in diagnosis.left_alone]
    lines += [Line(f"this system: {text}") for text in diagnosis.system]
    left = sum(not finding.repaired for finding in diagnosis.findings)
    lines.append(Line("all is well" if not left else f"left wrong: {left}", title=True))
    return Answer(data=diagnosis, blocks=lines, error=ProjectUnwell(count=left) if left else None)


@command(group, "help", example="mulligan help plan apply", codes=(0, 2))
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def show_help(context: click.Context, _invocation: Invocation, words: tuple[str, ...]) -> Answer:
    """Show the help of a command, as its option --help does; without one, of the program."""
    about = context.find_root()
    for word in words:
        if not isinstance(about.command, click.Group):
            raise UsageWrong(
                reason=f"`{about.command_path}` has no command {word!r}",
                hint=f"see `{about.command_path} --help`",
            )
        name, found, _ = about.command.resolve_command(about, [word])
        assert found is not None, "an unknown one is refused"
        about = click.Context(found, info_name=name, parent=about)
    text = about.get_help()
    lines = [Line(line) for line in text.split("\n")]
    return Answer(data={"command": about.command_path, "help": text}, blocks=lines, paged=True)


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


@command(group, "serve", example="mulligan serve --status", codes=(0, 1, 2, 3, 130))
@click.option("--status", "wanted", flag_value="status", help="Show the server that runs, if one does.")
@click.option("--stop", "wanted", flag_value="stop", help="End the server that runs, if one does.")
@click.option(
    "--detach", "wanted", flag_value="detach", help="Start it in the background, and return once it answers."
)
def serve(invocation: Invocation, wanted: str | None) -> Answer:
    """Run the local server of this project, which makes hooks of agents and short commands faster.

    It watches folders and keeps code and database open between two calls. It starts automatically with the first hook
    of an agent (`server.start`), and ends after `server.idle-timeout` without a call. Everything works without it.
    """
    if wanted is None:
        return _serve(invocation)
    project = invocation.project()
    match wanted:
        case "status":
            return _described(project.server_status())
        case "stop":
            stopped = project.stop_server()
            said = "the server has ended" if stopped else "no server runs for this project"
            return Answer(data={"running": False, "stopped": stopped}, blocks=[Line(said)])
        case _:
            return _described(project.start_server())


def _serve(invocation: Invocation) -> Answer:
    from mulligan.api.entrance import Unobserved, open_project
    from mulligan.api.local_server.command_handover import warm_process
    from mulligan.api.local_server.server_operations import ServerWork, run_server
    from mulligan.server.hook_requests import HookRequests
    from mulligan.server.request_answers import RequestAnswers

    if invocation.format.is_document:
        raise UsageWrong(
            reason="a server that runs has nothing to say as a document",
            hint="start it with `mulligan serve --detach`, and look at it with `mulligan serve --status`",
        )
    warm = warm_process(_run_handed_over)
    project = open_project(invocation.around, invocation.project_option, Unobserved())

    def started() -> None:
        sys.stderr.write(f"serving {project.folder}; Ctrl-C ends it\n")
        sys.stderr.flush()

    def answers(work: ServerWork) -> Callable[[list[bytes], Callable[[], bool]], Sequence[bytes]]:
        return RequestAnswers(work, HookRequests(work, invocation.around)).answer

    ran = run_server(project, invocation.around, answers, started, warm)
    said = "the server has ended" if ran else "a server runs for this project already"
    return Answer(data={"running": not ran}, blocks=[Line(said)])


def _run_handed_over(words: Sequence[str]) -> int:
    """Run a command that another process handed over, in a fork that is that command."""
    from mulligan.cli.main import run  # here: it loads this module
    from mulligan.cli.process_end import finished

    return finished(run(words))


def _described(status: ServerStatus | None) -> Answer:
    if status is None:
        return Answer(data={"running": False}, blocks=[Line("no server runs for this project")])
    lines = [
        Line(f"a server runs: process {status.pid}, {status.memory_bytes / 1e6:.0f} MB"),
        Line(f"requests answered: {status.requests}; commands run: {status.commands}"),
        Line(f"trees watched: {status.watched_trees}"),
        Line(f"idle for {status.idle_seconds:.0f} s; it ends after {status.idle_timeout_seconds:.0f} s"),
    ]
    if status.unwatched:
        lines.append(Line(f"not watched for commands, which scan it: {status.unwatched}"))
    return Answer(data={"running": True, **asdict(status)}, blocks=lines)
