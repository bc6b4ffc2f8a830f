"""The program `mulligan`."""

import atexit
import gc
import importlib
import os
import sys
from typing import NoReturn

# Most commands end before a tenth of a second is over: by default a good part of that is looking for garbage.
_ALLOCATIONS_BETWEEN_COLLECTIONS = 100_000


def main() -> None:
    """Run the command that the arguments name, and end with its exit code."""
    gc.set_threshold(_ALLOCATIONS_BETWEEN_COLLECTIONS, 20, 20)
    _open_missing_streams()
    try:
        _load_msgspec()
        from mulligan.cli.main import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # before the command began, or while its answer was written
        code = 130
    _end(code)


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
