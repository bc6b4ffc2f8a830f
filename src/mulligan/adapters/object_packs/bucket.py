"""A bucket: objects by key, and the client's errors as ours. Nothing else knows the client."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from mulligan import errors

if TYPE_CHECKING:
    from obstore.store import S3Store

    from mulligan.adapters.object_packs.store_address import StoreAddress

_CONNECT = timedelta(seconds=5)
_SILENCE = timedelta(seconds=30)  # no byte for so long: the request is tried again
_REQUEST = timedelta(minutes=10)  # a pack of 64 MiB over a slow line
_TRIES = 6
_PATIENCE = timedelta(seconds=40)  # a server that restarts, or asks to slow down, is waited for
_CODE = re.compile(r"<Code>([A-Za-z]+)</Code>")
_STATUS = re.compile(r"status code: (\d+ [A-Za-z ]+)")
_CREDENTIALS = frozenset(("InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken"))
_PAST = "InvalidRange"


class StoredObject(NamedTuple):
    """An object as a listing shows it."""

    key: str
    size: int
    modified: datetime  # by the store's own clock


class Bucket:
    """The objects below the prefix of a project. Safe for threads; forked processes open their own."""

    def __init__(self, address: StoreAddress) -> None:
        self.address = address

    def put_new(self, key: str, data: bytes | memoryview) -> bool:
        """Store an object that is not there yet, whole; return False where one is there."""
        from obstore import put
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        with self._translated("write"):
            try:
                put(self._client, key, data, mode="create", use_multipart=False)
            except (AlreadyExistsError, PreconditionError):
                return False
        return True

    def read(self, key: str, start: int, end: int) -> bytes:
        """Return the bytes of a range, fewer where the object ends; FileNotFoundError where there is no such object."""
        from obstore import get_range

        if end <= start:
            return b""
        with self._translated("read"):
            try:
                return bytes(get_range(self._client, key, start=start, end=end))
            except Exception as exc:
                if _code(exc) == _PAST:
                    return b""
                raise

    def tail(self, key: str, length: int) -> bytes:
        """Return the last bytes of an object, or all of it; FileNotFoundError where there is none."""
        from obstore import get

        with self._translated("read"):
            return bytes(get(self._client, key, options={"range": {"suffix": length}}).bytes())

    def get(self, key: str) -> bytes:
        """Return all of an object; FileNotFoundError where there is none."""
        from obstore import get

        with self._translated("read"):
            return bytes(get(self._client, key).bytes())

    def delete(self, keys: Sequence[str]) -> None:
        """Remove objects; those that are gone already are fine."""
        from obstore import delete

        if keys:
            with self._translated("delete"):
                delete(self._client, list(keys))

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """Yield the objects whose keys begin so, up to a slash."""
        from obstore import list as listing  # pyright: ignore[reportUnknownVariableType] - of a package not used

        with self._translated("list"):
            for page in listing(self._client, prefix=prefix):
                for each in page:
                    yield StoredObject(each["path"], each["size"], each["last_modified"])

    @cached_property
    def _client(self) -> S3Store:
        from obstore.store import S3Store

        address = self.address
        endpoint = {"endpoint": address.endpoint} if address.endpoint else {}
        return S3Store(
            address.bucket,
            prefix=address.prefix or None,
            config={  # pyright: ignore[reportArgumentType] - its keys are of one type, these of several
                **address.options,
                **endpoint,
                "region": address.region,
                "virtual_hosted_style_request": address.endpoint is None,
            },
            client_options={
                "connect_timeout": _CONNECT,
                "read_timeout": _SILENCE,
                "timeout": _REQUEST,
                "allow_http": (address.endpoint or "").startswith("http://"),
            },
            retry_config={"max_retries": _TRIES, "retry_timeout": _PATIENCE},
        )

    @contextmanager
    def _translated(self, verb: str) -> Generator[None]:
        """Make the client's errors ours. A missing object stays FileNotFoundError."""
        from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

        store = self.address.shown
        try:
            yield
        except FileNotFoundError as exc:
            if _code(exc) == "NoSuchBucket":
                raise errors.StoreMissing(store=store, bucket=self.address.bucket) from None
            raise FileNotFoundError("no such object") from None
        except (BaseError, OSError, ValueError) as exc:
            code = _code(exc)
            if code == "RequestTimeTooSkewed":
                raise errors.StoreClockSkewed(store=store) from None
            if code in _CREDENTIALS or isinstance(exc, PermissionDeniedError | UnauthenticatedError):
                raise errors.StoreForbidden(
                    store=store, verb=verb, reason=code or "access is denied"
                ) from None
            # The client's own text goes on over many lines, and repeats headers.
            raise errors.StoreUnreachable(store=store, reason=_reason(exc, code)) from None


def _code(exc: BaseException) -> str | None:
    found = _CODE.search(str(exc))
    return found[1] if found else None


def _reason(exc: BaseException, code: str | None) -> str:
    text = str(exc).splitlines()[0] if str(exc) else type(exc).__name__
    status = _STATUS.search(text)
    if code or status:
        return " ".join(filter(None, [status[1].strip() if status else None, code]))
    return text.rpartition(" - ")[2].removeprefix("HTTP error: ")
