"""Names that a package offers and loads when they are first used."""

from __future__ import annotations

TYPE_CHECKING = False  # that of `typing` takes as long to load as the rest of `import mulligan`
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazy_exports(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package that offers names of other modules.

    `homes` has the names that come from each module, separated by spaces; those of the package itself are its
    modules. Type checkers see what the package imports under TYPE_CHECKING.
    """
    modules = {name: module for module, names in homes.items() for name in names.split()}
    offered = sorted(modules)

    def load(name: str) -> object:
        import importlib  # here: a short command that is handed over needs none of it

        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if modules[name] == package:
            return importlib.import_module(f"{package}.{name}")
        return getattr(importlib.import_module(modules[name]), name)

    return load, lambda: offered, offered
