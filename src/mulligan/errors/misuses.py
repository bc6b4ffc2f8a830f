"""Exit code 2: the words of a command, plan file or setting are wrong."""

from typing import ClassVar

from mulligan.errors.next_step import Advice, NextStep
from mulligan.errors.root import Misused


class UsageWrong(Misused):
    """A command line that cannot be understood."""

    hint: ClassVar[str] = Advice(NextStep("help"), " lists what can be done")


class PlanFileInvalid(Misused):
    """A plan file that cannot be run, with the place in it."""

    message: ClassVar[str] = "{file}:{line}:{column}: {path}: {reason}"
    hint: ClassVar[str] = "correct the plan file at that place and try again"


class SettingInvalid(Misused):
    """A value that a setting cannot have, and where it was given."""

    message: ClassVar[str] = "{key}: {reason} ({origin})"
    hint: ClassVar[str] = "allowed: {allowed}"


class SettingUnknown(SettingInvalid):
    """A setting nobody knows."""

    message: ClassVar[str] = "there is no setting {key!r} ({origin})"
    hint: ClassVar[str] = Advice(NextStep("config.list"), " shows all settings")


class SettingsFileInvalid(Misused):
    """A file of settings that cannot be read, with the line."""

    message: ClassVar[str] = "{file}:{line}: {reason}"
    hint: ClassVar[str] = "correct the file at that line and try again"


class ReferenceInvalid(Misused):
    """A `${{ … }}` that names nothing a step could be given."""

    hint: ClassVar[str] = (
        "name a variable, an earlier step or guidance; a `${{{{` meant as it is goes into a variable"
    )


class StateNotJson(Misused):
    """Something that is to be kept with a session's checkpoints and cannot be."""

    message: ClassVar[str] = "{what} cannot be kept: {reason}"
    hint: ClassVar[str] = (
        "put into it only what JSON can hold: texts, numbers, lists, and dicts with texts as keys"
    )


class ToolsInvalid(Misused):
    """Tools of the user's own that cannot be loaded, or that contradict themselves or others."""

    message: ClassVar[str] = "{source}: {reason}"
    hint: ClassVar[str] = Advice(
        "correct it and try again; ", NextStep("tools.list"), " shows the tools there are"
    )
