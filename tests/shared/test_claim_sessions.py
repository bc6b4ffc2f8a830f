"""Claims of plans end with the session on the server: when a process is killed, cut off, or does not move."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from mulligan.adapters.postgres.postgres_claims import PostgresClaims
from mulligan.adapters.postgres.schema_versions import make_schema, open_postgres
from mulligan.adapters.postgres.server_address import ServerAddress
from mulligan.boundaries import act
from mulligan.domain.text.ids import PlanId
from mulligan.errors import ClaimUncertain, PlanBusyElsewhere, PlanTakenOver, PoolerInTheWay
from mulligan.ports import StopRequest
from tests.support.patience import wait_until
from tests.support.postgres_keeper import Server, ordinary_user

PLAN = PlanId("01K00000000000000000000001")
LEASE = 2
CLONE_NEWNET = 0x40000000
ROOT = Path(__file__).parents[2]
HOLDER = """
import sys, time
from tests.shared.test_claim_sessions import claims_of, PLAN
from mulligan.boundaries import act
from mulligan.errors import MulliganError
from mulligan.ports import StopRequest
stop = StopRequest()
with claims_of(sys.argv[1], sys.argv[2], stop).hold(PLAN):
    print("held", flush=True)
    while True:
        try:
            stop.obey()
            with act("plan.record"):
                pass
        except (KeyboardInterrupt, MulliganError) as exc:
            print(type(exc).__name__, flush=True)
            break
        time.sleep(0.02)
"""

# The network that is cut is that of this program alone; PostgreSQL's socket in the filesystem is not part of it.
CUT_OFF = f"""
import ctypes, shutil, subprocess, tempfile, time
from contextlib import closing
from pathlib import Path
from mulligan.adapters.postgres.schema_versions import make_schema
from mulligan.adapters.postgres.server_address import ServerAddress
from tests.shared.test_claim_sessions import holder, claims_of, free, said
from tests.support.postgres_keeper import Server
assert ctypes.CDLL(None).unshare({CLONE_NEWNET}) == 0
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
folder = Path(tempfile.mkdtemp(prefix="mulligan-pg-own-"))
server = Server(folder, "listen_addresses=127.0.0.1", "tcp_user_timeout=2000")
try:
    server.make()
    server.start()
    near, far = (f"postgresql://tester@/postgres?host={{host}}&lease=20" for host in (folder, "127.0.0.1"))
    make_schema(ServerAddress.of(near), "of this test")
    with closing(claims_of(near)) as claims, holder(far, "two") as process:
        time.sleep(1.5)
        subprocess.run(["ip", "link", "set", "lo", "down"], check=True)
        print(said(process), "free" if free(claims) else "held")
        while not free(claims):
            time.sleep(0.02)
        print("free")
finally:
    server.stop()
    shutil.rmtree(folder)
"""


class Clock:
    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)


def claims_of(url: str, machine: str = "one", stop: StopRequest | None = None) -> PostgresClaims:
    """Return the claims of a process on that machine."""
    return PostgresClaims(
        address=ServerAddress.of(url), clock=Clock(), stop=stop, host=f"host-{machine}", machine=machine
    )


@pytest.fixture
def url(address: str) -> str:
    short = f"{address}&lease={LEASE}"
    make_schema(ServerAddress.of(short), "of this test")
    return short


@pytest.fixture
def claims(url: str) -> Iterator[PostgresClaims]:
    with closing(claims_of(url)) as own:
        yield own


@contextmanager
def holder(url: str, machine: str) -> "Iterator[subprocess.Popen[str]]":
    """Another process, which holds the plan until it may not."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, url, machine], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def said(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def free(claims: PostgresClaims) -> bool:
    return claims.holder(PLAN) is None


def test_a_holder_elsewhere_is_named_with_its_machine(url: str, claims: PostgresClaims) -> None:
    with holder(url, "two") as process:
        with pytest.raises(PlanBusyElsewhere) as refusal, claims.hold(PLAN):
            pass
        assert (refusal.value.facts["host"], refusal.value.facts["pid"]) == ("host-two", process.pid)
        found = claims.holder(PLAN)
        assert found is not None
        assert found.host == "host-two"


def test_a_process_that_stands_still_loses_its_claims_and_does_nothing_more(
    url: str, claims: PostgresClaims
) -> None:
    with holder(url, "two") as process:
        process.send_signal(signal.SIGSTOP)
        wait_until(lambda: free(claims), "the claim of a process that stands still is free")
        with claims.hold(PLAN):
            process.send_signal(signal.SIGCONT)
            assert said(process) in ("ClaimUncertain", "PlanTakenOver", "KeyboardInterrupt")


def test_a_process_elsewhere_is_asked_to_stop_by_its_row(url: str, claims: PostgresClaims) -> None:
    with holder(url, "two") as process:
        claims.ask_to_stop(PLAN)
        assert said(process) == "KeyboardInterrupt"
        assert free(claims)
        assert claims.was_asked_to_stop(PLAN)


def test_a_plan_is_taken_from_a_process_elsewhere_which_lives_on(url: str, claims: PostgresClaims) -> None:
    with holder(url, "two") as process:
        assert claims.take_over(PLAN, []) == [PLAN]
        with claims.hold(PLAN):
            assert said(process) in ("PlanTakenOver", "KeyboardInterrupt")


def test_a_link_that_is_lost_on_one_side_only_loses_no_claim(address: str, url: str, tmp_path: Path) -> None:
    with (
        link_to(address, tmp_path) as (through, lose),
        closing(claims_of(through)) as claims,
        closing(claims_of(url)) as others,
        claims.hold(PLAN),
    ):
        before = session_on_the_server(others)
        lose()
        wait_until(
            lambda: session_on_the_server(others) not in (None, before), "the claim has another session"
        )
        with act("plan.record"):
            pass
        assert not free(others)


def test_a_machine_that_was_suspended_does_not_rely_on_its_claims(
    url: str, claims: PostgresClaims, monkeypatch: pytest.MonkeyPatch
) -> None:
    with claims.hold(PLAN):
        with closing(claims_of(url)) as others:
            backend = session_on_the_server(others)
        assert backend is not None
        os.kill(backend, signal.SIGSTOP)  # no answer comes yet: the network is not back
        try:
            real = time.clock_gettime
            # Only this clock goes on meanwhile.
            monkeypatch.setattr(
                time, "clock_gettime", lambda each: real(each) + 3600 * (each == time.CLOCK_BOOTTIME)
            )
            with pytest.raises(ClaimUncertain), act("plan.record"):
                pass
        finally:
            os.kill(backend, signal.SIGCONT)


def test_a_claim_lasts_until_its_holder_has_given_up(own_network: None) -> None:
    """A machine that is cut off refuses to act before another one can have its plan."""
    done = subprocess.run(
        [sys.executable, "-c", CUT_OFF], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["ClaimUncertain", "held", "free"]


def test_work_goes_on_with_the_same_claim_when_the_server_comes_back(own_server: Server) -> None:
    url = f"postgresql://tester@/postgres?host={own_server.folder}&lease=60"
    make_schema(ServerAddress.of(url), "of this test")
    with closing(claims_of(url)) as claims, claims.hold(PLAN):
        before = claims.holder(PLAN)
        for how in (signal.SIGINT, signal.SIGQUIT):
            own_server.stop(how)
            with act("plan.record"):
                pass  # nobody else can have it yet
            own_server.start()
            wait_until(lambda: claims.holder(PLAN) is not None, "the claim is taken again")
            with act("plan.record"):
                pass
        assert before is not None
        assert claims.holder(PLAN) == before


def test_without_an_answer_the_work_stops_before_another_machine_can_begin(own_server: Server) -> None:
    url = f"postgresql://tester@/postgres?host={own_server.folder}&lease=1"
    make_schema(ServerAddress.of(url), "of this test")
    stop = StopRequest()
    with closing(claims_of(url, stop=stop)) as claims, claims.hold(PLAN):
        own_server.stop(signal.SIGQUIT)
        wait_until(lambda: _refused(ClaimUncertain), "acts are refused")
        wait_until(lambda: _stopped(stop), "the work is asked to stop")
        own_server.start()


def test_who_was_overtaken_while_the_server_was_away_does_not_go_on(own_server: Server) -> None:
    url = f"postgresql://tester@/postgres?host={own_server.folder}&lease=60"
    make_schema(ServerAddress.of(url), "of this test")
    with closing(claims_of(url, stop=StopRequest())) as claims, claims.hold(PLAN):
        with psycopg.connect(
            f"postgresql://tester@/postgres?host={own_server.folder}", autocommit=True
        ) as raw:
            raw.execute("UPDATE mulligan.claims SET token = 'of another'")
        own_server.stop()
        own_server.start()
        wait_until(lambda: _refused(PlanTakenOver), "the claim is known to be lost")


@pytest.mark.parametrize("ignored", ["extra_float_digits", "extra_float_digits,options"])
@pytest.mark.parametrize("mode", ["session", "transaction"])
def test_a_pooler_is_refused_by_name(own_server: Server, mode: str, ignored: str) -> None:
    direct = f"postgresql://tester@/postgres?host={own_server.folder}&project=x"
    make_schema(ServerAddress.of(direct), "x")
    with pooler(own_server, mode, ignored) as url:
        with pytest.raises(PoolerInTheWay), closing(claims_of(url)) as claims, claims.hold(PLAN):
            pass
        with pytest.raises(PoolerInTheWay):
            open_postgres(ServerAddress.of(url))


def session_on_the_server(claims: PostgresClaims) -> int | None:
    """Return the number of the session that has the plan, if any."""
    found = claims._holder(PLAN)  # noqa: SLF001 - people are not shown that number
    return found.session if found is not None else None


@contextmanager
def link_to(address: str, folder: Path) -> Iterator[tuple[str, Callable[[], None]]]:
    """A link to the server, and what loses it for those on this side: the server does not hear of it."""
    there = parse_qs(urlsplit(address).query)["host"][0]
    here, kept, threads = list[socket.socket](), list[socket.socket](), list[Thread]()

    def begin(work: Callable[..., object], *ends: socket.socket) -> None:
        threads.append(Thread(target=work, args=ends, daemon=True))
        threads[-1].start()

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / ".s.PGSQL.5432"))
        listening.listen()

        def connect() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listening.accept()
                    onwards = socket.socket(socket.AF_UNIX)
                    onwards.connect(f"{there}/.s.PGSQL.5432")
                    here.append(client)
                    kept.extend((client, onwards))
                    for ends in ((client, onwards), (onwards, client)):
                        begin(pass_on, *ends)

        def lose() -> None:
            while here:
                here.pop().shutdown(socket.SHUT_RDWR)

        begin(connect)
        try:
            yield f"{address.replace(there, str(folder))}&lease=600", lose
        finally:
            with suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            for each in kept:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join()
            for each in kept:
                each.close()


def pass_on(source: socket.socket, target: socket.socket) -> None:
    """Pass all bytes on, and no end."""
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)


@pytest.fixture
def own_network(whole_run: None) -> None:
    """Ask for a network that a test may cut."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "--net", "true"], check=False).returncode:
        pytest.skip("no network of one's own can be made here")


@contextmanager
def pooler(server: Server, mode: str, ignored: str) -> Iterator[str]:
    """A connection pooler before the server."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        pytest.skip("pgbouncer is not installed")
    folder = server.folder / "pooler"
    folder.mkdir()
    lines = [
        "[databases]",
        f"* = host={server.folder}",
        "[pgbouncer]",
        f"unix_socket_dir = {folder}",
        "listen_addr =",
        "auth_type = any",
        f"pool_mode = {mode}",
        f"ignore_startup_parameters = {ignored}",
        f"logfile = {folder}/log",
        f"pidfile = {folder}/pid",
    ]
    lines[1] += " user=tester"
    (folder / "settings.ini").write_text("\n".join(lines))
    user = ordinary_user()
    if user:
        os.chown(folder, user["user"], user["group"])
    process = subprocess.Popen([program, str(folder / "settings.ini")], cwd=folder, **user)
    try:
        wait_until(
            lambda: (folder / ".s.PGSQL.6432").exists() or process.poll() is not None, "the pooler listens"
        )
        assert process.poll() is None, (folder / "log").read_text()
        yield f"postgresql://tester@/postgres?host={folder}&port=6432&project=x"
    finally:
        process.terminate()
        process.wait()


def _refused(kind: type[Exception]) -> bool:
    try:
        with act("plan.record"):
            return False
    except kind:
        return True


def _stopped(stop: StopRequest) -> bool:
    try:
        stop.obey()
    except KeyboardInterrupt:
        return True
    return False
