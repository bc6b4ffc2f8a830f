"""Bounds: what the processes of a plan's tools may write."""

from msgspec import Struct


class Bounds(Struct, frozen=True, kw_only=True):
    """The paths that processes of a plan's tools may write; reading is free."""

    writable: tuple[str, ...]  # real paths: folders with all that is in them, and single files
    sandboxes: tuple[str, ...]  # those that nothing is linked or moved out of
    missing: tuple[str, ...]  # of `sandbox.writable`: what is not there can be given to nobody
    temporary: str | None  # a TMPDIR of the plan's own, where the usual one is out of bounds
