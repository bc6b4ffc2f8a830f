"""What tests with real agents saw, for the pages: a JSON file that is written after each test."""

import json
from pathlib import Path
from typing import Any


class Measured:
    """A record of facts by the names of their subjects."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def read(self) -> dict[str, Any]:
        """Return all facts; none where no test has run."""
        try:
            found: dict[str, Any] = json.loads(self._file.read_bytes())
        except FileNotFoundError:
            return {}
        return found

    def keep(self, subject: str, facts: object) -> None:
        """Keep what was seen of a subject, in place of what was seen before."""
        known = self.read() | {subject: facts}
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n", encoding="utf-8")
