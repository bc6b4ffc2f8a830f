"""What holds for all tests."""

import gc
import importlib
import os
import pkgutil
import posix
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest
from coverage import Coverage
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

import mulligan
from tests.support.long_run import LONGER
from tests.support.page_examples import ExampleProject
from tests.support.shared_database import place_of_run, use_shared_rows

gc.disable()  # until all is imported and collected, all of which stays

# The same examples in every run: a failure is about the change at hand, not about luck. No deadline: two
# cores shared with other tests say nothing about speed. A long run looks further, at others each time.
settings.register_profile(
    "deterministic", max_examples=60, derandomize=True, deadline=None, database=None, print_blob=True
)
settings.register_profile("search", max_examples=100 * LONGER, deadline=None, print_blob=True)
settings.load_profile("deterministic" if LONGER == 1 else "search")


# In the background of a shell without a terminal (`pytest &`) SIGINT is ignored, and all that tests start inherits it.
# Processes that are started under a handler begin with the default, as on a terminal.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests never touch the homes or the settings of the user who runs them. The homes are on the disk of what tests make:
# what is moved there is renamed.
_HOMES = tempfile.mkdtemp(prefix="mulligan-homes-")
os.environ["MULLIGAN_HOME"] = _HOMES
_SETTINGS = tempfile.mkdtemp(prefix="mulligan-settings-")
Path(_SETTINGS).chmod(0o755)  # some tests become another user
os.environ["XDG_CONFIG_HOME"] = _SETTINGS
_SERVER = place_of_run()
use_shared_rows()  # where the run asks for it


def pytest_unconfigure() -> None:
    """Remove the homes of all projects that tests made."""
    for folder, _, _ in os.walk(_HOMES):
        Path(folder).chmod(0o700)  # plans make folders that not even their owner may change
    for made in filter(None, (_HOMES, _SETTINGS, _SERVER)):
        shutil.rmtree(made, ignore_errors=True)


pytest.register_assert_rewrite("tests.faults.chaos", "tests.faults.syscall_trials", "tests.faults.trials")

LONGEST_FIRST = Path(__file__).with_name("longest_first.txt").read_text("utf-8").split()
# Tests that are not measured at all, because loops take twice as long then, and what they run others run too.
UNMEASURED = (
    "tests/commands/test_apply_commits.py",
    "tests/commands/test_confined_tools.py",
    "tests/commands/test_interactive.py",
    "tests/commands/test_limit.py",
    "tests/faults/test_apply_cut_off",
    "tests/faults/test_bisect_cut_off",
    "tests/faults/test_boundaries",
    "tests/faults/test_concurrency.py",
    "tests/faults/test_databases",
    "tests/faults/test_fork_cut_off",
    "tests/faults/test_full_disk.py",
    "tests/faults/test_paths_cut_off",
    "tests/faults/test_saves.py",
    "tests/faults/test_survivors.py",
    "tests/faults/test_syscalls",
    "tests/faults/test_undo_cut_off",
    "tests/properties/test_git_property.py",
    "tests/properties/test_history_property.py",
    "tests/sweeps/",
    "tests/test_",
    "tests/unit/sandboxes/test_git_applying.py",
    "tests/unit/sandboxes/test_git_checkouts.py",
)


@pytest.fixture(scope="session", autouse=True)
def space_to_park() -> Generator[None]:
    """Let copies be parked however full the disk is on which the tests run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mulligan.adapters.sandboxes.parked_trees._FREE", 1 << 62)
        yield


_VARIABLES = ("COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG")
_MEASURING = {name: os.environ[name] for name in _VARIABLES if name in os.environ}


@pytest.fixture(scope="module", autouse=True)
def measured_code(request: pytest.FixtureRequest) -> Generator[None]:
    """Let what these tests run be measured, if coverage is, or not; what their processes run is not."""
    measured = Coverage.current() if request.node.nodeid.startswith(UNMEASURED) else None
    if measured is not None:
        measured.stop()
    with pytest.MonkeyPatch.context() as patch:
        for name in _VARIABLES:
            patch.delenv(name, raising=False)
        yield
    if measured is not None:
        measured.start()


@pytest.fixture(autouse=True)
def measured_processes(request: pytest.FixtureRequest) -> Generator[None]:
    """Let processes of the tests that are marked be measured, if coverage is: these run what no other tests run.

    Each of them takes three times as long then, so few tests are marked.
    """
    if request.node.get_closest_marker("processes_measured") is None:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        for name, value in _MEASURING.items():
            patch.setenv(name, value)
        yield


# Files whose tests share one undisturbed run of all commands, which takes longer than most of their tests.
ONE_AFTER_THE_OTHER = {
    "tests/faults/test_bisect_cut_off.py",
    "tests/faults/test_boundaries.py",
    "tests/faults/test_fork_cut_off.py",
    "tests/faults/test_paths_cut_off.py",
    "tests/faults/test_try_cut_off.py",
    "tests/faults/test_undo_cut_off.py",
}


class SharedFiles(LoadFileScheduling):
    """Files for the processes of a run, each whole; those that share what is costly go to one process."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return "tests/faults" if file in ONE_AFTER_THE_OTHER else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling:
    """Divide the tests by files."""
    return SharedFiles(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, so that no process is left alone with one at the end."""
    order = {file: place for place, file in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: order.get(item.nodeid.partition("::")[0], len(order)))


_MEASUREMENT = Coverage.current()  # none while it is stopped, so it is looked for here


def pytest_configure(config: pytest.Config) -> None:
    """Measure all modules as they are imported, and then nothing until the tests run: to collect them takes longest.

    Some modules are imported when they are first used, which may be in tests that are not measured. The process that
    only hands out tests to others runs none.
    """
    if _MEASUREMENT is not None:
        if not config.getoption("numprocesses", default=None) or "PYTEST_XDIST_WORKER" in os.environ:
            for module in pkgutil.walk_packages(mulligan.__path__, "mulligan."):
                importlib.import_module(module.name)
        _MEASUREMENT.stop()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Keep the garbage collector from walking all that was imported and collected again and again."""
    gc.collect()
    gc.freeze()
    gc.enable()
    if _MEASUREMENT is not None and session.items:
        _MEASUREMENT.start()


def _leave_unmeasured() -> None:
    """Do not let a fork save, when it ends, all that the process of the tests recorded before it: a megabyte each.

    A program that it becomes is measured if the variables that it is given say so. Coverage replaced os.exec* with
    functions that always add them.
    """
    if _MEASUREMENT is not None:
        if Coverage.current() is _MEASUREMENT:
            _MEASUREMENT.stop()
        _MEASUREMENT.save = lambda: None  # os._exit, which coverage replaced, calls this very object
        os.execv, os.execve = posix.execv, posix.execve


os.register_at_fork(after_in_child=_leave_unmeasured)


@pytest.fixture(scope="session")
def made_example_project(tmp_path_factory: pytest.TempPathFactory) -> ExampleProject:
    return ExampleProject(tmp_path_factory.mktemp("example"))


@pytest.fixture
def example_project(made_example_project: ExampleProject) -> ExampleProject:
    """A project as the pages expect it, whatever the examples before did to it."""
    made_example_project.renew()
    return made_example_project


_COUNTED = ("faults survived", "kills survived", "saves survived")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many faults were survived: a number that shrinks is a test that no longer tests."""
    counted: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport) and report.when == "call":
                for name, number in report.user_properties:
                    counted[name] += int(str(number)) if name in _COUNTED else 0
    for name, number in (+counted).items():
        terminalreporter.write_line(f"{name}: {number}")
