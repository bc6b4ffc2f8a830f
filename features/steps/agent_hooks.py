"""Steps about hooks in the configuration of coding agents."""

from behave import then, when


@then('the hooks of "{agent}" are installed for the project')
def _(context, agent):
    found = next(each for each in context.world.data["agents"] if each["agent"] == agent)
    assert "project" in [each["scope"] for each in found["installed"]], found


@when('the user replaces "{old}" by "{new}" in "{path}"')
def _(context, old, new, path):
    file = context.world.folder / path
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
