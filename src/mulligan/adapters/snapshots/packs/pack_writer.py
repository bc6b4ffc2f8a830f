"""Writing objects: all that one capture finds new goes into one pack, unless the storage limits its size."""

from queue import Queue
from threading import Thread

from mulligan.adapters.snapshots.format.pack_format import Kind, hash_of
from mulligan.adapters.snapshots.packs.objects import Objects
from mulligan.adapters.snapshots.packs.pack_file import NewObject, PackFile

# What is handed to the writing thread at once: fewer hand-overs, the GIL is passed less often.
_BATCH_BYTES = 1 << 20
_BATCHES_WAITING = 8  # bounds memory to a few batches when reading is faster than compressing


class PackWriter:
    """A sink that stores what is new, in one pack or a few large ones; with nothing new it writes nothing.

    Compressing and writing go on in a thread once there is enough of it: both release the GIL, so they run
    beside the reading and hashing of the caller.
    """

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._taken: set[bytes] = set()
        self._batch: list[NewObject] = []
        self._batch_bytes = 0
        self._pack: PackFile | None = None
        self._queue: Queue[list[NewObject]] = Queue(_BATCHES_WAITING)
        self._thread: Thread | None = None
        self._failure: BaseException | None = None
        self._size = 0  # of what was put

    def add(self, kind: Kind, data: bytes) -> bytes:
        """Take one object, to be stored if it is new; return its id."""
        object_id = hash_of(data)
        if object_id in self._taken or self._objects.contains(object_id):
            return object_id
        self._taken.add(object_id)
        self._batch.append(NewObject(object_id, kind, data))
        self._batch_bytes += len(data)
        if self._batch_bytes >= _BATCH_BYTES:
            self._hand_over()
        return object_id

    def finish(self) -> int:
        """Make all of it durable and visible; return the bytes added to the store."""
        if not self._taken:
            return 0
        self._stop_thread()
        if self._failure is not None:
            raise self._failure
        if self._batch:
            self._open().append(self._batch)
        self._put()
        return self._size

    def abandon(self) -> None:
        """Leave nothing behind; after `finish` this does nothing."""
        self._failure = None
        self._stop_thread()
        if self._pack is not None:
            self._pack.close()

    def _put(self) -> None:
        pack, self._pack = self._pack, None
        if pack is not None:
            try:
                self._size += self._objects.adopt(pack).size
            finally:
                pack.close()

    def _open(self) -> PackFile:
        if self._pack is None:
            self._pack = PackFile(self._objects.storage)
        return self._pack

    def _hand_over(self) -> None:
        if self._thread is None:
            self._open()  # whatever refuses it is raised here
            self._thread = Thread(target=self._write_batches, daemon=True)
            self._thread.start()
        if self._failure is not None:
            raise self._failure
        self._queue.put(self._batch)
        self._batch, self._batch_bytes = [], 0

    def _write_batches(self) -> None:
        while batch := self._queue.get():
            if self._failure is not None:
                continue  # keep taking, so that the caller never waits for room in the queue
            try:
                pack = self._open()
                pack.append(batch)
                if pack.is_full:
                    self._put()
            except BaseException as exc:  # noqa: BLE001  raised again in the caller's thread
                self._failure = exc

    def _stop_thread(self) -> None:
        if self._thread is not None:
            self._queue.put([])
            self._thread.join()
            self._thread = None
