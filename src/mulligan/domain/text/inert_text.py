"""Text from anywhere, spelled so that it can be written and looked at without harm."""

import codecs
import re

# Patterns, compiled when one is first used: few commands show what programs printed.
#
# The sequences that programs send to a terminal: to colour and to move, of one character or more, and those that hold
# a text and have an end (titles, links, the clipboard). One without its end is not a sequence, or it would hide all
# that follows; the length of a text is limited so that no more than that is ever waited for.
_LONGEST = 4096
_TEXT = rf"[^\x00-\x08\x0a-\x1f\x7f-\x9f]{{0,{_LONGEST}}}"
_COMMAND = r"[0-?]{0,64}[ -/]{0,8}"
_ESCAPES = (
    rf"(?:\x1b\[|\x9b){_COMMAND}[@-~]"
    rf"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f]){_TEXT}(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]{1,8}[0-~]"
    r"|\x1b[0-Z\\^-~]"
)
# The beginning of one, at the end of what was printed so far.
_BEGUN = rf"(?:(?:\x1b\[|\x9b){_COMMAND}|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f]){_TEXT}\x1b?|\x1b[ -/]{{0,8}})\Z"
# What is more than a character on a terminal: controls, and those that turn the order of characters around.
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069"
_CONTROL = f"[{_CONTROLS}]"
_SPEAKS = f"{_ESCAPES}|(?P<control>{_CONTROL})"
_STAYS_IN_ITS_LINE = "\b\r"
_COLOUR = r"(?:\x1b\[|\x9b)(?P<codes>[0-9;:]*)m"
_WITHIN_A_LINE = r"(?:\x1b\[|\x9b)[0-9]{0,4}[CDGK`]"  # to move in a line and to erase it, as progress bars do
_NONE, _CONCEALED = "0", "8"
_MORE_COLOURS = {"38", "48", "58"}  # what follows them is a colour, not a code
_LENGTHS = {"5": 2, "2": 4}
_RESET = "\x1b[0m"
_MOST_COLOURS = 16  # that are set one after the other without an end


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
    """Return printed text without terminal controls: colours, titles, links, cursor movement."""
    return re.sub(_ESCAPES, "", text)


class Inert:
    """The output of a program for a terminal, piece by piece: it can set colours, and if it may draw one line.

    Other sequences are left out, control characters that belong to none are spelled. A sequence that is cut in the
    middle is held back until the rest is there. Colours end with the piece and begin again with the next, so that
    what is written in between has none of them.
    """

    def __init__(self, encoding: str, *, draws_a_line: bool = False) -> None:
        """Let it move and erase within its line where nobody else writes into that."""
        self._encoding = encoding
        self._draws_a_line = draws_a_line
        self._decoder = codecs.getincrementaldecoder(encoding)("backslashreplace")
        self._begun = ""
        self._colours: list[str] = []

    def piece(self, data: bytes) -> bytes:
        """Return what can be shown now that this was printed."""
        return self._shown(self._decoder.decode(data), last=False)

    def rest(self) -> bytes:
        """Return what was held back; nothing more was printed."""
        return self._shown(self._decoder.decode(b"", final=True), last=True)

    def line(self, data: bytes) -> bytes:
        """Return a whole line of pieces as a terminal would leave it; it hides nothing of what is before it."""
        return data.rstrip(b"\r").rpartition(b"\r")[2].replace(b"\b", b"")

    def _shown(self, more: str, *, last: bool) -> bytes:
        text, self._begun = self._begun + more, ""
        # A sequence that may go on begins close to the end; more than one never does.
        begun = None if last else re.compile(_BEGUN).search(text, max(0, len(text) - _LONGEST - 8))
        if begun:
            text, self._begun = text[: begun.start()], begun.group()
        if not text:
            return b""
        shown = "".join(self._colours)
        shown += re.sub(_SPEAKS, self._said, text) if re.search(_CONTROL, text) else text
        if self._colours:
            whole = shown.endswith("\n")  # a piece that ends a line still does
            shown = shown.removesuffix("\n") + _RESET + "\n" * whole
        return shown.encode(self._encoding, "backslashreplace")

    def _said(self, found: re.Match[str]) -> str:
        control = found["control"]
        if control is not None:
            return control if control in _STAYS_IN_ITS_LINE else _spelled(control)
        colour = re.fullmatch(_COLOUR, found.group())
        if colour is None:
            draws = self._draws_a_line and re.fullmatch(_WITHIN_A_LINE, found.group())
            return "\x1b[" + found.group().lstrip("\x1b\x9b[") if draws else ""
        words, same = _code_words(colour["codes"]), f"\x1b[{colour['codes']}m"
        if _CONCEALED in words:
            return ""
        if _NONE in words:
            self._colours = []
        if words[-1] != _NONE:
            self._colours = [*self._colours, same][-_MOST_COLOURS:]
        return same


def _code_words(codes: str) -> list[str]:
    """Return the codes of a colour sequence, without the numbers that name a colour."""
    given, words = codes.split(";"), list[str]()
    while given:
        word = given.pop(0)
        words.append(word.split(":")[0].lstrip("0") or _NONE)
        if word in _MORE_COLOURS and given:
            del given[: _LENGTHS.get(given[0], 1)]
    return words


def _spelled(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
