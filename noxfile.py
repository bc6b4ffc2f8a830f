"""The checks of this project: `scripts/test` runs them all, `scripts/test -s lint` one of them.

All sessions share one virtual environment, the one nox itself runs in (scripts/test makes it from
requirements/dev.txt and installs the package into it). Seven would cost minutes, and could differ.
The package is installed in editable mode: one copy of the code, so nothing is ever tested stale; that a wheel
holds all of it is checked by tests/test_package.py.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "none"
nox.options.error_on_missing_interpreters = True
nox.options.sessions = ["checks", "unit_tests", "integration_tests", "coverage_report"]

ROOT = Path(__file__).parent
BUILD = ROOT / "build"
REPORTS = BUILD / "reports"
COVERAGE = BUILD / "coverage"
PROCESSES = "2"
WORKERS = "6"  # of pytest: tests wait for processes and disks a third of their time
OUTSIDE = "3"  # processes of Behave, and as many of Robot
ROOM_FOR_TESTS = 4 << 30
SHARED_TESTS = ("tests/shared", "tests/contracts/database", "tests/contracts/locks")
SHARED_CODE = tuple(
    f"src/mulligan/{room}/*"
    for room in (
        *("adapters/dbos_queue", "adapters/object_packs", "adapters/postgres", "application/queues"),
        *("wiring/shared", "wiring/workers"),
    )
)
# The one that is left out removes the lock file of a plan, which no plan has then.
_WITH_LOCK_FILE = "tests/sessions/test_crashes.py::test_a_session_that_was_taken_over_writes_nothing_more"
ROWS_TESTS = (
    *(
        "tests/subplans",
        "tests/sessions",
        "tests/sweeps",
        "tests/unit/application",
        "--deselect",
        _WITH_LOCK_FILE,
    ),
)
LONG_TESTS = ("--timeout=7200", "--override-ini=faulthandler_timeout=7300")  # seconds

# A shell without a terminal starts background jobs (`scripts/test &`) with SIGINT ignored, and so would every
# process of the tests; programs that are started from here find Ctrl-C as they would on a terminal.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The programs of this environment first, so that `mulligan` is the one under test.
ENVIRONMENT = {
    "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
    "PYTHONDONTWRITEBYTECODE": None,  # the bytecode cache makes hundreds of processes start faster
}


@nox.session
def checks(session: nox.Session) -> None:
    """Lint, imports, docs and benchmark, and beside them, because it takes as long as they do, typecheck."""
    with beside(session, "basedpyright"):
        for each in (lint, imports, docs, benchmark):
            each(session)


@nox.session
def lint(session: nox.Session) -> None:
    """Style, likely bugs, the formatter's opinion, and the English."""
    python(session, "ruff", "check", ".")
    python(session, "ruff", "format", "--check", ".")
    python(session, "tests.prose")


@nox.session
def typecheck(session: nox.Session) -> None:
    """Types, strictly."""
    python(session, "basedpyright", "--threads", PROCESSES)


@nox.session
def imports(session: nox.Session) -> None:
    """The rooms and who may enter them."""
    session.run(str(Path(sys.executable).with_name("lint-imports")), "--no-cache", env=ENVIRONMENT)


@nox.session
def docs(session: nox.Session) -> None:
    """The documents as a site, in build/site: every link and every anchor leads somewhere."""
    # Not --quiet: MkDocs would not count the warnings then, and strictness has nothing to go by.
    environment = {"NO_MKDOCS_2_WARNING": "1"}  # that notice is about the theme, not about these pages
    python(session, "mkdocs", "build", "--strict", *session.posargs, env=environment)


@nox.session
def unit_tests(session: nox.Session) -> None:
    """Pytest: units, contracts, properties, faults, migrations. Arguments go to pytest."""
    report = REPORTS / "pytest.xml"
    # conftest.py divides the tests by files, so that what those of one share is made once, and orders the files.
    options = ["-n", WORKERS, "--no-loadscope-reorder", f"--junitxml={report}"]
    if not session.posargs:
        have_postgresql(session)
        rewrite_assertions()
    with in_memory() as temporary:
        python(session, "pytest", *options, *session.posargs, env=measured() | temporary)
    refuse_unexplained_skips(session, report)


def have_postgresql(session: nox.Session) -> None:
    """Install PostgreSQL for tests of shared projects, where that is possible; elsewhere they are skipped by name."""
    if os.geteuid() == 0 and shutil.which("apt-get"):
        failed = [1, 100]  # without a network, or with lists of packages that are too old
        session.run("scripts/postgresql", external=True, success_codes=[0, *failed])


def has_postgresql() -> bool:
    """Return whether the tests of shared projects find the servers that they start."""
    found = shutil.which("initdb") or list(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return bool(found) and shutil.which("pgbouncer", path=f"{os.defpath}:/usr/sbin") is not None


@nox.session
def sweeps(session: nox.Session) -> None:
    """Ten thousand checkpoints, ten thousand steps, ten times the examples. Takes 25 minutes; not run by default."""
    checkpoints = {"MULLIGAN_TEST_CHECKPOINTS": "10000", "MULLIGAN_TEST_STEPS": "10000"}
    examples = {"MULLIGAN_LONG_RUN": "10"}
    python(session, "pytest", "-s", *LONG_TESTS, "tests/sweeps", *session.posargs, env=checkpoints)
    further = ["tests/properties", "tests/hostile/test_rows.py"]
    python(session, "pytest", "-n", PROCESSES, *LONG_TESTS, *further, *session.posargs, env=examples)


@nox.session
def faults(session: nox.Session) -> None:
    """Every fault at every passing of every durability boundary. Takes hours; `-- --shard 1/8`, `--minutes 20`."""
    python(session, "tests.faults.every_passing", "--processes", PROCESSES, *session.posargs)


@nox.session
def served(session: nox.Session) -> None:
    """A local server is killed at every boundary that it passes for an agent: half an hour; `-- --part 1/4`."""
    python(session, "tests.faults.served", *session.posargs)


@nox.session
def syscalls(session: nox.Session) -> None:
    """Each system call that writes fails, or is the last. Takes hours; `-- --shard 1/8`, `--minutes 20`, `--seed 3`."""
    python(session, "tests.faults.syscalls", "--processes", PROCESSES, *session.posargs)


@nox.session
def saves(session: nox.Session) -> None:
    """Thousands of saves at instants of commands that change real files. Takes half an hour; not run by default."""
    tests = [
        "tests/faults/test_saves.py",
        "tests/faults/test_saves_databases.py",
        "tests/faults/test_saves_checkouts.py",
    ]
    tests += ["tests/unit/snapshots/test_saved_meanwhile.py"]
    with in_memory() as temporary:
        environment = temporary | {"MULLIGAN_TEST_SAVES": "1500"}
        python(
            session, "pytest", "-n", PROCESSES, "--timeout=3600", *tests, *session.posargs, env=environment
        )


@nox.session
def report(session: nox.Session) -> None:
    """The report of a plan in a real browser, with pictures in build/report; installs Chromium on Debian, as root."""
    if not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))):
        if os.geteuid() != 0 or shutil.which("apt-get") is None:
            session.error("this needs Chromium: install it, on Debian with `apt-get install chromium`")
        session.run("apt-get", "install", "-y", "--no-install-recommends", "chromium", external=True)
    python(session, "pytest", "tests/report/in_a_browser.py", *session.posargs)


@nox.session
def page(session: nox.Session) -> None:
    """The page in a real browser, with pictures in build/page; Chromium from Debian, as root, and axe from npm.

    `-- --write` renews the pictures in the documents, after a run without faults.
    """
    needed = {"chromium": "chromium", "npm": "npm"}
    missing = [package for program, package in needed.items() if shutil.which(program) is None]
    if missing and (os.geteuid() != 0 or shutil.which("apt-get") is None):
        session.error(f"this needs {', '.join(missing)}: install it, on Debian with `apt-get install`")
    if missing:
        session.run("apt-get", "install", "-y", "--no-install-recommends", *missing, external=True)
    axe = fresh(BUILD / "axe")
    session.run("npm", "install", "--no-save", "--prefix", str(axe), "axe-core@4.10.3", external=True)
    environment = {"MULLIGAN_TEST_AXE": str(axe / "node_modules" / "axe-core" / "axe.min.js")}
    if "--write" in session.posargs:
        environment["MULLIGAN_WRITE_PICTURES"] = "yes"
    words = [word for word in session.posargs if word != "--write"]
    python(session, "pytest", "-s", *LONG_TESTS, "tests/page/in_a_browser.py", *words, env=environment)


@nox.session
def flask(session: nox.Session) -> None:
    """Thirty commands in the source of flask, typed into tmux, as docs/tutorial-flask.md has them; `-- --write`."""
    if shutil.which("tmux") is None:
        if os.geteuid() != 0 or shutil.which("apt-get") is None:
            session.error("this needs tmux: install it, on Debian with `apt-get install tmux`")
        session.run("apt-get", "install", "-y", "--no-install-recommends", "tmux", external=True)
    folder = fresh(BUILD / "flask")
    source = ["--no-deps", "--no-binary", ":all:", "flask==3.1.2"]
    python(session, "pip", "download", "--quiet", "--dest", str(folder), *source)
    python(session, "tests.flask_session.typist", str(folder), *session.posargs)


@nox.session
def agents(session: nox.Session) -> None:
    """Six real coding agents from npm, 2 GB, with a scripted model: half an hour. `-- -k codex`, `-- --write`."""
    needed = {"npm": "npm", "tmux": "tmux"}
    missing = [package for program, package in needed.items() if shutil.which(program) is None]
    if missing and (os.geteuid() != 0 or shutil.which("apt-get") is None):
        session.error(f"this needs {', '.join(missing)}: install it, on Debian with `apt-get install`")
    if missing:
        session.run("apt-get", "install", "-y", "--no-install-recommends", *missing, external=True)
    codes = [0, 1]  # what cannot be installed is named, and its tests fail
    packages = str(BUILD / "agents" / "packages")
    session.run(
        sys.executable, "-m", "tests.real_agents.packages", packages, env=ENVIRONMENT, success_codes=codes
    )
    stepback = BUILD / "agents" / "stepback"
    session.run(sys.executable, "-m", "venv", str(stepback))
    session.run(str(stepback / "bin" / "pip"), "install", "--quiet", "stepback==0.2.0", external=True)
    write = ["--write"] if "--write" in session.posargs else []
    chosen = [each for each in session.posargs if each not in write]
    names = ("each_agent", "each_conversation", "each_tool", "claude_code", "two_at_once")
    names += ("questions", "slash_commands", "own_rewinds", "recording")
    tests = [f"tests/real_agents/{name}.py" for name in names]
    agents = ["-n", "3", "--dist", "worksteal"]  # an agent waits for its hooks, and its hooks for it
    with in_memory() as temporary:
        python(session, "pytest", "--timeout=3600", *agents, *tests, *chosen, env=temporary)
    python(session, "tests.real_agents.pages", *write)


@nox.session
def sdks(session: nox.Session) -> None:
    """The programs of docs/how-to/agent-sdks.md, with the SDKs from pip's index and a scripted model."""
    environment = fresh(BUILD / "sdks")
    session.run(sys.executable, "-m", "venv", str(environment))
    packages = ["claude-agent-sdk==0.2.184", "openai-agents==0.24.0"]
    pip = str(environment / "bin" / "pip")
    session.run(pip, "install", "--quiet", str(Path(__file__).parent), *packages, external=True)
    env = {"MULLIGAN_TEST_SDKS": str(environment / "bin" / "python")}
    python(session, "pytest", *LONG_TESTS, "tests/real_agents/sdks.py", *session.posargs, env=env)


@nox.session
def filesystems(session: nox.Session) -> None:
    """Trees and sandboxes on xfs, btrfs, tmpfs and one that ignores case; as root, half an hour. `-- xfs` runs one."""
    if os.geteuid() != 0:
        session.error("this mounts filesystems: run it as root")
    programs = {"mkfs.xfs": "xfsprogs", "mkfs.btrfs": "btrfs-progs", "lowntfs-3g": "ntfs-3g"}
    missing = [package for program, package in programs.items() if shutil.which(program) is None]
    if missing and shutil.which("apt-get") is None:
        session.error(f"this needs {', '.join(missing)}: install them")
    if missing:
        session.run("apt-get", "install", "-y", "--no-install-recommends", *missing, external=True)
    python(session, "tests.filesystems.mounts", *session.posargs)


@nox.session
def shared(session: nox.Session) -> None:
    """Projects in PostgreSQL: their own tests, and those of plans, children and sessions with all rows there."""
    session.run("scripts/postgresql", external=True)
    python(session, "pip", "install", "--quiet", "--require-hashes", "-r", "requirements/shared.txt")
    own = {"MULLIGAN_SHARED": "all"}
    python(session, "pytest", "-n", PROCESSES, *SHARED_TESTS, *session.posargs, env=own)
    python(
        session, "pytest", "-n", PROCESSES, *ROWS_TESTS, *session.posargs, env={"MULLIGAN_SHARED_ROWS": "1"}
    )


@nox.session
def workers(session: nox.Session) -> None:
    """Kill, stop and cut off workers and PostgreSQL while plans run; `-- --plans 200 --workers 4 --faults 30`."""
    session.run("scripts/postgresql", external=True)
    python(session, "tests.shared.chaos", *session.posargs)


@nox.session
def chaos(session: nox.Session) -> None:
    """Kill plans at random moments, for as long as `-- --minutes N` says; not run by default."""
    python(session, "tests.faults.chaos", *session.posargs)


@nox.session
def integration_tests(session: nox.Session) -> None:
    """Behave, and beside it Robot Framework, which runs the installed program as users have it: not measured."""
    behave, robot = fresh(REPORTS / "behave"), fresh(REPORTS / "robot")
    # In chunks: Robot Framework is started for each of these, and not for each suite.
    run_in_parallel = ["--processes", OUTSIDE, "--no-pabotlib", "--artifactsinsubfolders", "--chunk"]
    outputs = ["--outputdir", str(robot), "--xunit", "xunit.xml"]
    with (
        in_memory() as temporary,
        beside(session, "tests.behave_in_parallel", OUTSIDE, str(behave), env=temporary),
    ):
        python(session, "pabot.pabot", *run_in_parallel, *outputs, "robot", env=temporary)
    refuse_unexplained_skips(session, behave, robot / "xunit.xml")


@nox.session
def coverage_report(session: nox.Session) -> None:
    """Combine what all processes of the unit tests ran; fail under the limit in pyproject.toml."""
    python(session, "coverage", "combine", "--keep", "--quiet", str(COVERAGE / "unit_tests"))
    left_out: list[str] = []
    if not has_postgresql():
        session.warn(
            f"PostgreSQL is not installed: what only its tests run is left out: {', '.join(SHARED_CODE)}"
        )
        left_out = [f"--omit={','.join(SHARED_CODE)}"]
    with beside(session, "coverage", "xml", "--quiet", "--fail-under=0"):
        python(session, "coverage", "report", *left_out)


@nox.session
def benchmark(session: nox.Session) -> None:
    """Run every benchmark once: they must work, and the numbers of one run are shown, not kept."""
    # asv keeps what it knows of the machine in the home folder: give it one of its own.
    home = fresh(BUILD / "asv")
    environment = {"HOME": str(home)}
    python(session, "asv", "machine", "--yes", env=environment, silent=True)
    python(session, "asv", "run", "--quick", "--python=same", "--dry-run", "--show-stderr", env=environment)


@nox.session
def compare(session: nox.Session) -> None:
    """Measure mulligan beside others: half an hour or more, so not by default. Arguments go to the comparison."""
    report = BUILD / "compare.json"
    python(session, "benchmarks.compare", f"--json={report}", *session.posargs)


def python(
    session: nox.Session,
    module: str,
    *arguments: str,
    env: dict[str, str] | None = None,
    silent: bool = False,
) -> None:
    """Run a module with this environment's Python."""
    session.run(sys.executable, "-m", module, *arguments, env=ENVIRONMENT | (env or {}), silent=silent)


@contextmanager
def beside(
    session: nox.Session, module: str, *arguments: str, env: dict[str, str] | None = None
) -> Generator[None]:
    """Run a module meanwhile; show what it printed when it is over, and fail if it did."""
    command = [sys.executable, "-m", module, *arguments]
    with tempfile.TemporaryFile() as printed:
        process = subprocess.Popen(command, env=variables(env), stdout=printed, stderr=subprocess.STDOUT)
        try:
            yield
        finally:
            process.wait()
            printed.seek(0)
            sys.stdout.flush()
            shutil.copyfileobj(printed, sys.stdout.buffer)
            sys.stdout.flush()
    if process.returncode:
        session.error(f"{module} failed with exit code {process.returncode}")


def variables(more: dict[str, str] | None = None) -> dict[str, str]:
    """Return the variables of a program of this environment; None in these removes one."""
    wanted: dict[str, str | None] = {**os.environ, **ENVIRONMENT, **(more or {})}
    return {name: value for name, value in wanted.items() if value is not None}


def rewrite_assertions() -> None:
    """Let pytest rewrite the assertions of all tests and keep the bytecode, once and not in each of its processes.

    The run of the tests reports what cannot be collected.
    """
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-qq"]
    unit = str(Path("tests", "unit"))
    halves = [
        subprocess.Popen([*collect, *which], cwd=ROOT, env=variables(), stdout=subprocess.DEVNULL)
        for which in ([unit], ["tests", f"--ignore={unit}"])
    ]
    for half in halves:
        half.wait()


def measured() -> dict[str, str]:
    """Return variables under which every Python process of this environment records what it ran."""
    folder = fresh(COVERAGE / "unit_tests")
    folder.chmod(0o777)  # some tests run parts as an ordinary user, who records there too
    return {
        "COVERAGE_PROCESS_START": str(ROOT / "pyproject.toml"),
        "COVERAGE_FILE": str(folder / "data"),
        "MULLIGAN_SANDBOX_WRITABLE": str(folder),  # what runs in a sandbox records there too
    }


@contextmanager
def in_memory() -> Generator[dict[str, str]]:
    """Have temporary files in memory where there is room for them: the disk is what tests wait for most.

    What must be durable is shown by killing processes and by a model of power loss, for which no disk is needed.
    """
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK) or shutil.disk_usage(memory).free < ROOM_FOR_TESTS:
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="mt-", dir=memory, ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)  # some tests run parts as an ordinary user
        yield {"TMPDIR": name}


def refuse_unexplained_skips(session: nox.Session, *reports: Path) -> None:
    """List what was skipped, and fail on what tests/allowed_skips.txt does not name."""
    python(session, "tests.skips", *map(str, reports))


def fresh(folder: Path) -> Path:
    """Make an empty folder, removing an earlier one."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
