"""The places of coding agents on this machine: programs, versions and configuration folders; and our own program."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mulligan.adapters.agents.install_records import InstallRecords
from mulligan.adapters.local_server.server_place import HOOK_CLIENT
from mulligan.domain.agents.agent_table import AGENTS, Agent
from mulligan.domain.agents.hook_entries import Place, Scope, places_of
from mulligan.errors import AgentPlaceUnsuitable, UsageWrong
from mulligan.wiring.home_wiring import place_here
from mulligan.wiring.surroundings import index_of

if TYPE_CHECKING:
    from mulligan.wiring.surroundings import Surroundings

_VERSION_SECONDS = 20  # for an agent to say which version it is


def named_agents(names: Sequence[str]) -> list[Agent]:
    """Return the agents of these names, each once."""
    if unknown := [name for name in names if name not in AGENTS]:
        raise UsageWrong(
            reason=f"there is no agent {unknown[0]!r}", hint=f"the agents are {', '.join(AGENTS)}"
        )
    return [AGENTS[name] for name in dict.fromkeys(names)]


def scope_named(word: str) -> Scope:
    """Return a scope by its word."""
    if word not in list(Scope):
        raise UsageWrong(reason=f"there is no scope {word!r}", hint=f"the scopes are {', '.join(Scope)}")
    return Scope(word)


def records_of(around: Surroundings) -> InstallRecords:
    """Return the records of what was installed for this user."""
    return InstallRecords(index_of(around).root / "agents")


def is_found(around: Surroundings, agent: Agent) -> bool:
    """Return whether an agent is in PATH, or has a folder of settings."""
    if any(program_of(around, name) is not None for name in agent.programs):
        return True
    if agent.name == "goose":
        return False  # other programs have their plugins in the same folder
    place = places_of(agent, Scope.USER)[-1]
    folder = base_folder(around, place, user_root(around))
    own = folder / "opencode" if agent.name == "opencode" else folder
    record = records_of(around).of(folder / place.name)
    made = record is not None and str(own) in record.folders  # by install
    return own.is_dir() and not made


def program_of(around: Surroundings, name: str) -> Path | None:
    """Return a program of that name in PATH."""
    for folder in around.environ.get("PATH", "").split(os.pathsep):
        program = Path(folder) / name
        if folder and program.is_file() and os.access(program, os.X_OK):
            return program
    return None


def scope_root(around: Surroundings, scope: Scope) -> Path:
    """Return the folder that configuration files are relative to."""
    home = user_root(around)
    if scope is Scope.USER:
        return home
    place = place_here(around)
    folder = place.folder if place is not None else around.folder
    if folder in (home, Path("/")):
        raise AgentPlaceUnsuitable(path=str(folder))
    return folder


def user_root(around: Surroundings) -> Path:
    """Return the home folder of the user."""
    return Path(around.environ.get("HOME") or Path.home())


def base_folder(around: Surroundings, place: Place, root: Path) -> Path:
    """Return the folder of an agent's configuration."""
    chosen = around.environ.get(place.variable or "", "")
    return Path(chosen) if chosen.startswith("/") else root / place.base


def own_program() -> tuple[str, ...]:
    """Return the words that a hook starts: the client that asks the local server, if it was built, and this program."""
    client = (str(HOOK_CLIENT),) if os.access(HOOK_CLIENT, os.X_OK) else ()
    return (*client, *own_command())


def own_command() -> tuple[str, ...]:
    """Return the words that start this program."""
    script = Path(sys.executable).with_name("mulligan")
    if script.is_file() and os.access(script, os.X_OK):
        return (str(script),)
    return (sys.executable, "-P", "-m", "mulligan")


def version_of(around: Surroundings, agent: Agent) -> tuple[int, ...] | None:
    """Return the version that an agent reports; None where it cannot be known."""
    program = program_of(around, agent.programs[0])
    if program is None:
        return None
    try:
        done = subprocess.run(
            [program, "--version"],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_VERSION_SECONDS,
            env=dict(around.environ),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(rb"(\d+)\.(\d+)\.(\d+)", done.stdout)
    return tuple(map(int, found.groups())) if found else None
