"""A plan of ten thousand steps, a hundred in the default run: run, looked at, rolled back and run on.

The time that each took is printed.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

STEPS = int(os.environ.get("MULLIGAN_TEST_STEPS", "100"))


def test_a_plan_of_ten_thousand_steps(tmp_path: Path) -> None:
    lines = [
        f"  - {{name: step {n}, tool: write_file, args: {{path: f{n % 50}, content: 'v{n}'}}}}\n"
        for n in range(STEPS)
    ]
    lines.append("  - {name: milestone, checkpoint: here}\n")
    # A command in the end finds the outputs of all of them.
    lines.append('  - {name: last, tool: shell, args: {command: echo "$MULLIGAN_OUTPUT_STEP_0" > last}}\n')
    (tmp_path / "plan.yaml").write_text("name: long\nsteps:\n" + "".join(lines))
    for words in (
        ("plan", "execute", "plan.yaml"),
        ("plan", "status", "long"),
        ("plan", "list"),
        ("plan", "log", "long"),
        ("plan", "tree", "long"),
        ("checkpoint", "list", "long"),
        ("plan", "report", "--html", "report.html", "long"),
        ("plan", "rollback", "--yes", "long", "here"),
        ("plan", "resume", "long"),
        ("plan", "apply", "--yes", "long"),
    ):
        begun = time.monotonic()
        command = [sys.executable, "-m", "mulligan", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        print(f"{' '.join(words)}: {time.monotonic() - begun:.1f} s")
        assert done.returncode == 0, done.stderr[-2000:]
    assert (tmp_path / "last").read_text() == "f0\n"
    assert (tmp_path / f"f{(STEPS - 1) % 50}").read_text() == f"v{STEPS - 1}"
