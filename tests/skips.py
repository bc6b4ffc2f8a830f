"""List the skipped tests of JUnit reports, and refuse those that tests/allowed_skips.txt does not name.

Pytest, Behave and Robot Framework all write such reports, so one rule holds for the three of them:
`python -m tests.skips REPORT...`, where a folder stands for all reports in it.
"""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from xml.etree import ElementTree as ET

ALLOW_LIST = Path(__file__).with_name("allowed_skips.txt")


@dataclass(frozen=True, slots=True)
class Skip:
    """A test that did not run, or was expected to fail."""

    test: str
    reason: str


def main(arguments: list[str]) -> int:
    """Print every skipped test with its reason; return 1 when one of them is not allowed."""
    skips = sorted(read_skips(map(Path, arguments)), key=lambda skip: skip.test)
    allowed = read_allow_list(ALLOW_LIST.read_text(encoding="utf-8"))
    refused = [skip for skip in skips if not any(fnmatchcase(skip.test, pattern) for pattern in allowed)]
    print(f"skipped tests: {len(skips)}")
    for skip in skips:
        print(f"  {'REFUSED ' if skip in refused else ''}{skip.test}: {skip.reason}")
    if refused:
        print(f"{len(refused)} not in {ALLOW_LIST.name}: make them run, or add a line there with the reason")
    return 1 if refused else 0


def read_skips(reports: Iterable[Path]) -> Iterator[Skip]:
    """Yield what the reports say was skipped."""
    for report in reports:
        files = sorted(report.glob("*.xml")) if report.is_dir() else [report]
        for file in files:
            for case in ET.parse(file).iter("testcase"):
                for skipped in case.iter("skipped"):
                    test = f"{case.get('classname', '')}::{case.get('name', '')}"
                    yield Skip(test=test, reason=reason_of(skipped))


def reason_of(skipped: ET.Element) -> str:
    """Return why a test was skipped."""
    message, text = skipped.get("message", ""), (skipped.text or "").strip()
    if message == "collection skipped":  # pytest, of a whole module: the reason is in the text
        return text
    return message or text or "no reason given"


def read_allow_list(text: str) -> list[str]:
    """Return the patterns of an allow list; a line is `PATTERN -- REASON`, and the reason is required."""
    patterns: list[str] = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        pattern, separator, reason = line.partition(" -- ")
        if not separator or not reason.strip():
            message = f"{ALLOW_LIST.name}: no reason in {line!r}; write `PATTERN -- REASON`"
            raise ValueError(message)
        patterns.append(pattern.strip())
    return patterns


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
