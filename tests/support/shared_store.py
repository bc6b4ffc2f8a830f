"""Stores of packs that many machines share, for tests: a bucket, rows in PostgreSQL, and a cache per machine."""

import itertools
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from mulligan.adapters.object_packs.bucket import Bucket
from mulligan.adapters.object_packs.bucket_packs import BucketPacks
from mulligan.adapters.object_packs.commit_check import CommitCheck
from mulligan.adapters.object_packs.pack_cache import PackCache
from mulligan.adapters.object_packs.pack_register import PackRegister
from mulligan.adapters.object_packs.row_leases import RowLeases
from mulligan.adapters.object_packs.store_address import StoreAddress, store_address
from mulligan.adapters.object_packs.store_probe import claim_bucket, probe
from mulligan.adapters.postgres.schema_versions import make_schema, open_postgres
from mulligan.adapters.postgres.server_address import ServerAddress
from mulligan.adapters.snapshots.store import PackedSnapshotStore
from mulligan.rows.sql_connection import SqlConnection
from tests.support.s3_server import BUCKET, SmallStore, small_store
from tests.support.shared_database import new_address

_numbers = itertools.count(1)
PROJECT = "of this test"


class Machine(Struct, frozen=True, eq=False):
    """What one process on one machine has open of a shared store."""

    packs: BucketPacks
    leases: RowLeases
    check: CommitCheck
    register: PackRegister
    cache: PackCache
    bucket: Bucket
    connect: Callable[[], SqlConnection]  # one more connection to the rows
    work: Path

    def store(self) -> PackedSnapshotStore:
        """Open the snapshot store over it."""
        return PackedSnapshotStore(
            packs=self.packs, leases=self.leases, work=self.work, now_ns=time.time_ns, boot_id="this boot"
        )


def _url(bucket: str) -> str:
    return f"s3://{bucket}/project-{next(_numbers)}-{time.time_ns():x}"


class SharedStore:
    """A database with the schema of a project, and a prefix in a bucket."""

    def __init__(self, endpoint: str, environ: dict[str, str], bucket: str = BUCKET) -> None:
        self.database = ServerAddress.of(new_address())
        self._bucket = bucket
        self._opened: list[PackRegister] = []
        self.url = _url(bucket)
        self._endpoint = endpoint
        self._environ = environ
        make_schema(self.database, PROJECT)

    @classmethod
    def on(cls, server: SmallStore) -> "SharedStore":
        """Make one in the bucket of a small server."""
        return cls(server.endpoint, server.environ)

    def address(self) -> StoreAddress:
        return store_address(self.url, endpoint=self._endpoint, environ=self._environ, user=Path("/nowhere"))

    def close(self) -> None:
        """Close what was opened."""
        while self._opened:
            self._opened.pop().close()

    def wipe(self) -> "SharedStore":
        """Forget all packs, and go to another prefix."""
        self.close()
        connection = self.connect()
        with connection.transaction(write=True):
            for statement in (
                "DELETE FROM packs",
                "DELETE FROM removed_packs",
                "UPDATE store SET removals = 0",
            ):
                connection.execute(statement)
        connection.close()
        self.url = _url(self._bucket)
        return self

    def open(
        self, work: Path, *, grace: float = 0.0, limit: int = 1 << 30, doubtful: bool = False
    ) -> Machine:
        """Open it as a new process does, on the machine that has that folder; look at a `doubtful` bucket first."""
        bucket, register = Bucket(self.address()), PackRegister(self.connect)
        self._opened.append(register)
        check, cache = CommitCheck(register, grace), PackCache(work / "bucket-cache", limit, time.time)

        def opened() -> None:
            if doubtful:
                probe(bucket)
                register.refresh()
                claim_bucket(bucket, PROJECT, has_packs=bool(register.sizes))

        packs = BucketPacks(
            bucket=bucket, register=register, cache=cache, check=check, grace=grace, opened=opened
        )
        leases = RowLeases(register, check, packs)
        return Machine(packs, leases, check, register, cache, bucket, self.connect, work)

    def connect(self) -> SqlConnection:
        return open_postgres(self.database)


@contextmanager
def kept_store() -> Generator[SharedStore]:
    """Make a store over a small server."""
    with small_store() as server:
        store = SharedStore.on(server)
        try:
            yield store
        finally:
            store.close()
