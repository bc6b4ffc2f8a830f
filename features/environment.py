"""Gives every scenario a World of its own, in a temporary folder that goes away with it."""

import os
import shutil
import tempfile
from pathlib import Path

from behave.model import Scenario
from behave.runner import Context
from world import World


def before_scenario(context: Context, scenario: Scenario) -> None:
    context.root = Path(tempfile.mkdtemp(prefix="mulligan-scenario-"))
    context.world = World(context.root)


def after_scenario(context: Context, scenario: Scenario) -> None:
    context.world.close()
    for folder, _, _ in os.walk(context.root):
        Path(folder).chmod(0o700)  # plans make folders that not even their owner may change
    shutil.rmtree(context.root)
