"""A DBOS workflow of many small steps on SQLite, run by the Python that has it; prints the seconds of each."""

import json
import logging
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any


def main(folder: str, journal_mode: str, steps: int) -> None:
    from dbos import DBOS
    from sqlalchemy import Engine, event

    @event.listens_for(Engine, "connect")
    def _durable(connection: Any, _record: Any) -> None:
        connection.execute(f"PRAGMA journal_mode={journal_mode}")
        connection.execute("PRAGMA synchronous=FULL")

    url = f"sqlite:///{folder}/dbos.sqlite"
    DBOS(
        config={"name": "bench", "system_database_url": url, "run_admin_server": False, "log_level": "ERROR"}
    )
    begun: list[float] = []

    @DBOS.step()
    def small(number: int) -> str:
        begun.append(time.perf_counter())
        (Path(folder) / f"{number % 20}").write_text(f"{number}")
        return "written"

    @DBOS.workflow()
    def many() -> None:
        for number in range(steps):
            small(number)

    DBOS.launch()
    many()
    DBOS.destroy()
    logging.shutdown()
    print(json.dumps({"seconds": [after - before for before, after in pairwise(begun)]}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
