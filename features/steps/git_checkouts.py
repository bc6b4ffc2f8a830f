"""Steps about git: the user's repository and the sandbox's."""

import subprocess
from pathlib import Path

from behave import given, then, when
from trees import tree_of

_DEFAULTS = ("-c", "init.defaultBranch=main")


def git(context, folder, *words):
    """What git prints, run as the scenario's user."""
    command = ["git", *_DEFAULTS, *words]
    ended = subprocess.run(
        command, cwd=folder, env=context.world.environment, capture_output=True, text=True, check=True
    )
    return ended.stdout


def repository(context, *, pins):
    """The whole real folder with its git directory, but for objects and, where told so, pins."""
    found = tree_of(context.world.folder)
    left = ("objects", "refs/mulligan") if not pins else ("objects",)
    return {p: w for p, w in found.items() if not p.startswith(tuple(f".git/{name}" for name in left))}


@given("it is a git checkout with one commit")
def _(context):
    folder = context.world.folder
    git(context, folder, "init", "-q")
    git(context, folder, "config", "user.name", "User")
    git(context, folder, "config", "user.email", "user@example.com")
    git(context, folder, "add", "-A")
    git(context, folder, "commit", "-q", "-m", "first")


@given('git does "{commands}" there')
def _(context, commands):
    for command in commands.split("; "):
        git(context, context.world.folder, *command.split())


@given('git has left "{name}" behind')
def _(context, name):
    (context.world.folder / ".git" / name).touch()


@given("the repository is remembered")
def _(context):
    git(context, context.world.folder, "status")
    context.world.kept["repository"] = repository(context, pins=True)


@then("the repository is as remembered, but for pins of the plan")
def _(context):
    refs = git(context, context.world.folder, "for-each-ref", "--format=%(refname)", "refs/mulligan").split()
    plan_id = context.world.status()["plan_id"]
    assert refs
    assert all(ref.startswith(f"refs/mulligan/{plan_id}/") for ref in refs), refs
    assert repository(context, pins=False) == context.world.kept["repository"]


@then("the repository is as remembered, to the last pin")
def _(context):
    assert repository(context, pins=True) == context.world.kept["repository"]


@then('git says the same of "{command}" in the sandbox and in the real folder')
def _(context, command):
    words = ("--no-optional-locks", *command.split())
    mine, users = (git(context, place, *words) for place in (context.world.sandbox(), context.world.folder))
    # The project home is there in one of them only, and hides itself.
    assert mine == "".join(line for line in users.splitlines(True) if ".mulligan" not in line), (mine, users)


@then('in the sandbox git says "{answer}" of "{command}"')
@then('in the sandbox git says "" of "{command}"')
def _(context, command, answer=""):
    found = git(context, context.world.sandbox(), *command.split()).strip()
    assert found == answer, found


@then("every checkpoint is a commit whose parent is the one before it")
def _(context):
    bare = Path(context.world.status()["sandboxes"][0]["git_dir"])
    before = ""
    for checkpoint in context.world.checkpoints():
        ref = f"refs/checkpoints/{checkpoint['checkpoint_id']}"
        commit, _, parent = git(context, bare, "log", "-1", "--format=%H %P", ref).strip().partition(" ")
        assert (commit, parent) == (checkpoint["sandbox_ref"], before)
        before = commit


@then('the last commit holds "{names}"')
def _(context, names):
    bare = Path(context.world.status()["sandboxes"][0]["git_dir"])
    last = context.world.checkpoints()[-1]["sandbox_ref"]
    assert git(context, bare, "ls-tree", "-r", "--name-only", last).split() == names.split()


@given("work is staged and unstaged there")
def _(context):
    folder = context.world.folder
    (folder / "staged").write_text("staged\n")
    git(context, folder, "add", "staged")
    (folder / "staged").write_text("changed again\n")
    (folder / "a.txt").write_text("unstaged\n")


def standing(context):
    """HEAD, its commit, and what git says of the working tree."""
    folder = context.world.folder
    return (
        (folder / ".git" / "HEAD").read_text(),
        git(context, folder, "rev-parse", "HEAD"),
        git(context, folder, "status", "--porcelain"),
        git(context, folder, "ls-files", "-s"),
    )


@given("where git stands is remembered")
def _(context):
    context.world.kept["standing"] = standing(context)


@then("git stands where it stood")
def _(context):
    assert standing(context) == context.world.kept["standing"], standing(context)


@then('git stands on "{branch}"')
def _(context, branch):
    assert git(context, context.world.folder, "branch", "--show-current").strip() == branch


@then('git has the tag "{tag}"')
def _(context, tag):
    assert git(context, context.world.folder, "tag").split() == [tag]


@then("the real folder is as remembered, but for its git directory")
def _(context):
    found, wanted = (
        {path: what for path, what in tree.items() if not path.startswith(".git")}
        for tree in (context.world.real(), context.world.kept["real"])
    )
    assert found == wanted, (found, wanted)


@then("each checkpoint is a commit")
def _(context):
    git_dir = context.world.status()["sandboxes"][0]["git_dir"]
    for checkpoint in context.world.checkpoints():
        assert git(context, git_dir, "cat-file", "-t", checkpoint["sandbox_ref"]).strip() == "commit"


@when('git does "{command}" in "{folder}"')
def _(context, command, folder):
    git(context, context.world.folder / folder, *command.split())
