"""A process around stepback's engine, run by the Python that has it; asked in lines of JSON."""

import json
import sys
import time
from pathlib import Path


def main(tree: str) -> None:
    from stepback.engine import Engine

    engine = Engine(Path(tree))
    name = None
    for line in sys.stdin:
        request = json.loads(line)
        started = time.perf_counter()
        try:
            if request["verb"] == "snapshot":
                taken = engine.checkpoint()  # None: equal to the last one
                name = taken.id if taken is not None else name
            else:
                engine.rewind(engine.state.by_id(request["name"]))
        except Exception as exc:  # noqa: BLE001  the caller reports whatever it is
            print(json.dumps({"error": f"{type(exc).__name__}: {exc}"}), flush=True)
            continue
        print(json.dumps({"seconds": time.perf_counter() - started, "name": name}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
