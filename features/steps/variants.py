"""Steps about tries and their variants."""

import shlex

from behave import given, then, when


@given('the command "{line}" was started and holds')
def _(context, line):
    context.world.start(*shlex.split(line))


@then("the variants are")
def _(context):
    names = context.table.headings
    shown = [
        {name: _word(variant[name]) for name in names} for variant in context.world.answer["data"]["variants"]
    ]
    assert shown == [dict(zip(names, row.cells, strict=True)) for row in context.table], shown


@then("all variants pass")
def _(context):
    assert all(variant["passed"] for variant in context.world.answer["data"]["variants"])


@when("the plan run last is looked at")
def _(context):
    context.world.plan = "latest"


def _word(value):
    if value is None:
        return ""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
