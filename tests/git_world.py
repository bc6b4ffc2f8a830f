"""What tests of git checkouts share: git with a user of its own, and pictures of repositories."""

import os
import subprocess
from pathlib import Path

# A user's git: whoever runs the tests, and whatever their own configuration says.
GIT_ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_GLOBAL": os.fspath(Path(__file__).with_name("gitconfig")),
    "GIT_CONFIG_NOSYSTEM": "1",
}


def run_git(folder: Path, *arguments: str, check: bool = True, **environment: str) -> str:
    """What git prints, run as a user does."""
    ended = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env={**GIT_ENVIRONMENT, **environment},
        capture_output=True,
        text=True,
        errors="surrogateescape",
        check=False,
    )
    assert not check or ended.returncode == 0, f"git {arguments} in {folder}: {ended.stderr}{ended.stdout}"
    return ended.stdout
