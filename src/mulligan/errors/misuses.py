"""Exit code 2: a command, plan file or setting is wrong."""

from mulligan.errors.next_step import Advice, NextStep
from mulligan.errors.root import Misused


class UsageWrong(Misused):
    """A command line is invalid."""

    hint = Advice(NextStep("help"), " lists the commands")


class PlanFileInvalid(Misused):
    """A plan file is invalid; the error has the position."""

    message = "{file}:{line}:{column}: {path}: {reason}"
    hint = "correct the plan file at that place and try again"


class SettingInvalid(Misused):
    """A setting has an invalid value; the error says where it comes from."""

    message = "{key}: {reason} ({origin})"
    hint = "allowed: {allowed}"


class SettingUnknown(SettingInvalid):
    """A setting does not exist."""

    message = "there is no setting {key!r} ({origin})"
    hint = Advice(NextStep("config.list"), " shows all settings")


class SettingsFileInvalid(Misused):
    """A settings file is invalid; the error has the line."""

    message = "{file}:{line}: {reason}"
    hint = "correct the file at that line and try again"


class ReferenceInvalid(Misused):
    """A `${{ … }}` refers to nothing that is available to the step."""

    hint = (
        "refer to a variable, an earlier step or guidance; to use a literal `${{{{`, put it into a variable"
    )


class StateNotJson(Misused):
    """A value cannot be stored with the checkpoints of a session."""

    message = "{what} cannot be stored: {reason}"
    hint = "use only values that JSON can hold: strings, numbers, booleans, None, lists, and dicts with string keys"


class ToolsInvalid(Misused):
    """User-defined tools cannot be loaded, or contradict themselves or other tools."""

    message = "{source}: {reason}"
    hint = Advice("correct them and try again; ", NextStep("tools.list"), " lists the available tools")
