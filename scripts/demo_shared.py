"""The tour of `scripts/demo-shared`: two workers, a plan with children, and a worker that is killed."""

from __future__ import annotations

# ruff: noqa: T201 - it talks to its user
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PLAN = """\
name: release
steps:
  - {name: prepare, run: echo prepared >> log.txt}
  - name: parts
    subplans:
      mode: parallel
      plans:
        - {name: docs, steps: [{name: write, run: sleep 10; echo docs > docs.txt}]}
        - {name: code, steps: [{name: write, run: sleep 10; echo code > code.txt}]}
        - {name: tests, steps: [{name: write, run: sleep 10; echo tests > tests.txt}]}
  - {name: finish, run: sleep 1; echo finished >> log.txt}
"""
PATIENCE = 300  # seconds
KEY, SECRET = "demo", "demodemo"


class Tour:
    """A temporary folder with all that the tour starts."""

    def __init__(self, mulligan: str, folder: Path) -> None:
        self.mulligan, self.folder = mulligan, folder
        self.project = folder / "project"
        self.started: list[subprocess.Popen[bytes]] = []
        self.environ = {**os.environ, "MULLIGAN_HOME": str(folder / "homes"), "COLUMNS": "100"}

    def run(self, *words: str) -> None:
        """Show a command and what it prints."""
        print(f"\n$ mulligan {' '.join(words)}", flush=True)
        subprocess.run([self.mulligan, *words], cwd=self.project, env=self.environ, check=True)

    def ask(self, *words: str) -> Any:
        """Return the data of an answer."""
        command = [self.mulligan, *words, "--format", "json"]
        done = subprocess.run(command, cwd=self.project, env=self.environ, check=True, capture_output=True)
        return json.loads(done.stdout)["data"]

    def begin(self, *command: str, log: str, **more: Any) -> subprocess.Popen[bytes]:
        """Start a program that ends with the tour."""
        with (self.folder / log).open("ab") as stream:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
                **more,
            )
        self.started.append(process)
        return process

    def database(self) -> str:
        """Start PostgreSQL; return the address of a database."""
        found = shutil.which("initdb")
        places = [Path(found).resolve().parent] if found else []
        places += sorted(
            Path("/usr/lib/postgresql").glob("*/bin"), key=lambda place: -float(place.parent.name)
        )
        place = self.folder / "postgresql"
        place.mkdir()
        other: dict[str, Any] = {}
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            shutil.chown(place, "postgres", "postgres")
            other = {"user": "postgres", "group": "postgres"}
        data = str(place / "data")
        make = [str(places[0] / "initdb"), "--auth=trust", "--username=demo", "--encoding=UTF8"]
        subprocess.run(
            [*make, "--locale=C.UTF-8", "-D", data], cwd=place, check=True, capture_output=True, **other
        )
        serve = [str(places[0] / "postgres"), "-D", data, "-c", f"unix_socket_directories={place}"]
        self.begin(*serve, "-c", "listen_addresses=", log="postgresql.log", cwd=place, **other)
        ready = [str(places[0] / "pg_isready"), "-q", "-h", str(place)]
        wait_until(lambda: subprocess.run(ready, check=False).returncode == 0, "PostgreSQL answers")
        return f"postgresql://demo@/postgres?host={place}&schema=demo"

    def bucket(self) -> str:
        """Start SeaweedFS; return the address of a bucket."""
        ports = {name: free_port() for name in ("master", "volume", "filer", "s3", "admin")}
        actions = ["Admin", "Read", "Write", "List", "Tagging"]
        who = {"name": "demo", "credentials": [{"accessKey": KEY, "secretKey": SECRET}], "actions": actions}
        (self.folder / "s3.json").write_text(json.dumps({"identities": [who]}))
        weed = str(Path(self.mulligan).with_name("weed"))
        options = [f"-dir={self.folder / 'weed'}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-bucket=demo"]
        options += [
            "-master.telemetry=false",
            "-admin.ui=false",
            "-webdav=false",
            f"-s3.config={self.folder / 's3.json'}",
        ]
        options += [f"-filer.localSocket={self.folder / 'filer.sock'}", f"-s3.port.iceberg={free_port()}"]
        options += [
            f"-s3.port.lance={free_port()}",
            *(f"-{name}.port={port}" for name, port in ports.items()),
        ]
        (self.folder / "weed").mkdir()
        self.begin(weed, "mini", *options, log="seaweedfs.log", cwd=self.folder)
        end = f"http://127.0.0.1:{ports['s3']}"
        self.environ |= {"AWS_ENDPOINT_URL": end, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}
        self.environ |= {"AWS_REGION": "us-east-1"}
        wait_until(lambda: answers(f"{end}/status"), "SeaweedFS answers")
        time.sleep(3)  # it answers before its volumes take objects
        return "s3://demo/packs"

    def worker(self, number: int) -> subprocess.Popen[bytes]:
        """Start a worker, and wait until it takes plans."""
        log = f"worker-{number}.log"
        print(f"\n$ mulligan worker --slots 2 &        # worker {number}", flush=True)
        command = (self.mulligan, "worker", "--slots", "2", "--format", "json")
        process = self.begin(*command, log=log, cwd=self.project, env=self.environ)
        wait_until(lambda: '"ready"' in (self.folder / log).read_text(), f"worker {number} is ready")
        return process

    def end(self) -> None:
        """End what was started, the newest first."""
        for process in reversed(self.started):
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
        for process in reversed(self.started):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def free_port() -> int:
    """Return a port of this machine that is free, and whose second one, 10,000 above, is free too."""
    while True:
        with socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", 0))
            port: int = one.getsockname()[1]
            try:
                other.bind(("127.0.0.1", port + 10_000))
            except (OSError, OverflowError):
                continue
            return port


def answers(address: str) -> bool:
    """Return whether a server answers at all."""
    try:
        with urllib.request.urlopen(address, timeout=1):  # noqa: S310 - our own server
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


def wait_until(fact: Any, what: str) -> None:
    """Wait until something is so."""
    until = time.monotonic() + PATIENCE
    while not fact():
        if time.monotonic() > until:
            raise SystemExit(f"it did not happen in {PATIENCE} s that {what}")
        time.sleep(0.1)


@contextmanager
def tour_in(mulligan: str) -> Iterator[Tour]:
    """Have a folder, and remove it with all that runs there."""
    folder = Path(tempfile.mkdtemp(prefix="mulligan-demo-shared-"))
    folder.chmod(0o755)
    tour = Tour(mulligan, folder)
    try:
        tour.project.mkdir()
        yield tour
    finally:
        tour.end()
        shutil.rmtree(folder, ignore_errors=True)


def main(mulligan: str) -> None:
    """Give the tour."""
    with tour_in(mulligan) as tour:
        print("# PostgreSQL and SeaweedFS, on this machine alone", flush=True)
        database, store = tour.database(), tour.bucket()
        (tour.project / "log.txt").write_text("")
        tour.run("init", "--database", database, "--store", store)
        (tour.project / "release.yaml").write_text(PLAN)
        workers = [tour.worker(number) for number in (1, 2)]
        print("\n# a plan with three child plans; any worker takes any of them", flush=True)
        tour.run("submit", "release.yaml")
        plan = tour.ask("status", "release")["plan_id"]
        wait_until(lambda: len(tour.ask("list")["plans"]) == 4, "its children are there")
        tour.run("worker", "list")
        listed = tour.ask("worker", "list")["workers"]
        victim = next(each["pid"] for each in listed if plan in each["plans"])
        print(f"\n$ kill -9 {victim}        # the worker that runs the plan", flush=True)
        next(each for each in workers if each.pid == victim).kill()
        killed = time.monotonic()
        wait_until(lambda: tour.ask("status", "release")["state"] == "complete", "the plan is complete")
        print(f"\n# the other one finished it {time.monotonic() - killed:.1f} s later", flush=True)
        tour.run("status", "release")
        tour.run("diff", "--stat", "release")
        tour.run("doctor")


if __name__ == "__main__":
    main(sys.argv[1])
