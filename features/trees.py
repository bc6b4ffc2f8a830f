"""A folder's content as a value, for comparison. As a script it writes one down: trees.py FOLDER FILE."""

import hashlib
import json
import stat
import sys
from pathlib import Path

Tree = dict[str, list[object]]


def tree_of(folder: Path, *, times: bool = False) -> Tree:
    """Every path under a folder but the project home: kind, mode, content, and times where they matter."""
    found: Tree = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name.split("/", maxsplit=1)[0] != ".mulligan":
            found[name] = _described(path) + ([path.lstat().st_mtime_ns] if times else [])
    return found


def _described(path: Path) -> list[object]:
    mode = path.lstat().st_mode
    kind, permissions = stat.filemode(mode)[0], oct(stat.S_IMODE(mode))
    if stat.S_ISLNK(mode):
        return [kind, str(path.readlink())]
    if stat.S_ISREG(mode):
        return [kind, permissions, hashlib.sha256(path.read_bytes()).hexdigest()]
    return [kind, permissions]


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(tree_of(Path(sys.argv[1]))))
