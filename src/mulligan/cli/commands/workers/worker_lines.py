"""The lines that a worker prints while it works: one of JSON or of text for each event."""

from __future__ import annotations

import json
import os
import sys
import threading
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import TextIO

    from mulligan.api.results import WorkSpans
    from mulligan.domain.plans.plan import Plan
    from mulligan.domain.text.json_value import Json


class WorkerLines:
    """The log of one worker, written line by line; a reader that went away ends no plan."""

    def __init__(self, *, document: bool, host: str, spans: WorkSpans) -> None:
        """Write JSON where a document was asked for; report runs and steps as spans, too."""
        self.runs = 0
        self._document = document
        self._spans = spans
        self._host = host
        self._handles: dict[str, str] = {}
        self._writing = threading.Lock()

    def say(self, event: str, **facts: Json) -> None:
        """Write one line."""
        now = datetime.now(UTC)
        plan = facts.get("plan")
        handle = self._handles.get(str(plan))
        self._spans.event(event, facts)
        if self._document:
            named = {"handle": handle} if handle is not None else {}
            about = {"time": now.isoformat(), "event": event, "host": self._host, "pid": os.getpid()}
            self._write(sys.stdout, json.dumps({**about, **named, **facts}))
            return
        shown = {name: value for name, value in facts.items() if name != "worker"} | (
            {"plan": handle} if handle is not None else {}
        )
        rest = " ".join(f"{name}={value}" for name, value in shown.items())
        self._write(sys.stderr, f"{now:%H:%M:%S} {event} {rest}".rstrip())

    @contextmanager
    def run_of(self, plan: Plan) -> Generator[None]:
        """Know the plan by its handle while it runs, in a span of its own."""
        with self._writing:
            self.runs += 1
            self._handles[plan.plan_id] = plan.handle
        with self._spans.run_of(plan, self._host):
            self.say("plan begun", plan=plan.plan_id)
            yield

    def close(self) -> None:
        """Send what is still to be sent."""
        self._spans.close()

    def _write(self, stream: TextIO, line: str) -> None:
        from mulligan.api.document import harmless

        # A closed stream, or a reader that went away, must not end plans.
        with self._writing, suppress(OSError, ValueError):
            stream.write(
                f"{line if self._document else harmless(line)}\n"
            )  # at once: a reader sees whole lines
            stream.flush()
