"""Ways back: what in a sandbox, seen at its own path, leads processes to the real folder. A quick look.

Virtual environments hold the path at which they were made: in the shebangs of their programs, and in what editable
installs leave for Python to find. Symlinks can be absolute, and so can the folders of a PATH. A linked worktree of git,
or a submodule, has a file that names its git directory, which all programs of git change.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from glob import escape, glob
from itertools import islice

from mulligan.domain.resources.placement import lies_in
from mulligan.domain.resources.resource import Sandbox

_VARIABLES = ("PATH", "PYTHONPATH", "VIRTUAL_ENV")
_DEPTH = 2  # of folders in which virtual environments and symlinks are looked for
_MOST_ENTRIES = 2000  # that are looked at in one sandbox
_MOST_FILES = 300  # of one virtual environment
_MOST_BYTES = 64 * 1024  # of one file
_MOST_NAMED = 3  # of one kind
_SKIPPED = frozenset({".git", ".mulligan", "node_modules"})
_EDITABLE = ("*.pth", "__editable__*.py", "*.egg-link")


def ways_back(sandbox: Sandbox, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield, in words, what leads from a sandbox to the real folder."""
    real = os.path.realpath(sandbox.location)
    links: list[str] = []
    installs: list[str] = []
    programs: list[str] = []
    worktrees: list[str] = []
    for path, entry in islice(_entries(sandbox.path), _MOST_ENTRIES):
        if entry.is_symlink():
            links += [path] if lies_in(_target(entry.path), real) else []
        elif entry.name == ".git" and entry.is_file(follow_symlinks=False):
            worktrees += [os.path.dirname(path) or "."] if _leaves(sandbox.path, entry.path) else []
        elif entry.name == "pyvenv.cfg":
            inside = os.path.dirname(path)
            installs += _naming(sandbox.path, inside, _installs(sandbox.path, inside), real)
            programs += _naming(sandbox.path, inside, _programs(sandbox.path, inside), f"#!{real}")
    yield from _named("editable installs", installs)
    yield from _named("shebangs", programs)
    yield from _named("absolute symlinks", links)
    yield from _named("git worktrees of repositories outside", worktrees)
    variables = [
        name
        for name in _VARIABLES
        if any(lies_in(each, real) for each in environment.get(name, "").split(":") if each)
    ]
    yield from _named("environment variables", variables)


def _entries(top: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield what lies in a folder and the folders next to the top, the upper before the lower."""
    pending = [("", 0)]
    while pending:
        folder, depth = pending.pop(0)
        with suppress(OSError), os.scandir(os.path.join(top, folder)) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                path = os.path.join(folder, entry.name)
                yield path, entry
                deeper = depth < _DEPTH and entry.name not in _SKIPPED
                if deeper and entry.is_dir(follow_symlinks=False):
                    pending.append((path, depth + 1))


def _installs(top: str, inside: str) -> Iterator[str]:
    folder = os.path.join(escape(os.path.join(top, inside)), "lib", "python*", "site-packages")
    for pattern in _EDITABLE:
        yield from sorted(glob(os.path.join(folder, pattern)))


def _programs(top: str, inside: str) -> list[str]:
    return sorted(glob(os.path.join(escape(os.path.join(top, inside)), "bin", "*")))


def _naming(top: str, inside: str, files: Iterable[str], text: str) -> list[str]:
    """Return the files, relative to the sandbox, that name a path; a shebang is at the beginning."""
    wanted = os.fsencode(text)
    size = len(wanted) if wanted.startswith(b"#!") else _MOST_BYTES
    found = [path for path in islice(files, _MOST_FILES) if wanted in _beginning(path, size)]
    return [os.path.join(inside, os.path.relpath(path, os.path.join(top, inside))) for path in found]


def _leaves(top: str, file: str) -> bool:
    """Return whether a file in the place of a git directory names one outside of the sandbox."""
    name = _beginning(file).partition(b"gitdir:")[2].strip()
    there = os.path.realpath(os.path.join(os.path.dirname(file), os.fsdecode(name)))
    return bool(name) and not lies_in(there, os.path.realpath(top))


def _beginning(file: str, size: int = _MOST_BYTES) -> bytes:
    """Return what a file begins with; nothing where it cannot be read."""
    with suppress(OSError):
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return os.read(descriptor, size)
        finally:
            os.close(descriptor)
    return b""


def _named(kind: str, found: list[str]) -> Iterator[str]:
    if found:
        more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
        yield f"{kind}: {', '.join(found[:_MOST_NAMED])}{more}"


def _target(link: str) -> str:
    target = os.readlink(link)
    return os.path.normpath(target) if os.path.isabs(target) else ""
