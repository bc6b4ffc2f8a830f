"""Gives every scenario a World of its own, in a temporary folder that goes away with it, and a limit of time."""

import faulthandler
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from behave.model import Scenario
from behave.runner import Context
from world import World

LIMIT = int(os.environ.get("MULLIGAN_SCENARIO_LIMIT", "900"))  # seconds; no scenario waits for ever
GRACE = 60  # seconds, to clean up; then the process ends


def before_all(context: Context) -> None:
    signal.signal(signal.SIGALRM, _too_long)
    if (
        signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    ):  # in the background; Ctrl-C works in what is started
        signal.signal(signal.SIGINT, signal.default_int_handler)


def before_scenario(context: Context, scenario: Scenario) -> None:
    signal.alarm(LIMIT)
    faulthandler.dump_traceback_later(LIMIT + GRACE, exit=True, file=sys.__stderr__)
    context.root = Path(tempfile.mkdtemp(prefix="mulligan-scenario-"))
    context.world = World(context.root)


def after_scenario(context: Context, scenario: Scenario) -> None:
    signal.alarm(0)
    context.world.close()
    for folder, _, _ in os.walk(context.root):
        Path(folder).chmod(0o700)  # plans make folders that not even their owner may change
    shutil.rmtree(context.root)
    faulthandler.cancel_dump_traceback_later()


def _too_long(_signal: int, _frame: object) -> None:
    """Fail the step that is running; what it waits for is in the stack."""
    raise TimeoutError(f"the scenario took longer than {LIMIT} seconds")
