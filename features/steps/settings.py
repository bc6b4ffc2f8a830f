"""Steps about settings and where they come from."""

from behave import given, then, when


@given('the environment says {name}="{value}"')
def _(context, name, value):
    context.world.variables[name] = value


@given("the environment says no {name}")
@when("the environment says no {name}")
def _(context, name):
    del context.world.variables[name]


@given('the user file says "{text}"')
def _(context, text):
    file = context.root / "home" / ".config" / "mulligan" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text.replace("\\n", "\n"))
    context.world.forget()


@given('the project sets {key} to "{value}"')
def _(context, key, value):
    context.world.run("init")
    context.world.run("config", "set", key, value)
    assert context.world.code == 0, context.world.told


@then('the setting {key} is "{value}" by {origin}')
def _(context, key, value, origin):
    found = context.world.ask("config", "get", key)
    assert str(found["value"]) == value, found
    assert origin in found["origin"], found


@given("the command line says -c {setting}")
@when("the command line says -c {setting}")
def _(context, setting):
    context.world.options = ["-c", setting] if setting != "nothing" else []


@given('the setting {key} is "{value}" by {origin}, once there is a project')
def _(context, key, value, origin):
    context.world.run("init")
    context.execute_steps(f'Then the setting {key} is "{value}" by {origin}')


@given("the project's own settings are remembered")
def _(context):
    context.world.kept["settings"] = own_settings(context.world)


@then("the project's own settings are as remembered")
def _(context):
    assert own_settings(context.world) == context.world.kept["settings"]


def own_settings(world):
    """Give the bytes of the project's config.toml."""
    return (world.home / "config.toml").read_bytes()
