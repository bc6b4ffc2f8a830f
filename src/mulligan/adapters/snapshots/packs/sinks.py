"""Sinks for objects: one that keeps nothing, and what all have in common."""

from typing import Protocol

from mulligan.adapters.snapshots.format.pack_format import Kind, hash_of


class Sink(Protocol):
    """A sink for objects that returns their ids."""

    def add(self, kind: Kind, data: bytes) -> bytes:
        """Take one object; return its id."""
        ...


class HashingSink:
    """A sink that keeps nothing: for looking without storing."""

    def add(self, kind: Kind, data: bytes) -> bytes:
        return hash_of(data)
