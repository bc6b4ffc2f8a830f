"""The files of graphs in a session, for a saver."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from mulligan.api.sessions.session import at_work, database_of
from mulligan.application.graphs.graph_files import Binding, GraphFiles, Point

if TYPE_CHECKING:
    from collections.abc import Generator

    from mulligan.api.graphs.project_graphs import ProjectGraphs
    from mulligan.api.sessions.session import Session
    from mulligan.domain.graphs.graph_state import GraphState
    from mulligan.domain.text.json_value import JsonObject

__all__ = ["Binding", "Point", "SessionGraphs"]

# All savers of a session share what is known of its files.
_FILES: WeakKeyDictionary[Session, GraphFiles] = WeakKeyDictionary()


class SessionGraphs:
    """The files of graphs in a session; calls from several threads wait for each other."""

    def __init__(self, session: Session) -> None:
        """Take a session; it may be entered later."""
        self._session = session

    def is_beside(self, graphs: ProjectGraphs) -> bool:
        """Return whether the rows of the session are in the database that has these states."""
        return database_of(self._session) == graphs.place

    def begin(self, point: Point, *, addressed: bool) -> bool:
        """Make the files those from which a run goes on; return whether they went back to those of the checkpoint."""
        with self._files() as files:
            return files.begin(point, addressed=addressed)

    def put(
        self,
        point: tuple[str, str | None, str],
        state: Callable[[JsonObject], GraphState] | None,
        *,
        moved: bool,
    ) -> JsonObject:
        """Record that a run made a checkpoint: of a thread, after a parent, with an id; return words for its group.

        `state`, which gets these words, is recorded in the same transaction.
        """
        thread, parent, new = point
        with self._files() as files:
            bound = files.put(
                thread,
                parent,
                new,
                lambda db, binding: None if state is None else db.graphs.put(state(words_of(binding))),
                moved=moved,
            )
        return words_of(bound)

    def is_at(self, thread: str, checkpoint_id: str | None) -> bool:
        """Return whether the files are those of that checkpoint, with what was done since."""
        with self._files() as files:
            return files.is_at(Point(thread=thread, checkpoint_id=checkpoint_id, files=None))

    def holds(self, point: Point) -> bool:
        """Return whether what nodes did since a checkpoint is in the files, or in a group that a run begins with."""
        with self._files() as files:
            return files.holds(point)

    def note_inside(self, thread: str) -> None:
        """Record that a graph within the present one is about to make a checkpoint."""
        with self._files() as files:
            files.note_inside(thread)

    def moved_inside(self, point: Point) -> bool:
        """Return whether graphs within a graph have moved on since a checkpoint."""
        with self._files() as files:
            return files.moved_inside(point)

    def _files(self) -> AbstractContextManager[GraphFiles]:
        return _files_of(self._session)


def words_of(binding: Binding) -> JsonObject:
    """Return a binding as the metadata of a checkpoint name it."""
    return {"plan": binding.plan_id, "group": binding.group_id}


@contextmanager
def _files_of(session: Session) -> Generator[GraphFiles]:
    with at_work(session) as run:
        files = _FILES.get(session)
        if files is None:
            files = _FILES[session] = GraphFiles(run)
        yield files
