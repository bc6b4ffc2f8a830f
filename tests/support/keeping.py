"""Project folders that are put back as they were, with all homes beside them, at the paths where they stood."""

import shutil
import subprocess
from pathlib import Path

from tests.support.homes import homes_beside


def keep(folder: Path, copy: Path) -> None:
    """Copy all that is in a project folder and in the folder of homes beside it, with modes and times."""
    for source, target in ((folder, copy), (homes_beside(folder), _of_homes(copy))):
        shutil.rmtree(target, ignore_errors=True)
        if source.is_dir():
            subprocess.run(["cp", "-a", str(source), str(target)], check=True)


def put_back(copy: Path, folder: Path) -> None:
    """Let a project folder, and the homes beside it, be what was kept.

    The folder, and each home, stays the same folder: else it would be taken for a copy, or its tools not be trusted.
    A home that was not there yet is put aside for the same reason, until a later state has it again.
    """
    _fill(folder, copy)
    homes, kept = homes_beside(folder), _of_homes(copy)
    if not kept.is_dir():
        shutil.rmtree(homes, ignore_errors=True)
        return
    aside = homes.with_name("homes put aside")
    aside.mkdir(exist_ok=True)
    for path in list(homes.iterdir()):
        if not path.is_dir() or path.is_symlink():
            path.unlink()
        elif (aside / path.name).exists():  # it was made again under that name
            shutil.rmtree(path)
        else:
            path.rename(aside / path.name)
    for path in kept.iterdir():
        if (aside / path.name).is_dir():
            _fill((aside / path.name).rename(homes / path.name), path)
    subprocess.run(["cp", "-a", f"{kept}/.", str(homes)], check=True)


def _of_homes(copy: Path) -> Path:
    return copy.with_name(f"{copy.name} homes")


def _fill(folder: Path, copy: Path) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    subprocess.run(["cp", "-a", f"{copy}/.", str(folder)], check=True)
