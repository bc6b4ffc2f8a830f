"""A step that makes files without a name and links them into place: in the checkpoints, and back with them."""

from pathlib import Path

from tests.commands.program import data_of
from tests.support.snapshot_world import picture

SCRIPT = """\
import os, sys

def make(folder, name, content, empty):
    fd = os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o640)
    os.write(fd, content)
    if empty:  # AT_EMPTY_PATH, with the descriptor itself
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.linkat(fd, b"", -100, os.fsencode(os.path.join(folder, name)), 0x1000):
            raise OSError(ctypes.get_errno(), "linkat")
    else:
        os.link(f"/proc/self/fd/{fd}", os.path.join(folder, name), src_dir_fd=fd, follow_symlinks=True)
    os.write(fd, b" and more")
    os.close(fd)

make(".", "one" + sys.argv[1], b"first", False)
make("deep/er", "two" + sys.argv[1], b"second" * 10000, True)
"""
PLAN = """\
name: p
steps:
  - {name: a, tool: shell, args: {command: python3 make.py 1}, checkpoint: made}
  - {name: b, tool: shell, args: {command: 'python3 make.py 2; rm one1'}}
"""


def test_files_that_get_their_name_later_are_in_the_checkpoints(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "make.py").write_text(SCRIPT)
    (tmp_path / "plan.yaml").write_text(PLAN)
    (sandbox,) = data_of(tmp_path, "plan", "execute", "plan.yaml")["sandboxes"]
    there = Path(sandbox["path"])
    assert (there / "one2").read_bytes() == b"first and more"
    assert (there / "deep" / "er" / "two2").read_bytes() == b"second" * 10000 + b" and more"
    end = picture(there)
    data_of(tmp_path, "plan", "rollback", "--yes", "p", "made")
    assert sorted(p.name for p in there.rglob("*") if p.is_file()) == ["make.py", "one1", "plan.yaml", "two1"]
    assert (there / "one1").read_bytes() == b"first and more"
    checkpoints = data_of(tmp_path, "checkpoint", "list", "p", "--all")["checkpoints"]
    last = [c["checkpoint_id"] for c in checkpoints if c["checkpoint_type"] == "post_execute"][-1]
    data_of(tmp_path, "plan", "rollback", "--yes", "p", last)
    assert picture(there) == end
