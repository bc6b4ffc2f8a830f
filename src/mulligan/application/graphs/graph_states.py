"""Keeps the states of graphs that other programs run."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from mulligan.boundaries import act
from mulligan.domain.graphs.graph_state import GraphPlace, GraphState, GraphWrite
from mulligan.domain.text.json_value import JsonObject
from mulligan.rows.database import Database


class GraphStateService(Struct, kw_only=True, frozen=True, eq=False):
    """Records and finds states of graphs, each operation in a transaction of its own."""

    database: Database

    def put(self, state: GraphState) -> None:
        """Record the state at a checkpoint."""
        with act("graph.put"), self.database.writing() as db:
            db.graphs.put(state)

    def write(self, place: GraphPlace, writes: Sequence[GraphWrite], *, replace: bool) -> None:
        """Record what a task wrote after a checkpoint; what it wrote before stays, or is replaced."""
        with act("graph.write"), self.database.writing() as db:
            db.graphs.write(place, writes, replace=replace)

    def get(
        self, thread: str, namespace: str, checkpoint_id: str | None
    ) -> tuple[GraphState, Sequence[GraphWrite]] | None:
        """Return the state at a checkpoint, or at the newest, with what tasks wrote since."""
        with self.database.reading() as db:
            graphs = db.graphs
            if checkpoint_id is None:
                state = graphs.newest(thread, namespace)
            else:
                state = graphs.get(GraphPlace(thread, namespace, checkpoint_id))
            return None if state is None else (state, graphs.writes(state.place))

    def find(
        self,
        names: tuple[str | None, str | None, str | None],
        before: str | None,
        fits: Callable[[JsonObject], bool],
        limit: int | None,
    ) -> Sequence[GraphPlace]:
        """Return the checkpoints of a thread, namespace and id, as far as these are given, newest first."""
        found: list[GraphPlace] = []
        with self.database.reading() as db:
            for place, metadata in db.graphs.outlines(*names, before):
                if limit is not None and len(found) >= limit:
                    break
                if fits(metadata):
                    found.append(place)
        return found

    def newest_of_each(self, thread: str) -> Sequence[GraphPlace]:
        """Return the newest checkpoint of a graph, and of each graph within it."""
        with self.database.reading() as db:
            return db.graphs.newest_of_each(thread)

    def keep_only(self, thread: str, kept: Callable[[GraphPlace], Sequence[GraphPlace]]) -> None:
        """Remove the checkpoints of a thread that are needed for none of its newest ones."""
        with self.database.reading() as db:
            places, newest = db.graphs.places(thread), db.graphs.newest_of_each(thread)
        stay = {each for place in newest for each in kept(place)}
        with act("graph.remove"), self.database.writing() as db:
            db.graphs.remove([place for place in places if place not in stay])

    def remove_threads(self, threads: Sequence[str]) -> None:
        """Remove all checkpoints of threads, and let go of the files that belong to them."""
        with act("graph.remove"), self.database.writing() as db:
            for thread in threads:
                db.graphs.remove_thread(thread)
                db.graph_positions.forget(thread)

    def remove_runs(self, run_ids: Sequence[str]) -> None:
        """Remove the checkpoints that runs made."""
        with act("graph.remove"), self.database.writing() as db:
            for run_id in run_ids:
                db.graphs.remove(db.graphs.of_run(run_id))

    def copy(self, source: str, target: str) -> None:
        """Give a thread all checkpoints of another one, in the place of its own."""
        with act("graph.put"), self.database.writing() as db:
            db.graphs.copy(source, target)
            db.graph_positions.copy(source, target)

    def copy_files(self, source: str, target: str) -> None:
        """Hold the files of a graph for its copy too, where another saver keeps their states."""
        with act("graph.put"), self.database.writing() as db:
            db.graph_positions.copy(source, target)

    def forget_files(self, threads: Sequence[str]) -> None:
        """Let go of the files of graphs whose states another saver keeps."""
        with act("graph.remove"), self.database.writing() as db:
            for thread in threads:
                db.graph_positions.forget(thread)
