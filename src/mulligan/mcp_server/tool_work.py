"""The work of one tool call: it runs in a thread of its own, with the project of the client, and can be interrupted."""

from __future__ import annotations

import threading
from hashlib import sha256
from typing import TYPE_CHECKING, TypeVar, cast

from msgspec import Struct, convert, json
from msgspec.structs import replace

from mulligan.api.document import encode, harmless
from mulligan.api.entrance import open_project, project_in
from mulligan.errors import Interrupted

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mulligan.api.project import Project
    from mulligan.api.results import Surroundings
    from mulligan.errors import NextStep
    from mulligan.mcp_server.call_progress import CallProgress
    from mulligan.mcp_server.tool_words import ToolWords

_Result = TypeVar("_Result", bound=Struct)
_Meant = TypeVar("_Meant")


class Client(Struct, frozen=True, kw_only=True):
    """The place and the words of all calls of a client."""

    around: Surroundings
    project: str | None  # that the user named when the server was started
    words: ToolWords
    complain: Callable[[str], object]  # for those who look after the server: the traceback of a bug

    def within(self, folder: Path) -> Client:
        """Return the client in another folder."""
        return replace(self, around=replace(self.around, folder=folder))


class Question(Struct, frozen=True, kw_only=True):
    """A question to the user before something real changes."""

    text: str
    title: str  # of the answer that agrees
    command: NextStep  # for a user who cannot be asked
    seen: str  # a digest of what the user is asked about: what is agreed to is what is done


def question(text: str, title: str, command: NextStep, seen: object) -> Question:
    """Return a question about what a preview found, on one line: a name in it cannot look like words of ours."""
    return Question(
        text=harmless(text), title=title, command=command, seen=sha256(json.encode(encode(seen))).hexdigest()
    )


class ToolWork:
    """One call at work. `interrupt` may be called from another thread, at any time."""

    def __init__(self, client: Client, progress: CallProgress) -> None:
        self.client = client
        self.notes: list[str] = []  # what the client must know beside the result
        self._progress = progress
        self._project: Project | None = None
        self._interrupted = False
        self._lock = threading.Lock()
        self._meant: dict[str, object] = {}

    def once(self, word: str, find: Callable[[], _Meant]) -> _Meant:
        """Return what such a word as `newest` means: in the act the same as in the question before it."""
        if word not in self._meant:
            self._meant[word] = find()
        return cast("_Meant", self._meant[word])

    @property
    def around(self) -> Surroundings:
        """The environment, in the folder of the client."""
        return self.client.around

    def project(self) -> Project:
        """Open the project that the client works in; refuse where there is none."""
        if self._project is not None:
            return self._project
        return self._opened(open_project(self.around, self.client.project, self._progress))

    def project_in(self, folder: Path) -> Project:
        """Open the project of a folder, which is made where there is none, once something is recorded."""

        def made(home: Path) -> None:
            self.notes.append(f"made a project: {home} keeps plans and checkpoints")

        return self._opened(project_in(self.around, str(folder), self._progress, made))

    def _opened(self, project: Project) -> Project:
        with self._lock:
            self._project = project
            if self._interrupted:
                raise Interrupted
        self.notes.extend(map(self.client.words.text, project.notes))
        return project

    def interrupt(self) -> None:
        """Ask the work to end, as Ctrl-C does: processes are ended, and the plan can be resumed."""
        with self._lock:
            self._interrupted = True
            if self._project is not None:
                self._project.interrupt()

    def perform(self, act: Callable[[], _Result]) -> _Result:
        """Do the work, and give the project back."""
        try:
            return act()
        except KeyboardInterrupt:
            raise Interrupted from None
        finally:
            if self._project is not None:
                self._project.close()
                self._project = None

    def result(self, kind: type[_Result], facts: dict[str, object]) -> _Result:
        """Return a result, with text that every client can read."""
        return convert(encode(facts, self.client.words.text), kind)
