"""The program `mulligan`."""

import atexit
import gc
import importlib
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import ModuleType
from typing import NoReturn

# Most commands end before a tenth of a second is over: by default a good part of that is looking for garbage.
_ALLOCATIONS_BETWEEN_COLLECTIONS = 100_000


def main() -> None:
    """Run the command that the arguments name, and end with its exit code."""
    gc.set_threshold(_ALLOCATIONS_BETWEEN_COLLECTIONS, 20, 20)
    _open_missing_streams()
    try:
        with stand_ins():
            _load_msgspec()
            from mulligan.cli.main import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # before the command began, or while its answer was written
        code = 130
    _end(code)


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


def _end(code: int) -> NoReturn:
    """End at once: taking every module and class apart first would take as long as some commands do."""
    # There is no public way to have done what was registered for the end.
    atexit._run_exitfuncs()  # noqa: SLF001 - see above  # pyright: ignore[reportPrivateUsage]
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # the last output was lost: that is not a success
            code = code or 1
    os._exit(code)


if __name__ == "__main__":
    main()
