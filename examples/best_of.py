"""Three ways from one checkpoint: each is tried on the same state and measured, and the best one is applied.

How to run it, with a new folder:

    python3 best_of.py FOLDER

What to look at: each way starts from the checkpoint `start`, so none finds what another left. At the end the
program goes *forward*, to the checkpoint of the best: going back deletes nothing. In that folder `mulligan checkpoint
list --all` shows the ways that were not taken, and `mulligan checkpoint restore ID --to DIR` gets their files.
"""

import bz2
import gzip
import lzma
import sys
from pathlib import Path

import mulligan

WAYS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


def main(folder: Path) -> tuple[str, dict[str, int]]:
    """Pack a file in three ways, and apply the smallest; return its name, and all sizes."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "squares.txt").write_text("".join(f"{number**2}\n" for number in range(2000)))
    project = mulligan.init(folder)
    sizes: dict[str, int] = {}  # not in session.state, which goes back with the files
    checkpoints: dict[str, str] = {}
    with project.session("pack", resources={"files": mulligan.directory(".")}) as session:
        session.checkpoint("start")
        for way, compress in WAYS.items():
            with session.step(f"pack as {way}"):
                packed = session.path() / f"squares.{way}"
                packed.write_bytes(compress((session.path() / "squares.txt").read_bytes()))
                sizes[way] = packed.stat().st_size
            checkpoints[way] = session.checkpoint(way)
            session.rollback("start")
        best = min(sizes, key=sizes.__getitem__)
        session.rollback(checkpoints[best])
    project.apply(session.plan_id)
    return best, sizes


if __name__ == "__main__":
    best, sizes = main(Path(sys.argv[1]))
    for way, size in sizes.items():
        print(f"{way}: {size} bytes{', applied' if way == best else ''}")
