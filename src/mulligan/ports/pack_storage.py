"""The storage of packs and the leases on it: what differs between a local disk and a remote store."""

# pyright: reportReturnType=none
# (a method of a protocol has no body)
from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import AbstractContextManager
from enum import StrEnum
from typing import BinaryIO, Protocol


class PackDraft(Protocol):
    """A pack that is being written. Until it is put no process sees it, and a killed one leaves nothing of it."""

    @property
    def file(self) -> BinaryIO:
        """The file to write to."""

    def put(self, name: str) -> None:
        """Store what was written under a new name, whole or not at all; when this returns, a power cut loses nothing.

        ValueError where it cannot be the name of a pack. Other processes see the pack, and may remove it, even before
        this returns.
        """

    def close(self) -> None:
        """Give up what was not put. May be called twice, and raises nothing."""


class PackStorage(Protocol):
    """Immutable packs by name. Safe for threads; other processes may put and remove packs at any time.

    A name ends in `.pack` and has no slash and no NUL. No verb but `list` sees more than one pack, so that an
    implementation can keep what it learned of a pack for as long as the pack is listed.
    """

    @property
    def pack_limit(self) -> int:
        """The number of bytes after which a pack is full, and another one is begun."""

    def list(self) -> Collection[str]:
        """Return the names of all packs that are put, in any order. A pack that is put meanwhile may be missing."""

    def leaving(self) -> Collection[str]:
        """Return the listed packs that are about to go: they can be read, and nothing new relies on them."""

    def draft(self) -> PackDraft:
        """Begin a pack."""

    def size(self, name: str) -> int:
        """Return the length of a pack in bytes; FileNotFoundError where there is no such pack."""

    def read(self, name: str, offset: int, length: int) -> bytes:
        """Return the bytes of a range, fewer where the pack ends before it; FileNotFoundError as with `size`.

        A pack that was removed a moment ago may still be readable, until the next `list`.
        """

    def distrust(self, name: str) -> bool:
        """Drop a copy of a pack that is not what was stored; return whether there was one, so that reading helps."""

    def remove(self, *names: str) -> Collection[str]:
        """Remove packs that nothing needs, and return the names of those that are gone.

        A storage may let others stay for a grace, as `leaving`, and remove them when it is asked again. One that is
        gone already is fine.
        """

    def replace(self, names: Iterable[str], pack: str) -> Collection[str]:
        """Remove packs at once whose objects are all in another one, and return their names; none if that is gone."""

    def spare(self, names: Iterable[str]) -> None:
        """Let packs stay that were to be removed, because something needs them."""

    def settle(self) -> None:
        """Make sure that a power cut loses no pack that is listed now, whichever process put it."""

    def missing(self) -> Collection[str]:
        """Return the packs that are listed, and whose bytes are not there, or not all of them."""

    def clear(self, *, dry_run: bool) -> tuple[int, int]:
        """Remove what killed processes left of packs that were never listed; return how many, and their bytes."""


class Lease(StrEnum):
    """A right that processes share or take alone."""

    OBJECTS = "lock"  # shared by captures until their rows are committed; the sweep deletes alone
    UPKEEP = "upkeep"  # packs are rewritten and deleted by one process at a time


class Leases(Protocol):
    """Leases that processes, and threads, hold while a context is open. A killed process releases its own.

    While `OBJECTS` is shared no row can be committed that relies on a pack which was removed meanwhile: leases of one
    machine make the remover of packs wait, those of many refuse the commit with StoreMoved. LockImpossible where the
    system cannot lock.
    """

    def shared(self, lease: Lease) -> AbstractContextManager[object]:
        """Hold a lease together with others; wait for one that holds it alone."""

    def exclusive(self, lease: Lease) -> AbstractContextManager[object]:
        """Hold a lease alone; wait until all others have released it, or are refused when they commit."""

    def exclusive_if_free(self, lease: Lease) -> AbstractContextManager[bool]:
        """Hold a lease alone where it is free; yield whether it was."""
