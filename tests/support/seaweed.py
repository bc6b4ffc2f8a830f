"""SeaweedFS, a real object store, for tests: on this machine's loopback alone, in a folder of its own."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from tests.support.patience import PATIENCE
from tests.support.s3_server import BUCKET, KEY, SECRET

WHY_NOT = "SeaweedFS is not installed here: requirements/shared.txt names its package"
_FAR = 10_000  # of its second port of each kind


def program() -> str | None:
    """Return the program; None where it is not installed."""
    beside = Path(sys.executable).with_name("weed")
    return str(beside) if beside.exists() else shutil.which("weed")


class Seaweed:
    """One server, which can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ports = {
            name: _free_port()
            for name in ("master", "volume", "filer", "s3", "admin", "s3.iceberg", "s3.lance")
        }
        self.endpoint = f"http://127.0.0.1:{self._ports['s3']}"
        self.environ = {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
        }
        self._process: subprocess.Popen[bytes] | None = None
        actions = ["Admin", "Read", "Write", "List", "Tagging"]
        identity = {
            "name": "test",
            "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
            "actions": actions,
        }
        (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
        (folder / "data").mkdir()

    def start(self) -> None:
        """Start it, and wait until it takes objects."""
        found = program()
        assert found is not None
        command = [found, "mini", f"-dir={self.folder / 'data'}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"]
        command += [
            "-master.telemetry=false",
            "-admin.ui=false",
            "-webdav=false",
            "-s3.autoCreateBucket=false",
        ]
        command += [f"-bucket={BUCKET}", f"-s3.config={self.folder / 's3.json'}"]
        command += [f"-filer.localSocket={self.folder / 'filer.sock'}"]
        command += [f"-{name}={port}" for name, port in self._flags()]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder, env=_quiet()
            )
        until = time.monotonic() + PATIENCE
        while not self._takes_objects():
            assert self._process.poll() is None, (self.folder / "log").read_text()[-2000:]
            assert time.monotonic() < until, (self.folder / "log").read_text()[-2000:]
            time.sleep(0.1)

    def stop(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End it, by default as a crash does."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait()
            self._process = None

    def _flags(self) -> list[tuple[str, int]]:
        return [
            (f"{name}.port" if "." not in name else f"s3.port.{name.partition('.')[2]}", port)
            for name, port in self._ports.items()
        ]

    def _takes_objects(self) -> bool:
        from mulligan.adapters.object_packs.bucket import Bucket
        from mulligan.adapters.object_packs.store_address import store_address
        from mulligan.errors import MulliganError

        try:
            with urllib.request.urlopen(f"{self.endpoint}/status", timeout=1):
                pass
        except OSError:
            return False
        address = store_address(f"s3://{BUCKET}", endpoint=None, environ=self.environ, user=self.folder)
        try:
            Bucket(address).put_new(f"started/{os.urandom(8).hex()}", b"it takes objects")
        except MulliganError:
            return False
        return True


def _quiet() -> dict[str, str]:
    return {
        name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "S3_", "COVERAGE"))
    }


def _free_port() -> int:
    """Return a port that is free, and so is the one that belongs to it."""
    while True:
        with socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", 0))
            port: int = one.getsockname()[1]
            if port + _FAR > 65_535:
                continue
            try:
                other.bind(("127.0.0.1", port + _FAR))
            except OSError:
                continue
            return port
