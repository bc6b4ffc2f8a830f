"""What a tool prints, on its way to whoever watches and to the record."""

from collections.abc import Callable

from mulligan.errors import ToolFailed

MEBIBYTE = 1024 * 1024
RECORDED = 16 * MEBIBYTE  # of what a tool prints or sends; it is kept in memory and in the database
TAIL = 64 * 1024  # of what a tool prints on stderr


class Shown:
    """What a tool prints: handed on live, the end of stderr kept."""

    def __init__(self, output: Callable[[bytes], None]) -> None:
        """Hand it to `output`."""
        self._output = output
        self.stderr_tail = b""

    def stdout(self, data: bytes) -> None:
        """Take what came on stdout."""
        self._output(data)

    def stderr(self, data: bytes) -> None:
        """Take what came on stderr."""
        self.stderr_tail = (self.stderr_tail + data)[-TAIL:]
        self._output(data)


class Recorded(Shown):
    """What a tool prints, with all of stdout kept."""

    def __init__(self, tool: str, output: Callable[[bytes], None]) -> None:
        """Hand it to `output`; fail the tool rather than keep more than there is room for."""
        super().__init__(output)
        self._tool = tool
        self.recorded = bytearray()

    def stdout(self, data: bytes) -> None:
        """Take and keep what came on stdout."""
        super().stdout(data)
        self.recorded += data
        if len(self.recorded) > RECORDED:
            raise ToolFailed(
                tool=self._tool,
                reason=f"printed more than {RECORDED // MEBIBYTE} MiB on stdout, more than is recorded",
                limit=RECORDED,
                hint="send its output to a file (`> FILE`) and print only what later steps need",
            )
