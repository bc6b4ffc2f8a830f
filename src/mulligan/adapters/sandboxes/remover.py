"""The process that empties the trash of sandboxes after the command that filled it has answered.

It may be killed at any instant: the next removal, `gc` or `doctor` goes on where it stopped.
"""

import sys
from pathlib import Path

from mulligan.adapters.sandboxes.removal import clear_trash_alone

if __name__ == "__main__":
    clear_trash_alone(Path(sys.argv[1]))
