"""Steps about the project home: where it is, and what becomes of it when the folder is cleaned, moved or copied."""

import hashlib
import os
import shlex
import shutil
import subprocess
from pathlib import Path

from behave import given, then, when


def picture(home):
    """All bytes and modes in a home, but for what says when it was looked at."""
    left_out = ("size.json", "mulligan.db-shm", "mulligan.db-wal")
    found = {}
    for folder, _, names in os.walk(home):
        for name in names:
            path = Path(folder, name)
            if name not in left_out and not path.is_symlink():
                found[str(path.relative_to(home))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def go_to(context, folder):
    """Let the user work in another folder from here on."""
    context.world.folder = folder
    context.world.forget()
    context.world.kept = {
        name: value for name, value in context.world.kept.items() if not name.startswith("sandboxes of")
    }


def run(context, *words):
    """Run a program in the project folder, as the user."""
    return subprocess.run(
        words,
        cwd=context.world.folder,
        env=context.world.environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@given("a git checkout")
def _(context):
    (context.world.folder / "a.txt").write_text("zero\n")
    context.execute_steps("Given it is a git checkout with one commit")


@when('someone runs "{command}" in the project folder')
def _(context, command):
    run(context, "sh", "-c", command)
    context.world.forget()
    assert not (context.world.folder / ".mulligan").exists()


@when('the project folder is moved to "{name}"')
def _(context, name):
    go_to(context, context.world.folder.rename(context.root / name))


@when("the project is opened with the home that it had")
def _(context):
    context.world.run("init", "--home", str(context.kept_home))
    assert context.world.code == 0, context.world.told


@given("the home is remembered")
def _(context):
    context.kept_home = context.world.home
    context.picture = picture(context.kept_home)


@then("the home is as remembered")
def _(context):
    assert picture(context.kept_home) == context.picture


@when('the project folder is copied to "{name}", where the user goes on')
def _(context, name):
    context.original = context.world.folder
    subprocess.run(["cp", "-a", context.world.folder, context.root / name], check=True)
    go_to(context, context.root / name)


@when('the project folder is cloned to "{name}", where the user goes on')
def _(context, name):
    run(context, "git", "clone", "-q", ".", str(context.root / name))
    go_to(context, context.root / name)
    run(context, "git", "config", "user.name", "User")
    run(context, "git", "config", "user.email", "user@example.com")


@when("the original folder is removed")
def _(context):
    shutil.rmtree(context.original)


@when("the home is taken away")
def _(context):
    context.world.home.rename(context.root / "taken")


@then('each of these is refused with "{kind}"')
def _(context, kind):
    for row in context.table:
        context.world.run(*shlex.split(row["command"]))
        code = 125 if row["command"].startswith("run ") else 3
        assert (context.world.code, context.world.error["kind"]) == (code, kind), (row, context.world.told)


@then("there are no plans")
def _(context):
    assert context.world.ask("plan", "list")["plans"] == []


@then('the plan can be looked at, rolled back to "{label}" and resumed')
def _(context, label):
    world = context.world
    assert world.status()["state"] == "complete"
    text = (world.sandbox() / "a.txt").read_text()
    world.run("plan", "rollback", "--yes", world.plan, label)
    assert world.code == 0, world.told
    assert (world.sandbox() / "a.txt").read_text() == text.replace("two\n", "")
    world.run("plan", "resume", world.plan)
    assert world.code == 0, world.told
    assert (world.sandbox() / "a.txt").read_text() == text


@then("in the sandbox git works")
def _(context):
    sandbox, environment = context.world.sandbox(), context.world.environment
    for words in (["git", "log", "--oneline"], ["git", "fsck", "--connectivity-only"], ["git", "status"]):
        subprocess.run(words, cwd=sandbox, env=environment, check=True, capture_output=True)


@then('git says "" of "{command}" in the project folder')
def _(context, command):
    assert run(context, "git", *command.split()) == ""


@then("the project folder holds nothing of the home but what names it")
def _(context):
    small = context.world.folder / ".mulligan"
    assert sorted(path.name for path in small.iterdir()) == [".gitignore", "home.json"]


@then('the real file "{path}" ends with "{line}"')
def _(context, path, line):
    assert (context.world.folder / path).read_text().splitlines()[-1] == line


@then("nothing is wrong with the project")
def _(context):
    assert context.world.ask("doctor")["findings"] == []


@then('"projects" lists {count:d} homes, {unneeded:d} of them not needed')
def _(context, count, unneeded):
    found = context.world.ask("projects")["projects"]
    states = [each["state"] for each in found]
    assert (len(states), sum(state != "in_use" for state in states)) == (count, unneeded), found
    context.world.forget()
