"""The output of a tool, passed on live and kept for the record."""

from collections.abc import Callable

from mulligan.errors import ToolFailed

MEBIBYTE = 1024 * 1024
RECORDED = 16 * MEBIBYTE  # of what a tool prints or sends; it is kept in memory and in the database
TAIL = 64 * 1024  # of what a tool prints on stderr


class Shown:
    """Output that is passed on live; the end of stderr is kept."""

    def __init__(self, output: Callable[[bytes], None]) -> None:
        self._output = output
        self.stderr_tail = b""

    def stdout(self, data: bytes) -> None:
        self._output(data)

    def stderr(self, data: bytes) -> None:
        self.stderr_tail = (self.stderr_tail + data)[-TAIL:]
        self._output(data)


class Recorded(Shown):
    """Output with all of stdout kept."""

    def __init__(self, tool: str, output: Callable[[bytes], None]) -> None:
        """Hand it to `output`; fail the tool rather than keep more than there is room for."""
        super().__init__(output)
        self._tool = tool
        self._recorded: bytearray = bytearray()

    def stdout(self, data: bytes) -> None:
        super().stdout(data)
        self._recorded += data
        if len(self._recorded) > RECORDED:
            raise ToolFailed(
                tool=self._tool,
                reason=f"printed more than {RECORDED // MEBIBYTE} MiB on stdout, more than is recorded",
                limit=RECORDED,
            )

    @property
    def omitted(self) -> int:
        """The number of bytes of stdout that were not kept."""
        return 0

    def recorded(self) -> bytes:
        return bytes(self._recorded)


class Excerpted(Recorded):
    """Output of a command; if stdout is too long, its beginning and its end are kept."""

    def __init__(self, tool: str, output: Callable[[bytes], None]) -> None:
        super().__init__(tool, output)
        self._end: bytearray = bytearray()
        self._size = 0

    def stdout(self, data: bytes) -> None:
        """Take what came on stdout, and keep it while it may be part of the excerpt."""
        Shown.stdout(self, data)
        self._size += len(data)
        room = RECORDED // 2 - len(self._recorded)
        self._recorded += data[:room]
        self._end += data[room:]
        if len(self._end) > RECORDED:
            del self._end[: -RECORDED // 2]

    @property
    def omitted(self) -> int:
        first, last = self._halves()
        return self._size - len(first) - len(last)

    def recorded(self) -> bytes:
        """Return what is kept of stdout, with a line in the place of what is not."""
        first, last = self._halves()
        if not self.omitted:
            return first + last
        return b"%b\n[... %d bytes omitted ...]\n%b" % (first.removesuffix(b"\n"), self.omitted, last)

    def _halves(self) -> tuple[bytes, bytes]:
        """Return the beginning and the end; where something is omitted between them, whole characters."""
        if self._size <= RECORDED:
            return bytes(self._recorded), bytes(self._end)
        first, last = self._recorded, self._end[-RECORDED // 2 :]
        begun = next((n for n in range(1, 4) if first[-n] >= 0xC0), 0)  # a character that may go on
        skipped = next(n for n in range(len(last)) if n == 3 or not 0x80 <= last[n] < 0xC0)
        return bytes(first[: len(first) - begun]), bytes(last[skipped:])
