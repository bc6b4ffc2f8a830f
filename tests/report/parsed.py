"""A page as a browser reads it: elements in elements, and text."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = {"img", "input", "link", "meta"}


@dataclass
class Element:
    """An element with what stands in it."""

    tag: str
    attributes: dict[str, str | None]
    children: "list[Element | str]" = field(default_factory=list["Element | str"])

    @property
    def text(self) -> str:
        """All text in it."""
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    @property
    def classes(self) -> list[str]:
        return (self.attributes.get("class") or "").split()

    def all(self, tag: str | None = None, class_: str | None = None) -> "list[Element]":
        """The elements in it, in order, of that tag and class."""
        found: list[Element] = []
        for child in self.children:
            if isinstance(child, Element):
                if tag in (None, child.tag) and (class_ is None or class_ in child.classes):
                    found.append(child)
                found += child.all(tag, class_)
        return found


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"<{tag}> has an attribute twice"
        element = Element(tag, dict(attrs))
        self.open[-1].children.append(element)
        if tag not in _VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> ends <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parsed(page: str) -> Element:
    """The page as a tree; whatever is not closed in order is an error."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert len(reader.open) == 1
    return reader.open[0]
