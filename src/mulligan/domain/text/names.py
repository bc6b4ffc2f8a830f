"""Names that people give and words they mistype: what a name may be, and what was probably meant."""

import re
from collections.abc import Iterable
from itertools import islice

LONGEST_NAME = 200

_MOST_COMPARED = 500  # words

# Control characters, line and paragraph separators, and the marks that turn the direction of the text around:
# a name that holds one does not look like what it is.
_UNSEEN = "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"  # compiled when it is first used

# Where a command takes a name these mean something else.
_NUMBERED = r".*@-?[0-9]+"
_TAKEN_LABELS = ("first", "latest")
_TAKEN_PLAN_NAMES = ("latest",)


def nearest_word(word: str, allowed: Iterable[str], *, at_least: float = 0.6) -> str | None:
    """The allowed word that was probably meant, if any is so near; upper and lower case are the same here."""
    import difflib  # here: only a mistake needs it

    # Both cuts keep megabytes of nonsense from being compared letter by letter.
    by_folded = {candidate.casefold(): candidate for candidate in islice(allowed, _MOST_COMPARED)}
    typed = word[:LONGEST_NAME].casefold()
    swapped = [known for known in by_folded if sorted(known) == sorted(typed)]  # letters in another order
    found = swapped or difflib.get_close_matches(typed, by_folded, n=1, cutoff=at_least)
    return by_folded[found[0]] if found else None


def name_problem(name: str) -> str | None:
    """Say why this cannot be the name of a step; None: it can."""
    if not name.strip():
        return "is empty"
    if len(name) > LONGEST_NAME:
        return f"is longer than {LONGEST_NAME} characters"
    if unseen := re.search(_UNSEEN, name):
        return f"holds the character U+{ord(unseen[0]):04X}, which cannot be seen"
    if name != name.strip():
        return "begins or ends with a space"
    return None


def plan_name_problem(name: str) -> str | None:
    """Say why this cannot be the name of a plan; None: it can."""
    if name in _TAKEN_PLAN_NAMES:
        return "means another plan each time"
    return name_problem(name)


def label_problem(label: str) -> str | None:
    """Say why this cannot be the label of a checkpoint; None: it can."""
    if label in _TAKEN_LABELS:
        return "means another checkpoint each time"
    if re.fullmatch(_NUMBERED, label):
        return "looks like the number of a checkpoint"
    return name_problem(label)


def resource_name_problem(name: str) -> str | None:
    """Say why this cannot be the name of a resource, which also names folders; None: it can."""
    if "/" in name or name.startswith("."):
        return "holds a slash or begins with a dot; it also names a folder"
    if len(name.encode("utf-8", "surrogatepass")) > LONGEST_NAME:
        return f"is longer than {LONGEST_NAME} bytes"
    return name_problem(name)
