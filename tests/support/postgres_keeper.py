"""Keeps one PostgreSQL server for all processes of a test run: `python -m tests.support.postgres_keeper FOLDER`.

Every process that uses the server holds the file `users` in FOLDER locked, shared. The keeper ends the server when it
gets that lock alone, also where all of them were killed; and the system ends the server with the keeper.
"""

import ctypes
import fcntl
import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

# Durability is not what most tests are about; those that are start a server of their own.
FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "autovacuum=off")
SMALL = (
    "shared_buffers=16MB",
    "max_connections=80",
    "max_wal_size=64MB",
    "max_wal_senders=0",
    "wal_level=minimal",
)


def binaries() -> Path | None:
    """Return the folder with PostgreSQL's programs; None where it is not installed."""
    named = shutil.which("initdb")
    folders = [Path(named).resolve().parent] if named else []
    folders += sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: -float(folder.parent.name)
    )
    return next(
        (each for each in folders if (each / "postgres").exists() and (each / "initdb").exists()), None
    )


def _die_with_parent() -> None:
    _LIBC.prctl(1, signal.SIGQUIT)  # PR_SET_PDEATHSIG


def ordinary_user() -> dict[str, int]:
    """Return what makes a process run as another user than root, whom PostgreSQL refuses."""
    if os.geteuid() != 0:
        return {}
    found = next(
        pwd.getpwnam(name) for name in ("postgres", "nobody") if name in {p.pw_name for p in pwd.getpwall()}
    )
    return {"user": found.pw_uid, "group": found.pw_gid}


class Server:
    """A PostgreSQL server in a folder, reached through a socket there."""

    def __init__(self, folder: Path, *settings: str) -> None:
        self.folder = folder
        self.data = folder / "data"
        self._port = next((s.removeprefix("port=") for s in settings if s.startswith("port=")), "5432")
        self._settings = [*SMALL, f"unix_socket_directories={folder}", "listen_addresses=", *settings]
        found = binaries()
        assert found is not None
        self._programs = found
        self._as = ordinary_user()
        self.process: subprocess.Popen[bytes] | None = None

    def make(self) -> None:
        """Make the data folder."""
        if self._as:
            os.chown(self.folder, self._as["user"], self._as["group"])
        self.folder.chmod(0o755)
        options = ["--no-sync", "--auth=trust", "--username=tester", "--encoding=UTF8", "--locale=C.UTF-8"]
        command = [str(self._programs / "initdb"), *options, "--wal-segsize=1", "-D", str(self.data)]
        self._run(command)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [str(self._programs / "postgres"), "-D", str(self.data)]
        for setting in self._settings:
            command += ["-c", setting]
        log = (self.folder / "log").open("ab")
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=self.folder,
            start_new_session=True,
            preexec_fn=_die_with_parent,  # noqa: PLW1509 - it only calls the system
            **self._as,
        )
        log.close()
        ready = [
            str(self._programs / "pg_isready"),
            "-q",
            "-h",
            str(self.folder),
            "-p",
            self._port,
            "-t",
            "5",
        ]
        while subprocess.run(ready, check=False, env=_CLEAN).returncode != 0:
            if self.process.poll() is not None:
                raise RuntimeError((self.folder / "log").read_text())
            time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it: SIGINT ends all sessions, SIGQUIT is a crash."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait()
            self.process = None

    def _run(self, command: list[str]) -> None:
        done = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, check=False, env=_CLEAN, **self._as
        )
        if done.returncode != 0:
            raise RuntimeError(done.stdout + done.stderr)


_LIBC = ctypes.CDLL(None)
_CLEAN = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("PG", "COVERAGE", "LC_", "LANG"))
}


def main(folder: Path) -> None:
    """Start the server, say that it is there, and end it when nobody uses it."""
    place = folder / "server"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    server = Server(place, *FAST)
    with (folder / "users").open("r+b") as users:
        try:
            server.make()
            server.start()
            (place / "ready").touch()
            fcntl.flock(users, fcntl.LOCK_EX)  # held until all is removed
        finally:
            server.stop(signal.SIGQUIT)  # nothing of it is kept
            shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests, whose end ends this
    main(Path(sys.argv[1]))
