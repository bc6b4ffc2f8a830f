"""What the step of a killed run still does is ended before anything is restored."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.faults.processes import processes_with
from tests.faults.projects import project_in

PLAN = """
name: writer
steps:
  - {name: first, tool: write_file, args: {path: a, content: "1"}}
  - name: second
    tool: shell
    args:
      command: |
        if [ -e "$MULLIGAN_VAR_GO_ON" ]; then echo done > b; exit; fi
        (setsid sh -c 'while :; do date +%N > b; sleep 0.01; done' &)
        echo $$ > started
        sleep 60
variables: {go-on: GO_ON}
"""


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} never appeared"
        time.sleep(0.01)


def test_an_orphan_that_keeps_writing_leaves_nothing_in_the_result(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN.replace("GO_ON", str(tmp_path / "go")))
    project_in(tmp_path)
    runner = subprocess.Popen(
        [sys.executable, "-m", "mulligan", "plan", "execute", "plan.yaml"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    sandboxes = tmp_path / ".mulligan" / "sandboxes"
    wait_for(sandboxes)
    while not (started := list(sandboxes.glob("*/workspace/started"))):
        time.sleep(0.01)
    sandbox = started[0].parent
    wait_for(sandbox / "b")
    plan_id = sandbox.parent.name
    # The runner and its launcher, which would otherwise end the step's processes, at one blow.
    launchers = [
        pid
        for pid in processes_with("MULLIGAN_PLAN_ID", plan_id)
        if b"launcher" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    for pid in launchers:
        os.kill(pid, signal.SIGSTOP)
    for pid in (runner.pid, *launchers):
        os.kill(pid, signal.SIGKILL)
    runner.wait()
    orphans = [pid for pid in processes_with("MULLIGAN_PLAN_ID", plan_id) if pid not in launchers]
    assert orphans, "nothing survived: the test shows nothing"
    assert project_in(tmp_path).status("writer").error is not None

    (tmp_path / "go").touch()
    project = project_in(tmp_path)
    status = project.execute("writer")

    assert processes_with("MULLIGAN_PLAN_ID", plan_id) == []
    assert status.state == "complete"
    assert status.resumed_from is not None
    assert status.resumed_from.discarded is not None
    assert sorted(p.name for p in sandbox.iterdir()) == ["a", "b", "plan.yaml"]
    assert (sandbox / "b").read_text() == "done\n"
    told = [e.data["message"] for e in project.log("writer") if e.type == "message"]
    assert any("ended a process that a killed run had left behind" in str(m) for m in told)
