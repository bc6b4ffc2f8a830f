"""What commands load: importing is nearly all that a short command costs, so each loads only what it uses."""

import json
import os
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import platformdirs
import pytest

from mulligan.cli.main import VERSION
from mulligan.wiring.surroundings import user_folder
from tests.commands.program import project_with_plan

# What a look at a plan has no use for. A module that turns up here is imported somewhere on the way: import it
# in the function that uses it, or under TYPE_CHECKING where only annotations name it.
NEEDLESS_FOR_STATUS = (
    "ctypes",
    "hashlib",
    "importlib.metadata",
    "importlib.resources",
    "json",
    "platformdirs",
    "queue",
    "rich",
    "shlex",
    "shutil",
    "subprocess",
    "tempfile",
    "tomlkit",
    "unicodedata",
    "yaml",
    "langchain_core",
    "langgraph",
    "dbos",
    "obstore",
    "opentelemetry",
    "psycopg",
    "mulligan.langgraph",
    "mulligan.rows.graphs",
    "sqlalchemy",
    "mulligan.rows.tables.history_rows",
    "mulligan.adapters.db.migration",
    "mulligan.adapters.plan_locks",
    "mulligan.adapters.postgres",
    "mulligan.adapters.sandboxes",
    "mulligan.adapters.snapshots.cache.stat_cache",
    "mulligan.adapters.snapshots.packs.pack_writer",
    "mulligan.adapters.snapshots.scan.scan",
    "mulligan.adapters.snapshots.store",
    "mulligan.adapters.tools",
    "mulligan.application.queries.checkpoint_queries",
    "mulligan.application.checkpoints.checkpoint_service",
    "mulligan.application.runs.plan_executor",
    "mulligan.application.runs.run",
    "mulligan.api.project_checkpoints",
    "mulligan.cli.commands.forks.fork_command",
    "mulligan.cli.commands.plans.execution_commands",
    "mulligan.cli.commands.plans.result_commands",
    "mulligan.cli.commands.plans.return_commands",
    "mulligan.cli.commands.plans.story_commands",
    "mulligan.cli.commands.timeline_commands",
    "mulligan.cli.terminal.live",
    "mulligan.cli.word_pairs",
    "mulligan.domain.plans.event",
    "mulligan.domain.plans.intent",
    "mulligan.domain.checkpoints.retention",
    "mulligan.domain.history.lines",
    "mulligan.domain.checkpoints.store_report",
    "mulligan.domain.plans.tool",
    "mulligan.domain.queues",
    "mulligan.errors.conflicts",
    "mulligan.errors.failures",
    "mulligan.errors.misuses",
    "mulligan.errors.refused_places",
    "mulligan.errors.refused_plans",
    "mulligan.planfile",
    "mulligan.ports.engine",
    "mulligan.ports.pack_storage",
    "mulligan.ports.storage",
    "mulligan.ports.tool_host",
    "mulligan.ports.world",
)
# What a list of plans has no use for beside that: it looks at no stored tree.
NEEDLESS_FOR_LISTS = (
    "blake3",
    "zstandard",
    "mulligan.adapters.snapshots.format.pack_format",
    "mulligan.adapters.snapshots.trees.stored_diff",
)
# What the version has no use for beside that: no project is opened.
NEEDLESS_FOR_VERSION = (
    "sqlite3",
    "mulligan.adapters.db",
    "mulligan.api.project",
    "mulligan.application",
    "mulligan.cli.commands.plans.plan_group",
    "mulligan.rows",
    "mulligan.wiring.services",
)
# What libraries name, and use in few commands; `mulligan.__main__` has what stands in for them.
NEEDLESS_FOR_LIBRARIES = (
    *("ast", "dis", "email", "gettext", "importlib.metadata", "inspect", "ipaddress", "json", "locale"),
    *("msgspec.inspect", "msgspec.msgpack", "msgspec.toml", "msgspec.yaml", "ntpath"),
    *("platform", "textwrap", "tokenize", "urllib.parse", "zipfile"),
)
# Whoever presses Tab waits for it; the project is not even opened.
NEEDLESS_FOR_SHELLS = (
    "mulligan.rows.database",
    "mulligan.application.queries.plan_queries",
    "mulligan.wiring.adapters",
    "mulligan.api.project",
    "mulligan.cli.commands.checkpoint_commands",
)
_LOADED_BY = """
import sys
from mulligan.cli.main import run
code = run(sys.argv[1:])
modules = sorted(sys.modules)
import json
print(json.dumps({"code": code, "modules": modules}), file=sys.stderr)
"""


def _loaded_by(folder: Path, *words: str, **variables: str) -> set[str]:
    # -S: what site and its .pth files load is not the command's doing.
    command = [sys.executable, "-S", "-c", _LOADED_BY, *words]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **variables}
    for name in ("COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG"):
        environ.pop(name, None)
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=True)
    answer = json.loads(done.stderr.splitlines()[-1])
    assert answer["code"] == 0, done.stdout
    return set(answer["modules"])


def test_looks_load_nothing_that_they_do_not_use(tmp_path: Path) -> None:
    project_with_plan(tmp_path, steps=2, limit=10)
    for words, needless in (
        (["plan", "status", "--format", "json"], NEEDLESS_FOR_STATUS),
        (["status"], NEEDLESS_FOR_STATUS),
        (
            ["log"],
            set(NEEDLESS_FOR_STATUS) - {"mulligan.domain.history.lines", "mulligan.ports.pack_storage"},
        ),
        (["plan", "list"], (*NEEDLESS_FOR_STATUS, *NEEDLESS_FOR_LISTS)),
        (["--version"], (*NEEDLESS_FOR_STATUS, *NEEDLESS_FOR_LISTS, *NEEDLESS_FOR_VERSION)),
    ):
        loaded = _loaded_by(tmp_path, *words)
        assert "mulligan.cli.main" in loaded
        assert not loaded.intersection(needless), words


def test_the_program_loads_no_module_for_a_library_that_does_not_use_it(tmp_path: Path) -> None:
    project_with_plan(tmp_path, steps=2, limit=10)
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    for words in (["plan", "status", "--format", "json"], ["--version"]):
        command = [sys.executable, "-S", "-X", "importtime", "-m", "mulligan", *words]
        done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=True)
        loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
        assert "click.core" in loaded
        assert not loaded.intersection(NEEDLESS_FOR_LIBRARIES)


def test_the_version_is_that_of_the_distribution() -> None:
    assert version("mulligan") == VERSION


def test_a_shell_that_asks_for_plans_gets_them_from_few_modules(tmp_path: Path) -> None:
    project_with_plan(tmp_path, steps=1, limit=10)
    loaded = _loaded_by(tmp_path, _MULLIGAN_COMPLETE="bash", _MULLIGAN_LINE="mulligan plan status ")
    assert "mulligan.rows.completion_words" in loaded
    assert not loaded.intersection((*NEEDLESS_FOR_STATUS, *NEEDLESS_FOR_SHELLS)) - {
        "shlex"
    }  # it reads a line


def test_what_a_look_must_not_load_exists() -> None:
    """A module that was renamed would no longer be guarded."""
    guarded = (*NEEDLESS_FOR_STATUS, *NEEDLESS_FOR_LISTS, *NEEDLESS_FOR_VERSION, *NEEDLESS_FOR_SHELLS)
    assert [name for name in guarded if find_spec(name) is None] == []


@pytest.mark.parametrize(
    ("config_home", "home"),
    [
        ("/etc/mine", "/home/someone"),
        ("", "/home/someone"),
        ("relative", "/home/someone/"),
        (None, "/home/someone"),
        (None, "relative"),
        (None, None),
    ],
)
def test_the_folder_of_the_users_settings_is_that_of_platformdirs(
    monkeypatch: pytest.MonkeyPatch, config_home: str | None, home: str | None
) -> None:
    for name, value in (("XDG_CONFIG_HOME", config_home), ("HOME", home)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    expected = platformdirs.user_config_path("mulligan", appauthor=False)
    assert user_folder(dict(os.environ)) == expected
