"""Commands that ask a local server what changed: with it, and with one that is killed, stopped, hostile or another."""

import os
import shutil
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest
from msgspec import json, msgpack

import mulligan
from mulligan.adapters.local_server import change_questions
from mulligan.adapters.local_server.frame_stream import FrameStream, listen
from mulligan.adapters.local_server.server_place import RECORD, ServerRecord
from mulligan.domain.server.words import TreeAnswer, TreeQuestion, Word
from tests.commands.program import data_of
from tests.support.homes import home_of
from tests.support.patience import wait_until

pytestmark = pytest.mark.processes_measured

_FILES = 2_100


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project with a plan over a tree that is worth asking about."""
    place = tmp_path_factory.mktemp("served")
    with (
        pytest.MonkeyPatch.context() as patch,
        tempfile.TemporaryDirectory(prefix="mr-", dir="/tmp") as short,
    ):
        patch.setenv("MULLIGAN_HOME", str(place / "homes"))
        patch.setenv("XDG_RUNTIME_DIR", short)
        folder = place / "project"
        for number in range(_FILES):
            file = folder / f"d{number // 100}" / f"f{number}"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{number}\n")
        data_of(folder, "init")
        (folder / "plan.yaml").write_text(
            '{"name": "p", "steps": [{"tool": "write_file", "args": {"path": "new", "content": "x"}}]}'
        )
        data_of(folder, "plan", "execute", "plan.yaml")
        yield folder
        data_of(folder, "serve", "--stop")


@pytest.fixture
def project(prepared: Path) -> Path:
    """The same, with a server that was asked before."""
    data_of(prepared, "serve", "--detach")
    checkpoint(prepared)
    return prepared


def sandbox(project: Path) -> Path:
    return Path(data_of(project, "status", "p")["sandboxes"][0]["path"])


def checkpoint(project: Path) -> str:
    taken = data_of(project, "checkpoint", "create", "p", "--label", "mine")
    return f"p@{taken['number']}"


def is_seen(project: Path) -> bool:
    """Change something, and return whether a checkpoint has it: contents, a new folder, a removed file."""
    place = sandbox(project)
    before = checkpoint(project)
    (place / "d1" / "f101").write_text("changed\n")
    (place / "d2").rename(place / "d2 moved")
    (place / "d3" / "f301").unlink()
    after = checkpoint(project)
    found = {change["path"] for change in data_of(project, "diff", before, after)["files"]}
    (place / "d1" / "f101").write_text("101\n")
    (place / "d2 moved").rename(place / "d2")
    (place / "d3" / "f301").write_text("301\n")
    return {"d1/f101", "d2 moved/f201", "d3/f301"} <= found


def last_look(project: Path) -> str:
    """Return why the next look scans; empty where it looks only at what the server reports."""
    opened = mulligan.open(project)
    opened.checkpoints.take("p", label="looked")
    reason = opened._services.adapters.store.last_look.reason  # noqa: SLF001 - no answer says it
    opened.close()
    return reason


def test_what_changed_is_captured_and_nothing_else_is_looked_at(project: Path) -> None:
    checkpoint(project)
    assert is_seen(project)
    assert last_look(project) == ""
    status = data_of(project, "serve", "--status")
    assert (status["watched_trees"], status["unwatched"]) == (1, "")


def test_what_a_rollback_brought_back_may_go_again(project: Path) -> None:
    """A name that comes and goes between two looks means a scan: a rollback looks once more when it is done."""
    checkpoint(project)
    for _ in range(2):
        (sandbox(project) / "d4" / "f401").unlink()
        assert last_look(project) == ""
        data_of(project, "rollback", "--yes", "p", "first")
        assert (sandbox(project) / "d4" / "f401").read_text() == "401\n"


def test_a_server_that_is_killed_is_not_missed(project: Path) -> None:
    checkpoint(project)
    pid = data_of(project, "serve", "--status")["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not data_of(project, "serve", "--status")["running"], "the server is gone")
    assert last_look(project) != ""
    assert is_seen(project)
    data_of(project, "serve", "--detach")
    assert last_look(project) != "", "another server knows nothing of before"
    assert last_look(project) == ""
    assert is_seen(project)


def test_a_server_that_was_stopped_is_not_waited_for(project: Path) -> None:
    checkpoint(project)
    pid = data_of(project, "serve", "--status")["pid"]
    os.kill(pid, signal.SIGSTOP)
    try:
        assert last_look(project) != ""
        assert is_seen(project)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert is_seen(project)


def test_an_installation_of_another_version_is_not_answered(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint(project)
    monkeypatch.setattr("mulligan.adapters.local_server.installation.installation", lambda: (1, 2, 3))
    assert last_look(project) != ""


def test_a_process_that_sees_other_mounts_is_not_answered(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint(project)
    monkeypatch.setattr(change_questions, "_MOUNTS", Path(__file__))
    assert last_look(project) != ""


def _silence(stream: FrameStream, _: TreeQuestion) -> None:
    stream.receive()  # until the command gives up


def _garbage(stream: FrameStream, _: TreeQuestion) -> None:
    stream.send([Word.DONE, b"\xc1"])


def _elsewhere(stream: FrameStream, _: TreeQuestion) -> None:
    stream.send([Word.ELSEWHERE, b"not me"])


def _path(path: bytes) -> Callable[[FrameStream, TreeQuestion], None]:
    def answer(stream: FrameStream, question: TreeQuestion) -> None:
        stream.send([Word.DONE, msgpack.encode(TreeAnswer(b"t" * 24, (path,), ()))])

    return answer


@pytest.mark.parametrize(
    "answer",
    [
        _silence,
        _garbage,
        _elsewhere,
        _path(b"../../outside"),
        _path(b"/etc/passwd"),
        _path(b""),
        _path(b"a//b"),
        _path(b"a\0b"),
    ],
    ids=["silence", "garbage", "elsewhere", "above", "absolute", "empty", "doubled", "zero"],
)
def test_answers_that_are_none_are_like_silence(
    prepared: Path,
    answer: Callable[[FrameStream, TreeQuestion], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(change_questions, "PATIENCE", 0.2)
    asked = 0
    with tempfile.TemporaryDirectory(prefix="mr-", dir="/tmp") as short, listen(Path(short) / "s") as hostile:

        def serve() -> None:
            nonlocal asked
            while True:
                connected, _ = hostile.accept()
                stream = FrameStream(connected)
                fields = stream.receive()
                if not fields:
                    stream.close()
                    return
                asked += 1
                with suppress(OSError):
                    answer(stream, msgpack.decode(fields[1], type=TreeQuestion))
                stream.close()

        thread = Thread(target=serve)
        thread.start()
        record = home_of(prepared) / RECORD
        kept = record.read_bytes() if record.exists() else None
        record.write_bytes(json.encode(ServerRecord(socket=f"{short}/s", pid=1)))
        try:
            assert last_look(prepared) != ""
            assert is_seen(prepared)
        finally:
            record.unlink()
            if kept is not None:
                record.write_bytes(kept)
            with socket.socket(socket.AF_UNIX) as end:
                end.connect(f"{short}/s")
            thread.join()
    assert asked > 0


def test_a_mark_of_another_cache_or_none_means_a_scan(project: Path) -> None:
    checkpoint(project)
    marks = sorted((home_of(project) / "store" / "caches").glob("*.mark"))
    assert marks
    for mark in marks:
        mark.write_bytes(b"\x95\xc4\x20" + b"x" * 32 + b"\xc4\x00\x90\x90\x90")
    assert last_look(project) != ""
    assert last_look(project) == ""
    for mark in marks:
        mark.write_bytes(b"not a mark")
    assert last_look(project) != ""
    assert is_seen(project)


def test_marks_go_with_their_trees(project: Path) -> None:
    caches = home_of(project) / "store" / "caches"
    assert list(caches.glob("*.mark"))
    stray = caches / f"{'0' * 64}.mark"
    shutil.copy(next(caches.glob("*.mark")), stray)
    data_of(project, "gc")
    assert not stray.exists()
    assert list(caches.glob("*.mark"))
    assert last_look(project) == ""
