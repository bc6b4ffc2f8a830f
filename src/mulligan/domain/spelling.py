"""Text from anywhere, spelled so that it can be written and looked at without harm."""

import re

# What programs send to a terminal to colour and move: sequences of one, two or many characters, and titles and links
# that have an end. One without its end is no sequence, or it would hide all that follows.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]+[0-~]"
    r"|\x1b[0-Z\\^-~]"
)


def spell(text: str) -> str:
    r"""Text that JSON can hold in any encoding: a byte that is not UTF-8 is `\xNN`, half a character `\uNNNN`."""
    if text.isascii():
        return text
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()


def harmless(text: str) -> str:
    """Text that can be shown on a terminal: control characters, and with them escape sequences, are spelled."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _spelled(c) for c in spell(text))


def harmless_lines(text: str) -> str:
    """The same for text of several lines."""
    return "\n".join(harmless(line) for line in text.split("\n"))


def without_escapes(text: str) -> str:
    """What a program printed, without what it told the terminal: colours, titles, links, where to stand."""
    return _ESCAPES.sub("", text)


def _spelled(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
