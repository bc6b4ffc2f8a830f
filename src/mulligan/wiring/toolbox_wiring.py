"""The construction of a project's toolbox."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from mulligan.adapters.tools.process.command_runner import Launchers
from mulligan.adapters.tools.project_toolbox import ProjectToolbox
from mulligan.adapters.tools.toolbox import LocalToolbox
from mulligan.adapters.tools.user_tools.entry_points import installed_tools

MACHINE_FILES = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))


def build_toolbox(
    scratch: Path,
    home: Path,
    environ: Mapping[str, str],
    obey: Callable[[], None] | None,
    linked: Callable[[], None],
) -> ProjectToolbox:
    """Build the toolbox of built-in tools and the user's own, run with this interpreter."""
    launchers = Launchers(python=sys.executable, environment=environ, obey=obey, linked=linked)
    return ProjectToolbox(
        built_in=LocalToolbox(launchers=launchers, scratch=scratch),
        home=home,
        machine=machine_name(MACHINE_FILES),
        installed=installed_tools,
    )


def machine_name(files: tuple[Path, ...]) -> str:
    """Return the id of this machine; empty, where the system has none."""
    for file in files:
        try:
            return file.read_text("ascii").strip()
        except (OSError, ValueError):
            continue
    return ""
