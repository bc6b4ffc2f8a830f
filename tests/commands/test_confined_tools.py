"""What real tools may and may not write, in plans that users run: nothing but their sandboxes and caches."""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.commands.program import ask, data_of
from tests.support.confined import ATTEMPTS, an_attempt, written_by_coverage
from tests.support.homes import home_of

OWN_PATH = {"sandbox.at": "own-path"}  # at the real path most of what these tests aim at is hidden


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on disk: what is around a project is out of bounds, and tools need /dev/shm."""
    monkeypatch.setenv("TMPDIR", "/var/tmp")
    with TemporaryDirectory(dir="/var/tmp") as name:
        monkeypatch.setenv("MULLIGAN_HOME", f"{name}/homes")
        yield Path(name)


@pytest.fixture
def home(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's home folder with the caches that tools keep."""
    folder = place / "home"
    for cache in (".cache", ".npm"):
        (folder / cache).mkdir(parents=True)
    (folder / "precious").write_text("untouched\n")
    monkeypatch.setenv("HOME", str(folder))
    if measured := written_by_coverage():
        monkeypatch.setenv("MULLIGAN_SANDBOX_WRITABLE", ":".join(["~/.cache", "~/.npm", *measured]))
    return folder


@pytest.fixture
def project(place: Path, home: Path) -> Path:
    """A project with a file in its real folder, and a plan of another agent's that has a sandbox."""
    folder = place / "project"
    folder.mkdir()
    (folder / "real").write_text("untouched\n")
    execute(folder, "echo theirs > theirs", name="other")
    return folder


def execute(folder: Path, *commands: str, name: str = "plan", **more: Any) -> dict[str, Any]:
    """Run a plan of one shell step per command; gives the whole answer."""
    steps = [
        {"name": f"s{number}", "tool": "shell", "args": {"command": command}}
        for number, command in enumerate(commands)
    ]
    return run_plan(folder, {"name": name, "steps": steps, **more})


def run_plan(folder: Path, plan: dict[str, Any]) -> dict[str, Any]:
    (folder.parent / "plan.yaml").write_text(json.dumps(plan))  # JSON is YAML
    return ask(folder, "plan", "execute", str(folder.parent / "plan.yaml"))


def done(folder: Path, *commands: str, **more: Any) -> Path:
    """Run a plan that should succeed; gives its sandbox."""
    answer = execute(folder, *commands, **more)
    assert answer["exit_code"] == 0, answer
    assert answer["data"]["messages"] == [], answer
    return Path(answer["data"]["sandboxes"][0]["path"])


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


class TestAShellThatTries:
    def test_cannot_write_outside(self, project: Path, home: Path) -> None:
        aims = [home / "precious", project / "real", home_of(project) / "config.toml"]
        aims[2].write_text("")
        before = [(aim.read_bytes(), aim.stat().st_mtime_ns, set(os.listdir(aim.parent))) for aim in aims]
        steps = [an_attempt(name, aim, "&& exit 1 || exit 0") for name in ATTEMPTS for aim in aims]
        answer = run_plan(project, {"name": "trying", "config": OWN_PATH, "steps": steps})
        assert answer["data"]["state"] == "complete", answer["error"]
        assert [(a.read_bytes(), a.stat().st_mtime_ns, set(os.listdir(a.parent))) for a in aims] == before

    def test_could_do_all_of_it_where_nothing_stops_it(self, project: Path, home: Path) -> None:
        (home / "aims").mkdir()
        for name in ATTEMPTS:
            (home / "aims" / name).write_text("old")
        steps = [an_attempt(name, home / "aims" / name, "") for name in ATTEMPTS]
        answer = run_plan(
            project, {"name": "p", "config": {"sandbox.isolate": "off", **OWN_PATH}, "steps": steps}
        )
        assert answer["data"]["state"] == "complete", answer["error"]

    def test_cannot_write_the_database_the_store_and_the_sandboxes_of_others(self, project: Path) -> None:
        kept = home_of(project)
        other = next((kept / "sandboxes").glob("*/workspace/theirs"))
        pack = next((kept / "store" / "packs").iterdir())
        aims = [kept / "mulligan.db", pack, other, *kept.glob("locks/*")]
        done(project, *(f"! sh -c 'echo x >> {aim}' && ! rm -f {aim}" for aim in aims), config=OWN_PATH)
        assert other.read_text() == "theirs\n"
        assert data_of(project, "checkpoint", "verify")["damaged"] == []
        assert len(data_of(project, "plan", "list")["plans"]) == 2

    def test_can_still_change_modes_and_times_outside(self, project: Path, home: Path) -> None:
        """Landlock does not stop it; the page on sandboxes says so."""
        done(project, f"chmod 600 {home}/precious && touch -d 2001-01-01 {home}/precious")
        assert (home / "precious").stat().st_mode & 0o777 == 0o600
        assert (home / "precious").stat().st_mtime < 1e9

    @pytest.mark.processes_measured
    def test_works_as_ever_inside(self, project: Path) -> None:
        sandbox = done(
            project,
            "mkdir -p a/b && echo x > a/b/f && mv a/b/f . && ln f g && ln -s f h && mkfifo i && rm -r a i",
            'echo x > "$TMPDIR/f" && mkdir d && mv "$TMPDIR/f" d/ && mv d "$TMPDIR/e" && mv "$TMPDIR/e" d',
            "echo x > /dev/null && echo out > /dev/stdout && echo x > /dev/stderr && test -w /dev/tty",
            "f=$(mktemp) && echo x > $f && cat $f && rm $f; cat < /dev/urandom | head -c 10 > r",
            "touch /dev/shm/mulligan-test-$$ && rm /dev/shm/mulligan-test-$$",
            "(echo late; sleep 0.01) | cat > piped; exec 3<> piped; echo x >&3",
        )
        assert (sandbox / "d" / "f").read_text() == "x\n"

    def test_may_write_what_the_user_lists_and_the_caches(self, project: Path, home: Path) -> None:
        listed, single = home / "listed", home / "single"
        listed.mkdir()
        single.touch()
        settings = {
            "sandbox.writable": [str(listed), "~/single", "~/.cache", "~/nowhere", *written_by_coverage()]
        }
        done(
            project,
            "echo x > ~/listed/new && echo x > ~/single && mkdir ~/.cache/tool && ! rm ~/single",
            "! mkdir ~/nowhere",
            config=settings,
        )
        assert (listed / "new").read_text() == single.read_text() == "x\n"

    def test_may_write_everything_where_isolation_is_off(self, project: Path, home: Path) -> None:
        done(project, "echo x > ~/new", config={"sandbox.isolate": "off"})
        assert (home / "new").read_text() == "x\n"

    def test_is_confined_again_after_a_rollback_and_in_a_new_process(self, project: Path, home: Path) -> None:
        (home / ".cache" / "fail").touch()
        steps = (
            "echo 1 > one",
            "echo 2 > two; test ! -e ~/.cache/fail",
            "! sh -c 'echo x > ~/new' && echo 3 > three",
        )
        failed = execute(project, *steps)
        assert failed["exit_code"] == 1
        (home / ".cache" / "fail").unlink()
        resumed = data_of(project, "plan", "resume", failed["data"]["plan_id"])
        data_of(project, "plan", "rollback", failed["data"]["plan_id"], "first", "--yes")
        again = data_of(project, "plan", "resume", failed["data"]["plan_id"])
        sandbox = Path(again["sandboxes"][0]["path"])
        assert resumed["state"] == again["state"] == "complete"
        assert [(sandbox / name).read_text() for name in ("one", "two", "three")] == ["1\n", "2\n", "3\n"]
        assert not (home / "new").exists()

    def test_leaves_no_temporary_files_behind(self, project: Path) -> None:
        done(project, 'echo x > "$TMPDIR/kept" && mkdir -m 0 "$TMPDIR/closed"', 'test -f "$TMPDIR/kept"')
        assert list((home_of(project) / "scratch").iterdir()) == []


class TestRealTools:
    def test_git_commits_in_a_sandbox(self, project: Path) -> None:
        sandbox = done(
            project,
            "git init -q . && git config user.name a && git config user.email a@b.c",
            "git add -A && git commit -qm one",
            "git checkout -qb other && echo x > f && git add f && git commit -qm two && git gc -q && git stash list",
            "! git config --global user.name b",
        )
        assert (sandbox / ".git" / "HEAD").read_text() == "ref: refs/heads/other\n"

    def test_a_venv_is_made_and_a_local_package_installed(self, project: Path, home: Path) -> None:
        (project / "pyproject.toml").write_text(
            '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        )
        (project / "backend.py").write_text(BACKEND)
        install = "env/bin/pip install -q --no-index --no-build-isolation --disable-pip-version-check ."
        sandbox = done(
            project, f"{sys.executable} -m venv env && {install} && env/bin/python -c 'import tiny'"
        )
        assert list(sandbox.glob("env/lib/python*/site-packages/tiny.py"))
        assert contents(home) == {str(home / "precious"): b"untouched\n"} | contents(home / ".cache")

    @pytest.mark.skipif(not shutil.which("npm"), reason="npm is not installed")
    def test_npm_installs_a_local_package(self, project: Path) -> None:
        (project / "part").mkdir()
        (project / "part" / "package.json").write_text('{"name": "part", "version": "1.0.0"}')
        (project / "package.json").write_text('{"name": "whole", "version": "1.0.0", "private": true}')
        sandbox = done(project, "npm install --offline --no-audit --no-fund --install-links ./part")
        assert (sandbox / "node_modules" / "part" / "package.json").exists()

    def test_a_compiler_and_what_it_made(self, project: Path) -> None:
        (project / "hello.c").write_text('#include <stdio.h>\nint main(void) { return puts("hello") < 0; }\n')
        answer = execute(project, "cc -o hello hello.c", "./hello")
        assert (answer["exit_code"], answer["data"]["messages"]) == (0, []), answer

    def test_a_test_run(self, project: Path) -> None:
        (project / "test_it.py").write_text(
            "import multiprocessing, tempfile\n"
            "def test_folders(tmp_path):\n    (tmp_path / 'f').write_text('x')\n"
            "def test_files():\n    tempfile.TemporaryFile().write(b'x')\n"
            "def test_semaphores():\n    multiprocessing.Lock().acquire()\n"
        )
        sandbox = done(project, f"{sys.executable} -m pytest -q -p no:cacheprovider test_it.py > report")
        assert "3 passed" in (sandbox / "report").read_text()

    def test_a_python_function_is_confined_too(self, project: Path, home: Path) -> None:
        (project / "steps.py").write_text(
            "def inside(context):\n    (context.path() / 'made').write_text('x')\n"
            "def outside(context, path):\n    open(path, 'w')\n"
        )
        aim = str(home / "new")
        plan = {
            "name": "functions",
            "steps": [
                {"name": "inside", "tool": "python", "args": {"function": "steps:inside"}},
                {
                    "name": "outside",
                    "tool": "python",
                    "args": {"function": "steps:outside", "kwargs": {"path": aim}},
                },
            ],
        }
        answer = run_plan(project, plan)
        assert [step["status"] for step in answer["data"]["steps"]] == ["done", "failed"]
        assert answer["error"]["stopped_write"] == aim
        assert f"writing {aim} was stopped" in answer["error"]["message"]
        assert not os.path.exists(aim)


BACKEND = """\
import zipfile
FILES = {
    "tiny.py": "",
    "tiny-1.dist-info/METADATA": "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1\\n",
    "tiny-1.dist-info/WHEEL": "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    "tiny-1.dist-info/RECORD": "tiny.py,,\\ntiny-1.dist-info/METADATA,,\\ntiny-1.dist-info/WHEEL,,\\n",
}
def build_wheel(folder, config_settings=None, metadata_directory=None):
    with zipfile.ZipFile(folder + "/tiny-1-py3-none-any.whl", "w") as wheel:
        for name, content in FILES.items():
            wheel.writestr(name, content)
    return "tiny-1-py3-none-any.whl"
"""
