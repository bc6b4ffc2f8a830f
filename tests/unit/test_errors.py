import re

from mulligan import errors
from mulligan.errors import MulliganError


def everyone(cls: type[MulliganError]) -> set[str]:
    own = {cls.__name__} if cls.__module__.startswith("mulligan.errors") else set[str]()
    return own.union(*(everyone(below) for below in cls.__subclasses__()))


def test_the_tree_at_the_top_draws_every_error_and_each_can_be_imported_from_there():
    drawn = set(re.findall(r"\b[A-Z][a-z]+(?:[A-Z][a-z]+|A(?=[A-Z]))*\b", _tree()))
    assert everyone(MulliganError) - drawn == set()
    assert everyone(MulliganError) == set(errors.__all__) - {"Advice", "NextStep"}


def _tree() -> str:
    return (errors.__doc__ or "").split("The rooms:")[0]
