"""The English of the project: `python -m tests.prose` lists words and openings to replace.

The lint session runs it. It reads pages, comments, docstrings, and all other texts of several words in the code.
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
READ = (
    "*.md", "docs/**/*.md", "examples/**/*.md",
    "src/**/*.py", "src/**/*.pyi", "src/**/*.c",
    "benchmarks/**/*.py", "examples/**/*.py", "examples/**/*.yaml",
    "noxfile.py", "setup.py", "pyproject.toml", "mkdocs.yml", "scripts/*",
)  # fmt: skip

WORDS = {
    r"tells?|told|telling": "report, say, print, show, return",
    r"stands?|stood|standing": "is, is located, refers to, depends on",
    r"mend(?:s|ed|ing)?": "fix, repair, resolve, correct",
    r"anew": "again, from scratch",
    r"who(?:m|so)?ever": "name the actor: the caller, a process",
    r"by (?:itself|themselves|himself|oneself)": "automatically, on its own, alone",
    r"shall": "must, will",
    r"likewise": "also, the same",
    r"any more": "any longer, no longer",
    r"besides": "also, in addition, other than",
    r"of which": "split the sentence",
    r"what is there": "name the thing",
    r"gives": "returns",
    r"(?:is|are|was|were) no (?!longer\b|more\b)\w+": "is not a …",
}
# A text in which such a word is right, and why.
EXCEPTIONS = {
    r"`[^`\n]*`": "names and commands are quoted",
    r"there (?:is|are|was|were) no": "says that something does not exist",
    r"stands? for": "is the usual word for an abbreviation",
    r"stand-in": "is a noun",
}
# Of docstrings: begin with a verb or a noun instead.
OPENINGS = re.compile(r"(?:What|Which|Whether|Who|Whose|Where|Why|How)\b")


def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(words.replace(" ", r"\s+"), re.IGNORECASE)


_WORDS = {_pattern(rf"\b(?:{words})\b"): instead for words, instead in WORDS.items()}
_EXCEPTION = _pattern("|".join(EXCEPTIONS))
_C_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


class Text(NamedTuple):
    """A text for people, and its line in its file."""

    line: int
    text: str
    is_docstring: bool = False


def texts_of(file: Path) -> Iterator[Text]:
    """Yield the texts for people in a file, by its type."""
    content = file.read_text("utf-8")
    if file.suffix == ".md":
        yield Text(1, _page_without_code(content))
    elif file.suffix in {".py", ".pyi"}:
        yield from _texts_of_code(content)
    elif file.suffix == ".c":
        for comment in _C_COMMENT.finditer(content):
            yield Text(content.count("\n", 0, comment.start()) + 1, comment[0])
    else:
        for number, line in enumerate(content.splitlines(), 1):
            yield Text(number, line.partition("#")[2])


def _page_without_code(content: str) -> str:
    """Return a page with empty lines in place of code blocks."""
    lines: list[str] = []
    fenced = False
    for line in content.splitlines():
        fence = line.lstrip().startswith(("```", "~~~"))
        lines.append("" if fenced or fence or line.startswith("    ") else line)
        fenced ^= fence
    return "\n".join(lines)


def _texts_of_code(content: str) -> Iterator[Text]:
    """Yield docstrings, comments and other texts of several words."""
    docstrings: set[ast.AST] = set()
    for node in ast.walk(ast.parse(content)):
        match node:
            case (
                ast.Module(body=[ast.Expr(value=first), *_])
                | ast.ClassDef(body=[ast.Expr(value=first), *_])
                | ast.FunctionDef(body=[ast.Expr(value=first), *_])
                | ast.AsyncFunctionDef(body=[ast.Expr(value=first), *_])
            ):
                docstrings.add(first)
            case ast.Constant(value=str(text)) if " " in text.strip():
                yield Text(node.lineno, text, is_docstring=node in docstrings)
            case _:
                pass
    for token in tokenize.generate_tokens(io.StringIO(content).readline):
        if token.type == tokenize.COMMENT:
            yield Text(token.start[0], token.string)


def faults_in(text: Text) -> Iterator[tuple[int, str]]:
    """Yield the words and openings to replace, each with its line."""
    if text.is_docstring and (opening := OPENINGS.match(text.text)):
        yield text.line, f"begins with {opening[0]!r}: begin with a verb or a noun"
    plain = _EXCEPTION.sub(lambda found: re.sub(r"[^\n]", "·", found[0]), text.text)
    for pattern, instead in _WORDS.items():
        for found in pattern.finditer(plain):
            yield (
                text.line + plain.count("\n", 0, found.start()),
                f"{' '.join(found[0].split())!r}: {instead}",
            )


def files() -> list[Path]:
    """Return the files that are read."""
    found = {file for pattern in READ for file in ROOT.glob(pattern) if file.is_file()}
    return sorted(found)


def main() -> None:
    """List what is to be replaced, and exit with 1 if there is anything."""
    found = [(file, *fault) for file in files() for text in texts_of(file) for fault in faults_in(text)]
    for file, line, fault in sorted(found):
        print(f"{file.relative_to(ROOT)}:{line}: {fault}")
    print(f"words and openings to replace: {len(found)}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
