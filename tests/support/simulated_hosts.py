"""Machines that share a project, simulated on one: each has a home, settings and a project folder of its own."""

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from tests.commands.program import ask


class SimulatedHost(Struct, frozen=True):
    """One machine."""

    root: Path

    @property
    def folder(self) -> Path:
        """The project folder."""
        return self.root / "project"

    @property
    def environ(self) -> dict[str, str]:
        """What makes a process one of this machine."""
        return {
            "HOME": str(self.root),
            "XDG_CONFIG_HOME": str(self.root / "settings"),
            "MULLIGAN_HOME": str(self.root / "homes"),
        }

    @property
    def host(self) -> str:
        """Its id."""
        return (self.root / "settings" / "mulligan" / "host").read_text().split("\n")[0]

    def name(self, name: str) -> None:
        """Give it a name for people."""
        (self.root / "settings" / "mulligan" / "host").write_text(f"{self.host}\n{name}\n")

    def ask(self, *words: str) -> dict[str, Any]:
        """Run a command there, in this process; return its answer."""
        with self.entered():
            return ask(self.folder, *words)

    def data(self, *words: str) -> Any:
        """Run a command there that should succeed; return its data."""
        answer = self.ask(*words)
        assert answer["exit_code"] == 0, answer
        return answer["data"]

    def run(self, *words: str, **environ: str) -> "subprocess.CompletedProcess[str]":
        """Run a command there in a process of its own."""
        return subprocess.run(
            [sys.executable, "-m", "mulligan", *words],
            cwd=self.folder,
            env={**os.environ, **self.environ, **environ},
            capture_output=True,
            text=True,
            check=False,
        )

    def start(self, *words: str) -> "subprocess.Popen[bytes]":
        """Start a command there in a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "mulligan", *words],
            cwd=self.folder,
            env={**os.environ, **self.environ},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    @contextmanager
    def entered(self) -> Generator[None]:
        """Let this process be one of that machine."""
        before = {name: os.environ.get(name) for name in self.environ}
        os.environ.update(self.environ)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def simulated_host(root: Path) -> SimulatedHost:
    """Make a machine with an empty project folder."""
    host = SimulatedHost(root)
    host.folder.mkdir(parents=True)
    return host
