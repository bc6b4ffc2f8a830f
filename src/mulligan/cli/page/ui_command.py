"""The command `ui`: the page in the browser."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from mulligan.cli.answers.answer import Answer, Line
from mulligan.cli.commands.declaration import command
from mulligan.errors import UsageWrong

if TYPE_CHECKING:
    from mulligan.cli.invocation import Invocation

group = click.Group("mulligan")


@command(group, "ui", example="mulligan ui --help", codes=(0, 1, 2, 3, 130))
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="Listen there; 0, the default, is any.",
)
@click.option("--no-open", is_flag=True, help="Only print the address; open no browser.")
def ui(invocation: Invocation, port: int, no_open: bool) -> Answer:
    """Show the project in a browser: what happened, what differs, and what to do about it.

    The page is served on this machine alone, until Ctrl-C. The address that it prints opens it once, in one browser.
    Acts that are at work when it ends are interrupted, as Ctrl-C interrupts them. It needs the extra mulligan[ui].
    """
    from mulligan.api.operations.extras import require_extra

    require_extra("ui", "`mulligan ui`")
    if invocation.format.is_document:
        raise UsageWrong(
            reason="a page that is served has nothing to say as a document", hint="leave out --format"
        )
    from mulligan.cli.main import VERSION
    from mulligan.page.page_service import PageWish, serve_page

    def ready(address: str) -> None:
        sys.stdout.write(f"{address}\n")
        sys.stdout.flush()
        sys.stderr.write("the page is open to the browser that opens this address; Ctrl-C ends it\n")
        sys.stderr.flush()
        if not no_open:
            _open(address)

    serve_page(
        PageWish(
            around=invocation.around,
            project=invocation.project_option,
            port=port,
            version=VERSION,
            ready=ready,
            complain=sys.stderr.write,
        )
    )
    return Answer(data=None, blocks=[Line("the page has ended")], aside=True)


def _open(address: str) -> None:
    """Open the user's browser, if there is one; what it prints is its own."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
