"""The English of the project: `python -m tests.prose` lists words and openings that are to be replaced.

Run by the lint session. It reads pages, and of the code docstrings, comments and texts for people.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PAGES = ("README.md", "CONTRIBUTING.md", "docs")
CODE = ("src", "benchmarks", "examples", "noxfile.py", "setup.py")

WORDS = {
    r"tells?|told|telling": "report, say, print, show, return",
    r"stands?|stood|standing": "is, is located, refers to, depends on",
    r"mend(?:s|ed|ing)?": "fix, repair, resolve",
    r"anew": "again",
    r"who(?:m|so)?ever": "name the actor: the caller, a process",
    r"by (?:itself|themselves)": "automatically, on its own",
    r"shall": "must, will",
    r"likewise": "also, the same",
    r"any more": "any longer, no longer",
    r"besides": "also, in addition, other than",
    r"of which": "split the sentence",
    r"what is there": "name the thing",
    r"gives": "returns",
}
NO_NOUN = r"\bis no (?!longer\b|more\b)"
OPENINGS = r"(?:What|Which|Whether|Who|Whose|Where|How)\b"
_WORD = {re.compile(rf"\b(?:{words})\b", re.IGNORECASE): instead for words, instead in WORDS.items()}
_NO = re.compile(NO_NOUN, re.IGNORECASE)
_OPENING = re.compile(OPENINGS)
# Where such a word is right: names, and the words of others.
EXCEPTIONS = re.compile(
    r"outstanding|understand\w*|standalone|standard\w*|standing order|stand-in|stands for|there is no|`[^`]*`",
    re.IGNORECASE,
)


class Text(NamedTuple):
    """A text for people, and its line in its file."""

    line: int
    text: str
    is_docstring: bool


def texts_of_page(file: Path) -> Iterator[Text]:
    """Yield the lines of a page outside of code blocks."""
    fenced = False
    for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and not line.startswith("    "):
            yield Text(number, line, is_docstring=False)


def text_in(node: ast.AST) -> str | None:
    """Return a literal text; None for any other node."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def texts_of_code(file: Path) -> Iterator[Text]:
    """Yield the docstrings, comments and other texts with several words of a module."""
    source = file.read_text("utf-8")
    tree = ast.parse(source)
    docstrings: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            text = text_in(first.value) if isinstance(first, ast.Expr) else None
            if isinstance(first, ast.Expr) and text is not None:
                docstrings.add(id(first.value))
                yield Text(first.lineno, text, is_docstring=True)
    for node in ast.walk(tree):
        text = text_in(node)
        if isinstance(node, ast.Constant) and text and " " in text.strip() and id(node) not in docstrings:
            yield Text(node.lineno, text, is_docstring=False)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield Text(token.start[0], token.string, is_docstring=False)


def faults_in(text: Text) -> Iterator[tuple[int, str]]:
    """Yield the words and openings to replace, each with its line."""
    if text.is_docstring and (opening := _OPENING.match(text.text)):
        yield text.line, f"begins with {opening[0]!r}: begin with a verb or a noun"
    for number, line in enumerate(text.text.splitlines(), text.line):
        plain = EXCEPTIONS.sub("", line)
        for pattern, instead in _WORD.items():
            for found in pattern.findall(plain):
                yield number, f"{found!r}: {instead}"
        if _NO.search(plain):
            yield number, "'is no …': is not a …"


def files() -> Iterator[tuple[Path, bool]]:
    """Yield the files that are read, and whether each is a page."""
    for name in PAGES:
        place = ROOT / name
        for file in sorted(place.rglob("*.md")) if place.is_dir() else [place]:
            yield file, True
    for name in CODE:
        place = ROOT / name
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            yield file, False


def main() -> None:
    """List what is to be replaced; exit code 1 where there is something."""
    count = 0
    for file, is_page in files():
        for text in texts_of_page(file) if is_page else texts_of_code(file):
            for line, fault in faults_in(text):
                count += 1
                print(f"{file.relative_to(ROOT)}:{line}: {fault}")
    print(f"{count} to replace" if count else "the English is as it should be")
    sys.exit(count > 0)


if __name__ == "__main__":
    main()
