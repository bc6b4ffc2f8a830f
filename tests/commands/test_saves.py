"""The installed program is stopped at an act that changes real files, and someone saves: nothing is lost."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.forked_program import run_program

MINE = "PRECIOUS WORK OF THE USER\n"
ACTS = ("aside.make", "restore.stage", "restore.stage_sync", "restore.remove", "restore.make_folder", "restore.place",
        "restore.finish", "restore.sync", "aside.clear")  # fmt: skip
PLAN = """name: one
resources: {app: {type: fs-directory, location: app%s}}
steps: [{tool: shell, args: {command: 'echo plan > f; rm g; rm -r old; mkdir nd; echo plan > nd/z; echo plan > new'}}]
"""


class Stopped:
    """A project whose command is stopped at an act."""

    def __init__(self, folder: Path, where: str) -> None:
        self.folder = folder
        self.app = folder / "app"
        (self.app / "old").mkdir(parents=True)
        for name in ("f", "g", "old/x", "kept"):
            (self.app / name).write_text("old\n")
        (folder / "p.yaml").write_text(PLAN % where)
        assert self.run("plan", "execute", "p.yaml").returncode == 0

    def run(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        return run_program(words, folder=self.folder, environment=os.environ)

    def saved_at(self, act: str, save: Callable[[Path], None], *words: str) -> str:
        """Run a command that is stopped before an act while someone saves; return what it printed."""
        environment = os.environ | {"MULLIGAN_FAULT": f"before:{act}:1:SIGSTOP"}
        process = subprocess.Popen(
            ["mulligan", *words],
            cwd=self.folder,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        while Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
            assert process.poll() is None, f"the command never came to {act}"
            time.sleep(0.005)
        save(self.app)
        process.send_signal(signal.SIGCONT)
        return process.communicate()[0]

    def has(self, text: str) -> bool:
        """Tell whether the text is in the folder or in a checkpoint."""
        return self._in(self.app, text) or any(
            self._in(self.folder / f"out-{number}", text)
            for number, found in enumerate(self._checkpoints())
            if self.run("checkpoint", "restore", found, "--to", f"out-{number}").returncode == 0
        )

    def _checkpoints(self) -> list[str]:
        listed = self.run("checkpoint", "list", "latest", "--all").stdout.decode().splitlines()[1:]
        return [line.split()[0] for line in listed if line]

    def _in(self, folder: Path, text: str) -> bool:
        return any(path.is_file() and path.read_text() == text for path in folder.rglob("*"))


def _edit(name: str) -> Callable[[Path], None]:
    def save(app: Path) -> None:
        if (app / name).parent.is_dir():
            (app / name).write_text(MINE)
        else:
            (app / "elsewhere").write_text(MINE)

    return save


# At each act the save that it endangers most: what is replaced, removed, made, or in a folder that goes.
SAVES = dict.fromkeys(ACTS, "f") | {
    "restore.remove": "old/mine",
    "restore.make_folder": "new",
    "restore.sync": "nd/z",
}


@pytest.mark.parametrize("act", ACTS)
def test_apply_keeps_what_is_saved_while_it_is_stopped(tmp_path: Path, act: str) -> None:
    project = Stopped(tmp_path, "")
    printed = project.saved_at(act, _edit(SAVES[act]), "plan", "apply", "--yes", "latest")
    assert project.has(MINE), printed
    if "changed_meanwhile" in printed or "others" in printed:
        assert (project.app / "g").exists(), "everything else was put back"
        assert not (project.app / "nd").exists()


@pytest.mark.parametrize("act", ["restore.remove", "restore.place", "aside.clear"])
def test_rollback_in_place_keeps_what_is_saved_while_it_is_stopped(tmp_path: Path, act: str) -> None:
    project = Stopped(tmp_path, ", strategy: in_place")
    name = "nd/mine" if act == "restore.remove" else "f"
    printed = project.saved_at(act, _edit(name), "plan", "rollback", "--yes", "latest", "first")
    assert project.has(MINE), printed
    if act == "restore.remove":
        assert "others changed" in printed
        assert (project.app / "nd" / "mine").read_text() == MINE
        assert (project.app / "f").read_text() == "plan\n", "everything else was put back"
