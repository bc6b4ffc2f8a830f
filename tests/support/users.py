"""The program as run by root or by an ordinary user, in processes of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.patience import PATIENCE

NOBODY = 65534
USERS = [
    pytest.param("root", marks=pytest.mark.skipif(os.getuid() != 0, reason="needs root")),
    "ordinary",
]
ROOT_ALONE = USERS[:1]


class User:
    """A user with a home folder in `place`, which every user can reach."""

    def __init__(self, name: str, place: Path) -> None:
        switched = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        self._place = place
        self.identity: dict[str, Any] = switched if name == "ordinary" and os.getuid() == 0 else {}
        self.home = place / "home"
        self.home.mkdir()
        self.environment = os.environ | {
            "HOME": str(self.home),
            "MULLIGAN_HOME": str(place / "homes"),
            "XDG_CONFIG_HOME": str(
                self.home / ".config"
            ),  # that of the tests may hold what root alone can read
            "TMPDIR": "/var/tmp",
            "GIT_CONFIG_GLOBAL": "",
            "PYTHONPATH": ":".join(filter(None, sys.path)),
        }
        self._python = self._interpreter()

    def _interpreter(self) -> str:
        """Find a Python that the user may run, with mulligan; the one of the tests may lie in a closed home folder."""
        for candidate in (sys.executable, "/usr/bin/python3"):
            try:
                if self.start(Path("/"), candidate, "-c", "import mulligan.cli.main").wait(60) == 0:
                    return candidate
            except OSError:
                continue
        pytest.skip("an ordinary user can run no Python with mulligan here")

    def owns(self, *paths: Path) -> None:
        """Give paths, with all that is in them, to the user."""
        for path in paths if self.identity else ():
            for each in (path, *path.rglob("*")):
                os.chown(each, NOBODY, NOBODY, follow_symlinks=False)

    def start(self, folder: Path, *argv: str, **more: Any) -> "subprocess.Popen[bytes]":
        """Start a program as the user."""
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": self.environment}
        return subprocess.Popen(argv, cwd=folder, **(quiet | self.identity | more))

    def start_mulligan(self, folder: Path, *words: str) -> "subprocess.Popen[bytes]":
        """Start a command."""
        return self.start(folder, self._python, "-m", "mulligan", *words)

    def ask(self, folder: Path, *words: str) -> dict[str, Any]:
        """Run a command and read its answer, whatever it is."""
        argv = [self._python, "-m", "mulligan", "--format", "json", *words]
        ended = subprocess.run(
            argv,
            cwd=folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
            **self.identity,
        )
        assert ended.stdout, ended.stderr
        return json.loads(ended.stdout)
