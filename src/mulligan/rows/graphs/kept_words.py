r"""Words of other programs in columns of text, where some databases hold neither NUL nor what is not UTF-8.

Such a character is kept as `\uXXXX`, and a backslash as two; all other words are kept as they are.
"""

import re

_STRANGE = re.compile("[\\\\\0\ud800-\udfff]")
_KEPT = re.compile(r"\\(?:u([0-9a-f]{4})|\\)")


def kept_word(word: str) -> str:
    """Return a word as a column holds it: different words are kept differently."""
    if word.isascii() and "\\" not in word and "\0" not in word:  # nearly all
        return word
    return _STRANGE.sub(_escaped, word)


def word_kept(text: str) -> str:
    """Return the word that a column holds."""
    if "\\" not in text:
        return text
    return _KEPT.sub(lambda found: chr(int(found[1], 16)) if found[1] else "\\", text)


def _escaped(found: re.Match[str]) -> str:
    return "\\\\" if found[0] == "\\" else f"\\u{ord(found[0]):04x}"
