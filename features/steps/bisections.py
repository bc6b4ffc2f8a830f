"""Steps about bisections."""

from behave import then


@then('the first that fails was made by step "{step}" after the decision "{decision}"')
def _(context, step, decision):
    first = context.world.answer["data"]["first_bad"]
    assert (first["step"], first["decision"]["handle"]) == (step, decision), first


@then("each group was tried once, and no more than {most:d}")
def _(context, most):
    numbers = [trial["number"] for trial in context.world.answer["data"]["trials"]]
    assert len(numbers) == len({*numbers}) <= most, numbers


@then("{skipped:d} groups were skipped, and {candidates:d} are candidates")
def _(context, skipped, candidates):
    data = context.world.answer["data"]
    assert (len(data["skipped"]), len(data["candidates"])) == (skipped, candidates), data
    assert data["first_bad"] is None
