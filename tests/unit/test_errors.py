import pkgutil
from importlib import import_module

from mulligan import errors
from mulligan.errors import MulliganError


def everyone(cls: type[MulliganError]) -> set[str]:
    own = {cls.__name__} if cls.__module__.startswith("mulligan.errors") else set[str]()
    return own.union(*(everyone(below) for below in cls.__subclasses__()))


def test_every_error_can_be_imported_from_the_package_and_nothing_else_but_next_steps():
    for module in pkgutil.iter_modules(errors.__path__):
        import_module(f"mulligan.errors.{module.name}")
    assert set(errors.__all__) == everyone(MulliganError) | {"Advice", "NextStep"}
    assert {getattr(errors, name).__name__ for name in errors.__all__} == set(errors.__all__)
