"""The programs in `examples/` do what they say."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import mulligan

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_an_agent_s_loop_is_killed_and_goes_on(tmp_path: Path) -> None:
    """Only what passes is applied; what was given up before the kill is not tried again."""
    program = str(EXAMPLES / "agent_loop.py")
    killed = {
        **os.environ,
        "MULLIGAN_FAULT": "after:return.settle:1:SIGKILL",
    }  # the first idea was taken back
    words = [sys.executable, program, str(tmp_path)]
    assert subprocess.run(words, env=killed, check=False).returncode == -signal.SIGKILL
    assert list(tmp_path.glob("*.py")) == []
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "add.py").read_text() == "def add(a, b):\n    return a + b\n"
    project = mulligan.open(tmp_path)
    (plan,) = project.plans()
    assert (ended.stdout, plan.state, plan.steps_done) == (f"applied {plan.plan_id}\n", "applied", 2)
    assert sum(event.type == "step_failed" for event in project.log(plan.plan_id)) == 3
