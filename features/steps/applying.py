"""Steps that apply plans and take that back."""

import sqlite3
import subprocess
from contextlib import closing

from behave import given, then, when
from git_checkouts import git
from world import PROGRAM


@when("the plan is applied")
def _(context):
    context.world.run("plan", "apply", "--yes", context.world.plan)


@when("the plan is taken back")
def _(context):
    context.world.run("plan", "unapply", "--yes", context.world.plan)


@when("an apply is tried without doing it")
def _(context):
    context.world.run("plan", "apply", "--dry-run", context.world.plan)
    context.world.kept["dry run"] = context.world.data


@when("the plan is applied and killed while it writes")
def _(context):
    fault = {"MULLIGAN_FAULT": "before:restore.place:1:SIGKILL"}
    ended = subprocess.run(
        [PROGRAM, "plan", "apply", "--yes", context.world.plan],
        cwd=context.world.folder,
        env=context.world.environment | fault,
        capture_output=True,
        check=False,
    )
    assert ended.returncode == -9, ended


@then("no sandbox of the plan is left")
def _(context):
    assert context.world.status()["sandboxes"] == []
    assert not list((context.world.home / "sandboxes").glob("*/*"))


@when('someone makes the real file "{path}" read "{content}"')
def _(context, path, content):
    (context.world.folder / path).write_text(content.replace("\\n", "\n"))


@then('it ends with a conflict in "{path}"')
def _(context, path):
    assert context.world.code == 4, context.world.answer
    assert context.world.answer["error"]["kind"] == "apply_conflicted"
    _has_conflict(context.world.data["conflicts"], path)


@then('plan status lists the conflict in "{path}"')
def _(context, path):
    _has_conflict(context.world.status()["conflicts"], path)


def _has_conflict(conflicts, path):
    assert [f"{c['resource']}/{c['path']}" for c in conflicts] == [path], conflicts
    assert all(c["reason"] for c in conflicts)


@then("it does to the real resources what was shown")
def _(context):
    shown, done = context.world.kept["dry run"], context.world.data
    assert (shown["dry_run"], done["dry_run"]) == (True, False)
    for part in ("applied", "changes", "conflicts", "sandbox_cleanup"):
        assert shown[part] == done[part], (shown[part], done[part])


@then('the real database "{path}" holds "{values}"')
def _(context, path, values):
    with closing(sqlite3.connect(context.world.folder / path)) as connection:
        found = [x for (x,) in connection.execute("select x from t")]
    assert ", ".join(found) == values, found


@given('"{path}" is a git checkout with one commit')
def _(context, path):
    folder = context.world.folder / path
    for words in (
        ("init", "-q"),
        ("config", "user.name", "User"),
        ("config", "user.email", "user@example.com"),
        ("add", "-A"),
        ("commit", "-q", "-m", "first"),
    ):
        git(context, folder, *words)


@then('in "{path}" git says "{answer}" of "{command}"')
def _(context, path, answer, command):
    lines = git(context, context.world.folder / path, *command.split()).splitlines()
    told = [line for line in lines if not line.startswith(("diff ", "index ", "---", "+++", "@@"))]
    assert " ".join(told) == answer, lines
