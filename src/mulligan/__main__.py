"""The program `mulligan`."""

import os
import sys

from mulligan.cli.short_commands import handed_over


def main() -> None:
    """Run the command that the arguments name, and end with its exit code."""
    try:
        code = handed_over(sys.argv[1:], os.environb) if _is_program() else None
        if code is not None:
            os._exit(code)  # nothing was printed here
        from mulligan.cli.own_process import run_here  # here: what was handed over needs nothing of it

        code = run_here(sys.argv[1:])
    except KeyboardInterrupt:  # before the command began, or while its answer was written
        code = 130
    from mulligan.cli.process_end import finished

    os._exit(
        finished(code)
    )  # taking every module and class apart first would take as long as some commands do


def _is_program() -> bool:
    """Return whether this is the installed program: `python -m` may load modules from the current folder."""
    return os.path.basename(sys.argv[0]) == "mulligan"  # noqa: PTH119 - pathlib is loaded with the program


if __name__ == "__main__":
    main()
