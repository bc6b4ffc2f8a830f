"""Files of checkpoints for a reader: which are images, which text, and what is in a database."""

from __future__ import annotations

from pathlib import PurePosixPath

IMAGES = {
    ".png": ("image/png", (b"\x89PNG\r\n\x1a\n",)),
    ".jpg": ("image/jpeg", (b"\xff\xd8\xff",)),
    ".jpeg": ("image/jpeg", (b"\xff\xd8\xff",)),
    ".gif": ("image/gif", (b"GIF87a", b"GIF89a")),
    ".webp": ("image/webp", (b"RIFF",)),
}


def is_image(path: str) -> bool:
    """Return whether the name is that of an image that is shown; SVG is text, which may hold scripts."""
    return PurePosixPath(path).suffix.lower() in IMAGES


def image_type(path: str, data: bytes) -> str | None:
    """Return the type of an image whose bytes are what its name says; None: it is not one."""
    kind, marks = IMAGES.get(PurePosixPath(path).suffix.lower(), ("", ()))
    return kind if kind and data.startswith(marks) else None


def is_text(data: bytes) -> bool:
    """Return whether bytes can be shown as lines."""
    return b"\0" not in data
