"""`mulligan gc` through the program: what it frees, what it leaves, and what stops it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mulligan.adapters.sandboxes import removal
from mulligan.application.checkpoints import project_sweep as sweep_service
from tests.commands.program import STEP_BYTES, answer_of, ask, data_of, project_with_plan, start, store_size
from tests.support.homes import home_of
from tests.support.patience import PATIENCE


def _forget_level(folder: Path) -> None:
    """Let the next plan that prunes take the store for just swept, so that garbage stays for us to find."""
    (home_of(folder) / "store" / "level").write_text(str(10**12))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with four checkpoints that are needed and the bytes of some that were pruned."""
    data_of(tmp_path, "init")
    (home_of(tmp_path) / "store").mkdir()
    _forget_level(tmp_path)
    project_with_plan(tmp_path, steps=8, limit=4)
    return tmp_path


def test_the_bytes_of_pruned_checkpoints_are_freed(project: Path) -> None:
    before = store_size(project)
    told = data_of(project, "gc", "--dry-run")
    assert told["dry_run"] is True
    assert store_size(project) == before
    done = data_of(project, "gc")
    assert {**told, "dry_run": False} == done
    assert done["bytes_freed"] == before - store_size(project) > 4 * STEP_BYTES
    assert done["objects_removed"] >= 5
    assert done["bytes_kept"] == store_size(project)
    assert data_of(project, "checkpoint", "verify")["damaged"] == []
    assert data_of(project, "gc")["bytes_freed"] == 0


def test_people_are_told_in_words(project: Path) -> None:
    command = [sys.executable, "-m", "mulligan", "gc"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=True)
    assert "bytes freed" in done.stdout
    assert "packs removed" in done.stdout
    helped = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True)
    assert "mulligan gc --dry-run" in helped.stdout
    assert "Exit codes" in helped.stdout


def test_what_a_plan_can_still_go_back_to_stays(project: Path) -> None:
    data_of(project, "plan", "rollback", "--yes", "growing", "first")
    data_of(project, "gc")
    entries = data_of(project, "checkpoint", "list", "--all")["checkpoints"]
    assert any(entry["superseded"] for entry in entries)
    for number, entry in enumerate(entries):
        data_of(
            project, "checkpoint", "restore", entry["checkpoint_id"], "--to", f"../{project.name} {number}"
        )
    data_of(project, "plan", "execute", "growing")


def test_bytes_are_freed_at_the_end_of_a_run_that_pruned(tmp_path: Path) -> None:
    project_with_plan(tmp_path, steps=12, limit=4)
    assert store_size(tmp_path) < (12 + 5) * 1.2 * STEP_BYTES  # the plan file is in the folder too
    assert data_of(tmp_path, "gc")["bytes_freed"] == 0


def test_bytes_are_freed_while_a_long_plan_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_service, "_WHILE_RUNNING", (1.5, 1000))
    monkeypatch.setattr(sweep_service, "_AFTER_WORK", (1000.0, 1 << 40))
    project_with_plan(tmp_path, steps=12, limit=4)
    assert store_size(tmp_path) < (12 + 12) * STEP_BYTES
    assert data_of(tmp_path, "checkpoint", "verify")["damaged"] == []


def test_a_run_that_pruned_nothing_does_not_sweep(tmp_path: Path) -> None:
    project_with_plan(tmp_path, steps=12, limit=50)
    assert not (home_of(tmp_path) / "store" / "level").exists()


def test_leftovers_of_killed_processes_go(project: Path) -> None:
    home = home_of(project)
    (plan_id,) = (path.name for path in (home / "sandboxes").iterdir())
    orphan = home / "sandboxes" / plan_id / "half-made"
    (orphan / "deep").mkdir(parents=True)
    (orphan / "deep" / "file").write_bytes(b"x" * 1000)
    (orphan / "deep").chmod(0)
    room = home / "store" / "rooms" / "abandoned"
    room.mkdir(parents=True)
    (room / "pack").write_bytes(b"x" * 500)
    caches = home / "store" / "caches"
    caches.mkdir(exist_ok=True)
    (caches / "of a tree that is gone").write_bytes(b"x" * 50)
    done = data_of(project, "gc")
    assert done["sandboxes_removed"] == [str(orphan)]
    assert (done["work_folders_removed"], done["stat_caches_removed"]) == (1, 1)
    assert sorted(path.name for path in (home / "sandboxes" / plan_id).iterdir()) == ["workspace"]
    assert not room.exists()
    assert not list(caches.glob("of a tree*"))


def test_folders_of_strangers_and_of_plans_at_work_are_left_alone(tmp_path: Path) -> None:
    plan = "name: slow\nsteps:\n  - {name: wait, tool: shell, args: {command: 'touch started; sleep 30'}}\n"
    (tmp_path / "slow.yaml").write_text(plan)
    running = start(tmp_path, "plan", "execute", "slow.yaml")
    while not list(home_of(tmp_path).glob("sandboxes/*/workspace/started")):
        assert running.poll() is None
    sandboxes = home_of(tmp_path) / "sandboxes"
    (own,) = sandboxes.iterdir()
    (own / "about to be recorded").mkdir()
    (sandboxes / "no plan of ours").mkdir()
    try:
        assert data_of(tmp_path, "gc")["sandboxes_removed"] == []
        assert (own / "about to be recorded").is_dir()
        assert (sandboxes / "no plan of ours").is_dir()
    finally:
        running.terminate()
    assert answer_of(running)["exit_code"] == 130
    assert data_of(tmp_path, "gc")["sandboxes_removed"] == [str(own / "about to be recorded")]


LONG_COMMAND = "while [ ! -e ../go ]; do sleep 0.02; done #" + "x" * 110_000


def _killed_with_a_long_command(folder: Path) -> Path:
    """Kill a run whose command was too long for an argument; gives the file that was handed to it."""
    (folder / "long.yaml").write_text(
        f"name: long\nsteps:\n  - {{name: wait, tool: shell, args: {{command: '{LONG_COMMAND}'}}}}\n"
    )
    running = start(folder, "plan", "execute", "long.yaml")
    (file,) = _handed_over(folder, 1, running)
    running.kill()
    running.communicate(timeout=PATIENCE)
    return file


def _handed_over(folder: Path, count: int, running: "subprocess.Popen[str]") -> list[Path]:
    """Wait until so many long commands stand in files."""
    while True:
        files = list((home_of(folder) / "scratch").glob("*/*/command.sh"))
        if [file.stat().st_size for file in files] == [len(LONG_COMMAND)] * count:
            return files
        assert running.poll() is None


def test_files_handed_to_tools_of_killed_processes_go(tmp_path: Path) -> None:
    left = _killed_with_a_long_command(tmp_path)
    folders = list(
        left.parents[1].iterdir()
    )  # the call's, and where the plan had one that for temporary files
    told = data_of(tmp_path, "gc", "--dry-run")
    assert left.stat().st_size == len(LONG_COMMAND)
    done = data_of(tmp_path, "gc")
    assert {**told, "dry_run": False} == done
    assert done["scratch_folders_removed"] == len(folders)
    assert done["bytes_freed"] == len(LONG_COMMAND)
    assert list((home_of(tmp_path) / "scratch").iterdir()) == []
    assert data_of(tmp_path, "gc")["scratch_folders_removed"] == 0


def test_files_handed_to_tools_that_run_stay(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    left = _killed_with_a_long_command(folder)
    running = start(folder, "plan", "execute", "long")
    files = _handed_over(folder, 2, running)
    assert data_of(folder, "gc")["scratch_folders_removed"] == 0
    assert all(file.stat().st_size == len(LONG_COMMAND) for file in files)
    (tmp_path / "go").touch()
    assert answer_of(running)["exit_code"] == 0
    assert not left.exists()  # it went when the work on its plan was done
    assert data_of(folder, "gc")["scratch_folders_removed"] == 0


def test_gc_goes_on_while_plans_run(tmp_path: Path) -> None:
    data_of(tmp_path, "init")
    lines = ["name: NAME", "config: {max_checkpoints_per_plan: 3}", "steps:"]
    command = "head -c 9000 /dev/urandom > data"
    lines += [f"  - {{name: s{n}, tool: shell, args: {{command: {command!r}}}}}" for n in range(12)]
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text("\n".join(lines).replace("NAME", name))
    running = [start(tmp_path, "plan", "execute", f"{name}.yaml") for name in ("a", "b")]
    removed = 0
    while any(process.poll() is None for process in running):
        removed += data_of(tmp_path, "gc")["objects_removed"]
    assert [answer_of(process)["exit_code"] for process in running] == [0, 0]
    assert removed > 0
    assert data_of(tmp_path, "checkpoint", "verify")["damaged"] == []


def test_another_database_is_refused(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    project_with_plan(other, steps=1, limit=4)
    before = store_size(project)
    answer = ask(project, "-c", f"core.database.url=sqlite:///{home_of(other) / 'mulligan.db'}", "gc")
    assert (answer["exit_code"], answer["error"]["kind"]) == (3, "database_foreign")
    assert "core.database.url" in answer["error"]["hint"]
    assert store_size(project) == before


def test_a_damaged_checkpoint_stops_it(project: Path) -> None:
    packs = home_of(project) / "store" / "packs"
    for pack in packs.iterdir():
        pack.write_bytes(b"")
    kept = sorted(packs.iterdir())
    answer = ask(project, "gc")
    assert (answer["exit_code"], answer["error"]["kind"]) == (1, "snapshot_damaged")
    assert sorted(packs.iterdir()) == kept


def test_packs_that_nobody_can_read_are_told(project: Path) -> None:
    (home_of(project) / "store" / "packs" / "odd.pack").write_bytes(b"")
    answer = ask(project, "gc")
    assert (answer["status"], answer["data"]["packs_unreadable"]) == ("warn", 1)
    assert "cannot be read" in answer["messages"][0]


def test_what_stops_the_sweep_after_a_run_is_told_and_does_not_stop_the_plan(project: Path) -> None:
    (home_of(project) / "locks" / "01K00000000000000000000000.lock").touch()
    (home_of(project) / "store" / "level").unlink()
    data_of(project, "plan", "rollback", "--yes", "growing", "first")
    assert data_of(project, "plan", "execute", "growing")["state"] == "complete"
    told = [
        event["data"].get("message", "") for event in data_of(project, "plan", "log", "growing")["events"]
    ]
    assert any("are not freed yet" in text for text in told)


def test_a_project_without_plans_has_nothing_to_free(tmp_path: Path) -> None:
    data_of(tmp_path, "init")
    assert data_of(tmp_path, "gc")["bytes_freed"] == 0
    shutil.rmtree(home_of(tmp_path))
    assert ask(tmp_path, "gc")["exit_code"] == 3


@pytest.mark.parametrize("command", ["gc", "doctor"])
def test_what_a_killed_remover_left_of_a_large_sandbox_is_shown_and_removed(
    project: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """The cancelled plan's sandbox is gone at once; its files are those of a process that may be killed."""
    monkeypatch.setattr(removal, "_AT_ONCE", 0)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    sandbox = Path(data_of(project, "plan", "status")["sandboxes"][0]["path"])
    data_of(project, "config", "set", "sandbox.pool", "0")
    data_of(project, "config", "set", "sandbox.cleanup", "on_terminal")
    data_of(project, "plan", "cancel", "latest")
    assert not sandbox.exists()
    trash = [path for path in (home_of(project) / "sandboxes").iterdir() if path.name.startswith(".removed-")]
    assert trash
    if command == "gc":
        would = data_of(project, "gc", "--dry-run")
        assert {str(path) for path in trash} <= set(would["sandboxes_removed"])
        assert data_of(project, "gc")["bytes_freed"] >= would["bytes_freed"] > 0
    else:
        found = data_of(project, "doctor")
        assert any(str(trash[0]) in each["what"] for each in found["findings"])
    assert not [path for path in trash if path.exists()]
