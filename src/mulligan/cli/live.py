"""What people see while an operation goes on: steps, output, checkpoints, progress. All of it on stderr."""

import sys
import threading
from collections.abc import Callable

from mulligan.cli.encode import harmless_lines
from mulligan.cli.streams import lead_nowhere
from mulligan.domain.event import Event, EventType

_PATIENCE = 0.5  # seconds: shorter work needs no progress line
_PACE = 0.1


class Live:
    """Draws on stderr as things happen."""

    def __init__(self, *, terminal: bool, monotonic: Callable[[], float]) -> None:
        """On a terminal long work has a line that counts."""
        self._terminal = terminal
        self._monotonic = monotonic
        self._counting: tuple[str, float] | None = None
        self._drawn = 0.0
        self._at_line_start = True
        self._children: dict[str, str] = {}  # names by id
        self._lock = threading.Lock()  # child plans tell from threads of their own

    def event(self, event: Event) -> None:
        """Something was recorded."""
        with self._lock:
            if event.type is EventType.SUBPLAN_SPAWNED:
                self._children[str(event.data["plan_id"])] = str(event.data["name"])
            text = _told(event)
            if text is not None:
                child = self._children.get(event.plan_id)
                self._clear()
                self._line(text if child is None else f"[{child}] {text}")

    def output(self, data: bytes) -> None:
        """A tool printed something: shown as it came."""
        with self._lock:
            self._clear()
            self._raw(data)

    def progress(self, what: str, done: int, total: int | None) -> None:
        """Long work went on."""
        if not self._terminal:
            return
        now = self._monotonic()
        if self._counting is None or self._counting[0] != what:
            self._counting = (what, now)
        if now - self._counting[1] < _PATIENCE or now - self._drawn < _PACE:
            return
        self._drawn = now
        of = f" of {total}" if total is not None else ""
        self._raw(f"\r\x1b[K{done}{of} {what}".encode())
        self._at_line_start = False

    def close(self) -> None:
        """Leave the terminal as it was."""
        self._clear()
        if not self._at_line_start:
            self._raw(b"\n")

    def _clear(self) -> None:
        if self._drawn:
            self._raw(b"\r\x1b[K")
            self._drawn = 0.0
            self._at_line_start = True

    def _line(self, text: str) -> None:
        start = "" if self._at_line_start else "\n"
        self._raw(f"{start}{harmless_lines(text)}\n".encode(errors="backslashreplace"))

    def _raw(self, data: bytes) -> None:
        try:
            sys.stderr.buffer.write(data)
            sys.stderr.buffer.flush()
        except OSError:  # nobody looks any more, or their disk is full; the operation itself goes on
            lead_nowhere(sys.stderr)
            return
        self._at_line_start = data.endswith(b"\n")


def _told(event: Event) -> str | None:
    data = event.data
    match event.type:
        case EventType.STEP_STARTED:
            return f"> {data['step']}"
        case EventType.STEP_FAILED:
            return f"! {data['step']}: {data['error']}"
        case EventType.CHECKPOINT:
            label = f" {data['label']!r}" if data["label"] else ""
            return f"  checkpoint {data['checkpoint_id']} {data['checkpoint_type']}{label}"
        case EventType.DECISION:
            return f"  decision: {data['question']} {data['chosen']}"
        case EventType.SUBPLAN_MERGED:
            return f"  merged {data['name']}: {data['paths']} paths"
        case EventType.TOOL_UNDONE if data["status"] == "done":
            return f"  undone: {data['tool']} in step {data['step']!r}"
        case EventType.MESSAGE | EventType.LOG:
            return f"  {data['message']}"
        case _:
            return None
