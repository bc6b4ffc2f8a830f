"""What every implementation of `Locks` promises, one file per verb; a new one is a line in BACKENDS."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path

import pytest

from mulligan.adapters import plan_locks
from mulligan.adapters.plan_locks import FilePlanLocks
from mulligan.adapters.postgres import postgres_claims
from mulligan.adapters.postgres.postgres_claims import PostgresClaims
from mulligan.adapters.postgres.schema_versions import make_schema
from mulligan.adapters.postgres.server_address import ServerAddress
from mulligan.domain.text.ids import PlanId
from mulligan.ports import Locks, StopRequest
from tests.support.patience import PATIENCE
from tests.support.shared_database import server_address

PLAN = PlanId("01K00000000000000000000001")
CHILD = PlanId("01K00000000000000000000002")
SINCE = datetime(2026, 1, 1, tzinfo=UTC)


class FixedClock:
    def now(self) -> datetime:
        return SINCE


def flock(folder: Path, stop: StopRequest | None = None) -> Locks:
    return FilePlanLocks(folder=folder, clock=FixedClock(), stop=stop)


def server_lock(folder: Path, stop: StopRequest | None = None) -> Locks:
    own = blake2b(str(folder).encode(), digest_size=10).hexdigest()
    address = ServerAddress.of(f"{server_address()}&schema=l_{own}")
    if not folder.exists():
        make_schema(address, "of this test")
        folder.mkdir()
    return PostgresClaims(address=address, clock=FixedClock(), stop=stop, host="here", machine="this one")


BACKENDS: dict[str, Callable[[Path, StopRequest | None], Locks]] = {"flock": flock, "postgresql": server_lock}
# The modules with the patience of each: most tests of what does not stop wait for less long.
MODULES = (plan_locks, postgres_claims)

HOLDER = """
import sys, time
from pathlib import Path
from tests.contracts.locks.conftest import BACKENDS
with BACKENDS[sys.argv[1]](Path(sys.argv[2]), None).hold(sys.argv[3]):
    print("held", flush=True)
    time.sleep(60)
"""


class Claimants:
    """Makes locks of one backend, for this thread, for others, and for other processes."""

    def __init__(self, backend: str, folder: Path) -> None:
        self._backend = backend
        self._folder = folder

    def locks(self, stop: StopRequest | None = None) -> Locks:
        return BACKENDS[self._backend](self._folder, stop)

    @contextmanager
    def process(self) -> "Iterator[subprocess.Popen[str]]":
        """Another process that holds the plan."""
        arguments = [sys.executable, "-c", HOLDER, self._backend, str(self._folder), PLAN]
        root = Path(__file__).parents[3]
        process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, cwd=root)
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    @contextmanager
    def thread(self, *plans: PlanId, obeys: bool = True) -> "Iterator[threading.Event]":
        """Another thread of this process that holds plans, each as part of the work on the one before.

        It holds PLAN where none is given, until it is asked to stop; the event says that it was.
        """
        held, stopped, end, stop = threading.Event(), threading.Event(), threading.Event(), StopRequest()

        def work() -> None:
            with ExitStack() as holding:
                for plan in plans or (PLAN,):
                    holding.enter_context(self.locks(stop).hold(plan))
                held.set()
                while not end.wait(0.01):
                    try:
                        stop.obey()
                    except KeyboardInterrupt:
                        stopped.set()
                        if obeys:
                            break
            stop.obey()  # the request was for that work, not for what comes next

        thread = threading.Thread(target=work)
        thread.start()
        assert held.wait(PATIENCE)
        try:
            yield stopped
        finally:
            end.set()
            thread.join(PATIENCE)
            assert not thread.is_alive()


@pytest.fixture(params=sorted(BACKENDS))
def claimants(request: pytest.FixtureRequest, tmp_path: Path) -> Claimants:
    if request.param == "postgresql":
        server_address()  # starts it, so that it outlives the processes of the test
    return Claimants(str(request.param), tmp_path / "locks")
