"""The output of a tool call as its record keeps it: stdout and stderr apart from each other, byte by byte."""

from collections.abc import Mapping
from typing import cast

from msgspec import Struct

from mulligan.domain.text.json_value import Json, JsonObject

SHOWN = 64 * 1024  # bytes of each stream in the answer of a command that ran
LOGGED = 4 * 1024  # bytes of each stream in the log and the status of a plan
_KEY = "printed"  # in the detail of a call


class Printed(Struct, frozen=True, kw_only=True):
    """The output of a command; of a long stream the beginning and the end, with a line between them."""

    stdout: bytes
    stderr: bytes
    stdout_omitted: int = 0  # bytes
    stderr_omitted: int = 0

    def stored(self, output: str | None) -> JsonObject:
        """Return it as a part of a call's detail; what follows from the call's output is not stored twice."""
        return {
            _KEY: {
                "stdout": _stored(self.stdout, output),
                "stderr": _stored(self.stderr, None),
                "stdout_omitted": self.stdout_omitted,
                "stderr_omitted": self.stderr_omitted,
            }
        }

    def bounded(self, limit: int) -> "Printed":
        """Return it with no more than about `limit` bytes of each stream."""
        stdout, less_stdout = _bounded(self.stdout, limit)
        stderr, less_stderr = _bounded(self.stderr, limit)
        return Printed(
            stdout=stdout,
            stderr=stderr,
            stdout_omitted=self.stdout_omitted + less_stdout,
            stderr_omitted=self.stderr_omitted + less_stderr,
        )

    def content(self) -> JsonObject:
        """Return it as JSON; bytes that are not UTF-8 are spelled."""
        return {
            "stdout": self.stdout.decode("utf-8", "backslashreplace"),
            "stderr": self.stderr.decode("utf-8", "backslashreplace"),
            "stdout_omitted": self.stdout_omitted,
            "stderr_omitted": self.stderr_omitted,
        }


class CallInterrupted(KeyboardInterrupt):
    """Ctrl-C during a tool call, with what that had printed."""

    def __init__(self, printed: Printed) -> None:
        super().__init__()
        self.printed = printed


def printed_in(detail: Mapping[str, Json], output: Json) -> Printed | None:
    """Return what a call printed, from its detail and its output; None where nothing was recorded of that."""
    stored = detail.get(_KEY)
    if not isinstance(stored, dict):
        return None
    return Printed(
        stdout=_restored(stored["stdout"], output),
        stderr=_restored(stored["stderr"], None),
        stdout_omitted=cast("int", stored["stdout_omitted"]),
        stderr_omitted=cast("int", stored["stderr_omitted"]),
    )


def omission(omitted: int) -> bytes:
    """Return the line in the place of what was left out."""
    return b"\n[... %d bytes omitted ...]\n" % omitted


def _stored(data: bytes, output: str | None) -> Json:
    if output is not None and data.startswith(begun := output.encode("utf-8", "surrogatepass")):
        ending = data[len(begun) :]
        if ending in (b"", b"\n", b"\r\n"):
            return {"ending": ending.decode()}
    try:
        return data.decode()
    except UnicodeDecodeError:
        import base64  # here, as below: most of what is printed is text

        return {"base64": base64.b64encode(data).decode()}


def _restored(stored: Json, output: Json) -> bytes:
    if isinstance(stored, str):
        return stored.encode()
    kept = cast("dict[str, str]", stored)
    if "base64" in kept:
        import base64

        return base64.b64decode(kept["base64"])
    return f"{output}{kept['ending']}".encode("utf-8", "surrogatepass")


def _bounded(data: bytes, limit: int) -> tuple[bytes, int]:
    """Return the beginning and the end, cut between characters, and the number of bytes between them."""
    if len(data) <= limit:
        return data, 0
    first, last = whole_characters(data[: limit // 2], data[-limit // 2 :])
    omitted = len(data) - len(first) - len(last)
    return first + omission(omitted) + last, omitted


def whole_characters(first: bytes, last: bytes) -> tuple[bytes, bytes]:
    """Return two parts without the halves of characters where something is omitted between them."""
    begun = next((n for n in range(1, 4) if len(first) >= n and first[-n] >= 0xC0), 0)  # one that may go on
    skipped = next((n for n in range(len(last)) if n == 3 or not 0x80 <= last[n] < 0xC0), 0)
    return first[: len(first) - begun], last[skipped:]
