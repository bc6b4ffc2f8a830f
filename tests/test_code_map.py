"""The page that says where things are: every path on it exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "mulligan"


def test_every_path_on_the_code_map_exists() -> None:
    page = (ROOT / "docs" / "code-map.md").read_text("utf-8")
    rows = re.findall(r"^\| (?!where is|---)(.+?) \| (.+) \|$", page, re.MULTILINE)
    assert len(rows) >= 30
    for question, answer in rows:
        folder = PACKAGE
        for path in re.findall(r"`([\w/]+(?:\.py|/))`", answer):
            places = [PACKAGE / path, folder / path]
            found = [place for place in places if place.exists()]
            assert found, f"{question}: {path}"
            folder = found[0].parent
