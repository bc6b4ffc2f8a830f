"""Writes the parts of the pages that the program itself knows best.

    python -m tests.reference_pages [PAGE…]

rewrites the names in `api.md`, the commands in `cli.md`, the kinds of errors in `json.md`, what was measured in
`why-not-shadow-git.md`, and every output in a `console` example that is no longer what the program prints; with pages
named, only the outputs of those. `tests/test_docs_*.py` fail while something is stale.
"""

import ast
import re
import string
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from inspect import cleandoc
from pathlib import Path

import click

from mulligan import errors
from mulligan.cli.commands.declaration import example_of
from mulligan.cli.main import program
from mulligan.errors import MulliganError
from tests.support.api_page import the_api
from tests.support.measured import the_measurements
from tests.support.page_examples import REFERENCE, ROOT, Example, ExampleProject, examples_of, lasting
from tests.support.page_walks import DOCS, WALKED, walk
from tests.support.tool_page import the_tools

HINT = "run `python -m tests.reference_pages` and look at the difference"
_PART = "<!-- {name}: written by `python -m tests.reference_pages` -->\n"
_END = "<!-- end -->\n"
_EVERYWHERE = {"format", "project", "settings", "ids", "no_pager", "verbose", "help"}

# Facts that an error is given as one mapping, so that the code does not show their names.
BESIDES = {
    "plan_file_invalid": {"nearest"},
    "setting_invalid": {"nearest"},
    "step_failed": {"checkpoint", "errno", "exit_status", "started", "stopped_write", "tool"},
}

_CHILD = "{name: %s, steps: [{tool: edit_file, args: {path: api.txt, old: v1, new: %s}}]}"
_IN_CONFLICT = (
    "printf 'name: clash\\nsteps:\\n - {name: parts, subplans: {plans: ["
    + ", ".join((_CHILD % ("mine", "v2"), _CHILD % ("yours", "v3")))
    + "]}}\\n' > clash.yaml; mulligan plan execute clash.yaml || true; "
    "for file in ~/.local/state/mulligan/*/sandboxes/*/workspace/api.txt; do echo mended > $file; done"
)

# What the example in a command's help needs to have been done before it.
BEFORE = {
    "plan accept": "mulligan plan rollback --yes upgrade-api draft",
    "plan answer": "printf 'name: greeting\\nsteps: [{decision: {question: Which?}}]\\n' > greeting.yaml; "
    "mulligan plan execute greeting.yaml || true",
    "tool trust": "echo 'import mulligan' > $(dirname ~/.local/state/mulligan/*/project.json)/tools.py; "
    "mulligan tool trust --yes",
    "plan resolve": _IN_CONFLICT,
    "project import": "mulligan project export saved.mulligan; mkdir -p other",
    "plan resume": "mulligan plan rollback --yes upgrade-api draft",
    "plan unapply": "mulligan plan apply --yes upgrade-api",
    "redo": "mulligan undo --yes",
    "try diff": "mulligan try -n 2 -- sed -i s/v1/v2/ api.txt",
    "try pick": "mulligan try -n 2 -- sed -i s/v1/v2/ api.txt",
    "try show": "mulligan try -n 2 -- sed -i s/v1/v2/ api.txt",
}
# Examples that name what is different each time.
NOT_RUN = {
    "shell": "it needs a terminal",
    **dict.fromkeys(("plan submit", "worker", "worker limit", "worker list"), "it needs a shared project"),
}


@cache
def commands() -> dict[str, click.Command]:
    """Every command of the program by its words, in the order of its help; one of a group with the name of that."""
    found = dict(_leaves(program, ""))
    grouped = [command for words, command in found.items() if " " in words]
    return {words: command for words, command in found.items() if " " in words or command not in grouped}


def _leaves(group: click.Group, words: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            if command.invoke_without_command:
                yield words + name, command
            yield from _leaves(command, f"{words}{name} ")
        else:
            yield words + name, command


def codes_of(command: click.Command) -> list[int]:
    """The exit codes in a command's help."""
    listed = (command.epilog or "").partition("Exit codes:\n")[2]
    return [int(code) for code in re.findall(r"^ +(\d+) ", listed, re.MULTILINE)]


def the_commands() -> str:
    """Each command with its usage, options, example and exit codes."""
    return "\n".join(_command_section(words, command) for words, command in commands().items())


def _command_section(words: str, command: click.Command) -> str:
    # click keeps a command's help option as the first context made it: that of the program, with -h.
    outer = click.Context(program, **program.context_settings)
    context = click.Context(command, info_name=f"mulligan {words}", parent=outer)
    usage = " ".join(command.collect_usage_pieces(context))
    needs = f' after="{BEFORE[words]}"' if words in BEFORE else ""
    needs += f' not-run="{NOT_RUN[words]}"' if words in NOT_RUN else ""
    parts = [f"## {words}", f"`mulligan {words} {usage}`", _prose(command.help or "")]
    options = [p for p in command.params if isinstance(p, click.Option) and p.name not in _EVERYWHERE]
    if options:
        rows = "".join(f"| {_spelled(option)} | {_cell(option.help or '')} |\n" for option in options)
        parts.append(f"| option | |\n|---|---|\n{rows}".rstrip())
    parts += [
        f"```sh{needs}\n{example_of(command)}\n```",
        "Exit codes: " + ", ".join(str(code) for code in codes_of(command)) + ".",
    ]
    return "\n\n".join(parts) + "\n"


def _spelled(option: click.Option) -> str:
    value = "" if option.is_flag else f" {option.metavar or _values(option)}"
    needed = ", required" if option.required else ""
    return ", ".join(f"`{name}{value}`" for name in (*option.opts, *option.secondary_opts)) + needed


def _values(option: click.Option) -> str:
    if isinstance(option.type, click.Choice):
        return "\\|".join(str(choice) for choice in option.type.choices)
    return option.type.name.upper()


def _prose(text: str) -> str:
    return "\n\n".join(map(_paragraph, cleandoc(text).split("\n\n")))


def _paragraph(text: str) -> str:
    """A paragraph of a help; one whose lines click keeps keeps them here too."""
    kept = text.removeprefix("\b\n")
    return " ".join(text.split()) if kept == text else f"```text\n{kept}\n```"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


@cache
def error_classes() -> dict[str, type[MulliganError]]:
    """The class of each error, by its name."""
    found = [getattr(errors, name) for name in errors.__all__]
    return {cls.__name__: cls for cls in found if issubclass(cls, MulliganError)}


@cache
def kinds() -> dict[str, type[MulliganError]]:
    """Every kind of error that can be met: those that are raised, and those that have no finer ones."""
    raised = facts_given()
    return {
        cls.kind: cls for cls in error_classes().values() if cls.kind in raised or not cls.__subclasses__()
    }


def facts_given() -> dict[str, set[str]]:
    """The facts that the code gives to each kind of error it makes."""
    return {kind: facts for _, kind, facts in made_errors()}


@cache
def made_errors() -> list[tuple[Path, str, set[str]]]:
    """Each place in the code that makes an error: its file, the kind, all facts that this kind is given anywhere."""
    names = error_classes()
    facts: dict[str, set[str]] = {}
    places: list[tuple[Path, str]] = []
    for file in sorted((ROOT / "src" / "mulligan").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=(ast.Name(id=name) | ast.Attribute(attr=name))) if name in names:
                    given = {word.arg for word in node.keywords if word.arg}
                case ast.Raise(exc=(ast.Name(id=name) | ast.Attribute(attr=name))) if name in names:
                    given = set[str]()
                case _:
                    continue
            kind = names[name].kind
            places.append((file, kind))
            facts.setdefault(kind, set()).update(given - {"hint"})
    return [(file, kind, facts[kind]) for file, kind in places]


def the_errors() -> str:
    """Each kind of error with its exit code, what happened, and its facts."""
    given = facts_given()
    lines = ["| kind | exit code | what happened | facts |", "|---|---|---|---|"]
    for kind, cls in sorted(kinds().items(), key=lambda item: (item[1].exit_code, item[0])):
        named = _named_in(cls.message) | _named_in(cls.hint) | BESIDES.get(kind, set())
        facts = sorted(given.get(kind, set()) | named)
        told = ", ".join(f"`{fact}`" for fact in facts)
        lines.append(f"| `{kind}` | {cls.exit_code} | {_cell(cls.__doc__ or '')} | {told} |")
    return "\n".join(lines) + "\n"


def _named_in(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


# Which part of which page is written from what.
PARTS: dict[tuple[str, str], Callable[[], str]] = {
    ("reference/api.md", "api"): the_api,
    ("reference/cli.md", "commands"): the_commands,
    ("reference/json.md", "errors"): the_errors,
    ("reference/mcp.md", "tools"): the_tools,
    ("explanation/why-not-shadow-git.md", "measured"): the_measurements,
}


def with_part(text: str, name: str, content: str) -> str:
    """A page's text with one of its parts written anew."""
    start, end = _PART.format(name=name), _END
    assert text.count(start) == 1, f"a page lacks the line {start!r}"
    before, _, rest = text.partition(start)
    _, _, after = rest.partition(end)
    return f"{before}{start}\n{content}\n{end}{after}"


def _rewrite_parts() -> Iterator[str]:
    for (page, name), write in PARTS.items():
        file = DOCS / page
        old = file.read_text(encoding="utf-8")
        new = with_part(old, name, write())
        if new != old:
            file.write_text(new, encoding="utf-8")
            yield f"{page}: {name}"


def _rewrite_outputs(page: Path) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="mulligan-docs-") as root:
        walked = page in WALKED
        shown = walk(page, Path(root, "you")) if walked else _sessions(page, Path(root))
        stale = [(example, text) for example, text in shown if lasting(text) != lasting(example.text)]
        # On a page that is followed the ids of one session come again in the next.
        for example, text in shown if walked and stale else stale:
            old = page.read_text(encoding="utf-8")
            page.write_text(old.replace(example.text, text, 1), encoding="utf-8")
            yield f"{example}: output"


def _sessions(page: Path, root: Path) -> list[tuple[Example, str]]:
    """What each session of a reference page should show, each in the project as it was made."""
    shown: list[tuple[Example, str]] = []
    project = ExampleProject(root)
    for example in examples_of(page):
        if example.language == "console" and not example.not_run:
            project.renew()
            shown.append((example, project.perform(example)))
    return shown


def main() -> int:
    """Rewrite what is stale, and say what it was."""
    named = [Path(name).resolve() for name in sys.argv[1:]]
    pages = named or [*sorted(REFERENCE.glob("*.md")), *WALKED]
    changed = [
        *(() if named else _rewrite_parts()),
        *(line for page in pages for line in _rewrite_outputs(page)),
    ]
    sys.stdout.write("".join(f"rewritten: {each}\n" for each in changed) or "nothing was stale\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
