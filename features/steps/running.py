"""Steps about commands that run without a plan file."""

from behave import given, then, when


@given('the command "{line}" runs and holds')
def _(context, line):
    context.world.plan = "held"
    context.world.start("run", "--name", "held", "--", "sh", "-c", line)


@when('the run is released and the user types "{line}"')
def _(context, line):
    context.world.release()
    context.world.say(line)


@then("the command ended with exit status {status:d}")
def _(context, status):
    context.world.plan = context.world.data["plan_id"]
    assert context.world.data["exit_status"] == status, context.world.told


@then('the plan run last is "{phase}/{state}"')
def _(context, phase, state):
    context.world.plan = "latest"
    status = context.world.status()
    assert (status["phase"], status["state"]) == (phase, state), status


@then('step {index:d} printed "{stdout}" and complained "{stderr}"')
def _(context, index, stdout, stderr):
    (output,) = (each for each in context.world.data["outputs"] if each["index"] == index)
    shown = (stdout.replace("\\n", "\n"), stderr.replace("\\n", "\n"))
    assert (output["stdout"], output["stderr"]) == shown, output
