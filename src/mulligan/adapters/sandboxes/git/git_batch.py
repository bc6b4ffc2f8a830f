"""A git process that answers question after question, started when it is first asked."""

import os
import subprocess
from types import TracebackType
from typing import IO, Self, cast

from mulligan.adapters.sandboxes.git.git_command import Git, GitFailed


class Asking:
    """One process, used as a context; a process that failed inside is ended."""

    def __init__(self, git: Git, *arguments: str) -> None:
        self._git = git
        self._arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None
        self._answer, self._read = b"", 0  # what came, and how much of it was taken

    def __enter__(self) -> Self:
        if self._process is None:
            self._process = self._git.start(*self._arguments)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.close()

    def send(self, question: bytes) -> None:
        """Ask; more than a pipe holds must not be asked before the answers are read."""
        pipe = self._pipe("stdin")
        try:
            pipe.write(question)
            pipe.flush()
        except BrokenPipeError as exc:
            raise self._ended() from exc

    def line(self) -> bytes:
        return self._until(b"\n")

    def until_nul(self) -> bytes:
        return self._until(b"\0")

    def exactly(self, size: int) -> bytes:
        while len(self._answer) - self._read < size:
            self._more()
        return self._take(size)

    def close(self) -> None:
        """End the process; the next question starts another."""
        process, self._process = self._process, None
        self._answer, self._read = b"", 0
        if process is not None:
            process.kill()
            process.communicate()

    def _until(self, end: bytes) -> bytes:
        while (at := self._answer.find(end, self._read)) < 0:
            self._more()
        found = self._take(at - self._read)
        self._read += 1
        return found

    def _take(self, size: int) -> bytes:
        found = self._answer[self._read : self._read + size]
        self._read += size
        return found

    def _more(self) -> None:
        read = os.read(self._pipe("stdout").fileno(), 1 << 16)
        if not read:
            raise self._ended()
        self._answer, self._read = self._answer[self._read :] + read, 0

    def _pipe(self, name: str) -> IO[bytes]:
        return cast("IO[bytes]", getattr(self._process, name))

    def _ended(self) -> GitFailed:
        return GitFailed(
            path=str(self._git.folder), reason=f"git {self._arguments[0]} ended without an answer"
        )
