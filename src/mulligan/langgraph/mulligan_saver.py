"""The saver that users hand to a graph."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from langgraph.checkpoint.base import BaseCheckpointSaver

from mulligan.api.graphs.session_graphs import SessionGraphs
from mulligan.errors import UsageWrong
from mulligan.langgraph.file_keeper import FileKeeper
from mulligan.langgraph.state_saver import StateSaver

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import (
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        CheckpointTuple,
        DeltaChannelHistory,
    )
    from langgraph.checkpoint.serde.base import SerializerProtocol

    from mulligan.api.project import Project
    from mulligan.api.sessions.session import Session

_PAGE = 16  # checkpoints that an asynchronous list reads at a time


class MulliganSaver(BaseCheckpointSaver[str]):
    """A LangGraph checkpointer on the database of a project, for any number of threads and processes.

    With `files`, a session, each checkpoint of a graph also holds the session's sandboxes, and a run that goes on from
    an earlier one gets its files first; such runs need `durability="sync"`, and there is one at a time on a session.
    `saver` keeps the states elsewhere, such as langgraph-checkpoint-postgres; mulligan keeps the files. `serde` is
    the serializer of the states, with its allow-list of types.
    """

    def __init__(
        self,
        project: Project,
        *,
        files: Session | None = None,
        saver: BaseCheckpointSaver[Any] | None = None,
        serde: SerializerProtocol | None = None,
    ) -> None:
        if saver is not None and files is None:
            raise UsageWrong(
                reason="a saver of your own is wrapped for its files", hint="pass `files`, a session"
            )
        if saver is not None and serde is not None:
            raise UsageWrong(reason="the saver has a serializer of its own", hint="leave `serde` out")
        if isinstance(saver, MulliganSaver):
            raise UsageWrong(reason="a MulliganSaver wraps savers of others", hint="leave `saver` out")
        self._graphs = project.graphs()
        session = None if files is None else SessionGraphs(files)
        if session is not None and not session.is_beside(self._graphs):
            raise UsageWrong(
                reason="the session is of another project, where states would be recorded with its files",
                hint="pass the project that made the session",
            )
        self._use(saver or StateSaver(self._graphs, serde), session)

    def _use(self, saver: BaseCheckpointSaver[Any], session: SessionGraphs | None) -> None:
        super().__init__(serde=saver.serde)
        self._saver = saver
        self._session = session
        self._keeper = saver if session is None else FileKeeper(saver, session)

    def close(self) -> None:
        """Close the connection to the database; a saver that is dropped does so automatically."""
        self._graphs.close()

    # --- what graphs call ------------------------------------------------------------------------------------

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint; with files, a run that goes on from it gets its files first."""
        return self._keeper.get_tuple(config)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint; with files, together with the files as they are."""
        return self._keeper.put(config, checkpoint, metadata, new_versions)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task wrote since a checkpoint."""
        self._keeper.put_writes(config, writes, task_id, task_path)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """List checkpoints, newest first."""
        return self._saver.list(config, filter=filter, before=before, limit=limit)

    def delete_thread(self, thread_id: str) -> None:
        """Delete all checkpoints of a thread, and let go of its files."""
        self._saver.delete_thread(thread_id)
        self._let_go([thread_id])

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints that these runs made."""
        self._saver.delete_for_runs(run_ids)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints of a thread; the files of the copies are those of the originals."""
        self._saver.copy_thread(source_thread_id, target_thread_id)
        source, target = str(source_thread_id), str(target_thread_id)
        if not isinstance(self._saver, StateSaver) and source != target:
            self._graphs.copy_files(source, target)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete all but the newest checkpoint of each thread, or with `delete` all."""
        self._saver.prune(thread_ids, strategy=strategy)
        if strategy == "delete":
            self._let_go(thread_ids)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return what tasks wrote to channels of differences; a look, which touches no file."""
        return self._saver.get_delta_channel_history(config=config, channels=channels)

    def get_next_version(self, current: Any, channel: None) -> Any:
        """Return the version of a channel after this one."""
        return self._saver.get_next_version(current, channel)

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> Self:
        """Return the same saver, whose serializer also loads these types."""
        saver = self._saver.with_allowlist(extra_allowlist)
        if saver is self._saver:
            return self
        clone = copy.copy(self)
        clone._use(saver, self._session)  # noqa: SLF001 - of this class
        return clone

    def _let_go(self, thread_ids: Sequence[str]) -> None:
        if not isinstance(self._saver, StateSaver):
            self._graphs.forget_files([str(each) for each in thread_ids])

    # --- the same for asynchronous graphs, in threads ----------------------------------------------------------

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """As `get_tuple`."""
        return await asyncio.to_thread(self.get_tuple, config)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """As `put`."""
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """As `put_writes`."""
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """As `list`."""
        found = self.list(config, filter=filter, before=before, limit=limit)
        while page := await asyncio.to_thread(_page, found):
            for each in page:
                yield each

    async def adelete_thread(self, thread_id: str) -> None:
        """As `delete_thread`."""
        await asyncio.to_thread(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """As `delete_for_runs`."""
        await asyncio.to_thread(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """As `copy_thread`."""
        await asyncio.to_thread(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """As `prune`."""
        await asyncio.to_thread(self.prune, thread_ids, strategy=strategy)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """As `get_delta_channel_history`."""
        return await asyncio.to_thread(self.get_delta_channel_history, config=config, channels=channels)


def _page(found: Iterator[CheckpointTuple]) -> Sequence[CheckpointTuple]:
    return [each for _, each in zip(range(_PAGE), found, strict=False)]
