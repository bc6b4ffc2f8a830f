"""Trees of files to measure on: seeded, with sizes like a real repository with its dependencies."""

import os
import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path, PurePath

# Large trees take minutes to make: they are for the full run, not for every run of the checks.
LARGE = "BENCH_LARGE" in os.environ
SIZES = (1_000, 10_000, 100_000) if LARGE else (500,)
RESOURCES = (1, 3)
HISTORIES = (50, 10_000) if LARGE else (10, 50)


def make_tree(folder: Path, files: int, seed: int = 7) -> list[Path]:
    """Write that many files, most of them small, some of them not, some ten to a folder."""
    chance = random.Random(seed)
    made: list[Path] = []
    for number in range(files):
        place = folder / f"d{number // 400:03}" / f"e{number // 20 % 20:02}"
        if number % 20 == 0:
            place.mkdir(parents=True, exist_ok=True)
        size = int(min(200_000, chance.lognormvariate(7.5, 1.4)))
        file = place / f"file{number}.txt"
        file.write_bytes(chance.randbytes(size // 2).hex().encode())
        made.append(file.relative_to(folder))
    return made


def change(folder: Path, files: list[Path], count: int, mark: int) -> None:
    """Change some files, spread over the tree."""
    step = max(1, len(files) // count)
    for file in files[::step][:count]:
        (folder / file).write_text(f"changed {mark}\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A tree like a real repository with its dependencies."""

    folder: Path
    sources: tuple[PurePath, ...]  # what one edits: tracked, small, spread over the tree; relative
    files: int
    size_bytes: int


_UNUSUAL_NAMES = (
    "with space.txt",
    "new\nline.txt",
    "quote'\".txt",
    "größe-大小.txt",
    "-dash",
    "n" * 200,
    "back\\slash",
)
_GITIGNORE = "node_modules/\nbuild/\n*.log\n.env\n"
_OLDEST = 1_600_000_000  # seconds: files of a checkout are older than any timestamp grain
_LARGE_EVERY = 1_000  # one file in so many is megabytes
_SPREAD = 100_000_000  # seconds; no file is from the future, which would make it look new at every look


def make_repository(
    folder: Path, files: int, *, seed: int = 7, ignored: bool = True, size_bytes: int = 0
) -> Repository:
    """Write a repository of about that many files: a third sources, the rest dependencies and build results.

    With `ignored`, dependencies and build results are in folders that .gitignore names. With `size_bytes` the
    large files are made so large that all files together have about that size.
    """
    chance = random.Random(seed)
    words = _words(chance)
    sources: list[PurePath] = []
    total = large = 0
    for number, place in zip(range(files), _places(chance), strict=False):
        if number % _LARGE_EVERY == _LARGE_EVERY - 1:
            large += 1
            continue
        data = _text(chance, words, number)
        total += len(data)
        file = folder / place
        _write(file, data, chance)
        if number % 40 == 0:
            file.chmod(0o755)
        if place.parts[0] == "src":
            sources.append(place)
            if number % 100 == 0:
                (file.parent / f"link{number}").symlink_to(file.name)
        if number % 500 == 0:
            (file.parent / f"empty{number}" / "inside").mkdir(parents=True)
    wanted = max(0, size_bytes - total) // large if size_bytes and large else 0
    for number in range(large):
        data = chance.randbytes(wanted or chance.randrange(1 << 20, 6 << 20))
        total += len(data)
        _write(folder / "assets" / f"image{number}.bin", data, chance)
    for name in _UNUSUAL_NAMES:
        _write(folder / "names" / name, name.encode(), chance)
    (folder / ".gitignore").write_text(_GITIGNORE if ignored else "*.log\n")
    make_nested_repository(folder / "vendor" / "nested", commit=True)
    return Repository(folder=folder, sources=tuple(sources), files=files, size_bytes=total)


def make_nested_repository(folder: Path, *, commit: bool) -> None:
    """Make a git repository of its own inside a tree."""
    folder.mkdir(parents=True)
    (folder / "inner.txt").write_text("inner\n")
    git = ["git", "-c", "user.name=nobody", "-c", "user.email=nobody@localhost", "-C", str(folder)]
    subprocess.run([*git, "init", "--quiet"], check=True)
    if commit:
        subprocess.run([*git, "add", "--all"], check=True)
        subprocess.run([*git, "commit", "--quiet", "--message", "inner"], check=True)


def edit(folder: Path, sources: tuple[PurePath, ...], count: int, mark: int) -> None:
    """Add a line to some source files, spread over the tree, others each time."""
    step = max(1, len(sources) // count)
    for number in range(count):
        with (folder / sources[(number * step + mark * 7) % len(sources)]).open("a") as file:
            file.write(f"// edited {mark}\n")


def _places(chance: random.Random) -> Iterator[PurePath]:
    """Paths as they lie in a real checkout: sources a few folders deep, dependencies inside dependencies."""
    for number in count():
        kind = chance.random()
        if kind < 0.33:
            yield PurePath("src", f"area{number // 900}", f"part{number // 60 % 15}", f"module{number}.ts")
        elif kind < 0.95:
            package = PurePath("node_modules", f"package{number // 120}")
            inside = chance.choice(
                ("", "lib", "dist/esm", "dist/cjs/internal", "node_modules/dependency/lib")
            )
            yield package / inside / f"index{number}.js"
        else:
            yield PurePath("build", f"stage{number // 2000}", "out", f"chunk{number}.js")


def _words(chance: random.Random) -> bytes:
    """A few megabytes of something like source text: it compresses about as well."""
    vocabulary = [
        "".join(chance.choices("etaoinshrdlucmfw_", k=chance.randrange(2, 11))) for _ in range(3_000)
    ]
    return " ".join(chance.choices(vocabulary, k=600_000)).replace(" e", "\n    e").encode()


def _text(chance: random.Random, words: bytes, number: int) -> bytes:
    size = int(min(400_000, chance.lognormvariate(7.5, 1.7)))
    start = chance.randrange(len(words) - size)
    return b"// file %d\n" % number + words[start : start + size]


def _write(file: Path, data: bytes, chance: random.Random) -> None:
    try:
        file.write_bytes(data)
    except FileNotFoundError:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    when = (_OLDEST * 1_000_000_000) + chance.randrange(_SPREAD) * 1_000_000_001
    os.utime(file, ns=(when, when))
