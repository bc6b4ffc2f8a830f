"""The environment of a process: variables, folders, the user's own settings."""

import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from mulligan import errors
from mulligan.adapters.homes.home_index import HomeIndex
from mulligan.adapters.homes.home_search import ProjectPlace, find_project, require_project


class Surroundings(Struct, frozen=True, kw_only=True):
    """The environment of a process; read once, passed on."""

    environ: Mapping[str, str]
    folder: Path  # the current one
    user_settings: Path
    options: Mapping[str, str]  # settings given on the command line


def look_around(options: Mapping[str, str]) -> Surroundings:
    """Return what the process finds around itself; these options go before settings of environment and files."""
    environ = dict(os.environ)
    if "MULLIGAN_FAULT" in environ or "MULLIGAN_FAULT_LOG" in environ:
        from mulligan.wiring.faults import arm  # here: only tests ask for faults

        arm(environ)
    settings = user_folder(environ) / "config.toml"
    return Surroundings(environ=environ, folder=_current_folder(), user_settings=settings, options=options)


def _current_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError as exc:
        raise errors.SystemFailed(
            path="the current folder",
            reason="it was removed, or moved to where it cannot be reached",
            hint="change to a folder that exists (`cd`), then try again",
        ) from exc


def user_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of the user's own settings, as platformdirs does.

    On Linux the answer almost always follows from one of two variables; importing platformdirs for that would be a
    twentieth of what a short command costs.
    """
    if sys.platform == "linux":
        for base, below in (("XDG_CONFIG_HOME", "mulligan"), ("HOME", ".config/mulligan")):
            if (folder := Path(environ.get(base, ""))).is_absolute():
                return folder / below
    import platformdirs

    return platformdirs.user_config_path("mulligan", appauthor=False)


def state_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder that holds the homes of all projects of the user, as platformdirs does."""
    if named := environ.get("MULLIGAN_HOME"):
        return Path(os.path.abspath(named))  # noqa: PTH100 - a symlink stays one
    if sys.platform == "linux":
        for base, below in (("XDG_STATE_HOME", "mulligan"), ("HOME", ".local/state/mulligan")):
            if (folder := Path(environ.get(base, ""))).is_absolute():
                return folder / below
    import platformdirs

    return platformdirs.user_state_path("mulligan", appauthor=False)


def host_of(around: Surroundings, named: str | None, new_id: Callable[[], str]) -> tuple[str, str]:
    """Return the id of this machine and its name for people: the named one, or that of a file of the user's."""
    if named is not None:
        return named, named
    import socket

    from mulligan.adapters.homes.host_file import host_in

    return host_in(around.user_settings.with_name("host"), new_id, socket.gethostname())


def index_of(around: Surroundings) -> HomeIndex:
    """Return the index of the user's project homes."""
    return HomeIndex(state_folder(around.environ))


def locate(around: Surroundings, named: str | None) -> ProjectPlace:
    """Return the project: the named one, that of MULLIGAN_PROJECT, or the nearest one upwards."""
    wanted = named or around.environ.get("MULLIGAN_PROJECT")
    if wanted:
        return require_project((around.folder / wanted).resolve(), index_of(around))
    return find_project(around.folder, index_of(around))


def boot_id() -> str:
    """Return the id of this boot of the machine; where there is none, nothing is trusted."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:  # pragma: no cover - not on Linux
        return f"unknown-{os.getpid()}-{time.time_ns()}"
