"""A file that is written under another name than the one in the sandbox is in the next checkpoint as it is."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from mulligan.adapters.tools.launcher import landlock
from tests.commands.program import ask, data_of
from tests.support.confined import written_by_coverage


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the disk of /var/tmp, where tools may write and a link can lead."""
    with TemporaryDirectory(dir="/var/tmp") as name:
        monkeypatch.setenv("MULLIGAN_HOME", f"{name}/homes")
        yield Path(name)


@pytest.fixture
def project(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = place / "project"
    (folder / "app" / "known").mkdir(parents=True)
    (folder / "app" / "f").write_text("old\n")
    (folder / "app" / "g").write_text("other\n")
    (place / "outside").mkdir()
    monkeypatch.setenv(
        "MULLIGAN_SANDBOX_WRITABLE", ":".join([str(place / "outside"), *written_by_coverage()])
    )
    return folder


def execute(project: Path, *commands: str, **more: Any) -> dict[str, Any]:
    """Run a plan of shell steps, each with a checkpoint: `after 0` and so on."""
    steps = [
        {
            "name": f"s{number}",
            "tool": "shell",
            "args": {"command": command},
            "checkpoint": f"after {number}",
        }
        for number, command in enumerate(commands)
    ]
    resources = {"app": {"type": "fs-directory", "location": "app", **more.pop("resource", {})}}
    plan = {"name": "naming", "resources": resources | more.pop("besides", {}), "steps": steps, **more}
    (project / "plan.yaml").write_text(json.dumps(plan))
    answer = ask(project, "plan", "execute", "plan.yaml")
    assert answer["exit_code"] == 0, answer
    return answer


def held(project: Path, number: int, path: str = "app/f") -> str:
    """What the checkpoint after a step holds of a file."""
    aim = project.parent / f"look{number}{path.replace('/', '-')}"
    data_of(project, "checkpoint", "restore", f"after {number}", "--to", str(aim))
    return (aim / path).read_text()


SETTLE = "touch known; sleep 0.1"  # the files are older than the grain of timestamps when they are looked at

WAYS = {
    "in a new folder that goes": "mkdir new; ln f new/x; echo CHANGED > new/x; rm -r new",
    "in a new folder that stays": "mkdir new; ln f new/x; echo CHANGED > new/x; rm new/x",
    "in a known folder": "ln f known/x; echo CHANGED > known/x; rm known/x",
    "by a program of its own system calls": "ln -P f known/x; echo CHANGED > known/x; rm known/x",
    "that stays": "mkdir new; ln f new/x; echo CHANGED > new/x",
}


@pytest.mark.parametrize("way", WAYS)
def test_through_a_name_inside(project: Path, way: str) -> None:
    execute(project, SETTLE, WAYS[way], "true")
    assert [held(project, number) for number in range(3)] == ["old\n", "CHANGED\n", "CHANGED\n"]


def test_through_a_name_in_another_sandbox_of_the_plan(project: Path) -> None:
    (project / "lib").mkdir()
    command = 'ln f "$LIB/x"; echo CHANGED > "$LIB/x"; rm "$LIB/x"'
    script = 'LIB=$(echo ../lib); test -d "$LIB" && ' + command
    lib = {"lib": {"type": "fs-directory", "location": "lib"}}
    execute(project, SETTLE, script, besides=lib, config={"sandbox.at": "own-path"})
    assert [held(project, number) for number in range(2)] == ["old\n", "CHANGED\n"]


def test_through_a_name_in_the_git_directory(project: Path) -> None:
    app = project / "app"
    for words in (["init", "-q", "."], ["add", "f"], ["commit", "-qm", "one"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words], cwd=app, check=True)
    command = "ln f .git/x; echo CHANGED > .git/x; rm .git/x"
    execute(project, SETTLE, command, resource={"type": "git-checkout"})
    assert [held(project, number) for number in range(2)] == ["old\n", "CHANGED\n"]


def test_through_a_name_outside_where_tools_are_not_confined(project: Path, place: Path) -> None:
    outside = place / "outside" / "x"
    command = f"ln f {outside}; echo CHANGED > {outside}; rm {outside}"
    execute(project, SETTLE, command, "true", config={"sandbox.isolate": "off", "sandbox.at": "own-path"})
    assert [held(project, number) for number in range(3)] == ["old\n", "CHANGED\n", "CHANGED\n"]


def test_through_a_name_outside_that_was_there_before(project: Path, place: Path) -> None:
    """In place, as package managers leave their files; whoever writes through it."""
    os.link(project / "app" / "f", place / "outside" / "x")
    write = f"echo CHANGED > {place}/outside/x"
    execute(project, SETTLE, write, f"rm {place}/outside/x", resource={"strategy": "in_place"})
    assert [held(project, number) for number in range(3)] == ["old\n", "CHANGED\n", "CHANGED\n"]


@pytest.mark.skipif(landlock.version() < 5, reason="this kernel cannot refuse it")
class TestOutOfASandbox:
    def test_no_link_leads(self, project: Path, place: Path) -> None:
        answer = execute(project, f"! ln f {place}/outside/x 2> said", "ln f known/x && ln g g2")
        sandbox = Path(answer["data"]["sandboxes"][0]["path"])
        assert "Invalid cross-device link" in (sandbox / "said").read_text()
        assert list((place / "outside").iterdir()) == []
        assert (sandbox / "f").stat().st_nlink == (sandbox / "g").stat().st_nlink == 2

    def test_files_are_moved_as_to_another_disk_and_back_at_once(self, project: Path, place: Path) -> None:
        outside = place / "outside"
        execute(
            project,
            f"mv f {outside}/f && mv known {outside}/known && mv {outside}/f . && mv {outside}/known .",
            f"echo x > {outside}/y && mkdir {outside}/d && mv {outside}/y {outside}/d/y && ln {outside}/d/y z",
            config={"sandbox.at": "own-path"},  # at the real path each sandbox is a disk of its own
        )
        assert held(project, 1) == "old\n"
        assert held(project, 1, "app/z") == "x\n"
