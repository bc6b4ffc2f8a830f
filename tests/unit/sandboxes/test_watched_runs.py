"""While a plan runs, its sandboxes are watched; afterwards they are not."""

import os
import subprocess
from pathlib import Path

import mulligan

# Each step asks the kernel how many folders the process that runs the plan watches.
COUNT = "cat /proc/{pid}/fdinfo/* 2>/dev/null | grep -c ^inotify || true"
PLAN = """
name: watched
config: {{sandbox.isolate: 'off'}}  # a confined step may not look into other processes
resources:
  data: {{type: fs-directory, location: data}}
steps:
  - {{name: first, tool: shell, args: {{command: "({count}) > first; mkdir new"}}}}
  - {{name: second, tool: shell, args: {{command: "({count}) > second; rm -r sub"}}}}
  - {{name: third, tool: shell, args: {{command: "({count}) > third"}}}}
"""


def test_a_run_watches_its_sandboxes_and_the_folders_that_steps_make(tmp_path: Path) -> None:
    (tmp_path / "data" / "sub").mkdir(parents=True)
    count = COUNT.format(pid=os.getpid())
    (tmp_path / "plan.yaml").write_text(PLAN.format(count=count))
    others = int(subprocess.check_output(count, shell=True))
    status = mulligan.init(tmp_path).execute(tmp_path / "plan.yaml")
    assert status.state == "complete"
    sandbox = Path(status.sandboxes[0].path)
    assert int((sandbox / "first").read_text()) == others + 2  # the tree itself and `sub`
    assert int((sandbox / "second").read_text()) == others + 3
    assert int((sandbox / "third").read_text()) == others + 2
    assert int(subprocess.check_output(count, shell=True)) == others
