"""Calls of Python functions in worker processes, which are kept for the next call."""

import json
import os
import time
from pathlib import Path
from typing import cast

from msgspec import Struct, convert

from mulligan.adapters.tools.process.command_runner import (
    Command,
    Leftover,
    launcher_lost,
    leftovers_of,
    not_started,
)
from mulligan.adapters.tools.process.environment import CALL_MARK, folder_of, seen, tool_environment
from mulligan.adapters.tools.process.launcher_client import Event
from mulligan.adapters.tools.process.survivors import end_marked
from mulligan.adapters.tools.process.tool_output import MEBIBYTE, RECORDED, Excerpted
from mulligan.adapters.tools.worker.worker_process import WorkerProcess, Workers
from mulligan.boundaries import act
from mulligan.domain.plans.decision import Choice
from mulligan.domain.plans.tool import ToolResult
from mulligan.domain.text.json_value import Json, JsonObject
from mulligan.domain.views.printed import Printed
from mulligan.errors import ToolFailed, ToolTimedOut
from mulligan.ports import StepHost, ToolRequest


class _WorkerStale(Exception):
    """Files that a kept worker had imported have changed."""


class WorkerCalls(Struct, frozen=True, eq=False):
    """Calls functions with a StepContext; the output is what a function returns."""

    workers: Workers
    start_in: Path | None = None

    def call(self, tool: str, what: JsonObject, request: ToolRequest, host: StepHost) -> ToolResult:
        """Run one call to its end; every message has the name of the tool."""
        folder = seen(request, folder_of(request))
        environment = tool_environment(self.workers.launchers.environment, request, folder, {})
        call: JsonObject = {
            **what,
            "folder": str(folder),
            "environment": dict[str, Json](environment),
            "root": str(seen(request, request.root)),
            "sandboxes": {name: str(seen(request, path)) for name, path in request.sandboxes.items()},
            "variables": dict[str, Json](request.variables),
            "outputs": dict(request.outputs),
            "memory": request.memory,
            "guidance": request.guidance,
        }
        command = Command(
            argv=self.workers.argv,
            folder=self.start_in or folder,
            environment=environment,
            bounds=request.bounds,
            appearance=request.appearance,
        )
        while True:
            worker = self.workers.take(request.plan_id, command)
            run = _Run(tool, request, host, worker)
            try:
                reply = run.to_end(call)
                leftovers = run.sweep()
            except _WorkerStale:
                worker.retire()
                continue
            except ToolFailed as exc:
                worker.end()
                exc.facts |= run.printed.stored(None)  # for the record of the call
                raise
            except BaseException:
                worker.end()
                raise
            break
        if not worker.alive or reply["threads"]:
            worker.end()  # threads write behind a checkpoint's back as well as processes do
        elif "failed" in reply:
            worker.retire()  # who knows what it left half done
        else:
            self.workers.give_back(worker)
        return _result(tool, reply, leftovers, run.printed)


def _result(tool: str, reply: JsonObject, leftovers: tuple[Leftover, ...], printed: Printed) -> ToolResult:
    threads = cast("list[Json]", reply["threads"])
    messages = [str(leftover) for leftover in leftovers]
    messages += [f"left running and ended: thread {name}" for name in threads]
    detail: JsonObject = {"leftovers": [leftover.content() for leftover in leftovers], "threads": threads}
    if "failed" in reply:
        frames = cast("list[str]", reply["traceback"])
        innermost = f"\n  at {frames[-1]}" if frames else ""
        failure = ToolFailed(
            tool=tool,
            reason=f"{reply['failed']}{innermost}",
            traceback=frames,
            hint="correct the function or the step's args",
            **detail,
        )
        failure.facts |= printed.stored(None)  # for the record of the call
        raise failure
    if printed.stdout or printed.stderr:
        detail |= printed.stored(None)
    return ToolResult(output=reply["done"], detail=detail, messages=tuple(messages))


class _Run:
    """One call in one worker."""

    def __init__(self, tool: str, request: ToolRequest, host: StepHost, worker: WorkerProcess) -> None:
        self._tool = tool
        self._request = request
        self._host = host
        self._worker = worker
        self._shown = Excerpted(tool, host.output)
        timeout = request.timeout
        self._deadline = None if timeout is None else time.monotonic() + timeout

    @property
    def printed(self) -> Printed:
        """Return what the function printed so far."""
        return self._shown.printed()

    def to_end(self, call: JsonObject) -> JsonObject:
        """Send the call and serve what the function asks for, until it returns or fails."""
        with act("call.start"):
            self._worker.send(call)
        while True:
            event = self._worker.launcher.next_event(self._shown, self._deadline, self._host)
            if event is None:
                raise ToolTimedOut(tool=self._tool, timeout=self._request.timeout)
            message = self._message(event)
            if "stale" in message:
                raise _WorkerStale
            if isinstance(message["state"], dict):
                self._host.save_memory(message["state"])
            if "ask" not in message:
                return message
            began = time.monotonic()
            answer = self._answer(message)
            if self._deadline is not None:
                self._deadline += time.monotonic() - began  # a checkpoint takes none of the function's time
            self._worker.send({"answer": answer})

    def sweep(self) -> tuple[Leftover, ...]:
        """End what the function left running; the worker itself stays if there was nothing."""
        launcher = self._worker.launcher
        launcher.send(b"sweep")
        event = launcher.next_event(self._shown, None)
        assert event is not None
        if event[0] == b"clean":
            return ()
        self._worker.alive = False
        if event[0] == b"lost":
            raise self._lost()
        return leftovers_of(event)

    def _message(self, event: Event) -> JsonObject:
        if event[0] == b"line":
            return cast("JsonObject", json.loads(event[1]))
        if event[0] == b"flood":
            raise ToolFailed(
                tool=self._tool,
                reason=f"returned or recorded more than {RECORDED // MEBIBYTE} MiB at once",
                limit=RECORDED,
                hint="write it to a file in the sandbox and return its path",
            )
        self._worker.alive = False
        if event[0] == b"lost":
            raise self._lost()
        if event[0] == b"refused":
            raise not_started(self._tool, self._worker.command, int(event[1]))
        status = os.waitstatus_to_exitcode(int(event[1]))
        raise ToolFailed(
            tool=self._tool,
            reason=f"the function ended its process (status {status})",
            exit_status=status,
            stderr=self._shown.stderr_tail.decode(errors="replace"),
            hint="return from the function instead, or raise an exception",
        )

    def _lost(self) -> ToolFailed:
        end_marked(CALL_MARK, self._worker.first_call)
        end_marked(CALL_MARK, self._request.call_id)
        return launcher_lost(self._tool)

    def _answer(self, message: JsonObject) -> Json:
        what = message["ask"]
        if what == "record_decision":
            choice = convert(message["choice"], Choice)
            return self._host.record_decision(choice, cast("JsonObject", message["metadata"]))
        if what == "checkpoint":
            return self._host.checkpoint(str(message["label"]), cast("JsonObject", message["metadata"]))
        if what == "log":
            return self._host.log(str(message["message"]))
        return self._host.spawn(cast("JsonObject", message["subplans"]))
