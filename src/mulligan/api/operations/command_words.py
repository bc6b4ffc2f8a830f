"""Words a next step as the command line that a user can paste."""

from collections.abc import Iterator
from typing import cast

from mulligan.errors import Advice, NextStep

# The command of each operation; `{parameter:WORD}` is its value, or WORD where the user has to fill it in.
COMMANDS = {
    "accept": "accept {plan:PLAN}",
    "answer": "answer {plan:PLAN} {choice:CHOICE}",
    "apply": "apply {plan:PLAN}",
    "bisect": "bisect {plan:PLAN} -- {words:COMMAND}",
    "cancel": "cancel {plan:PLAN}",
    "checkpoints.create": "checkpoint create {plan:PLAN}",
    "checkpoints.delete": "checkpoint delete {checkpoint:ID}",
    "checkpoints.diff": "checkpoint diff {old:A} {new:B}",
    "checkpoints.list": "checkpoint list {plan:PLAN}",
    "checkpoints.prune": "checkpoint prune {plan:PLAN}",
    "checkpoints.restore": "checkpoint restore {checkpoint:ID} --to {to:DIR}",
    "checkpoints.show": "show {checkpoint:ID}",
    "checkpoints.verify": "checkpoint verify",
    "config.add": "config set --add {key:KEY} {value:VALUE}",
    "config.get": "config get {key:KEY}",
    "config.list": "config list",
    "config.set": "config set {key:KEY} {value:VALUE}",
    "config.unset": "config unset {key:KEY}",
    "correct": "correct {decision:DECISION}",
    "diff": "diff {plan:PLAN}",
    "diff_of_correction": "diff --correction {correction:ID}",
    "doctor": "doctor",
    "execute": "plan execute {plan:FILE}",
    "forget": "forget {paths:PATH}",
    "gc": "gc",
    "help": "--help",
    "init": "init {path:PATH}",
    "list_tree": "list {checkpoint:CHECKPOINT} {path:PATH}",
    "log": "log {plan:PLAN}",
    "pick_variant": "try pick {variant:VARIANT}",
    "plans": "list",
    "projects": "projects",
    "prune_projects": "projects prune",
    "read_path": "show {checkpoint:CHECKPOINT} {path:PATH}",
    "redo": "redo",
    "remove_plan": "rm {plan:PLAN}",
    "resolve": "plan resolve {plan:PLAN} {paths:PATH}",
    "resolve_with": "plan resolve {plan:PLAN} {path:PATH}",
    "restore_paths": "restore {checkpoint:CHECKPOINT} {paths:PATH}",
    "resume": "resume {plan:PLAN}",
    "rollback": "rollback {plan:PLAN} {checkpoint:CHECKPOINT}",
    "run_command": "run -- {words:COMMAND}",
    "save_report": "plan report {plan:PLAN} --html {file:FILE}",
    "status": "status {plan:PLAN}",
    "tools.list": "tool list",
    "tools.trust": "tool trust",
    "tree": "plan tree {plan:PLAN}",
    "try_variants": "try -- {words:COMMAND}",
    "unapply": "unapply {plan:PLAN}",
    "timeline": "log",
    "undo": "undo {what:NUMBER}",
    "upgrade_database": "database upgrade",
}
# The options of all other parameters, and what their values are called.
OPTIONS = {
    "at": ("--at", "CP"),
    "bad": ("--bad", "CP"),
    "binary": ("--binary", ""),
    "choose": ("--choose", "TEXT"),
    "commit": ("--no-commit", ""),
    "count": ("-n", "N"),
    "database": ("--database", "ADDRESS"),
    "content": ("--with", "FILE"),
    "delete": ("--delete", ""),
    "end_processes": ("--end-processes", ""),
    "execute": ("--no-execute", ""),
    "dry_run": ("--dry-run", ""),
    "force": ("--force", ""),
    "fresh": ("--fresh", ""),
    "good": ("--good", "CP"),
    "hidden": ("--hidden", ""),
    "guidance": ("--guidance", "TEXT"),
    "home": ("--home", "PATH"),
    "in_place": ("--in-place", ""),
    "include": ("--include", "PATH"),
    "corrected": ("--plan", "FILE"),
    "keep_commits": ("--keep-commits", ""),
    "label": ("--label", "TEXT"),
    "message": ("--message", "TEXT"),
    "mode": ("--mode", "MODE"),
    "name": ("--name", "N"),
    "new": ("--to", "CP"),
    "old": ("--from", "CP"),
    "on": ("--on", "PLAN"),
    "only": ("--only", "WHAT"),
    "onto_branch": ("--onto-branch", ""),
    "project": ("--project", "PATH"),
    "rationale": ("--rationale", "TEXT"),
    "reason": ("--reason", "TEXT"),
    "remove": ("--remove", ""),
    "resource": ("--resource", "PATH"),
    "sandbox": ("--sandbox", ""),
    "store": ("--store", "ADDRESS"),
    "start": ("--from", "CP"),
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
    options: list[str] = []
    for name, value in facts.items():
        option, placeholder = ("--commit", "") if (name, value) == ("commit", True) else OPTIONS[name]
        several = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
        for each in several:  # given once each
            options += [option, *(_value(each, placeholder) if placeholder else ())]
    at = words.index("--") if "--" in words else len(words)  # what follows is the command's
    return " ".join((*words[:at], *options, *words[at:]))


def _value(value: object, placeholder: str) -> Iterator[str]:
    import shlex

    if value is ...:
        yield placeholder
    elif isinstance(value, tuple):
        yield from map(shlex.quote, cast("tuple[str, ...]", value))
    elif (placeholder, value) != ("PLAN", "latest"):  # which is meant where none is named
        yield shlex.quote(str(value))
