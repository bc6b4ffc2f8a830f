"""Steps that read what people read."""

import json
import re
import shlex
import shutil

from behave import given, then, when

from tests.support.forked_program import run_program

ID = re.compile(r"(?<![\w/.-])[0-7][0-9A-HJKMNP-TV-Z]{25}(?![\w/])")  # not as part of a path
# Words of documents, which people do not read: phases, states, kinds of groups.
INNER = re.compile(
    r"\b(strategize|execute/|apply/|queued|constrained|errored|processing|superseded|mend|(pre|post|before|after)_\w+)"
)
COMMAND = re.compile(r"`mulligan ([^`]*)`|: +mulligan (.*)")
LEFT_TO_FILL_IN = re.compile(r"(?<![\w-])[A-Z][A-Z_]*\b")
# How a pasted command may end: done, or as documented without a terminal, or as the first time.
WORKS = {
    None,
    "confirmation_missing",
    "step_failed",
    "apply_conflicted",
    "subplan_conflicts",
    "conflicts_unresolved",
    "markers_left",
}


@given('the project has the plan file "{name}"')
def _(context, name):
    (context.world.folder / f"{name}.yaml").write_text(f"name: {name}\n{context.text}")


@given('the plan file "{name}" was executed')
def _(context, name):
    context.world.run("plan", "execute", f"{name}.yaml")


@when("a reader types")
def _(context):
    world = context.world
    seen = world.kept.setdefault("seen", [])
    tried = world.kept.setdefault("tried", {})
    for row in context.table:
        done = run_program(shlex.split(row["line"]), folder=world.folder, environment=world.environment)
        text = re.sub(r"\x1b\[[\d;]*m", "", (done.stdout + done.stderr).decode())
        assert "Traceback" not in text, text
        seen.append((row["line"], text))
        named = [a or b for a, b in COMMAND.findall(text)]
        for command in dict.fromkeys(each for each in named if not LEFT_TO_FILL_IN.search(each)):
            if (_state(world), command) not in tried:  # looking again changes nothing
                tried[_state(world), command] = _pasted(world, command)


@when('the real "{path}" is changed to "{text}"')
def _(context, path, text):
    (context.world.folder / path).write_text(text.replace("\\n", "\n"))


@then("no id and no word of documents was shown, and every command that was named works")
def _(context):
    shown = [(line, ID.findall(text), text) for line, text in context.world.kept["seen"]]
    assert not [each for each in shown if each[1]], shown
    inner = [(line, INNER.findall(text), text) for line, text in context.world.kept["seen"]]
    assert not [each for each in inner if each[1]], [each for each in inner if each[1]]
    _all_work(context.world)


@then("every answer has an id beside its word, and every command that was named works")
def _(context):
    for line, text in context.world.kept["seen"]:
        assert re.search(rf"\btour\S* \({ID.pattern}\)", text), (line, text)
    _all_work(context.world)


def _all_work(world):
    tried = world.kept["tried"]
    assert tried, "no command was named"
    failed = {words: error for words, error in tried.items() if not _works(error)}
    assert not failed, failed


def _state(world):
    databases = world.root.rglob("mulligan.db")
    return tuple(sorted((file.name, file.stat().st_mtime_ns) for file in databases))


def _works(error):
    # The command that was probably meant may need more words.
    return (error and error["kind"]) in WORKS or error["message"].endswith(" is missing")


def _pasted(world, command):
    """Run a command as it was named, and put everything back as it was; gives its error, if it is no success."""
    kept = world.root.with_name(f"{world.root.name}-kept")
    shutil.copytree(world.root, kept, symlinks=True)
    try:
        words = ["--format", "json", *shlex.split(command)]
        done = run_program(words, folder=world.folder, environment=world.environment)
    finally:
        shutil.rmtree(world.root)
        kept.rename(world.root)
    return json.loads(done.stdout)["error"] if done.returncode else None
