"""A sandbox, a toolbox over it, and a way to call its tools."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mulligan.adapters.tools.process.command_runner import Launchers
from mulligan.adapters.tools.toolbox import LocalToolbox
from mulligan.domain.plans.tool import ToolResult
from tests.support.recording_host import RecordingHost, a_request
from tests.unit.tools.project_homes import Home

Call = Callable[..., ToolResult]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The sandbox: beside it is what no tool may touch."""
    folder = tmp_path / "sandbox"
    folder.mkdir()
    return folder


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder that no file tool may touch, with a file in it."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "precious").write_text("untouched\n")
    return folder


@pytest.fixture
def host() -> RecordingHost:
    return RecordingHost()


@pytest.fixture
def toolbox(tmp_path: Path) -> Iterator[LocalToolbox]:
    made = LocalToolbox(
        launchers=Launchers(python=sys.executable, environment=dict(os.environ)), scratch=tmp_path / "scratch"
    )
    yield made
    made.forget_processes()


@pytest.fixture
def call(toolbox: LocalToolbox, host: RecordingHost, root: Path) -> Call:
    """Call a tool over the sandbox: `call("shell", command="true")`, with `_timeout` and the like."""

    def run(name: str, /, **args: object) -> ToolResult:
        options = {key[1:]: args.pop(key) for key in list(args) if key.startswith("_")}
        request = a_request(options.pop("root", root), args, **options)
        return toolbox.tool(name).call(request, host)

    return run


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """A project home, whose toolboxes are emptied in the end."""
    made = Home(tmp_path / "project")
    yield made
    for box in made.boxes:
        box.forget_processes()
