"""Appearance: where the processes of a plan's tools see its sandboxes."""

from pathlib import Path

from msgspec import Struct


class Mount(Struct, frozen=True, array_like=True):
    """One step on the way to an appearance, in words that the launcher knows."""

    verb: str  # clone, keep, link, tmpfs, mkdir, text or seal
    source: str  # a path as it is before any step; of a text, the text
    target: str  # as it is after the steps before


class Appearance(Struct, frozen=True, kw_only=True):
    """A mount namespace in which sandboxes lie in the places of the real resources, and hide those."""

    # The own path of a sandbox that is a folder, and the real path; then the same of other ways to the real folder
    places: tuple[tuple[str, str], ...]
    mounts: tuple[Mount, ...]

    def seen(self, path: Path) -> Path:
        """Return the path under which processes see what lies at a path of ours."""
        for own, real in self.places:
            if path.is_relative_to(own):
                return Path(real) / path.relative_to(own)
        return path
