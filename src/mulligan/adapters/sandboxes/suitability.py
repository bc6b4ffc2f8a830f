"""Folders that no plan may work on, regardless of their content."""

from pathlib import Path


def unsuitable_place(location: Path, *, user_home: Path, project_home: Path) -> str:
    """Return why a plan cannot work on this folder; empty when it can."""
    if not location.exists():
        return "it does not exist"
    if not location.is_dir():
        return "it is not a folder"
    real, user, project = location.resolve(), user_home.resolve(), project_home.resolve()
    if real == Path(real.anchor):
        return "it is the root of the whole filesystem"
    if user.is_relative_to(real):
        return "it is a home folder, or holds one"
    if real.is_relative_to(project):
        return "it is inside the project home"
    if not real.is_relative_to(project.parent):
        return f"it leads out of the project, to {real}"
    return ""
