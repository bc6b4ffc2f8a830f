from types import ModuleType

from mulligan import errors
from mulligan.errors import MulliganError


def everyone(cls: type[MulliganError]) -> set[str]:
    own = {cls.__name__} if cls.__module__.startswith("mulligan.errors") else set[str]()
    return own.union(*(everyone(below) for below in cls.__subclasses__()))


def test_every_error_can_be_imported_from_the_package_and_nothing_else_but_next_steps():
    public = {
        name
        for name, value in vars(errors).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert public == everyone(MulliganError) | {"Advice", "NextStep"}
