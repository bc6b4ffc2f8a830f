"""Steps about the last answer: its exit code, its data, its error."""

from behave import then


@then("it succeeds")
def _(context):
    assert context.world.code == 0, context.world.told
    assert context.world.answer["status"] == "ok", context.world.told


@then('it fails with "{kind}"')
def _(context, kind):
    ended(context.world, 1, kind)


@then('it ends with {code:d} and "{kind}"')
def _(context, code, kind):
    ended(context.world, code, kind)


@then('it is a usage error, "{kind}"')
def _(context, kind):
    ended(context.world, 2, kind)


@then('it is refused with "{kind}"')
def _(context, kind):
    ended(context.world, 3, kind)


@then("it is interrupted")
def _(context):
    ended(context.world, 130, "interrupted")


def ended(world, code, kind):
    """Check how the last command ended; every error has a message and a next step."""
    assert world.code == code, world.told
    assert world.answer["status"] == "error", world.told
    assert world.error["kind"] == kind, world.told
    assert world.error["message"], world.told
    assert world.error["hint"], world.told


@then('the {part} says "{text}"')
def _(context, part, text):
    shown = context.world.error["message" if part == "error" else part]
    assert text in shown, shown


@then("its facts are")
def _(context):
    for row in context.table:
        assert str(context.world.error.get(row["fact"])) == row["value"], context.world.told


@then('a message says "{text}"')
def _(context, text):
    assert any(text in message for message in context.world.answer["messages"]), context.world.told
