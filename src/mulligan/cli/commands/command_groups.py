"""Groups of commands that name the nearest one when a command is misspelt, or is one of another group."""

import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from mulligan import errors
from mulligan.domain.text.names import nearest_word

# What other programs call what is called otherwise here.
_ALSO_CALLED = {
    "abort": ("cancel",),
    "backup": ("checkpoint create",),
    "branch": ("fork",),
    "cat": ("show",),
    "changes": ("diff",),
    "check": ("doctor", "checkpoint verify"),
    "checkout": ("restore", "rollback"),
    "clean": ("gc",),
    "commit": ("apply", "checkpoint create"),
    "compare": ("diff",),
    "continue": ("resume",),
    "delete": ("rm",),
    "discard": ("rm", "cancel"),
    "drop": ("rm", "cancel"),
    "dump": ("show",),
    "exec": ("run",),
    "fsck": ("doctor", "checkpoint verify"),
    "go": ("rollback",),
    "goto": ("rollback",),
    "history": ("log",),
    "info": ("status",),
    "keep": ("accept",),
    "kill": ("cancel",),
    "label": ("checkpoint create",),
    "ls": ("list",),
    "merge": ("apply",),
    "new": ("run", "plan create"),
    "op": ("log",),
    "pick": ("try pick",),
    "ps": ("list",),
    "reflog": ("log",),
    "remove": ("rm",),
    "reset": ("undo", "rollback"),
    "retry": ("resume",),
    "revert": ("undo", "unapply"),
    "rewind": ("undo", "rollback"),
    "save": ("checkpoint create",),
    "settings": ("config",),
    "sh": ("shell",),
    "show": ("status",),
    "snapshot": ("checkpoint create",),
    "snapshots": ("checkpoint list",),
    "start": ("run", "plan execute"),
    "stash": ("run", "shell"),
    "stop": ("cancel",),
    "switch": ("rollback",),
    "tag": ("checkpoint create",),
    "timeline": ("log",),
    "variants": ("try",),
}


class SuggestingGroup(click.Group):
    """A group of commands."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; for a misspelt one name the nearest."""
        found = self.get_command(ctx, args[0])
        if found is None:
            hint = self._hint(ctx, args)
            raise errors.UsageWrong(reason=f"there is no command {args[0]!r}", hint=hint)
        return found.name, found, args[1:]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands, each with all of the sentence that says what it does."""
        commands = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, _first_sentence(command)) for name, command in commands if command is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def _hint(self, ctx: click.Context, args: Sequence[str]) -> str:
        """Return what to type instead; a program of the user's is one to run."""
        if words := [f"`{words}`" for words in self._meant(ctx, args[0])]:
            return f"did you mean {' or '.join(words)}?"
        import shlex  # here: most commands are spelled rightly
        import shutil

        if ctx.parent is None and shutil.which(args[0]) is not None:
            return f"`{ctx.command_path} run -- {shlex.join(args)}` runs that program in a sandbox"
        return f"see `{ctx.command_path} --help`"

    def _meant(self, ctx: click.Context, word: str) -> list[str]:
        """The commands that may have been meant: what does that here, is called so elsewhere, or is the nearest."""
        if word == "version":
            return [f"{ctx.find_root().command_path} --version"]
        known = self.list_commands(ctx)
        here = [words for words in _ALSO_CALLED.get(word, ()) if words.split()[0] in known]
        if here:
            return [f"{ctx.command_path} {name}" for name in here]
        root = ctx.find_root()
        everywhere = list(_all_commands(root))
        elsewhere = [words for words in everywhere if words.split()[-1] == word]
        if elsewhere:
            return elsewhere
        if near := nearest_word(word, self.list_commands(ctx), at_least=0.7):
            return [f"{ctx.command_path} {near}"]
        by_name = {words.split()[-1]: words for words in reversed(everywhere)}
        near = nearest_word(word, by_name, at_least=0.7)
        return [by_name[near]] if near else []


class DividedGroup(SuggestingGroup):
    """A group whose commands are declared in several modules, each loaded when one of its commands is asked for."""

    def __init__(self, *words: Any, modules: Mapping[str, str], **more: Any) -> None:
        """Take the module of each command."""
        super().__init__(*words, **more)
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click hands it over
        """Return the names of all commands."""
        return sorted(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; its module adds it to this group."""
        if cmd_name in self._modules:
            importlib.import_module(self._modules[cmd_name])
        return super().get_command(ctx, cmd_name)


def _first_sentence(command: click.Command) -> str:
    return " ".join((command.help or "").partition("\n\n")[0].split())


def _all_commands(root: click.Context) -> Iterator[str]:
    """The words of every command of the program."""
    program = root.command
    assert isinstance(program, click.Group)
    for name in program.list_commands(root):
        command = program.get_command(root, name)
        if isinstance(command, click.Group):
            yield from (f"{root.command_path} {name} {below}" for below in command.list_commands(root))
        else:
            yield f"{root.command_path} {name}"
