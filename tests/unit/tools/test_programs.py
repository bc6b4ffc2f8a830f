"""Programs that tools run in: each starts with the standard library alone, for the interpreter may have no more."""

import subprocess
import sys

import pytest

from mulligan.adapters.tools.launcher.jail import LOADED
from mulligan.adapters.tools.process.launcher_client import LOAD, PROGRAMS

LAUNCHER = ("launcher.kernel", "launcher.control_groups", "launcher.launcher", "launcher.guardian", *LOADED)
WORKER = ("worker.step_context", "worker.worker")
OWN_WORKER = (*WORKER, "user_tools.tool_decorator", "worker.user_worker")


@pytest.mark.parametrize("modules", [LAUNCHER, WORKER, OWN_WORKER, ("sql.sql_process",)])
def test_a_program_needs_nothing_but_the_standard_library(modules):
    program = LOAD + "".join(f"load({name!r})\n" for name in modules)
    alone = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, PROGRAMS], capture_output=True, text=True, check=False
    )
    assert (alone.returncode, alone.stderr) == (0, "")
