"""The hook with which MkDocs makes a site of the documents of this repository (see mkdocs.yml)."""

import os
import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
_FENCE = re.compile(r"^```(?P<language>\w+)(?P<rest>[^\n]*)$", re.MULTILINE)
_TITLE = re.compile(r'title="[^"]*"')
_LINK = re.compile(r"(?<=\]\()(?P<target>[^)\s:#]+)(?=[)#])")
_ELSEWHERE = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"?(?:https?:)?//[^>]*>|<link\b[^>]*\bhref=\"?(?:https?:)?//[^>]*>"
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Take the examples into the site; pages link to them."""
    for file in sorted(EXAMPLES.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            uri = file.relative_to(ROOT).as_posix()
            files.append(File.generated(config, uri, abs_src_path=str(file)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Leave out what only tests read, and let links between docs/ and examples/ lead to where both are here."""
    there = Path(page.file.abs_src_path or "").parent
    text = _FENCE.sub(_for_readers, markdown)
    return _LINK.sub(lambda found: _site_link(found["target"], there, page.file.src_uri), text)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Refuse what a reader's browser would fetch from elsewhere."""
    found = _ELSEWHERE.search(output)
    if found:
        raise PluginError(f"{page.file.src_uri} would need a network to be read: {found[0]}")
    return output


def _for_readers(fence: "re.Match[str]") -> str:
    """The first line of a fence with its title, and without what an example needs to be run by a test."""
    title = _TITLE.search(fence["rest"])
    return f"```{fence['language']}" + (f" {title[0]}" if title else "")


def _site_link(target: str, there: Path, uri: str) -> str:
    named = Path(os.path.normpath(there / target))
    inside = [folder for folder in (EXAMPLES, ROOT / "docs") if named.is_relative_to(folder)]
    if not inside or not named.exists():
        return target  # the strict build reports it
    wanted = named.relative_to(ROOT if inside[0] == EXAMPLES else inside[0]).as_posix()
    return posixpath.relpath(wanted, posixpath.dirname(uri))
