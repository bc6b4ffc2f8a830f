"""What tests with real agents saw, for the pages: a JSON file that is written after each test."""

import fcntl
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
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.with_suffix(".lock").open("w") as lock:  # several processes run the tests
            fcntl.flock(lock, fcntl.LOCK_EX)
            known = self.read() | {subject: facts}
            new = self._file.with_suffix(".new")
            new.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n", encoding="utf-8")
            new.replace(self._file)
