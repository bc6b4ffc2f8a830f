"""A full disk in the middle of a command: all is as before, and the command works once there is room.

Each command is run once to see how much room it takes, and then with none, some and nearly all of that.
"""

import os
import shutil
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from mulligan.adapters.plan_locks import FilePlanLocks
from mulligan.domain.text.ids import PlanId
from mulligan.errors import SystemFailed
from mulligan.wiring.system_clock import SystemClock
from tests.commands.program import answer_of, ask, data_of, start
from tests.support.homes import home_of
from tests.support.small_disk import PAGE, SmallDisk, small_disk
from tests.support.snapshot_world import picture

MIB = 1 << 20
ONE_STEP = "name: one\nsteps:\n  - {name: write, tool: write_file, args: {path: new, content: x}}\n"
LOSING = "name: losing\nsteps:\n  - {name: lose, tool: shell, args: {command: 'rm -r many; echo > few'}}\n"
TWO_RESOURCES = """\
name: two
resources:
  left: {type: fs-directory, location: left}
  right: {type: fs-directory, location: right}
steps:
  - {name: write, tool: write_file, args: {path: new, content: x}}
"""


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[SmallDisk]:
    with small_disk(tmp_path / "disk", 8 * MIB) as made:
        monkeypatch.setenv("MULLIGAN_HOME", str(made.path / "homes"))
        yield made


def _remove(project: Path) -> None:
    """Remove a project with its home."""
    shutil.rmtree(home_of(project))
    shutil.rmtree(project)


def _files(folder: Path, count: int = 20) -> None:
    folder.mkdir(parents=True)
    for number in range(count):
        (folder / str(number)).write_bytes(os.urandom(10_000))


def _project(disk: SmallDisk, plan: str, *folders: str) -> Path:
    """A folder on the disk with some files and a plan file."""
    project = disk.path / f"project{len(os.listdir(disk.path))}"
    for folder in folders:
        _files(project / folder)
    (project / "plan.yaml").write_text(plan)
    return project


def _run(folder: Path, *words: str) -> dict[str, Any]:
    """Run a command that the disk may be too small for, in a process of its own."""
    return answer_of(start(folder, *words))


def _fails_for_want_of_room(answer: dict[str, Any], disk: SmallDisk) -> str:
    """Check that an answer says what happened, where on the disk, and what to do; gives the kind of error."""
    error = answer["error"]
    assert answer["exit_code"] == 1, answer
    assert "No space left" in error["message"] or "is full" in error["message"], error
    assert str(disk.path) in error["message"], error
    assert error["hint"], error
    return error["kind"]


def _needed(disk: SmallDisk, work: Callable[[], object]) -> int:
    """How much room some work takes for good; while it goes on it takes more."""
    before = disk.free
    work()
    return (before - disk.free) // PAGE * PAGE


def _too_little(needed: int) -> list[int]:
    """Amounts of room, from none to nearly enough."""
    assert needed > 40 * PAGE
    return [*range(0, needed - PAGE, needed // 5), needed - PAGE]


def _all_can_be_restored(folder: Path) -> None:
    assert data_of(folder, "checkpoint", "verify")["damaged"] == []


def test_the_first_capture_and_the_making_of_sandboxes(disk: SmallDisk) -> None:
    trial = _project(disk, ONE_STEP, "many")
    needed = _needed(disk, lambda: data_of(trial, "plan", "execute", "plan.yaml"))
    kinds: set[str] = set()
    for room in _too_little(needed):
        project = _project(disk, ONE_STEP, "many")
        real = picture(project / "many")
        disk.leave(room)
        kinds.add(_fails_for_want_of_room(_run(project, "plan", "execute", "plan.yaml"), disk))
        disk.make_room()
        assert picture(project / "many") == real
        listed = ask(project, "plan", "list")["data"]  # without room for a home there is no project
        for plan in listed["plans"] if listed else ():  # what was recorded of it can be run on
            assert plan["steps_done"] == 0
            assert data_of(project, "plan", "execute", plan["plan_id"])["state"] == "complete"
        done = data_of(project, "plan", "execute", "plan.yaml")
        assert picture(Path(done["sandboxes"][0]["path"]) / "many") == real
        _all_can_be_restored(project)
        _remove(project)
    assert kinds >= {"database_unusable", "system_failed", "restore_failed"}


def test_a_checkpoint(disk: SmallDisk) -> None:
    project, sandbox, create = _at_hand(disk)
    _files(sandbox / "0")
    needed = _needed(disk, lambda: data_of(project, *create, "0"))
    messages: list[str] = []
    for number, room in enumerate(_too_little(needed), 1):
        _files(sandbox / str(number))
        before = _seen(project, sandbox)
        disk.leave(room)
        answer = _run(project, *create, str(number))
        _fails_for_want_of_room(answer, disk)
        messages.append(answer["error"]["message"])
        disk.make_room()
        assert _seen(project, sandbox) == before
        data_of(project, *create, str(number))
        _all_can_be_restored(project)
    assert any("could not be taken" in message and "/store" in message for message in messages)


def test_the_commit_of_a_checkpoint(disk: SmallDisk) -> None:
    """There is room for its bytes, but not for its rows."""
    project, sandbox, create = _at_hand(disk)
    _files(sandbox / "0", 1)
    room = _needed(disk, lambda: data_of(project, *create, "0"))
    _files(sandbox / "1", 1)
    before = _seen(project, sandbox)
    messages: list[str] = []
    while True:
        disk.leave(room)
        answer = _run(project, *create, "1")
        disk.make_room()
        if answer["exit_code"] == 0:
            break
        _fails_for_want_of_room(answer, disk)
        messages.append(answer["error"]["message"])
        assert _seen(project, sandbox) == before
        room += 3 * PAGE
    assert any("could not be taken" in message and "mulligan.db" in message for message in messages)
    assert data_of(project, "checkpoint", "show", "1")["label"] == "1"
    _all_can_be_restored(project)


def test_the_restore_of_a_rollback(disk: SmallDisk) -> None:
    trial = _lost(disk)
    needed = _needed(disk, lambda: _roll_back(trial))
    kinds: set[str] = set()
    for room in _too_little(needed):
        project = _lost(disk)
        sandbox = Path(data_of(project, "plan", "status")["sandboxes"][0]["path"])
        files, status, checkpoints = _seen(project, sandbox)
        disk.leave(room)
        kinds.add(
            _fails_for_want_of_room(_run(project, "plan", "rollback", "--yes", "losing", "first"), disk)
        )
        disk.make_room()
        files_after, status_after, checkpoints_after = _seen(project, sandbox)
        assert files_after == files
        for field in ("phase", "state", "steps"):
            assert status_after[field] == status[field]
        assert checkpoints_after[: len(checkpoints)] == checkpoints
        # What the rollback would have replaced may have been kept already.
        assert {c["checkpoint_type"] for c in checkpoints_after[len(checkpoints) :]} <= {"pre_rollback"}
        _roll_back(project)
        assert picture(sandbox / "many") == picture(project / "many")
        _all_can_be_restored(project)
        _remove(project)
    assert kinds >= {"database_unusable", "restore_failed"}


def test_a_prune_is_done_or_not_whatever_becomes_of_its_bytes(disk: SmallDisk) -> None:
    """Rows go first; bytes that cannot be freed for want of room are freed by the next sweep."""
    command = "head -c 60000 /dev/urandom > data; head -c 20000 data > NAME"
    step = f"  - {{name: NAME, tool: shell, args: {{command: '{command}'}}}}"
    steps = [step.replace("NAME", f"s{number}") for number in range(6)]
    project = _project(disk, "\n".join(["name: growing", "steps:", *steps]), "many")
    data_of(project, "plan", "execute", "plan.yaml")
    kept = disk.path / "kept"
    outcomes: set[tuple[int, bool]] = set()
    shutil.copytree(home_of(project), kept)
    for room in range(0, 80 * PAGE, 8 * PAGE):
        before = _groups(project)
        disk.leave(room)
        answer = _run(project, "checkpoint", "prune", "growing", "--keep", "2")
        disk.make_room()
        if answer["exit_code"]:
            _fails_for_want_of_room(answer, disk)
            assert _groups(project) == before
        else:
            assert len(_groups(project)) == 2
        outcomes.add((answer["exit_code"], bool((answer["data"] or {}).get("bytes_freed"))))
        data_of(project, "gc")
        assert data_of(project, "gc")["bytes_freed"] == 0
        _all_can_be_restored(project)
        shutil.rmtree(home_of(project))
        shutil.copytree(kept, home_of(project))
    assert outcomes == {(1, False), (0, False), (0, True)}


def test_a_checkpoint_restored_into_a_new_folder(disk: SmallDisk) -> None:
    project = _project(disk, TWO_RESOURCES, "left", "right")
    data_of(project, "plan", "execute", "plan.yaml")
    target = disk.path / "target"
    restore = ("checkpoint", "restore", "first", "--to", str(target))
    needed = _needed(disk, lambda: data_of(project, *restore))
    shutil.rmtree(target)
    for room in _too_little(needed):
        disk.leave(room)
        answer = _run(project, *restore)
        _fails_for_want_of_room(answer, disk)
        disk.make_room()
        assert not target.exists()
        data_of(project, *restore)
        for name in ("left", "right"):
            assert picture(target / name) == picture(project / name)
        shutil.rmtree(target)


def test_a_checkpoint_restored_into_a_folder_on_another_disk(
    disk: SmallDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MULLIGAN_HOME", str(tmp_path / "homes"))
    project = tmp_path / "project"
    _files(project / "many")
    (project / "many").chmod(0o500)
    (project / "plan.yaml").write_text(ONE_STEP)
    checkpoint = data_of(project, "plan", "execute", "plan.yaml")["last_checkpoint_id"]
    target = disk.path / "target"
    restore = ("checkpoint", "restore", checkpoint, "--to", str(target))
    for room in (0, 10 * PAGE, 30 * PAGE):
        disk.leave(room)
        answer = _run(project, *restore)
        _fails_for_want_of_room(answer, disk)
        assert "nothing was left" in answer["error"]["hint"]
        assert not target.exists()
    disk.make_room()
    data_of(project, *restore)
    assert picture(target / "many") == picture(project / "many")


def test_a_lock_that_cannot_be_written_names_its_file(disk: SmallDisk) -> None:
    locks = FilePlanLocks(folder=disk.path / "locks", clock=SystemClock(), stop=None)
    disk.leave(0)
    with pytest.raises(SystemFailed, match="No space left") as failed, locks.hold(PlanId("P")):
        pass  # pragma: no cover - the lock is refused
    assert failed.value.facts["path"] == str(disk.path / "locks" / "P.lock")
    disk.make_room()
    with locks.hold(PlanId("P")):
        assert locks.holder(PlanId("P")) is not None


def _at_hand(disk: SmallDisk) -> tuple[Path, Path, tuple[str, ...]]:
    """A project, the sandbox of its plan, and the command that takes a checkpoint, but for the label."""
    project = _project(disk, ONE_STEP, "many")
    done = data_of(project, "plan", "execute", "plan.yaml")
    return project, Path(done["sandboxes"][0]["path"]), ("checkpoint", "create", done["plan_id"], "--label")


def _groups(project: Path) -> list[str]:
    return [c["group_id"] for c in data_of(project, "checkpoint", "list", "--all")["checkpoints"]]


def _lost(disk: SmallDisk) -> Path:
    """A project whose plan lost most of its files."""
    project = _project(disk, LOSING, "many")
    data_of(project, "plan", "execute", "plan.yaml")
    return project


def _roll_back(project: Path) -> None:
    data_of(project, "plan", "rollback", "--yes", "losing", "first")


def _seen(project: Path, sandbox: Path) -> tuple[object, dict[str, Any], list[dict[str, Any]]]:
    """All that a user can see of a plan."""
    status = data_of(project, "plan", "status")
    return picture(sandbox), status, data_of(project, "checkpoint", "list", "--all")["checkpoints"]
