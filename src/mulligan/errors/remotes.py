"""Errors about branches of remote git repositories."""

from mulligan.errors.next_step import Advice, NextStep
from mulligan.errors.root import Conflicted, Failed, Refused


class RemoteUnreachable(Failed):
    """A git repository on a server could not be read or written."""

    http_status = 503
    message = "the repository {url} cannot be used: {reason}"
    hint = "nothing is lost: see that `git ls-remote` works with this address here, then repeat the command"


class RemoteRefused(Refused):
    """The server of a git repository refused a push."""

    message = "{url} did not take the commit for its branch {branch}: {reason}"
    hint = "nothing was changed there: get the right to push to the branch, or ask for another one"


class RemoteMoved(Conflicted):
    """Others pushed to a branch at the very moment when a commit was about to be pushed there."""

    message = "others pushed to the branch {branch} of {url} meanwhile"
    hint = Advice(
        "what they pushed is kept; run the command again: it merges with that; ",
        NextStep("diff", plan="latest"),
        " shows the plan's side",
    )
