"""The program `mulligan`."""

import os
import sys


def main() -> None:
    """Run the command that the arguments name, and end with its exit code."""
    _open_missing_streams()
    try:
        from mulligan.cli.main import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:  # before the command began, or while its answer was written
        code = 130
    sys.exit(code)


def _open_missing_streams() -> None:
    """Let streams that the caller closed lead nowhere; else their descriptors become those of files of ours."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - stays open


if __name__ == "__main__":
    main()
