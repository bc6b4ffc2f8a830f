"""The command `python -m benchmarks.compare`."""

import sys

from benchmarks.compare.command import main
from benchmarks.compare.targets import TARGETS

if __name__ == "__main__":  # asv imports every module it finds
    sys.exit(main(sys.argv[1:], TARGETS))
