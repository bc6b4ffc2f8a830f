"""The program `mulligan`."""

import sys


def main() -> None:
    """Run the command that the arguments name, and end with its exit code."""
    from mulligan.cli.main import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
