"""How the tests themselves are run: none waits for ever, and Ctrl-C works in them wherever they are started."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE

ROOT = Path(__file__).parent.parent
HANGING = """\
import subprocess

def test_hangs():
    subprocess.run(["sleep", "100"])
"""
FEATURE = """\
Feature: waiting
  Scenario: for ever
    When nothing comes
  Scenario: not at all
    Given all is well
"""
STEPS = """\
import subprocess
from behave import given, when

@when("nothing comes")
def wait(context):
    subprocess.run(["sleep", "100"])

@given("all is well")
def well(context):
    context.world
"""
SUITE = """\
*** Test Cases ***
For Ever
    Evaluate    __import__("subprocess").run(["sleep", "100"])
"""


def run(folder: Path, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run a module of this environment, as if no other test were running."""
    around = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=folder,
        # Of its own: pytest closes the temporary folder it finds to others, and ordinary users work in that.
        env={**around, "TMPDIR": str(folder), **variables},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.parametrize("processes", [(), ("-n", "1")])
def test_a_test_that_hangs_fails_and_shows_where(tmp_path: Path, processes: tuple[str, ...]) -> None:
    (tmp_path / "test_hanging.py").write_text(HANGING)
    settings = ("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path), "-p", "no:cacheprovider")
    done = run(tmp_path, "pytest", *settings, "--timeout=3", *processes, "test_hanging.py")
    assert done.returncode == 1, done.stdout
    assert "Timeout (>3.0s)" in done.stdout
    assert "test_hanging.py:4" in done.stdout


def test_every_test_has_a_limit(request: pytest.FixtureRequest) -> None:
    assert 0 < float(request.config.getini("timeout")) < float(request.config.getini("faulthandler_timeout"))
    assert request.config.getini("faulthandler_exit_on_timeout")


def test_a_scenario_that_hangs_fails_and_the_next_one_runs(tmp_path: Path) -> None:
    for name in ("environment.py", "world.py", "trees.py", "histories.py"):
        (tmp_path / name).symlink_to(ROOT / "features" / name)
    (tmp_path / "steps").mkdir()
    (tmp_path / "steps" / "waiting.py").write_text(STEPS)
    (tmp_path / "waiting.feature").write_text(FEATURE)
    done = run(tmp_path, "behave", "--no-color", ".", PYTHONPATH=str(ROOT), MULLIGAN_SCENARIO_LIMIT="4")
    assert done.returncode == 1, done.stdout
    assert "the scenario took longer than 4 seconds" in done.stdout
    assert "1 scenario passed" in done.stdout


def test_a_robot_test_that_hangs_fails(tmp_path: Path) -> None:
    settings = (ROOT / "robot" / "__init__.robot").read_text()
    assert "15 minutes" in settings
    (tmp_path / "__init__.robot").write_text(settings.replace("15 minutes", "1 second"))
    (tmp_path / "waiting.robot").write_text(SUITE)
    done = run(tmp_path, "robot", "--output", "NONE", ".")
    assert done.returncode == 1, done.stdout
    assert "Test timeout 1 second exceeded" in done.stdout


@pytest.mark.parametrize(
    "command",
    [
        ("pytest", "-q", "-p", "no:cacheprovider", "tests/commands/test_live_terminal.py", "-k", "ctrl_c"),
        ("behave", "--format=progress", "features/interruptions.feature", "--name", "SIGINT"),
    ],
)
def test_ctrl_c_works_where_the_tests_were_started_with_it_ignored(command: tuple[str, ...]) -> None:
    was = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        done = run(ROOT, *command)
    finally:
        signal.signal(signal.SIGINT, was)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout or "1 scenario passed" in done.stdout, done.stdout


def test_nox_starts_everything_with_ctrl_c_as_on_a_terminal() -> None:
    look = (
        "import signal, subprocess; import noxfile; subprocess.run(['grep', 'SigIgn', '/proc/self/status'])"
    )
    was = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        done = subprocess.run(
            [sys.executable, "-c", look],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE,
        )
    finally:
        signal.signal(signal.SIGINT, was)
    assert not int(done.stdout.split()[1], 16) & 1 << (signal.SIGINT - 1)
