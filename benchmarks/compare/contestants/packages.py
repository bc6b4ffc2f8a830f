"""Getting contestants: into folders of their own, or from the system's packages where that was asked for."""

import os
import shutil
import sys
from pathlib import Path

from benchmarks.compare.processes import Budget, CommandFailed, run, surroundings


def python_environment(folder: Path, budget: Budget, *packages: str) -> Path:
    """Make a virtual environment with these packages, unless it is there; gives its Python."""
    python = folder / "bin" / "python"
    if not python.exists():
        run([sys.executable, "-m", "venv", str(folder)], budget)
        run([str(python), "-m", "pip", "install", "--quiet", *packages], budget)
    return python


def version_of(python: Path, package: str, budget: Budget) -> str:
    """The version of a package in a virtual environment."""
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    return run([str(python), "-c", code], budget).output.strip()


def node_package(folder: Path, budget: Budget, package: str) -> Path:
    """Install a package from npm into a folder, its install scripts left out; gives the folder of modules."""
    modules = folder / "node_modules"
    if not (modules / package / "package.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        options = ["--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder)]
        run(["npm", "install", *options, package], budget, cwd=folder)
    return modules


def system_program(program: str, package: str, budget: Budget, *, install: bool) -> None:
    """Have a program of the system; only root, and only when asked, installs it."""
    if shutil.which(program):
        return
    command = ["apt-get", "install", "--yes", "--no-install-recommends", package]
    if not install:
        raise CommandFailed(" ".join(command), f"{program} is not installed: run as root with --install")
    if os.geteuid() != 0:
        raise CommandFailed(" ".join(command), "only root may install packages of the system")
    run(command, budget, env={**surroundings(), "DEBIAN_FRONTEND": "noninteractive"})
