"""A small server that speaks as much S3 as packs need, and can be told to break its promises, or to fail.

It is for errors that no real server makes when asked to; `tests/shared` runs the same contracts over a real one.
"""

import hashlib
import re
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from msgspec import Struct

BUCKET = "packs"
KEY, SECRET = "tester", "secretsecret"


class Failure(Struct):
    """How requests fail: those that fit, so many times."""

    status: int  # 0: the connection is cut
    code: str = "InternalError"
    method: str = ""  # "": any
    part: str = ""  # of the key
    times: int = 1_000_000
    after: bool = False  # the request is carried out first


class SmallStore(ThreadingHTTPServer):
    """The server, with all that it holds in memory."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.objects: dict[str, tuple[bytes, float]] = {}
        self.lock = threading.Lock()
        self.failures: list[Failure] = []
        self.failed = 0
        self.requests: list[tuple[str, str]] = []
        self.honours_conditions = True
        self.honours_ranges = True
        self.lists = True
        self.ahead = 0.0  # seconds that its clock is ahead

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def environ(self) -> dict[str, str]:
        """What a program needs to reach it."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
        }

    def failure(self, method: str, key: str) -> Failure | None:
        with self.lock:
            for each in self.failures:
                if each.times and each.method in ("", method) and each.part in key:
                    each.times -= 1
                    self.failed += 1
                    return each
        return None

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that were killed."""


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: SmallStore
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        self._carry_out(self._get)

    def do_HEAD(self) -> None:
        self._carry_out(self._get)

    def do_PUT(self) -> None:
        self._carry_out(self._put)

    def do_POST(self) -> None:
        self._carry_out(self._delete)

    def do_DELETE(self) -> None:
        self._carry_out(self._delete)

    def _carry_out(self, work: Callable[[str, bytes], tuple[int, bytes, dict[str, str]]]) -> None:
        path = unquote(urlsplit(self.path).path).lstrip("/")
        bucket, _, key = path.partition("/")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.requests.append((self.command, key))
        failure = self.server.failure(self.command, key)
        if bucket != BUCKET:
            answer = _error(404, "NoSuchBucket")
        elif failure is not None and not failure.after:
            answer = _error(failure.status, failure.code)
        else:
            with self.server.lock:
                answer = work(key, body)
        if failure is not None:
            if failure.status == 0:
                self.close_connection = True
                return
            answer = _error(failure.status, failure.code)
        status, data, headers = answer
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _put(self, key: str, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        store = self.server
        if store.honours_conditions and "If-None-Match" in self.headers and key in store.objects:
            return _error(412, "PreconditionFailed")
        store.objects[key] = body, time.time() + store.ahead
        return 200, b"", {"ETag": _etag(body)}

    def _get(self, key: str, _: bytes) -> tuple[int, bytes, dict[str, str]]:
        store = self.server
        if not key:
            return self._list()
        if key not in store.objects:
            return _error(404, "NoSuchKey")
        data, stored = store.objects[key]
        headers = {"ETag": _etag(data), "Last-Modified": formatdate(stored, usegmt=True)}
        asked = self.headers.get("Range")
        found = re.fullmatch(r"bytes=(\d*)-(\d*)", asked or "")
        if found is None or not store.honours_ranges:
            return 200, data, headers
        start, end = found[1], found[2]
        first = int(start) if start else max(0, len(data) - int(end))
        last = min(int(end), len(data) - 1) if start and end else len(data) - 1
        if first >= len(data):
            return _error(416, "InvalidRange")
        headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
        return 206, data[first : last + 1], headers

    def _list(self) -> tuple[int, bytes, dict[str, str]]:
        store, prefix = self.server, parse_qs(urlsplit(self.path).query).get("prefix", [""])[0]
        rows = [
            f"<Contents><Key>{escape(key)}</Key><LastModified>{_iso(stored)}</LastModified>"
            f"<ETag>{_etag(data)}</ETag><Size>{len(data)}</Size></Contents>"
            for key, (data, stored) in sorted(store.objects.items())
            if key.startswith(prefix) and store.lists
        ]
        head = f"<Name>{BUCKET}</Name><KeyCount>{len(rows)}</KeyCount><IsTruncated>false</IsTruncated>"
        text = f"<ListBucketResult>{head}{''.join(rows)}</ListBucketResult>"
        return 200, text.encode(), {"Content-Type": "application/xml"}

    def _delete(self, key: str, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        keys = re.findall(r"<Key>([^<]+)</Key>", body.decode()) if self.command == "POST" else [key]
        for each in keys:
            self.server.objects.pop(each, None)
        gone = "".join(f"<Deleted><Key>{each}</Key></Deleted>" for each in keys)
        return 200, f"<DeleteResult>{gone}</DeleteResult>".encode(), {"Content-Type": "application/xml"}


def _error(status: int, code: str) -> tuple[int, bytes, dict[str, str]]:
    text = f"<Error><Code>{code}</Code><Message>as it was told</Message></Error>"
    return status, text.encode(), {"Content-Type": "application/xml"}


def _etag(data: bytes) -> str:
    return f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'


def _iso(moment: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(moment))


@contextmanager
def small_store() -> Generator[SmallStore]:
    """Run a server of that kind in a thread."""
    with SmallStore() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
