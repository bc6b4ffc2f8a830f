"""Steps about the doctor."""

from behave import given, then, when


@then("the doctor finds nothing")
def _(context):
    assert context.world.data["findings"] == [], context.world.data
    assert context.world.code == 0


@then('the doctor says that "{plan}" waits')
def _(context, plan):
    (text,) = context.world.data["waiting"]
    assert f"plan {context.world.ask('status', plan)['plan_id']}:" in text, text
    assert "mulligan resume" in text, text


@given("a folder is left over among the sandboxes")
def _(context):
    world = context.world
    left = world.sandbox().parent / "left-over"
    left.mkdir()
    (left / "file").touch()


@then('the doctor repaired "{area}"')
def _(context, area):
    found = [f for f in context.world.data["findings"] if f["area"] == area]
    assert found, context.world.data
    assert all(f["repaired"] for f in found), found


@then('the doctor left "{area}" wrong, and says what to do')
def _(context, area):
    found = [f for f in context.world.data["findings"] if f["area"] == area and not f["repaired"]]
    assert found, context.world.data
    assert all(f["remedy"] for f in found), found


@when("the database is overwritten with nonsense")
def _(context):
    home = context.world.home
    for name in ("mulligan.db-wal", "mulligan.db-shm"):
        (home / name).unlink(missing_ok=True)
    (home / "mulligan.db").write_bytes(b"nonsense " * 1000)
