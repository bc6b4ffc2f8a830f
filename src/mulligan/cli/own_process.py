"""The program in a process of its own: loads what a command needs, and little of what its libraries need."""

import gc
import importlib
import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from types import ModuleType

# Most commands end before a tenth of a second is over: by default a good part of that is looking for garbage.
_ALLOCATIONS_BETWEEN_COLLECTIONS = 100_000


def run_here(words: Sequence[str]) -> int:
    """Run a command line in this process; return its exit code."""
    gc.set_threshold(_ALLOCATIONS_BETWEEN_COLLECTIONS, 20, 20)
    _open_missing_streams()
    with stand_ins():
        _load_msgspec()
        from mulligan.cli.main import run

    return run(words)


class _StandIn(ModuleType):
    """A module of the standard library that is loaded when a library uses more of it than is offered here."""

    def __getattr__(self, name: str) -> object:
        if name == "__path__":  # the system asks each module whether it is a package
            raise AttributeError(name)
        self.leave()
        return getattr(importlib.import_module(self.__name__), name)

    def leave(self) -> None:
        """Let others load the module itself from now on."""
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]


@contextmanager
def stand_ins() -> Generator[None]:
    """Let libraries load meanwhile without modules that they name and few commands use: a tenth of a short command.

    Of click there are no translations to look for.
    """
    offered: dict[str, dict[str, object]] = {
        "gettext": {"gettext": _untranslated, "ngettext": _untranslated_number},
        "inspect": {"cleandoc": _cleandoc},
        "ipaddress": {},
        "msgspec.inspect": {},
        "msgspec.msgpack": {},
        "msgspec.toml": {},
        "msgspec.yaml": {},
        "ntpath": {},
        "platform": {"system": lambda: os.uname().sysname, "python_implementation": _python_implementation},
        "textwrap": {},
        "urllib.parse": {"quote_from_bytes": _quote_from_bytes},
    }
    made = [_StandIn(name) for name in offered if name not in sys.modules]
    for module in made:
        vars(module).update(offered[module.__name__])
        sys.modules[module.__name__] = module
    try:
        yield
    finally:
        for module in made:
            if module.__name__ != "platform":  # which zstandard names, and is loaded later
                module.leave()


def _untranslated(text: str) -> str:
    return text


def _untranslated_number(one: str, many: str, number: int) -> str:
    return one if number == 1 else many


def _python_implementation() -> str:
    return {"cpython": "CPython", "pypy": "PyPy"}.get(sys.implementation.name, sys.implementation.name)


def _quote_from_bytes(text: bytes, safe: str = "/") -> str:
    from urllib.parse import quote_from_bytes  # by now the module itself

    return quote_from_bytes(text, safe)


def _cleandoc(text: str) -> str:
    """Do what `inspect.cleandoc` does: nothing, to the one clean line that most options have for their help."""
    if text.isprintable() and text == text.strip():
        return text
    stand_in = sys.modules.get("inspect")
    if isinstance(stand_in, _StandIn):
        stand_in.leave()
    from inspect import cleandoc

    return cleandoc(text)


def _load_msgspec() -> None:
    """Load msgspec without typing_extensions, which it prefers to typing and which takes as long to load as itself."""
    if "typing_extensions" not in sys.modules:
        sys.modules["typing_extensions"] = None  # pyright: ignore[reportArgumentType] - refuses the import
        importlib.import_module("msgspec")

        del sys.modules["typing_extensions"]


def _open_missing_streams() -> None:
    """Let streams that the caller closed lead nowhere; else their descriptors become those of files of ours."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - stays open
