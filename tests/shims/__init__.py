"""Small C libraries that are loaded before libc, so that the whole program meets a machine that behaves otherwise.

Each is one file beside this one, compiled when it is first needed. `preloaded` returns the environment under which a
command, and everything it starts, runs with one of them.
"""

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

_SOURCES = Path(__file__).parent
_BUILT = Path(__file__).parents[2] / "build" / "shims"
_OPTIONS = ("-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror")


@cache
def compiled(name: str) -> Path:
    """Compile a library, once for each state of its source."""
    source = _SOURCES / f"{name}.c"
    library = _BUILT / f"{name}-{hashlib.sha256(source.read_bytes()).hexdigest()[:16]}.so"
    if not library.exists():
        _BUILT.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_BUILT) as folder:  # another test process may compile it too
            draft = Path(folder) / library.name
            subprocess.run(["cc", *_OPTIONS, "-o", str(draft), str(source), "-ldl", "-lpthread"], check=True)
            draft.replace(library)
    return library


def preloaded(name: str, settings: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment with a library in it; one that is loaded already stays."""
    before = os.environ.get("LD_PRELOAD")
    libraries = f"{before} {compiled(name)}" if before else str(compiled(name))
    return {**os.environ, **settings, "LD_PRELOAD": libraries}
