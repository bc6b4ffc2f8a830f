"""Steps about going on with a plan that stopped."""

import os
import shlex
import signal
import time
from pathlib import Path

from behave import given, then, when

from tests.support.patience import PATIENCE


@given('a plan file "{name}" with the same name')
def _(context, name):
    world = context.world
    (world.plans / name).write_text(f"name: {world.plan}\n{context.text}\n")


@given('a plan file "{name}"')
def _(context, name):
    (context.world.plans / name).write_text(f"{context.text}\n")


@when('the plan is resumed with "{options}"')
@when('the plan is resumed with ""')
def _(context, options=""):
    world = context.world
    words = [str(world.plans / w) if w.endswith(".yaml") else w for w in shlex.split(options)]
    world.run("plan", "resume", *words, world.plan)


@when("the held are released")
def _(context):
    context.world.release()


@then("it would continue from step {index:d}")
def _(context, index):
    resumed = context.world.data["resumed_from"]
    assert (resumed["step_index"], resumed["discarded"]) == (index, None), resumed


@given("its process hangs")
def _(context):
    process = context.world.running
    context.hung = process.pid
    os.kill(process.pid, signal.SIGSTOP)


@then("the process that hung is ended")
def _(context):
    process, context.world.running = context.world.running, None
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    assert process.returncode == -signal.SIGKILL, process.returncode
    process.communicate()
    assert not Path(f"/proc/{context.hung}").exists()


@then('the edited paths are "{paths}"')
@then('the edited paths are ""')
def _(context, paths=""):
    assert " ".join(context.world.data["resumed_from"]["edited"]) == paths
