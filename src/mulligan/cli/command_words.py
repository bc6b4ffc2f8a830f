"""Words a next step as the command line that a user can paste."""

from collections.abc import Iterator
from typing import cast

from mulligan.errors import Advice, NextStep

# The command of each operation; `{parameter:WORD}` is its value, or WORD where the user has to fill it in.
COMMANDS = {
    "apply": "plan apply {plan:PLAN_ID}",
    "cancel": "plan cancel {plan:PLAN_ID}",
    "checkpoints.delete": "checkpoint delete {checkpoint:ID}",
    "checkpoints.diff": "checkpoint diff {old:A} {new:B}",
    "checkpoints.list": "checkpoint list {plan:PLAN_ID}",
    "checkpoints.prune": "checkpoint prune {plan:PLAN_ID}",
    "checkpoints.restore": "checkpoint restore {checkpoint:ID} --to {to:DIR}",
    "checkpoints.show": "checkpoint show {checkpoint:ID}",
    "checkpoints.verify": "checkpoint verify",
    "config.get": "config get {key:KEY}",
    "config.list": "config list",
    "config.set": "config set {key:KEY} {value:VALUE}",
    "config.unset": "config unset {key:KEY}",
    "correct": "plan correct {decision:DECISION_ID}",
    "diff": "plan diff {plan:PLAN_ID}",
    "diff_of_correction": "plan diff --correction {correction:ID}",
    "doctor": "doctor",
    "execute": "plan execute {plan:FILE}",
    "gc": "gc",
    "help": "--help",
    "init": "init {path:PATH}",
    "log": "plan log {plan:PLAN_ID}",
    "plans": "plan list",
    "resolve": "plan resolve {plan:PLAN_ID}",
    "resume": "plan resume {plan:PLAN_ID}",
    "rollback": "plan rollback {plan:PLAN_ID} {checkpoint:CHECKPOINT_ID}",
    "run_command": "run -- {words:COMMAND}",
    "save_report": "plan report {plan:PLAN_ID} --html {file:FILE}",
    "status": "plan status {plan:PLAN_ID}",
    "tools.list": "tool list",
    "tools.trust": "tool trust",
    "tree": "plan tree {plan:PLAN_ID}",
    "unapply": "plan unapply {plan:PLAN_ID}",
    "undo": "undo {plan:PLAN_ID}",
}
# The options of all other parameters, and what their values are called.
OPTIONS = {
    "binary": ("--binary", ""),
    "choose": ("--choose", "TEXT"),
    "commit": ("--no-commit", ""),
    "dry_run": ("--dry-run", ""),
    "force": ("--force", ""),
    "guidance": ("--guidance", "TEXT"),
    "include": ("--include", "PATH"),
    "mended": ("--plan", "FILE"),
    "mode": ("--mode", "MODE"),
    "name": ("--name", "N"),
    "new": ("--to", "CP"),
    "old": ("--from", "CP"),
    "project": ("--project", "PATH"),
    "resource": ("--resource", "PATH"),
    "superseded": ("--all", ""),
    "take_over": ("--take-over", ""),
}


def in_commands(text: str) -> str:
    """Return a text with every operation that it names as a command line."""
    return text.worded(command_line) if isinstance(text, Advice) else text


def command_line(step: NextStep) -> str:
    """Return the command line of a next step; of `again` only the options that change."""
    import shlex  # here, with the next: few answers name a command
    from string import Formatter

    facts = dict(step.facts)
    if step.verb == "session":  # only a program opens one
        return str(step)
    words = ["mulligan"] if step.verb != "again" else []
    if step.verb != "again" and "project" in facts:
        words += ["--project", shlex.quote(str(facts.pop("project")))]
    for literal, name, placeholder, _ in Formatter().parse(COMMANDS.get(step.verb, "")):
        words += literal.split()
        if name in facts:
            words += _value(facts.pop(name), placeholder or "")
    for name, value in facts.items():
        option, placeholder = OPTIONS[name]
        words += [option, *(_value(value, placeholder) if placeholder else ())]
    return " ".join(words)


def _value(value: object, placeholder: str) -> Iterator[str]:
    import shlex

    if value is ...:
        yield placeholder
    elif isinstance(value, tuple):
        yield from map(shlex.quote, cast("tuple[str, ...]", value))
    elif (placeholder, value) != ("PLAN_ID", "latest"):  # which is meant where none is named
        yield shlex.quote(str(value))
