"""The output of a tool, passed on live and kept for the record."""

from collections.abc import Callable

from mulligan.domain.views.printed import Printed, omission, whole_characters
from mulligan.errors import ToolFailed

MEBIBYTE = 1024 * 1024
RECORDED = 16 * MEBIBYTE  # of what a tool prints or sends; it is kept in memory and in the database
TAIL = 64 * 1024  # of what a tool prints on stderr


class Shown:
    """Output that is passed on live; the end of stderr is kept."""

    def __init__(
        self, output: Callable[[bytes], None], errors: Callable[[bytes], None] | None = None
    ) -> None:
        """Hand stdout to `output`, and stderr too where it has no function of its own."""
        self._output = output
        self._errors = errors or output
        self.stderr_tail = b""

    def stdout(self, data: bytes) -> None:
        self._output(data)

    def stderr(self, data: bytes) -> None:
        self.stderr_tail = (self.stderr_tail + data)[-TAIL:]
        self._errors(data)


class Recorded(Shown):
    """Output with all of stdout kept."""

    def __init__(
        self, tool: str, output: Callable[[bytes], None], errors: Callable[[bytes], None] | None = None
    ) -> None:
        """Hand it to `output`; fail the tool rather than keep more than there is room for."""
        super().__init__(output, errors)
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

    def printed(self) -> Printed:
        """Return what is kept."""
        return Printed(stdout=bytes(self._recorded), stderr=self.stderr_tail)


class Excerpted(Recorded):
    """Output of a command; of a stream that is too long the beginning and the end are kept."""

    def __init__(
        self,
        tool: str,
        output: Callable[[bytes], None],
        errors: Callable[[bytes], None] | None = None,
        *,
        by_terminal: bool = False,
    ) -> None:
        """Keep lines with LF that come through a terminal, which ends them with CR and LF."""
        super().__init__(tool, output, errors)
        self._stdout, self._stderr = _Ends(), _Ends()
        self._by_terminal = by_terminal

    def stdout(self, data: bytes) -> None:
        """Take what came on stdout, and keep it while it may be part of the excerpt."""
        self._stdout.add(data)  # first: it counts as printed even where it cannot be passed on
        Shown.stdout(self, data)

    def stderr(self, data: bytes) -> None:
        """Take what came on stderr."""
        self._stderr.add(data)
        super().stderr(data)

    def printed(self) -> Printed:
        """Return what is kept, with a line in the place of what is not."""
        (stdout, less_stdout), (stderr, less_stderr) = self._stdout.kept(), self._stderr.kept()
        if self._by_terminal:
            stdout, stderr = (kept.replace(b"\r\n", b"\n") for kept in (stdout, stderr))
        return Printed(stdout=stdout, stderr=stderr, stdout_omitted=less_stdout, stderr_omitted=less_stderr)


class _Ends:
    """The beginning and the end of a stream of bytes."""

    def __init__(self) -> None:
        self._first = bytearray()
        self._last = bytearray()
        self._size = 0

    def add(self, data: bytes) -> None:
        self._size += len(data)
        room = RECORDED // 2 - len(self._first)
        self._first += data[:room]
        self._last += data[room:]
        if len(self._last) > RECORDED:
            del self._last[: -RECORDED // 2]

    def kept(self) -> tuple[bytes, int]:
        """Return what is kept, and how many bytes are not."""
        if self._size <= RECORDED:
            return bytes(self._first + self._last), 0
        first, last = whole_characters(bytes(self._first), bytes(self._last[-RECORDED // 2 :]))
        omitted = self._size - len(first) - len(last)
        return first.removesuffix(b"\n") + omission(omitted) + last, omitted
