"""Steps about a repository on a server, which is a folder beside the project here."""

from behave import given, then, when
from git_checkouts import git

_ADDRESS = "https://server.example/site.git"
_USER = ("-c", "user.name=Other", "-c", "user.email=other@example.com")


def push(context, path, content, branch):
    """Push a commit with one file."""
    other = context.root / "other"
    (other / path).write_text(content.replace("\\n", "\n") + "\n")
    git(context, other, "add", "-A")
    git(context, other, *_USER, "commit", "-q", "-m", "of others")
    git(context, other, "push", "-q", "origin", f"HEAD:{branch}")


@given('a server with a repository whose branch "{branch}" has the file "{path}" with "{content}"')
def _(context, branch, path, content):
    server = context.root / "server.git"
    git(context, context.root, "init", "-q", "--bare", str(server))
    git(context, context.root, "clone", "-q", str(server), "other")
    push(context, path, content, branch)
    settings = f'[user]\nname = User\nemail = user@example.com\n[url "{server}"]\ninsteadOf = {_ADDRESS}\n'
    (context.root / "home" / ".gitconfig").write_text(settings)
    context.world.kept["server"] = str(server)


@when('someone pushes "{path}" with "{content}" to the branch "{branch}"')
def _(context, path, content, branch):
    push(context, path, content, branch)


@then('the branch "{branch}" on the server has "{path}" with "{content}"')
def _(context, branch, path, content):
    found = git(context, context.world.kept["server"], "show", f"{branch}:{path}")
    assert found == content.replace("\\n", "\n"), found


@then('the branch "{branch}" on the server has {number:d} commits')
def _(context, branch, number):
    found = git(context, context.world.kept["server"], "rev-list", branch).split()
    assert len(found) == number, found
