"""What a process finds around itself: environment, folders, the user's own settings."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mulligan.adapters import home


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a process finds around itself; read once, handed on."""

    environ: Mapping[str, str]
    folder: Path  # the current one
    user_settings: Path
    options: Mapping[str, str]  # settings given on the command line


def surroundings(options: Mapping[str, str]) -> Surroundings:
    """Look around: environment, current folder, the user's own settings file."""
    import platformdirs  # here: an application that brings its own surroundings need not pay for it

    settings = platformdirs.user_config_path("mulligan", appauthor=False) / "config.toml"
    return Surroundings(environ=dict(os.environ), folder=Path.cwd(), user_settings=settings, options=options)


def locate(around: Surroundings, named: str | None) -> Path:
    """The project folder: the named one, that of MULLIGAN_PROJECT, or the nearest one upwards."""
    wanted = named or around.environ.get("MULLIGAN_PROJECT")
    if wanted:
        return home.require_project((around.folder / wanted).resolve())
    return home.find_project(around.folder)


def make(around: Surroundings, folder: str) -> tuple[Path, bool]:
    """Make a project home in the folder; tells where it is and whether it is new."""
    place = (around.folder / folder).resolve()
    return place, home.make_project(place)


def boot_id() -> str:
    """What tells this boot of the machine from the one before; where nothing does, nothing is trusted."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:  # pragma: no cover - not on Linux
        return f"unknown-{os.getpid()}-{time.time_ns()}"
