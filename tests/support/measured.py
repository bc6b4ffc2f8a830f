"""What `docs/benchmarks.md` says was measured, for the page that compares with shadow git.

The figures stand in one place; the other page has a copy that `python -m tests.reference_pages` writes.
"""

import re

from tests.support.page_examples import ROOT

_TABLE = re.compile(r"^\|.*\|\n\|[-|]+\|\n(?:\|.*\|\n)+", re.MULTILINE)
_FILES = re.compile(r"\| ([\d,]+) files \|")


def the_measurements() -> str:
    """The times and disk use of the largest tree, and what each contestant loses."""
    tables = _TABLE.findall((ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8"))
    largest = max(filter(_FILES.match, tables), key=_files)
    lost = next(table for table in tables if table.startswith("| contestant | lost |"))
    return f"{largest}\n{lost}"


def _files(table: str) -> int:
    found = _FILES.match(table)
    assert found
    return int(found[1].replace(",", ""))
