"""Places: folders that were made for plans, what sandboxes borrow, and other projects nearby."""

# pyright: reportReturnType=none
# (a method of a protocol has no body)
from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from mulligan.domain.text.ids import PlanId
    from mulligan.ports.storage import WorkingTree


class Neighbour(Struct, frozen=True, kw_only=True):
    """A plan of another project that works in place on something."""

    project: Path
    plan_id: PlanId
    path: str


class Neighbours(Protocol):
    """The other projects of this user."""

    def at_work(self, location: Path, inside: Iterable[Path] | None = None) -> Neighbour | None:
        """One that works in place on a location, inside it or around it, until its plan is applied or cancelled.

        `inside` are folders below that may be projects; None: all folders below are looked into.
        """

    def hold(self, locations: Iterable[Path]) -> AbstractContextManager[None]:
        """Let none of them begin to work in place there meanwhile."""


class Homes(Protocol):
    """The homes of all projects of this user."""

    def refuse_full(self, limit: int | None) -> None:
        """Refuse new work with DiskLimitExceeded where they hold more bytes together; 0 or None: no limit."""

    def fullness(self, limit: int | None) -> str | None:
        """Say that they hold more bytes than that together; None where they do not."""

    def abandoned(self) -> Sequence[Path]:
        """Return those whose project folder is gone, or has another home."""

    def clear_small_folder(self) -> Sequence[str]:
        """Remove what the move of the home left in the project folder; return the files there that nothing uses."""


class Pinned(Struct, frozen=True, kw_only=True):
    """Refs in a user's repository that keep what one sandbox borrows, under `refs/mulligan/<plan_id>/<folder>/`."""

    git_dir: Path  # where the refs are
    plan_id: PlanId
    folder: str  # what the resource's folder is called


class LeftLock(Struct, frozen=True, kw_only=True):
    """A lock file that a killed git left in a user's repository."""

    what: str
    remedy: str  # empty: it was one of ours, and is removed


class Pins(Protocol):
    """Pins in users' repositories, which keep the objects that sandboxes borrow."""

    def pinned(self, locations: Iterable[Path]) -> Sequence[Pinned]:
        """All pins in the repositories of the checkouts that are in these places, of whatever project."""

    def drop(self, pinned: Pinned) -> None:
        """Let go of what is kept for one sandbox; what is gone already is fine."""

    def locks(self, locations: Iterable[Path], now: datetime) -> Sequence[LeftLock]:
        """Remove the locks that killed processes of ours left in these repositories; name all others that are there."""


class ParkedCopies(Protocol):
    """Working copies of plans that are over, which the next plans on the same resources adopt."""

    def all(self) -> Sequence[Path]:
        """Return their folders."""

    def trees(self) -> Sequence[WorkingTree]:
        """Return them as the store knows them."""

    def clear(self, *, wait: bool) -> bool:
        """Remove all of them, but those that plans adopt meanwhile; return whether there were any."""


class TrialRooms(Protocol):
    """Rooms among the sandboxes for copies that belong to no plan; one is locked while its maker lives."""

    def room(self) -> AbstractContextManager[Path]:
        """Make a new empty folder, and remove it with its contents at the end."""

    def abandoned(self, *, clear: bool) -> tuple[int, int]:
        """Find the rooms whose makers died, and remove them where asked; return how many, and their bytes."""


class PlanFolders(Protocol):
    """Folders that were made for plans: their sandboxes, or what their tool calls were handed."""

    def plans(self) -> Sequence[PlanId]:
        """The plans that have folders."""

    def list(self, plan_id: PlanId) -> Sequence[Path]:
        """The plan's folders, by name."""

    def size_of(self, folder: Path) -> int:
        """Return the size of the files in a folder."""

    def remove(self, folder: Path) -> None:
        """Remove a folder with all that is in it, and the plan's own when that was the last."""

    def remove_all(self, plan_id: PlanId) -> None:
        """Remove everything that a plan has here; a plan without anything is fine."""

    def is_free(self, folder: Path) -> bool:
        """Return whether a folder of a plan is gone, and its place is free."""

    def make_beside(self, folder: Path) -> Path:
        """Make an empty folder beside one of the plan's, for a copy of it."""

    def set_aside(self, folder: Path) -> Path:
        """Give one of the plan's folders another name, under which it stays until a sweep; return that."""

    def put_in_place(self, copy: Path, folder: Path) -> None:
        """Let a copy take the place of its original in one move, and remove the original if there is one."""

    def trash(self) -> Sequence[Path]:
        """Return what an interrupted removal left, or a running one has not removed yet."""

    def clear_trash(self) -> None:
        """Remove all of that; another process may do the same."""
