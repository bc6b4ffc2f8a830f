"""A repository on a server, which is a folder here, with a project whose plans work on a branch of it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from msgspec import Struct

from tests.commands.program import ask, data_of
from tests.support.git_world import GIT_ENVIRONMENT, run_git
from tests.support.homes import home_of

GIT_CONFIG = GIT_ENVIRONMENT["GIT_CONFIG_GLOBAL"]


class RemoteWorld(Struct, frozen=True):
    """The server, somebody's clone of it, and the project."""

    root: Path

    @property
    def server(self) -> Path:
        return self.root / "server.git"

    @property
    def project(self) -> Path:
        return self.root / "project"

    def make(self) -> None:
        """Make a server with one branch, and a project."""
        self.make_server()
        self.project.mkdir()
        data_of(self.project, "init")

    def make_server(self) -> None:
        """Make a server with one branch."""
        self.server.mkdir(parents=True)
        run_git(self.server, "init", "-q", "--bare", "--initial-branch=main", ".")
        run_git(self.root, "clone", "-q", str(self.server), "other")
        (self.root / "other" / "sub").mkdir()
        self.push({"notes.txt": "one\ntwo\nthree\n", "sub/more.txt": "more\n"})

    def push(self, files: dict[str, str], *, branch: str = "main") -> str:
        """Let somebody else push a commit with these files; return it."""
        other = self.root / "other"
        if run_git(other, "ls-remote", "origin", f"refs/heads/{branch}"):
            run_git(other, "fetch", "-q", "origin")
            run_git(other, "checkout", "-q", "-B", branch, f"origin/{branch}")
        for name, text in files.items():
            (other / name).write_text(text)
        run_git(other, "add", ".")
        run_git(other, "commit", "-q", "-m", "of others")
        run_git(other, "push", "-q", "origin", f"HEAD:{branch}")
        return self.tip(branch)

    def tip(self, branch: str = "main") -> str:
        return run_git(self.server, "rev-parse", branch).strip()

    def text(self, name: str = "notes.txt", branch: str = "main") -> str:
        return run_git(self.server, "show", f"{branch}:{name}")

    def commits(self, branch: str = "main") -> list[str]:
        """Return the subjects of all commits, the newest first."""
        return run_git(self.server, "log", "--format=%s", branch).splitlines()

    def resource(self, ref: str = "main") -> dict[str, str]:
        return {"type": "git-remote", "url": str(self.server), "ref": ref}

    def plan(self, *commands: str, **resources: dict[str, str]) -> None:
        """Write a plan file."""
        steps: list[dict[str, Any]] = [{"run": command} for command in commands]
        self.write(steps, **resources)

    def write(self, steps: list[dict[str, Any]], **resources: dict[str, str]) -> None:
        document = {"name": "edit", "resources": resources or {"site": self.resource()}, "steps": steps}
        (self.project / "plan.yaml").write_text(json.dumps(document))

    def executed(self, *commands: str, **resources: dict[str, str]) -> Path:
        """Run a plan with these commands to its end; return its first sandbox."""
        self.plan(*commands, **resources)
        assert data_of(self.project, "plan", "execute", "plan.yaml")["state"] == "complete"
        return self.sandbox()

    def sandbox(self) -> Path:
        return Path(self.data("status", "edit")["sandboxes"][0]["path"])

    def clones(self) -> list[Path]:
        """Return the folders of clones."""
        return [each for each in (home_of(self.project) / "remotes").iterdir() if each.is_dir()]

    def ask(self, *words: str) -> dict[str, Any]:
        return ask(self.project, *words)

    def data(self, *words: str) -> Any:
        return data_of(self.project, *words)

    def run(self, *words: str, **environ: str) -> "subprocess.CompletedProcess[str]":
        """Run a command in a process of its own."""
        return subprocess.run(
            [sys.executable, "-m", "mulligan", *words],
            cwd=self.project,
            env={**os.environ, **environ},
            capture_output=True,
            text=True,
            check=False,
        )

    def hook(self, name: str, text: str) -> None:
        """Let the server run a script at each push."""
        place = self.server / "hooks" / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"#!/bin/sh\n{text}\n")
        place.chmod(0o755)
