"""Where the home of a project is: the one place in the tests that knows."""

import json
import os
from pathlib import Path


def home_of(folder: Path) -> Path:
    """Return the home of the project in that folder: its database, store, sandboxes, locks and scratch folders.

    Of a folder without a home it is the place where earlier versions had theirs; the first command moves what is there.
    """
    try:
        return Path(json.loads((folder / ".mulligan" / "home.json").read_bytes())["home"])
    except FileNotFoundError:
        return folder / ".mulligan"


def homes_beside(folder: Path) -> Path:
    """Return the folder of homes that tests make beside a project folder to put both back as they were."""
    return folder.parent / "homes"


def homes_for(folder: Path) -> str:
    """Return the folder that holds the homes of projects there: the one beside it, or that of all tests."""
    beside = homes_beside(folder)
    return str(beside) if beside.is_dir() else os.environ["MULLIGAN_HOME"]
