"""Writes what the session saw into the pages, or compares it with them.

    python -m tests.real_agents.pages [--write]

A page has `<!-- session: NAME -->` before such a part, and `<!-- end of session -->` behind it.
"""

import argparse
import difflib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.real_agents.conftest import BUILD
from tests.real_agents.measured import Measured
from tests.real_agents.packages import PACKAGES, version_of
from tests.support.page_examples import ROOT, lasting

TITLES = {
    "claude-code": "Claude Code",
    "codex": "Codex CLI",
    "gemini-cli": "Gemini CLI",
    "opencode": "opencode",
    "copilot-cli": "Copilot CLI",
    "qwen-code": "Qwen Code",
}
PAGES = [
    ROOT / "README.md",
    ROOT / "docs" / "explanation" / "agents-own-rewinds.md",
    ROOT / "docs" / "reference" / "mcp.md",
    *sorted((ROOT / "docs" / "how-to" / "agents").glob("*.md")),
]
_PART = re.compile(r"(<!-- session: ([\w-]+) -->\n).*?(<!-- end of session -->)", re.DOTALL)
_COLUMNS = {
    "claude-code": f"Claude Code {version_of('claude-code')} `/rewind`",
    "opencode": f"opencode {version_of('opencode')} revert",
    "stepback": "stepback 0.2.0",
    "mulligan": "mulligan",
}
_TIMES = re.compile(r"\b\d+ ms\b")


def parts(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Return the parts of pages that these facts are enough for."""
    for agent in PACKAGES:
        driven = facts.get(f"{agent} driven")
        if driven is not None:
            tried = f"Tried with {TITLES[agent]} {driven['version']} itself, offline, with a scripted model:"
            text = f"{driven['prompts']} prompts that destroy\nsomething, each taken back by one `mulligan undo`."
            yield agent, f"{tried} {text}\n"
    if all(f"rewind {name}" in facts for name in _COLUMNS):
        yield "comparison", _comparison(facts)
    if all(f"{agent} tools" in facts for agent in TITLES):
        yield "questions", _questions(facts)
    if "recording" in facts:
        yield "recording", f"```text\n{facts['recording']}\n```\n"
    if "cost" in facts:
        a, b = facts["cost"]["with"], facts["cost"]["without"]
        text = "Twenty shell commands in one answer change a file each, on two busy cores, with the server. From one"
        yield (
            "cost",
            f"{text}\nrequest to the model to the next the median is {a} ms with the hooks, and {b} ms without them.\n",
        )


def _comparison(facts: dict[str, Any]) -> str:
    lines = [f"| what a prompt changed | {' | '.join(_COLUMNS.values())} |", "|---|" + "---|" * len(_COLUMNS)]
    for row in facts["rewind mulligan"]:
        cells = ("back" if facts[f"rewind {name}"][row] else "lost" for name in _COLUMNS)
        lines.append(f"| {row} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _questions(facts: dict[str, Any]) -> str:
    lines = ["| agent | with nobody at a window | in its window |", "|---|---|---|"]
    for agent, title in TITLES.items():
        asks = "asks, and waits" if f"{agent} asks" in facts else "not driven"
        alone = facts[f"{agent} tools"]
        shown = "refused" if alone == "cannot ask" else asks
        lines.append(f"| {title} {version_of(agent)} | {alone} | {shown} |")
    return "\n".join(lines) + "\n"


def filled(page: str, facts: dict[str, Any]) -> str:
    """Return the page with these facts in it; a part that no test saw stays."""
    known = dict(parts(facts))
    return _PART.sub(
        lambda found: found[1] + known[found[2]] + found[3] if found[2] in known else found[0], page
    )


def main() -> int:
    """Compare the pages, or write them."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    facts, differs = Measured(BUILD / "measured.json").read(), False
    for page in PAGES:
        old = page.read_text(encoding="utf-8")
        new = filled(old, facts)
        if options.write:
            page.write_text(new, encoding="utf-8")
        elif _settled(old) != _settled(new):
            differs = True
            name = str(Path(page).relative_to(ROOT))
            lines = difflib.unified_diff(old.splitlines(), new.splitlines(), name, "the session", lineterm="")
            sys.stdout.write("".join(f"{line}\n" for line in lines))
    return int(differs)


def _settled(text: str) -> str:
    return lasting(_TIMES.sub("N ms", text))


if __name__ == "__main__":
    sys.exit(main())
