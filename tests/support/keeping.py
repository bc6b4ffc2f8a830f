"""Folders that are put back as they were, at the path where they stood: sandboxes are recorded by theirs."""

import shutil
import subprocess
from pathlib import Path

HOME = ".mulligan"


def keep(folder: Path, copy: Path) -> None:
    """Copy all that is in a folder, with modes and times."""
    shutil.rmtree(copy, ignore_errors=True)
    subprocess.run(["cp", "-a", str(folder), str(copy)], check=True)


def put_back(copy: Path, folder: Path) -> None:
    """Let a folder be what was kept; a project home stays the same folder, or its tools would not be trusted."""
    home = folder / HOME
    stays = home.is_dir() and (copy / HOME).is_dir()
    for path in [*folder.iterdir(), *(home.iterdir() if stays else ())]:
        if path == home and stays:
            continue
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    subprocess.run(["cp", "-a", f"{copy}/.", str(folder)], check=True)
