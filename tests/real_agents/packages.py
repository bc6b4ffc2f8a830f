"""Installs the agents from npm, each in the exact version that its hooks were recorded with.

    python -m tests.real_agents.packages FOLDER [AGENT…]

A package that is there already stays. One that cannot be had is named; the exit code is 1 then. Changing a version here
is how a new one is tried.
"""

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

NODE = "node@22"  # that of the system may be too old for an agent
PACKAGES: Mapping[str, Sequence[str]] = {
    "claude-code": ("@anthropic-ai/claude-code@2.1.325",),
    "codex": ("@openai/codex@0.166.0",),
    "gemini-cli": ("@google/gemini-cli@0.61.0",),
    "opencode": ("opencode-ai@1.18.33",),
    "copilot-cli": ("@github/copilot@1.0.102",),
    "qwen-code": ("@qwen-code/qwen-code@0.24.4", NODE),
}
_QUIETLY = ("--no-package-lock", "--no-save", "--no-audit", "--no-fund", "--loglevel=error")


def folder_of(packages: Path, agent: str) -> Path:
    """Return the folder that an agent is installed in."""
    return packages / agent


def version_of(agent: str) -> str:
    """Return the version of an agent that the session drives."""
    return PACKAGES[agent][0].rpartition("@")[2]


def is_installed(packages: Path, agent: str) -> bool:
    """Return whether all that an agent needs is there, in the wanted versions."""
    return all(_has(folder_of(packages, agent), each) for each in PACKAGES[agent])


def install(packages: Path, agent: str) -> str | None:
    """Install an agent; return what npm said if it failed."""
    if is_installed(packages, agent):
        return None
    folder = folder_of(packages, agent)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "package.json").write_text("{}\n")  # otherwise npm looks for one in the folders above
    command = ["npm", "install", *_QUIETLY, *PACKAGES[agent]]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "npm is missing: install it, on Debian with `apt-get install npm`"
    if done.returncode != 0:
        return done.stderr.strip() or done.stdout.strip()
    return None if is_installed(packages, agent) else "npm installed another version"


def _has(folder: Path, package: str) -> bool:
    name, _, version = package.rpartition("@")
    try:
        found = json.loads((folder / "node_modules" / name / "package.json").read_bytes())["version"]
    except (OSError, ValueError, KeyError):
        return False
    return found == version or found.startswith(f"{version}.")


def main() -> int:
    """Install the agents; name those that cannot be had."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("agents", nargs="*", default=list(PACKAGES))
    options = parser.parse_args()
    missing = 0
    for agent in options.agents:
        problem = install(options.folder, agent)
        missing += problem is not None
        print(
            f"{agent}: {version_of(agent) if problem is None else f'cannot be installed: {problem}'}",
            flush=True,
        )
    return int(missing > 0)


if __name__ == "__main__":
    sys.exit(main())
