"""A DBOS workflow of many small steps on SQLite, run by the Python that has it.

Prints the seconds of each step, and of listing all steps of the workflow.
"""

import json
import logging
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any


def main(folder: str, journal_mode: str, synchronous: str, steps: int) -> None:
    from dbos import DBOS
    from sqlalchemy import Engine, event

    @event.listens_for(Engine, "connect")
    def _durable(connection: Any, _record: Any) -> None:
        connection.execute(f"PRAGMA journal_mode={journal_mode}")
        connection.execute(f"PRAGMA synchronous={synchronous}")

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
    handle = DBOS.start_workflow(many)
    handle.get_result()
    listings: list[float] = []
    for _ in range(3):
        asked = time.perf_counter()
        found = len(DBOS.list_workflow_steps(handle.get_workflow_id()))
        listings.append(time.perf_counter() - asked)
        assert found >= steps
    DBOS.destroy()
    logging.shutdown()
    seconds = [after - before for before, after in pairwise(begun)]
    print(json.dumps({"seconds": seconds, "listings": listings}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
