"""Properties that a checkpoint must keep: one small tree for each, snapshotted, emptied, restored and checked."""

import os
import shutil
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.compare.contest import Contestant
from benchmarks.compare.processes import Budget, CommandFailed
from benchmarks.trees import make_nested_repository

_LONG_AGO = 1_000_000_000_123_456_789  # ns
_HOLE = 16 << 20


@dataclass(frozen=True, slots=True)
class Thing:
    """Something that a tree can have: how it is made, and what of it is missing afterwards."""

    name: str
    make: Callable[[Path], None]
    missing: Callable[[Path], str]  # empty: all is there


def lost_by(contestant: Contestant, place: Path, seconds: float) -> tuple[list[str], dict[str, str]]:
    """Give what a contestant keeps of the list, and what it loses and how, by really restoring."""
    kept: list[str] = []
    lost: dict[str, str] = {}
    budget = Budget(seconds)
    for thing in things(place):
        problem = _try(contestant, thing, place / "fidelity", budget)
        if problem:
            lost[thing.name] = problem
        else:
            kept.append(thing.name)
    return kept, lost


def _try(contestant: Contestant, thing: Thing, place: Path, budget: Budget) -> str:
    tree, store = place / "tree", place / "store"
    tree.mkdir(parents=True)
    store.mkdir()
    try:
        (tree / "plain.txt").write_text("plain\n")
        (tree / ".gitignore").write_text("ignored/\n*.log\n")
        thing.make(tree)
        with contestant.open(tree, store, budget) as session:
            taken = session.snapshot()
            _empty(tree, session.own_names)
            session.restore(taken.name, None)
            if not (tree / "plain.txt").is_file():
                return "nothing was restored"
            return thing.missing(tree)
    except CommandFailed as exc:
        return f"failed: {exc.output.splitlines()[0] if exc.output else exc.command}"
    except OSError as exc:
        return str(exc)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _empty(tree: Path, but: frozenset[str]) -> None:
    for entry in list(tree.iterdir()):
        if entry.name in but:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def things(place: Path) -> Sequence[Thing]:
    """The fidelity list; attributes only where the filesystem of that folder has them."""
    found = [
        Thing("ignored files", _make_ignored, _without_ignored),
        Thing("empty folders", _make_empty, _without_empty),
        Thing("modes beyond 644 and 755", _make_modes, _without_modes),
        Thing("symlinks", _make_links, _without_links),
        Thing("hard links", _make_hard_links, _without_hard_links),
        Thing("mtimes", _make_mtimes, _without_mtimes),
        Thing("nested repositories", _make_nested, _without_nested),
        Thing("nested repositories without a commit", _make_unborn, _without_nested),
        Thing("names that are not UTF-8", _make_names, _without_names),
        Thing("sparse files", _make_sparse, _without_sparse),
    ]
    if _has_attributes(place):
        found.append(Thing("extended attributes", _make_attributes, _without_attributes))
    return found


def _make_ignored(tree: Path) -> None:
    (tree / "ignored").mkdir()
    (tree / "ignored" / "secret").write_text("s\n")
    (tree / "run.log").write_text("l\n")


def _without_ignored(tree: Path) -> str:
    return _absent(tree, "ignored/secret", "run.log")


def _make_empty(tree: Path) -> None:
    (tree / "empty").mkdir()
    (tree / "deep" / "inside").mkdir(parents=True)


def _without_empty(tree: Path) -> str:
    return _absent(tree, "empty", "deep/inside")


_MODES = {"f600": 0o600, "f444": 0o444, "f640": 0o640, "f700": 0o700}


def _make_modes(tree: Path) -> None:
    for name, mode in _MODES.items():
        (tree / name).write_text(name)
        (tree / name).chmod(mode)
    (tree / "closed").mkdir()
    (tree / "closed" / "file").write_text("f")
    (tree / "closed").chmod(0o700)


def _without_modes(tree: Path) -> str:
    found = {name: stat.S_IMODE((tree / name).stat().st_mode) for name in (*_MODES, "closed")}
    wrong = {name: mode for name, mode in found.items() if mode != (_MODES | {"closed": 0o700})[name]}
    return ", ".join(f"{name} became {mode:o}" for name, mode in wrong.items())


_LINKS = {"to-file": "plain.txt", "dangling": "nowhere", "absolute": "/etc/hostname", "to-folder": "folder"}


def _make_links(tree: Path) -> None:
    (tree / "folder").mkdir()
    (tree / "folder" / "file").write_text("f")
    for name, target in _LINKS.items():
        (tree / name).symlink_to(target)


def _without_links(tree: Path) -> str:
    wrong = [
        name
        for name, target in _LINKS.items()
        if not (tree / name).is_symlink() or str((tree / name).readlink()) != target
    ]
    return ", ".join(wrong)


def _make_hard_links(tree: Path) -> None:
    (tree / "one").write_text("shared")
    (tree / "two").hardlink_to(tree / "one")


def _without_hard_links(tree: Path) -> str:
    return "" if (tree / "one").samefile(tree / "two") else "became separate files"


def _make_mtimes(tree: Path) -> None:
    (tree / "folder").mkdir()
    (tree / "folder" / "old").write_text("o")
    os.utime(tree / "folder" / "old", ns=(_LONG_AGO, _LONG_AGO))
    os.utime(tree / "folder", ns=(_LONG_AGO, _LONG_AGO))


def _without_mtimes(tree: Path) -> str:
    wrong = [
        what
        for what, name in (("files", "folder/old"), ("folders", "folder"))
        if (tree / name).stat().st_mtime_ns != _LONG_AGO
    ]
    return " and ".join(wrong)


def _make_nested(tree: Path) -> None:
    make_nested_repository(tree / "nested", commit=True)


def _make_unborn(tree: Path) -> None:
    make_nested_repository(tree / "nested", commit=False)


def _without_nested(tree: Path) -> str:
    return _absent(tree, "nested/inner.txt", "nested/.git/HEAD")


_NAMES = (b"caf\xe9", b"new\nline", b"\xff\xfe")


def _make_names(tree: Path) -> None:
    for name in _NAMES:
        (tree / os.fsdecode(name)).write_text("n")


def _without_names(tree: Path) -> str:
    return _absent(tree, *map(os.fsdecode, _NAMES))


def _make_sparse(tree: Path) -> None:
    with (tree / "sparse").open("wb") as file:
        file.seek(_HOLE)
        file.write(b"end")


def _without_sparse(tree: Path) -> str:
    st = (tree / "sparse").stat()
    if st.st_size != _HOLE + 3:
        return "its length"
    return "" if st.st_blocks * 512 < _HOLE // 2 else "its holes became zeros"


def _make_attributes(tree: Path) -> None:
    os.setxattr(tree / "plain.txt", "user.note", b"kept")


def _without_attributes(tree: Path) -> str:
    return "" if "user.note" in os.listxattr(tree / "plain.txt") else "user.note"


def _has_attributes(place: Path) -> bool:
    place.mkdir(parents=True, exist_ok=True)
    try:
        os.setxattr(place, "user.try", b"1")
    except OSError:
        return False
    return True


def _absent(tree: Path, *names: str) -> str:
    return ", ".join(repr(name) for name in names if not (tree / name).exists())
