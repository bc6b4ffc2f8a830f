"""A project home that someone or something damaged: told or made anew, and never a traceback."""

import shutil
from pathlib import Path

import pytest

from tests.hostile.program import say
from tests.support.git_world import run_git
from tests.support.homes import home_of
from tests.support.snapshot_world import picture

PLAN = """\
name: p
resources: {repo: {type: git-checkout, location: repo}, db: {type: sqlite, location: app.db, create: true}}
steps:
  - {name: one, tool: write_file, args: {path: one, content: '1'}}
  - {name: rows, tool: sql, resource: db, args: {statements: [CREATE TABLE t (x)]}}
"""
LOOKING = (
    ("plan", "diff", "p"),
    ("checkpoint", "verify"),
    ("plan", "rollback", "--dry-run", "p", "first"),
    ("doctor",),
)
GARBAGE = (b"", b"\0" * 64, b"\x1b[31m{'nonsense': [", b"[" * 100_000)
FLIPS = 10  # in each pack


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damaged") / "project"
    (folder / "repo").mkdir(parents=True)
    run_git(folder / "repo", "init", "-q")
    (folder / "repo" / "file").write_text("file")
    (folder / "plan.yaml").write_text(PLAN)
    assert say(folder, "plan", "execute", "plan.yaml").code == 0
    assert say(folder, "config", "set", "plan.max-parallel", "2").code == 0
    return folder


def test_flipped_bits_in_what_is_stored(good: Path) -> None:
    packs = sorted((home_of(good) / "store" / "packs").iterdir())
    before, found = picture(good / "repo"), 0
    for number, pack in enumerate(packs):
        data = pack.read_bytes()
        for place in range(0, len(data), max(1, len(data) // FLIPS)):
            hurt = bytearray(data)
            hurt[place] ^= 0x10
            pack.write_bytes(hurt)
            said = say(good, *LOOKING[(number + place) % len(LOOKING)])
            found += said.code == 1
        pack.write_bytes(data)
    assert found, "no flipped bit was noticed: the test shows nothing"
    assert picture(good / "repo") == before
    assert say(good, "checkpoint", "verify").code == 0


def test_garbage_in_any_small_file(good: Path, tmp_path: Path) -> None:
    """Whatever is not the database or a pack: it can be made anew, or is told."""
    home = home_of(good)
    before = picture(good / "repo")
    kept = tmp_path / "kept"
    shutil.copytree(home, kept, symlinks=True)
    for number, file in enumerate(sorted(path for path in kept.rglob("*") if path.is_file())):
        name = file.relative_to(kept)
        if (
            name.name.startswith("mulligan.db")
            or name.suffix in (".pack", ".idx")
            or "sandboxes" in name.parts
        ):
            continue
        (home / name).write_bytes(GARBAGE[number % len(GARBAGE)])
        say(good, *LOOKING[number % len(LOOKING)])
        (home / name).write_bytes(file.read_bytes())
    assert picture(good / "repo") == before
