"""The commands that a warm process may run: those that run no program of the user's, and ask nothing but on a terminal.

This is loaded before the program, and imports next to nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ALONE = ("apply", "diff", "list", "log", "redo", "restore", "rollback", "show", "status", "unapply", "undo")
_IN_GROUPS = {
    "plan": ("apply", "diff", "list", "log", "rollback", "status", "tree", "unapply"),
    "checkpoint": ("create", "diff", "list", "show"),
}


def handed_over(words: Sequence[str], environ: Mapping[bytes, bytes]) -> int | None:
    """Have the local server's warm process run a short command; None where this process has to do it."""
    if not _is_short(words) or any(word.startswith("--project") for word in words):
        return None
    if b"MULLIGAN_PROJECT" in environ or b"_MULLIGAN_COMPLETE" in environ:
        return None
    from mulligan.api.local_server.command_handover import hand_over

    return hand_over(words, environ)


def _is_short(words: Sequence[str]) -> bool:
    first, second = (*words, "", "")[:2]
    return first in _ALONE or second in _IN_GROUPS.get(first, ())
