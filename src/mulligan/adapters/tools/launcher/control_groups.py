"""Control groups: where the system lets one be made, no process of a step can leave it, whatever it wipes.

The launcher's guardian makes one and enters it; all that it starts is born in it. Root can make them, and users
whose session is delegated to them. The guardian loads this module too: the standard library only.
"""

import os

_PREFIX = "mulligan-"


def enter(plan_id: str) -> None:
    """Make a group for this process and all that it starts; nothing happens where none can be made."""
    own = _own()
    if own is None:
        return
    folder = os.path.join(own, _name(plan_id, os.getpid()))
    try:
        os.mkdir(folder)
        _join(folder)
    except OSError:
        return  # no right to, or no room: processes are found by other means as well


def leave(plan_id: str) -> None:
    """Leave the group that this process has made, and remove it."""
    own = _own()
    if own is None or os.path.basename(own) != _name(plan_id, os.getpid()):
        return
    try:
        _join(os.path.dirname(own))
    except OSError:
        return  # an empty group stays until the plan is claimed
    _remove(own)


def discard(plan_id: str, guardian: int) -> None:
    """Remove the empty group of a guardian that this process started, if it had made one.

    The guardian could, but leaving a group takes longer than all the rest of its end.
    """
    own = _own()
    if own is not None:
        _remove(os.path.join(own, _name(plan_id, guardian)))


def members(plan_id: str) -> list[int]:
    """Return the processes in all groups of a plan; groups that are empty are removed."""
    found: list[int] = []
    top, wanted = _mounted_at(), _group_of(plan_id)
    inside = [(folder, name) for folder, names, _ in os.walk(top) for name in names] if top else []
    for group in [os.path.join(folder, name) for folder, name in inside if name.startswith(wanted)]:
        for inner, _, _ in os.walk(group, topdown=False):
            processes = _processes_in(inner)
            if not processes:
                _remove(inner)
            found += processes
    return found


def _join(folder: str) -> None:
    with open(os.path.join(folder, "cgroup.procs"), "w") as members:
        members.write("0")


def _name(plan_id: str, guardian: int) -> str:
    return f"{_group_of(plan_id)}{guardian}"


def _group_of(plan_id: str) -> str:
    return f"{_PREFIX}{plan_id.replace('/', '-')}-"


def _remove(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError:
        return  # there is none, or a process in it ends later: the next claim of the plan removes it


def _processes_in(folder: str) -> list[int]:
    try:
        with open(os.path.join(folder, "cgroup.procs")) as listed:
            return [int(pid) for pid in listed.read().split()]
    except OSError:
        return []


def _own() -> str | None:
    top = _mounted_at()
    try:
        with open("/proc/self/cgroup") as groups:
            lines = groups.read().splitlines()
    except OSError:
        return None
    paths = [line.removeprefix("0::/") for line in lines if line.startswith("0::/")]
    return os.path.join(top, paths[0]) if top and paths else None


def _mounted_at() -> str | None:
    try:
        with open("/proc/self/mounts") as mounts:
            fields = [line.split() for line in mounts]
    except OSError:
        return None
    return next((each[1] for each in fields if each[2] == "cgroup2"), None)
