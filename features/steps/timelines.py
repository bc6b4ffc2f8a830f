"""Steps about the timeline of a folder."""

from answers import ended
from behave import then


@then("the timeline is")
def _(context):
    shown = [
        {name: str(entry[name]) for name in context.table.headings} for entry in context.world.data["entries"]
    ]
    assert shown == [row.as_dict() for row in context.table], shown


@then("it ends with a conflict of the undo")
def _(context):
    ended(context.world, 4, "undo_conflicted")
