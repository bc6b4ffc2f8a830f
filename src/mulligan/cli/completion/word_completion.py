"""Answers a shell that asks how a word may go on; says nothing at all where that cannot be known.

The shell's script (`completion_scripts`) hands over the line up to the cursor, and gets back lines of a kind, a word
and what the word is, with tabs between them. The kinds `file`, `dir` and `program` have no word: the shell knows its
files, and the programs that it finds. `command`, which only bash is answered, has the program whose completion knows.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem, ShellComplete, split_arg_string

from mulligan.cli.answers.plain_words import in_words, moment
from mulligan.cli.invocation import Invocation
from mulligan.domain.plans.plan import LEGAL, SUITABLE

if TYPE_CHECKING:
    import click

    from mulligan.rows.completion_words import KnownWords, Word

ASKED = "_MULLIGAN_COMPLETE"  # the variable in which a shell says that it asks
LINE = "_MULLIGAN_LINE"

_ANY = tuple(LEGAL)
_LONGEST_ABOUT = 60  # characters


def answer_shell(program: click.Command, environ: Mapping[str, str]) -> None:
    """Write how the word at the end of the line may go on."""
    try:
        found = list(_items(program, environ.get(LINE, "")))
    except Exception:  # noqa: BLE001 - the user is typing: the command itself reports what is wrong
        return
    sys.stdout.buffer.write("".join(map(_told, found)).encode("utf-8", "replace"))


def _items(program: click.Command, line: str) -> Iterator[CompletionItem[str]]:
    # The end of the line shows where the last word ends, also after a space or in quotes.
    *words, last = split_arg_string(f"{line}.")
    typed = last[:-1]
    option, equals, _ = typed.partition("=")
    lead = f"{option}=" if equals and option.startswith("--") else ""
    asked = ShellComplete(program, {"obj": Invocation()}, "mulligan", ASKED)
    for item in asked.get_completions(words[1:], typed):
        if item.type == "plain":
            item.value = lead + item.value
        yield item


def _told(item: CompletionItem[str]) -> str:
    about = " ".join((item.help or "").split())
    short = about if len(about) <= _LONGEST_ABOUT else f"{about[: _LONGEST_ABOUT - 3]}..."
    fields = (item.type, item.value or "", short)
    return "\t".join(fields) + "\n" if all(field.isprintable() for field in fields) else ""


def named_words(kind: str, context: click.Context, typed: str) -> list[CompletionItem[str]]:
    """Return the completions of a word that names something of this kind."""
    if kind == "program" and (command := context.params.get("words")):
        in_bash = os.environ.get(ASKED) == "bash"
        return [CompletionItem(command[0], "command") if in_bash else CompletionItem("", "file")]
    if kind in ("dir", "file", "program"):
        return [CompletionItem("", kind)]
    files = [CompletionItem("", "file")] if kind.endswith(" or file") and "@" not in typed else []
    found = _words(kind, context, typed)
    return [CompletionItem(word, help=about) for word, about in found if word.startswith(typed)] + files


def _words(kind: str, context: click.Context, typed: str) -> Iterable[Word]:
    invocation = context.ensure_object(Invocation)
    around, named = invocation.around, invocation.project_option
    plan = context.params.get("plan")
    match kind:
        case "key":
            return _keys()
        case "value":
            return _values(str(context.params.get("key")), typed)
        case "setting":
            key, equals, value = typed.partition("=")
            if not equals:
                return [(f"{key}=", about) for key, about in _keys()]
            return [(f"{key}={word}", about) for word, about in _values(key, value)]
        case "tool":
            from mulligan.api.completion_source import tool_words

            return tool_words(around, named)
        case _:
            from mulligan.api.completion_source import known_words

            act, idle = SUITABLE.get(context.command.name or ""), context.command.name != "apply"
            with known_words(around, named) as known:
                found: dict[str, Callable[[], Iterable[Word]]] = {
                    "plan": lambda: _plans(
                        known, typed, act, numbers=context.command.name == "rollback", idle=idle
                    ),
                    "plan or entry": lambda: [*_plans(known, typed, act, numbers=False), *known.entries()],
                    "plan or file": lambda: _plans(known, typed, act, numbers=False),
                    "checkpoint or file": lambda: _checkpoints(known, typed, None),
                    "checkpoint": lambda: _checkpoints(known, typed, plan),
                    "alternative": lambda: known.alternatives(str(plan)),
                    "decision": lambda: known.decisions(typed),
                    "correction": lambda: known.corrections(typed),
                    "conflict": lambda: known.conflicts(str(plan)),
                    "variant": known.variants,
                }
                return list(found[kind]())


def _plans(
    known: KnownWords,
    typed: str,
    states: Collection[tuple[str, str]] | None,
    *,
    numbers: bool,
    idle: bool = True,
) -> Iterator[Word]:
    """Plans that the command can be done to; one word may also name a checkpoint of a plan."""
    if numbers and "@" in typed:
        yield from _numbers(known, typed)
    else:
        yield from ((word, in_words(about)) for word, about in known.plans(typed, states, idle=idle))


def _checkpoints(known: KnownWords, typed: str, plan: str | None) -> Iterator[Word]:
    """Labels, and numbers: of the named plan or the newest one, once a handle and `@` are typed of that plan."""
    if "@" in typed:
        yield from _numbers(known, typed, plan)
        return
    yield from known.labels(plan)
    yield from _numbers(known, "@", plan)
    if typed and plan is None:
        yield from ((f"{word}@", in_words(about)) for word, about in known.plans(typed, _ANY))
    yield from known.checkpoint_ids(typed)


def _numbers(known: KnownWords, typed: str, plan: str | None = None) -> Iterator[Word]:
    handle = typed.rpartition("@")[0]
    for group in known.groups(handle or plan or "latest"):
        yield f"{handle}@{group.number}", moment(group.type, group.step_index, group.label)


def _keys() -> Iterable[Word]:
    from mulligan.config import SETTINGS

    return [(setting.key, setting.meaning) for setting in SETTINGS]


def _values(key: str, typed: str) -> Iterable[Word]:
    """Return the words a setting may be set to; for a list, one more after the existing ones."""
    from mulligan.config import setting_named

    type = setting_named(key, "").type
    allowed = type.allowed
    if isinstance(allowed, str):
        return []
    if not type.separator:
        return [(word, "") for word in allowed]
    before, separator, _ = typed.rpartition(type.separator)
    there = before.split(type.separator)
    return [(f"{before}{separator}{word}", "") for word in allowed if word not in there]
