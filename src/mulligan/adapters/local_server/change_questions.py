"""Questions of commands to the local server: what changed in a tree? It is asked, and never waited for long."""

import os
from pathlib import Path

from msgspec import DecodeError, ValidationError, msgpack

from mulligan.adapters.local_server.frame_stream import connect
from mulligan.adapters.local_server.server_place import ServerPlace
from mulligan.domain.server.frames import FrameWrong
from mulligan.domain.server.words import Request, TreeAnswer, TreeQuestion, Word
from mulligan.ports import TreeChanges, WorkingTree

PATIENCE = (
    0.5  # seconds: a server that needs longer to set up its watch over a large tree is there for the next one
)
_MOUNTS = Path("/proc/self/ns/mnt")


class ServedReports:
    """The reports of the server of one project. One that did not answer once is not asked again."""

    def __init__(self, place: ServerPlace, program: tuple[int, ...]) -> None:
        self._place = place
        self._program = program
        self._silent = False

    def since(self, tree: WorkingTree, token: bytes) -> TreeChanges | None:
        """Ask what changed since a moment; None where no proper answer comes."""
        return self._answer(tree, token, begins=True)

    def moment(self, tree: WorkingTree) -> bytes:
        """Ask for a token of a tree that the server watches already; empty where no proper answer comes."""
        found = self._answer(tree, b"", begins=False)
        return b"" if found is None else found.token

    def _answer(self, tree: WorkingTree, token: bytes, *, begins: bool) -> TreeChanges | None:
        if self._silent:
            return None
        question = TreeQuestion(
            program=self._program,
            mounts=mount_namespace(),
            path=os.fsencode(tree.path),
            excluded=tuple(sorted(map(os.fsencode, tree.excluded))),
            patterns=tree.patterns,
            token=token,
            begins=begins,
        )
        try:
            answer = self._ask(msgpack.encode(question))
        except (OSError, FrameWrong, DecodeError, ValidationError):
            answer = None
        self._silent = answer is None
        return answer

    def _ask(self, question: bytes) -> TreeChanges | None:
        record = self._place.read()
        if record is None:
            return None
        stream = connect(Path(record.socket), PATIENCE)
        try:
            if stream.peer() not in (None, os.geteuid(), 0) or stream.is_held_up():
                return None
            stream.end_within(PATIENCE)
            stream.send([Request.CHANGES, question])
            fields = stream.receive()
        finally:
            stream.close()
        if not fields or fields[0] != Word.DONE or len(fields) != 2:
            return None
        answer = msgpack.decode(fields[1], type=TreeAnswer)
        paths = _proper(answer.paths) if answer.paths is not None else None
        return TreeChanges(token=answer.token, paths=paths, renewed=_proper(answer.renewed))


def mount_namespace() -> int:
    """Return the number of the namespace in which this process sees mounts; 0 where the system has none."""
    try:
        return _MOUNTS.stat().st_ino
    except OSError:  # pragma: no cover - not on Linux
        return 0


def _proper(paths: tuple[bytes, ...]) -> tuple[str, ...]:
    """Return paths that lead nowhere but into the tree."""
    for path in paths:
        names = path.split(b"/")
        if path != b"." and (b"\0" in path or not {b"", b".", b".."}.isdisjoint(names)):
            raise FrameWrong("it names a path outside of the tree")
    return tuple(map(os.fsdecode, paths))
