"""The known state of a database at its last read, so that an unchanged one is not read again.

A hint, like the store's stat cache: anything odd about it and the database is read. It carries the boot it was
written in, for after a power cut a file may be older than its stamps.
"""

import json
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from mulligan.adapters.sandboxes.sqlite.database_files import Stamps, is_settled
from mulligan.boundaries import act
from mulligan.domain.checkpoints.snapshot import Snapshot


class KnownState(Struct, frozen=True, eq=False):
    """The last known state of one database, kept in a file."""

    file: Path
    boot_id: str

    def recall(self, stamps: Stamps) -> Snapshot | None:
        """The snapshot of a database with these stamps; None: it has to be read."""
        try:
            known = json.loads(self.file.read_bytes())
            if known["boot"] == self.boot_id and known["stamps"] == _plain(stamps):
                return Snapshot.from_text(known["snapshot"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return None

    def remember(self, stamps: Stamps, taken_ns: int, snapshot: Snapshot) -> None:
        """Keep what was read after these stamps were taken, if every change since is sure to show in them."""
        if not is_settled(stamps, taken_ns):
            return
        known = {"boot": self.boot_id, "stamps": _plain(stamps), "snapshot": snapshot.to_text()}
        draft = self.file.with_name(f"{self.file.name}.new")
        with suppress(OSError):  # a hint: no reason to fail after all was done
            draft.write_text(json.dumps(known))
            with act("known.name"):
                draft.replace(self.file)

    def forget(self) -> None:
        self.file.unlink(missing_ok=True)


def _plain(stamps: Stamps) -> list[list[int] | None]:
    return [None if stamp is None else list(stamp) for stamp in stamps]
