"""The answer of a local server to the question what changed: whole and proper, or none."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from threading import Thread

import pytest
from msgspec import msgpack

from mulligan.adapters.local_server import change_questions
from mulligan.adapters.local_server.accept_loop import AcceptLoop
from mulligan.adapters.local_server.change_questions import ServedReports
from mulligan.adapters.local_server.frame_stream import FrameStream, listen
from mulligan.adapters.local_server.server_place import ServerPlace, ServerRecord
from mulligan.api.local_server.tree_questions import TreeQuestions
from mulligan.domain.server import frames
from mulligan.domain.server.words import TreeAnswer, Word
from mulligan.ports import TreeChanges
from tests.support.patience import PATIENCE
from tests.support.snapshot_world import tree_at

ANSWER = TreeAnswer(token=b"t" * 24, paths=(b"a", b"b/c"), renewed=(b"b",))
FRAME = frames.encode([Word.DONE, msgpack.encode(ANSWER)])


@pytest.fixture
def place() -> Iterator[ServerPlace]:
    with TemporaryDirectory(prefix="mq-", dir="/tmp") as short:
        yield ServerPlace(home=Path(short), environ=os.environ)


def answers(place: ServerPlace, sent: list[bytes]) -> Iterator[TreeChanges | None]:
    """Ask a server that answers with these bytes, each time anew, and then hangs up."""
    socket = place.home / "s"
    place.write(ServerRecord(socket=str(socket), pid=os.getpid()))
    with listen(socket) as listening:

        def serve() -> None:
            for each in sent:
                connected, _ = listening.accept()
                with connected:
                    FrameStream(connected).receive()
                    connected.sendall(each)

        thread = Thread(target=serve, daemon=True)
        thread.start()
        (place.home / "tree").mkdir()
        for _ in sent:
            yield ServedReports(place, (1,)).since(tree_at(place.home / "tree"), b"token")
        thread.join(PATIENCE)


def test_a_whole_answer_counts_and_one_that_is_cut_off_anywhere_does_not(place: ServerPlace) -> None:
    whole = TreeChanges(token=b"t" * 24, paths=("a", "b/c"), renewed=("b",))
    found = list(answers(place, [FRAME[:length] for length in range(len(FRAME) + 1)]))
    assert found == [None] * len(FRAME) + [whole]


def garbled(random: Random) -> bytes:
    data = bytearray(FRAME)
    for _ in range(random.randint(1, 3)):
        data[random.randrange(12, len(data))] = random.randrange(256)
    return bytes(data)


def other(random: Random) -> bytes:
    values: list[object] = [None, -1, "x" * 9, b"\xff", [], {}, 1 << 60, [b"../x"], [b"/x"], [b"a\0"], [b""]]
    return frames.encode(
        [Word.DONE, msgpack.encode([random.choice(values) for _ in range(random.randint(0, 4))])]
    )


@pytest.mark.parametrize("make", [garbled, other])
def test_an_answer_of_another_shape_leads_nowhere_outside(
    place: ServerPlace, make: Callable[[Random], bytes]
) -> None:
    random = Random(7)
    for found in answers(place, [make(random) for _ in range(100)]):
        for path in (*(found.paths or ()), *found.renewed) if found is not None else ():
            assert not path.startswith("/")
            assert ".." not in path.split("/")
            assert "\0" not in path


@contextmanager
def asked(place: ServerPlace) -> Iterator[tuple[TreeQuestions, AcceptLoop]]:
    """Let the questions of commands be answered in this process, as a server does, at installation 1."""
    questions, over = TreeQuestions((1,)), False
    socket = place.home / "s"
    place.write(ServerRecord(socket=str(socket), pid=os.getpid()))
    listening = listen(socket)
    loop = AcceptLoop(
        listening=listening, answer=lambda fields, _: questions.answer(fields[1]), uid=os.geteuid()
    )
    server = Thread(target=loop.run, args=(lambda: over,))
    server.start()
    try:
        yield questions, loop
    finally:
        over = True
        server.join(PATIENCE)
        listening.close()
        questions.journals.close()


def test_a_tree_has_a_moment_once_it_is_watched_and_what_changed_since_is_reported(
    place: ServerPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_questions, "PATIENCE", PATIENCE)
    folder = place.home / "tree"
    folder.mkdir()
    tree = tree_at(folder)
    with asked(place):
        reports = ServedReports(place, (1,))
        assert reports.moment(tree) == b""
        begun = reports.since(tree, b"")
        assert begun is not None
        assert begun.paths is None
        (folder / "new").write_text("new\n")
        found = reports.since(tree, begun.token)
        assert found is not None
        assert found.paths is not None
        assert "new" in found.paths
        moment = reports.moment(tree)
        assert moment
        nothing = reports.since(tree, moment)
        assert nothing is not None
        assert (nothing.paths, nothing.renewed) == ((), ())


def test_whoever_gets_no_answer_once_does_not_ask_again(
    place: ServerPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_questions, "PATIENCE", PATIENCE)
    tree = tree_at(place.home)
    with asked(place) as (questions, loop):
        of_another = ServedReports(place, (2,))
        assert of_another.since(tree, b"") is None
        assert of_another.moment(tree) == b""
        assert loop.requests == 1
        with monkeypatch.context() as patch:
            patch.setattr(FrameStream, "is_held_up", lambda _: True)
            assert ServedReports(place, (1,)).since(tree, b"") is None
        assert loop.requests == 1, "a process that was stopped is not asked"
        assert ServedReports(place, (1,)).since(tree_at(place.home / "missing"), b"") is None
        assert questions.answer(b"\xc1")[0] == Word.ELSEWHERE
