"""A PostgreSQL server of one's own, as durable as an ordinary one, in a folder that goes with it."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def binaries() -> Path | None:
    """Return the folder with PostgreSQL's programs; None where it is not installed."""
    named = shutil.which("initdb")
    found = [Path(named).resolve().parent] if named else []
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda each: -float(each.parent.name))
    return next((each for each in found if (each / "postgres").exists()), None)


@contextmanager
def database_server(place: Path) -> Iterator[str]:
    """Have a server while the block lasts; yield what connects to it."""
    programs = binaries()
    assert programs is not None
    place.mkdir()
    other = {"user": "postgres", "group": "postgres"} if os.geteuid() == 0 else {}
    if other:
        shutil.chown(place, "postgres", "postgres")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_", "LANG"))}
    make = [
        str(programs / "initdb"),
        "--auth=trust",
        "--username=bench",
        "--encoding=UTF8",
        "--locale=C.UTF-8",
    ]
    subprocess.run(
        [*make, "-D", str(place / "data")], cwd=place, check=True, capture_output=True, env=clean, **other
    )
    serve = [str(programs / "postgres"), "-D", str(place / "data"), "-c", f"unix_socket_directories={place}"]
    serve += ["-c", "listen_addresses=", "-c", "max_connections=250"]
    with (place.parent / "postgresql.log").open("wb") as log:
        process = subprocess.Popen(serve, cwd=place, stdout=log, stderr=log, env=clean, **other)
    try:
        ready = [str(programs / "pg_isready"), "-q", "-h", str(place)]
        while subprocess.run(ready, check=False, env=clean).returncode != 0:
            time.sleep(0.05)
        yield f"postgresql://bench@/postgres?host={place}"
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()
