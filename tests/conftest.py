"""What holds for all tests."""

import gc
import os
import signal
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest
from coverage import Coverage
from hypothesis import settings

from tests.support.long_run import LONGER
from tests.support.page_examples import ExampleProject

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

pytest.register_assert_rewrite("tests.faults.chaos", "tests.faults.syscall_trials", "tests.faults.trials")

LONGEST_FIRST = Path(__file__).with_name("longest_first.txt").read_text("utf-8").split()
# Tests whose processes are measured too: these take three times as long to start then.
WITH_PROCESSES = ("tests/commands/", "tests/unit/")
# Tests that are not measured at all, because loops take twice as long then, and what they run others run too.
UNMEASURED = (
    "tests/faults/test_apply_cut_off",
    "tests/faults/test_boundaries",
    "tests/faults/test_databases",
    "tests/faults/test_saves",
    "tests/faults/test_syscalls",
    "tests/properties/",
    "tests/sweeps/",
    "tests/test_",
)


@pytest.fixture(scope="module", autouse=True)
def measured_code(request: pytest.FixtureRequest) -> Generator[None]:
    """Let what these tests run be measured, if coverage is, or not."""
    here = request.node.nodeid
    measured = Coverage.current() if here.startswith(UNMEASURED) else None
    if measured is not None:
        measured.stop()
    with pytest.MonkeyPatch.context() as patch:
        if not here.startswith(WITH_PROCESSES):
            for name in ("COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG"):
                patch.delenv(name, raising=False)
        yield
    if measured is not None:
        measured.start()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, so that no process is left alone with one at the end."""
    order = {file: place for place, file in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: order.get(item.nodeid.partition("::")[0], len(order)))


def pytest_collection_finish() -> None:
    """Keep the garbage collector from walking all that was imported and collected again and again."""
    gc.collect()
    gc.freeze()


def _leave_unmeasured() -> None:
    """Do not let a fork save, when it ends, all that the process of the tests recorded before it: a megabyte each."""
    if (measured := Coverage.current()) is not None:
        measured.stop()
        measured.save = lambda: None  # os._exit, which coverage replaced, calls this very object


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
