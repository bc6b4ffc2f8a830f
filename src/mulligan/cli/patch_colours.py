"""The lines of a patch with the style each is drawn in."""

from collections.abc import Iterator

_HEADER, _HUNK, _ADDED, _REMOVED = "bold", "cyan", "green", "red"


def styled_lines(patch: bytes) -> Iterator[tuple[str, str]]:
    """Each line without its end and with its tabs as spaces, and its style.

    What stands in a hunk is told from what heads it by counting, as `git apply` does.
    """
    old = new = 0
    for raw in patch.split(b"\n")[:-1]:
        line = raw.decode("utf-8", "surrogateescape").expandtabs(8)
        if old or new:
            sign = line[:1]
            old -= sign in (" ", "-")
            new -= sign in (" ", "+")
            yield line, {"+": _ADDED, "-": _REMOVED}.get(sign, "")
        elif line.startswith("@@ "):
            old, new = (_length(part) for part in line.split(" ")[1:3])
            yield line, _HUNK
        else:
            yield line, "" if line.startswith("\\") else _HEADER


def _length(part: str) -> int:
    """How many lines a hunk has on one side: the second number, or 1."""
    return int(part.partition(",")[2] or 1)
