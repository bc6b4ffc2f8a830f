"""The signs that lines, branches and marks are drawn with, and plain ones for terminals that have no others."""

from collections.abc import Mapping

DONE, FAILED, RUNS, WAITS = "●", "×", "▸", "○"
CHECKPOINT, DECISION, NOTE, CHILD, BACK = "○", "◆", "·", "▪", "◀"
BAR, FORK, LAST, DASH, MORE, END, ENDS = "│", "├", "└", "─", "┬", "╯", "┴"

_PLAIN = str.maketrans(
    {
        DONE: "*", FAILED: "x", RUNS: ">", WAITS: "o", DECISION: "?", NOTE: ".", CHILD: "+", BACK: "<",
        BAR: "|", FORK: "|", LAST: "`", DASH: "-", MORE: "-", END: "'", ENDS: "-",
    }
)  # fmt: skip
_COERCED = ("C.UTF-8", "C.utf8", "UTF-8")  # what Python makes of a locale that knows ASCII only


def plain_signs(drawn: str) -> str:
    """The same with signs of ASCII, each as wide as the one that it stands for."""
    return drawn.translate(_PLAIN)


def has_signs(encoding: str | None, environ: Mapping[str, str]) -> bool:
    """Return whether a terminal shows more than ASCII, according to the locale, which Python does not always follow."""
    if (encoding or "").lower().replace("-", "") != "utf8":
        return False
    named = environ.get("LC_ALL") or environ.get("LC_CTYPE")
    if not named or (not environ.get("LC_ALL") and named in _COERCED):
        named = environ.get("LANG")
    return "utf8" in (named or "").lower().replace("-", "")
