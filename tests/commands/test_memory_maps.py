"""A file in memory that was written through a memory map, seen by the next command."""

import mmap
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.program import answer_of, data_of, start

PLAN = "name: p\nsteps:\n  - {tool: write_file, args: {path: made, content: x}}\n"
MANY = 100  # so many files that what is known of them is written down for the next process


@pytest.fixture
def project() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        project = Path(name) / "project"
        project.mkdir()
        (project / "plan.yaml").write_text(PLAN)
        for number in range(MANY):
            (project / f"file {number}").write_bytes(b"before" * 1000)
        yield project


def test_a_checkpoint_of_another_process_holds_what_was_written_through_a_map(project: Path) -> None:
    for _ in range(2):  # the second time nothing is too young to be believed
        plan = answer_of(start(project, "plan", "execute", "plan.yaml"))["data"]
    answer_of(start(project, "checkpoint", "create", plan["plan_id"], "--label", "known"))
    file = Path(plan["sandboxes"][0]["path"]) / "file 7"
    times = file.stat()
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as mapped:
        assert mapped[:6] == b"before"  # the page is there now, and a write to it is no fault
        mapped[:6] = b"behind"
    assert file.stat().st_mtime_ns == times.st_mtime_ns, "the system told, and nothing is shown here"
    taken = answer_of(start(project, "checkpoint", "create", plan["plan_id"], "--label", "after"))
    assert taken["exit_code"] == 0
    data_of(project, "checkpoint", "restore", "after", "--to", str(project.parent / "out"))
    restored = next((project.parent / "out").rglob("file 7"))
    assert restored.read_bytes() == b"behind" + b"before" * 999
