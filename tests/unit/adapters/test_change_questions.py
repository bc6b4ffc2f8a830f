"""The answer of a local server to the question what changed: whole and proper, or none."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from threading import Thread

import pytest
from msgspec import msgpack

from mulligan.adapters.local_server.change_questions import ServedReports
from mulligan.adapters.local_server.frame_stream import FrameStream, listen
from mulligan.adapters.local_server.server_place import ServerPlace, ServerRecord
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
