"""YAML text to nodes that know their place; bounded in size, depth and number before anything is built.

Only events are asked of the YAML library: no tags are followed, no types guessed, nothing recurses.
"""

import re
from collections.abc import Iterator
from typing import NoReturn, TypeAlias, cast

import yaml
from msgspec import Struct, field

from mulligan.errors import PlanFileInvalid

LARGEST_FILE = 8 * 1024 * 1024  # bytes
DEEPEST = 40  # mappings and lists inside each other
MOST_NODES = 250_000  # counted as often as aliases repeat them
MOST_TEXT = 2 * LARGEST_FILE  # characters, counted in the same way
MOST_ALIASES = 100

ROOT_PATH = "document"  # what `path` says of the whole

# The library in C is an order of magnitude faster; wheels without it exist.
YamlLoader: TypeAlias = "type[yaml.SafeLoader | yaml.CSafeLoader]"
FASTEST_LOADER = cast("YamlLoader", getattr(yaml, "CSafeLoader", yaml.SafeLoader))

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_PLAIN_KEY = re.compile(r"[\w.-]+")


class Scalar(Struct, frozen=True):
    """One value as it is written."""

    line: int  # 1-based, as are columns
    column: int
    text: str
    plain: bool  # without quotes, so that it may be a number, true, false or null


class Items(Struct, frozen=True):
    """A list."""

    line: int
    column: int
    nodes: "tuple[Node, ...]"


class Entries(Struct, frozen=True):
    """A mapping, in the order of the file."""

    line: int
    column: int
    pairs: "tuple[tuple[Scalar, Node], ...]"


Node: TypeAlias = Scalar | Items | Entries


def child_path(path: str, step: str | int) -> str:
    """The path of a value inside a list or mapping: `steps[2].args.path`."""
    base = "" if path == ROOT_PATH else path
    if isinstance(step, int):
        return f"{base}[{step}]"
    shown = step if _PLAIN_KEY.fullmatch(step) and len(step) <= 100 else f"[{shorten(step)}]"
    return f"{base}.{shown}" if base and not shown.startswith("[") else f"{base}{shown}"


def shorten(value: object) -> str:
    """The value as messages quote it."""
    quoted = repr(value)
    return quoted if len(quoted) <= 60 else f"{quoted[:57]}..."


def read_document(data: bytes, file: str, loader: YamlLoader = FASTEST_LOADER) -> Node:
    """The one document of a file, or PlanFileInvalid with the place of the first fault."""
    reader = _Reader(file)
    text = reader.decoded(data)
    try:
        for event in _events(text, loader):
            reader.take(event)
    except yaml.YAMLError as error:
        mark = cast("yaml.Mark | None", getattr(error, "problem_mark", None))
        if mark is not None and _is_tab(text, mark):
            reader.refuse("a tab cannot indent or separate values in YAML; use spaces", mark)
        problem = cast("str", getattr(error, "problem", None) or str(error))
        reader.refuse(f"not YAML: {problem}", mark)
    if reader.root is None:
        reader.refuse("the file is empty", None)
    return reader.root


def _is_tab(text: str, mark: yaml.Mark) -> bool:
    lines = text.splitlines()
    return mark.line < len(lines) and lines[mark.line][mark.column : mark.column + 1] == "\t"


_Events: TypeAlias = Iterator[yaml.Event]


def _events(text: str, loader: YamlLoader) -> _Events:
    return cast("_Events", yaml.parse(text, loader))  # pyright: ignore[reportUnknownMemberType]  untyped


class _Open(Struct):
    """A list or mapping whose end was not read yet."""

    mark: yaml.Mark
    anchor: str | None
    is_mapping: bool
    children: list[Node] = field(default_factory=list[Node])
    keys: set[str] = field(default_factory=set[str])
    size: int = 1
    length: int = 0

    @property
    def expects_key(self) -> bool:
        return self.is_mapping and len(self.children) % 2 == 0

    def step(self) -> str | int:
        if not self.is_mapping:
            return len(self.children)
        return cast("Scalar", self.children[-1]).text

    def closed(self) -> Node:
        line, column = self.mark.line + 1, self.mark.column + 1
        if not self.is_mapping:
            return Items(line, column, tuple(self.children))
        keys = cast("list[Scalar]", self.children[::2])
        return Entries(line, column, tuple(zip(keys, self.children[1::2], strict=True)))


class _Reader:
    """Builds nodes from events, and counts."""

    def __init__(self, file: str) -> None:
        self.root: Node | None = None
        self._file = file
        self._open: list[_Open] = []
        # With how many nodes and characters each repeats.
        self._anchors: dict[str, tuple[Node, int, int]] = {}
        self._open_anchors: set[str] = set()
        self._aliases = 0
        self._nodes = 0
        self._length = 0
        self._documents = 0

    def refuse(self, reason: str, mark: yaml.Mark | None) -> NoReturn:
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        self._refuse_at(reason, line, column)

    def _refuse_at(self, reason: str, line: int, column: int) -> NoReturn:
        path = ROOT_PATH
        for collection in self._open:
            if not collection.expects_key:
                path = child_path(path, collection.step())
        raise PlanFileInvalid(file=self._file, line=line, column=column, path=path, reason=reason)

    def decoded(self, data: bytes) -> str:
        """The text of the file, without byte order mark."""
        if len(data) > LARGEST_FILE:
            self.refuse(f"the file is larger than {LARGEST_FILE // 1024} KiB", None)
        try:
            text = data.decode().removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            before = data[: error.start].decode().removeprefix("\ufeff")
            self._refuse_at("not UTF-8 text", *_place_after(before))
        if wrong := _UNPRINTABLE.search(text):
            place = _place_after(text[: wrong.start()])
            self._refuse_at(f"the character U+{ord(wrong[0]):04X} must be written as an escape", *place)
        return text

    def take(self, event: yaml.Event) -> None:
        mark = cast("yaml.Mark", event.start_mark)
        match event:
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    self.refuse("a second document; one plan a file", mark)
            case yaml.AliasEvent():
                self._take_alias(cast("str", event.anchor), mark)
            case yaml.ScalarEvent():
                self._refuse_tag(event.tag, mark)
                self._take_scalar(event, mark)
            case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                self._refuse_tag(event.tag, mark)
                self._enter(event, mark)
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                done = self._open.pop()
                self._add(done.closed(), done.size, done.length, done.anchor, done.mark)
            case _:  # the begin and end of the stream, the end of a document
                pass

    def _refuse_tag(self, tag: str | None, mark: yaml.Mark) -> None:
        if tag is not None:
            self.refuse(
                f"the tag {shorten(tag)} has no meaning in a plan file; quote what is meant as text", mark
            )

    def _take_alias(self, anchor: str, mark: yaml.Mark) -> None:
        self._aliases += 1
        if self._aliases > MOST_ALIASES:
            self.refuse(f"more than {MOST_ALIASES} aliases", mark)
        if anchor in self._open_anchors:
            self.refuse(f"the alias {shorten(anchor)} is inside of what it repeats", mark)
        if anchor not in self._anchors:
            self.refuse(f"the alias {shorten(anchor)} repeats nothing that comes before it", mark)
        node, size, length = self._anchors[anchor]
        self._count(size, length, mark)
        self._add(node, size, length, None, mark)

    def _take_scalar(self, event: yaml.ScalarEvent, mark: yaml.Mark) -> None:
        text = event.value
        if _LONE_SURROGATE.search(text):
            self.refuse("an escape is half of a surrogate pair, which is not a character", mark)
        could_be_no_text, _ = event.implicit
        self._count(1, len(text), mark)
        node = Scalar(mark.line + 1, mark.column + 1, text, could_be_no_text)
        self._add(node, 1, len(text), event.anchor, mark)

    def _enter(self, event: yaml.CollectionStartEvent, mark: yaml.Mark) -> None:
        if self._open and self._open[-1].expects_key:
            self.refuse("a key must be a text, not a list or mapping", mark)
        if len(self._open) == DEEPEST:
            self.refuse(f"nested deeper than {DEEPEST}", mark)
        anchor = event.anchor
        if anchor is not None:
            self._open_anchors.add(anchor)
        self._count(1, 0, mark)
        self._open.append(_Open(mark, anchor, isinstance(event, yaml.MappingStartEvent)))

    def _count(self, nodes: int, length: int, mark: yaml.Mark) -> None:
        self._nodes += nodes
        self._length += length
        if self._length > MOST_TEXT:
            self.refuse(f"more than {MOST_TEXT} characters, counted as often as aliases repeat them", mark)
        if self._nodes > MOST_NODES:
            self.refuse(f"more than {MOST_NODES} values, counted as often as aliases repeat them", mark)

    def _add(self, node: Node, size: int, length: int, anchor: str | None, mark: yaml.Mark) -> None:
        """Put a complete node into the list or mapping that is open."""
        if anchor is not None:
            self._open_anchors.discard(anchor)
            self._anchors[anchor] = node, size, length
        if not self._open:
            self.root = node
            return
        parent = self._open[-1]
        if parent.expects_key:
            self._refuse_key(parent, node, mark)
        parent.children.append(node)
        parent.size += size
        parent.length += length

    def _refuse_key(self, parent: _Open, node: Node, mark: yaml.Mark) -> None:
        if not isinstance(node, Scalar):
            self.refuse("a key must be a text, not a list or mapping", mark)
        if node.plain and node.text == "<<":
            self.refuse("merge keys (<<) have no meaning in a plan file; write the keys out", mark)
        if node.text in parent.keys:
            self.refuse(f"the key {shorten(node.text)} is there twice", mark)
        parent.keys.add(node.text)


def _place_after(text: str) -> tuple[int, int]:
    """Line and column of what follows the text."""
    lines = re.split("\r\n|\r|\n", text)
    return len(lines), len(lines[-1]) + 1
