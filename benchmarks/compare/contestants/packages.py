"""Getting contestants: into folders of their own, whatever they come as."""

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.compare.processes import Budget, run


def python_environment(folder: Path, budget: Budget, *packages: str) -> Path:
    """Make a virtual environment with these packages if it is missing; return its Python."""
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
    """Install a package from npm into a folder without its install scripts; return the folder of modules."""
    modules = folder / "node_modules"
    if not (modules / package / "package.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        options = ["--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder)]
        run(["npm", "install", *options, package], budget, cwd=folder)
    return modules


@dataclass(frozen=True, slots=True)
class Program:
    """A program that can be started."""

    path: str
    env: Mapping[str, str]  # where it finds what it needs


def system_program(folder: Path, budget: Budget, name: str, *packages: str) -> Program:
    """Have a program: the system's own, or unpacked from these packages of it into a folder; needs no root."""
    if shutil.which(name):
        return Program(name, {})
    program = folder / "usr" / "bin" / name
    if not program.exists():
        for state in ("lists/partial", "cache/archives/partial"):
            (folder / state).mkdir(parents=True, exist_ok=True)
        # Lists of its own: those of the system may be missing, and only root may fetch them.
        apt = ["apt-get", "-q", "-o", f"Dir::State::lists={folder}/lists", "-o", f"Dir::Cache={folder}/cache"]
        run([*apt, "update"], budget, cwd=folder)
        run([*apt, "download", *packages], budget, cwd=folder)
        for package in sorted(folder.glob("*.deb")):
            run(["dpkg", "-x", str(package), str(folder)], budget, cwd=folder)
        shutil.rmtree(folder / "lists")
    libraries = [str(path) for path in (folder / "usr" / "lib").glob("*-linux-gnu*")]
    modules = folder / "usr" / "lib" / "python3" / "dist-packages"
    return Program(str(program), {"LD_LIBRARY_PATH": ":".join(libraries), "PYTHONPATH": str(modules)})
