"""The program under hostile hands, in this process: whatever it is given, an answer of its own comes back."""

import io
import json
import signal
from collections.abc import Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mulligan.cli.main import run

CODES = (0, 1, 2, 3, 4)  # the documented ones; 130 is for signals


@dataclass(frozen=True, slots=True)
class Said:
    """What a command answered."""

    code: int
    stdout: bytes
    stderr: str

    @property
    def document(self) -> dict[str, Any]:
        return json.loads(self.stdout)

    @property
    def error(self) -> dict[str, Any]:
        return self.document["error"]


def say(folder: Path, *words: str, format: str = "json") -> Said:
    """Run a command; it ends with a code that is documented and, where it fails, with a hint and no traceback."""
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2)]
    handler = signal.getsignal(signal.SIGTERM)
    try:
        with chdir(folder), redirect_stdout(streams[0]), redirect_stderr(streams[1]):
            code = run(["--format", format, *words])
    finally:
        signal.signal(signal.SIGTERM, handler)
    out, err = (stream.detach().getvalue() for stream in streams)  # pyright: ignore[reportAttributeAccessIssue] - what was wrapped
    said = Said(code, out, err.decode())
    assert "Traceback" not in said.stderr, (words, said.stderr)
    assert said.code in CODES, (words, said)
    if said.code and format == "json":
        assert said.error["kind"] != "internal_error", (words, said.error)
        assert said.error["message"], words
        assert said.error["hint"], (words, said.error)
    elif said.code:
        assert "hint: " in said.stderr, (words, said.stderr)
    return said


def refused(folder: Path, words: Sequence[str], *codes: int) -> dict[str, Any]:
    """Run a command that must not succeed; gives the error."""
    said = say(folder, *words)
    assert said.code in codes, (words, said.document)
    return said.error
