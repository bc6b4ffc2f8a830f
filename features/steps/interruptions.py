"""Steps that cut runs off: signals, power cuts, a second process."""

import os
import signal
import subprocess
import time
from pathlib import Path

from behave import given, then, when
from world import PROGRAM

from tests.support.patience import PATIENCE


@given("the plan is being executed and holds")
@when("the plan is being executed and holds")
def _(context):
    context.world.start("plan", "execute", context.world.plan_file())


@given("its process was killed")
@when("its process is killed")
def _(context):
    context.world.signal(signal.SIGKILL)


@when("its process gets {name}")
def _(context, name):
    context.world.signal(signal.Signals[name])


@when("it goes on to its end")
def _(context):
    context.world.release()
    context.world.finish()


@when("its process has ended")
def _(context):
    context.world.finish()


@then("the status says that its process is gone and the plan can go on")
def _(context):
    status = context.world.status()
    assert status["state"] == "processing"
    assert status["error"]["recoverable"] is True
    assert "gone" in status["error"]["message"]
    assert status["plan_id"] in status["error"]["hint"]


@then("the status says that it was interrupted and the plan can go on")
def _(context):
    error = context.world.status()["error"]
    assert error["message"] == "interrupted", error
    assert error["recoverable"] is True


@then("the status says nothing of an error")
def _(context):
    assert context.world.status()["error"] is None


@then('the status says that step "{step}" failed and the plan can go on')
def _(context, step):
    error = context.world.status()["error"]
    assert error["step"] == step
    assert error["recoverable"] is True
    assert error["hint"]


@then("it went on from step {index:d} and discarded something")
def _(context, index):
    resumed = context.world.data["resumed_from"]
    assert resumed["step_index"] == index, resumed
    (kept,) = [
        c for c in context.world.checkpoints(superseded=True) if c["checkpoint_id"] == resumed["discarded"]
    ]
    assert kept["checkpoint_type"] == "pre_rollback"
    assert kept["superseded"]


@then("it went on from step {index:d} and discarded nothing")
def _(context, index):
    resumed = context.world.data["resumed_from"]
    assert (resumed["step_index"], resumed["discarded"]) == (index, None), resumed


@then("what was discarded holds")
def _(context):
    world = context.world
    target = context.root / "discarded"
    world.ask("checkpoint", "restore", world.data["resumed_from"]["discarded"], "--to", str(target))
    for row in context.table:
        assert (target / row["path"]).read_text() == row["content"].replace("\\n", "\n")


def _is_alive(process: Path) -> bool:
    try:
        return "Z" not in (process / "stat").read_text().split()
    except (FileNotFoundError, ProcessLookupError):  # it may end while it is looked at
        return False


@then('the process noted as "{name}" is ended')
def _(context, name):
    process = Path("/proc") / context.world.await_note(name).strip()
    end = time.monotonic() + PATIENCE
    while _is_alive(process):
        assert time.monotonic() < end, f"{process} is alive"
        time.sleep(0.02)


@then("the error names the process and since when")
def _(context):
    error = context.world.error
    assert error["pid"] == context.world.running.pid
    assert error["since"]
    assert str(error["pid"]) in error["message"]


@then("the process that works on it is alive")
def _(context):
    os.kill(context.world.running.pid, 0)


@when('the rollback to "{word}" is killed while it restores the {count:d} files of "{folder}"')
def _(context, word, count, folder):
    world = context.world
    place = world.sandbox() / folder
    assert not place.exists()
    fault = {"MULLIGAN_FAULT": f"after:restore.place:{count // 2}:SIGKILL"}
    killed = subprocess.run(
        [PROGRAM, "plan", "rollback", "--yes", world.plan, word],
        cwd=world.folder,
        env={**world.environment, **fault},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=PATIENCE,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert 0 < len(list(place.iterdir())) < count


@then("the status says that the plan can go on")
def _(context):
    error = context.world.status()["error"]
    assert error["recoverable"] is True
    assert error["message"] == context.world.error["message"]
    assert "mulligan resume" in error["hint"]
