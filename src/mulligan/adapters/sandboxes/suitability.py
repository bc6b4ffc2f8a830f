"""Folders that no plan may work on, regardless of their content, and folders that are git checkouts."""

from pathlib import Path

from mulligan.domain.resources.placement import PROJECT_HOME

# The system's own, with all that is in them, except below the second.
_SYSTEM = {
    **dict.fromkeys(
        ("/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/sbin", "/sys"), ()
    ),
    "/dev": ("/dev/shm",),  # noqa: S108  a place for files in memory, where people may work
    "/run": ("/run/user",),
    "/usr": ("/usr/src", "/usr/local/src"),
}
# Folders that hold what belongs to many programs and users: not they themselves, but what is in them.
_SHARED = frozenset({
    "/home", "/opt", "/root", "/var", "/var/backups", "/var/cache", "/var/lib", "/var/local", "/var/log", "/var/mail",
    "/var/opt", "/var/spool", "/var/tmp",  # noqa: S108  named, not used
})  # fmt: skip


def unsuitable_place(location: Path, *, user_home: Path, project: Path, project_home: Path) -> str:
    """Return why a plan cannot work on this folder; empty when it can."""
    if not location.exists():
        return "it does not exist"
    if not location.is_dir():
        return "it is not a folder"
    real, home, folder = location.resolve(), project_home.resolve(), project.resolve()
    if reason := reserved_place(real, user_home):
        return reason
    if real.is_relative_to(home) or real.is_relative_to(folder / PROJECT_HOME):
        return "it is inside the project home"
    if not real.is_relative_to(folder):
        return f"it leads out of the project, to {real}"
    return ""


def reserved_place(folder: Path, user_home: Path) -> str:
    """Return why a folder, without symlinks in its path, can be neither a resource nor a new project; empty: it can."""
    if folder == Path(folder.anchor):
        return "it is the root of the whole filesystem"
    if user_home.resolve().is_relative_to(folder):
        return "it is a home folder, or holds one"
    return "it is a folder of the system" if is_system_folder(folder) else ""


def is_system_folder(folder: Path) -> bool:
    """Return whether a folder, without symlinks in its path, belongs to the system or to many programs at once."""
    if str(folder) in _SHARED:
        return True
    for system, exceptions in _SYSTEM.items():
        if folder.is_relative_to(system):
            return not any(folder != Path(each) and folder.is_relative_to(each) for each in exceptions)
    return False


def has_marker(folder: Path, name: str) -> bool:
    """Return whether a folder holds a name that says what it is, such as `.git`; an empty folder says nothing."""
    marker = folder / name
    try:
        return marker.exists() and not (marker.is_dir() and not any(marker.iterdir()))
    except PermissionError:
        return True
