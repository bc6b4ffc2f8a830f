"""Runs the tests of trees and sandboxes on other filesystems: `python -m tests.filesystems.mounts [NAME…]`, as root.

Each filesystem is made in a file and mounted for as long as its tests run.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

SIZE = 4 << 30  # bytes; sparse
TREES = ("tests/contracts", "tests/properties", "tests/unit/snapshots", "tests/unit/sandboxes")
SUITES = (
    *TREES,
    "tests/unit/test_file_clones.py",
    "tests/commands/test_unnamed_files.py",
    "tests/commands/test_git_plans.py",
)
IGNORING_CASE = ("tests/filesystems/on_ignored_case.py",)
# How each is made, how it is mounted, and what runs on it.
FILESYSTEMS: dict[str, tuple[list[str], list[str], tuple[str, ...]]] = {
    "xfs": (["mkfs.xfs", "-q"], ["mount", "-o", "loop"], SUITES),
    "btrfs": (["mkfs.btrfs", "-q"], ["mount", "-o", "loop"], SUITES),
    "tmpfs": ([], ["mount", "-t", "tmpfs", "-o", f"size={SIZE}"], SUITES),
    "ntfs": (["mkfs.ntfs", "-q", "-F"], ["lowntfs-3g", "-o", "ignore_case,permissions"], IGNORING_CASE),
}


@contextmanager
def mounted(name: str) -> Generator[Path]:
    """Make a filesystem and mount it."""
    make, mount, _ = FILESYSTEMS[name]
    with tempfile.TemporaryDirectory(prefix="mulligan-") as folder:
        image, place = Path(folder, "image"), Path(folder, name)
        place.mkdir()
        with image.open("wb") as file:
            file.truncate(SIZE)
        if make:
            subprocess.run([*make, str(image)], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([*mount, str(image), str(place)], check=True)
        try:
            yield place
        finally:
            subprocess.run(["umount", str(place)], check=True)


def main() -> int:
    """Run them; fail if one failed."""
    failed = list[str]()
    for name in sys.argv[1:] or FILESYSTEMS:
        with mounted(name) as place:
            place.chmod(0o755)  # some tests run parts as an ordinary user
            print(f"== {name}", flush=True)
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *FILESYSTEMS[name][2]]
            # The long tests of the sweeps have a limit of their own; these are the usual ones on a slower disk.
            around = {**os.environ, "TMPDIR": str(place), "MULLIGAN_TEST_MOUNT": str(place)}
            if subprocess.run([*command, "--timeout=1200"], env=around, check=False).returncode:
                failed.append(name)
    print(f"failed on {', '.join(failed)}" if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
