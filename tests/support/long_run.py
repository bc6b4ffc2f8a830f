"""How far tests look that could look on for ever: `MULLIGAN_LONG_RUN=10` ten times as far, as `nox -s sweeps` does."""

import os

LONGER = int(os.environ.get("MULLIGAN_LONG_RUN", "1"))
