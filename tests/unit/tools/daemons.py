"""Processes that try to outlive the call that started them."""

import sys
from pathlib import Path

from mulligan.adapters.tools.launcher.launcher import is_zombie
from tests.support.patience import wait_until

DAEMON = """\
import os, sys, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
open("pid", "w").write(str(os.getpid()))
{before}
while True:
    open("beat", "a").write("x")
    time.sleep(0.005)
"""


def start_daemon(root: Path, before: str = "") -> str:
    """A command that leaves a double-forked process of another session behind, which keeps writing."""
    (root / "daemon.py").write_text(DAEMON.format(before=before))
    return f"{sys.executable} -S daemon.py; while [ ! -s beat ]; do sleep 0.01; done; echo started"


def is_gone(root: Path) -> bool:
    """Gone, or at most not yet reaped by whoever adopted it."""
    return is_zombie(int((root / "pid").read_text()))


def is_gone_or_zombie(pid: int) -> bool:
    """Whoever adopted it may not have reaped it yet."""
    wait_until(lambda: is_zombie(pid), f"process {pid} has ended")
    return True
