"""Steps about coding agents, whose hooks call the program."""

from behave import given, when

from tests.support.fake_agent import FakeAgent


@given("an agent that started a session")
def _(context):
    assert context.world.home  # which makes the project
    context.agent = FakeAgent(context.world.folder)
    context.agent.surroundings = context.world.environment
    context.agent.start()


@when('the agent is asked to "{text}" and runs "{command}"')
def _(context, text, command):
    with context.agent.prompted(text):
        context.agent.shell(command)


@when('the agent is asked to "{text}" and is killed while it runs "{command}"')
def _(context, text, command):
    context.agent.prompt(text)
    context.agent.before(command)
    context.agent.run(command)
