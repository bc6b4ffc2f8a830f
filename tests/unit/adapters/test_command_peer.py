"""A process that a fork of the warm process cannot become: it works itself."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from mulligan.adapters.local_server.command_peer import PeerDiffers, become_like, read_at_the_start

WAITS = "import sys; print(flush=True); sys.stdin.read()"
NOT_OUR_OWN = {
    "another namespace": ("libc.unshare(0x04000000)", "namespace uts"),
    "another root folder": ("os.chroot('/proc')", "root folder"),
    "scheduled otherwise": ("os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))", "scheduled"),
    "another user": ("os.setuid(65534)", "Uid"),
    "no new privileges": ("libc.prctl(38, 1, 0, 0, 0)", "gained no privileges"),
}


@contextmanager
def peer(act: str) -> Iterator[int]:
    """A process that did something to itself, and waits."""
    program = f"import ctypes, os; libc = ctypes.CDLL(None); {act}; {WAITS}"
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", program], stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n"
        yield process.pid
        process.communicate()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("name", NOT_OUR_OWN)
def test_a_process_with_other_rights_or_places_is_left_alone(name: str) -> None:
    act, reason = NOT_OUR_OWN[name]
    mask = os.umask(0o022)
    os.umask(mask)
    with peer(f"os.umask(0o777); {act}") as pid, pytest.raises(PeerDiffers, match=reason):
        become_like(pid)
    assert os.umask(mask) == mask, "nothing was taken over"


def test_a_process_that_is_gone_is_left_alone() -> None:
    with peer("0") as pid:
        pass
    with pytest.raises(PeerDiffers):
        become_like(pid)


def test_variables_that_count_before_a_program_begins() -> None:
    found = read_at_the_start({b"PYTHONPATH": b"x", b"LD_PRELOAD": b"y", b"HOME": b"/", b"LANG": b"C"})
    assert found == {b"PYTHONPATH": b"x", b"LD_PRELOAD": b"y", b"LANG": b"C"}
