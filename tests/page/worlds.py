"""Projects for tests of the page."""

import sqlite3
from pathlib import Path

import mulligan

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001"
    "a5f645400000000049454e44ae426082"
)


def simple_project(folder: Path) -> mulligan.Project:
    """A project with one run that is complete, not applied."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "greeting.txt").write_text("Hey there\n")
    (folder / "app.py").write_text("def greet():\n    return 'hello'\n")
    (folder / "dot.png").write_bytes(PIXEL)
    with sqlite3.connect(folder / "data.db") as db:
        db.execute("CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT)")
        db.execute("INSERT INTO users VALUES (1, 'Ada'), (2, 'Bob')")
    db.close()
    project = mulligan.init(folder)
    project.config.set("sandbox.isolate", "off")
    return project
