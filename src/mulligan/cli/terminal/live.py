"""Live progress of an operation, on stderr: steps, output, checkpoints, child plans.

Without a terminal everything is a line. On a terminal the running steps are at its lower end with their running
time, and finished ones scroll away above them. A clock of its own redraws it, so that the workers only record events.
"""

import re
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from mulligan.api.document import harmless_lines
from mulligan.cli.answers.answer import Span
from mulligan.cli.answers.event_text import moment_of, number_of
from mulligan.cli.terminal import glyphs
from mulligan.cli.terminal.folds import folded_spans
from mulligan.cli.terminal.screen import Screen
from mulligan.cli.terminal.times import lasting, running
from mulligan.domain.plans.decision import DecisionType
from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.text.exit_status import brief_status
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.inert_text import Inert
from mulligan.domain.text.plural import counted
from mulligan.domain.views.status_view import titled

_PATIENCE = 0.5  # seconds: shorter work needs no area, and what is counted for less no progress
_PACE = 0.1  # seconds: more often nobody can read what changes
_LINES = re.compile(rb"[^\n]*\n|[^\n]+")
_ENOUGH = 1 << 16  # bytes: so much output does not wait for its turn
# Types that get a line of their own. All others come while all goes well: the line of a step has the number of the one
# before it, and the log has them all.
_NOTABLE = (CheckpointType.ON_ERROR, CheckpointType.MANUAL, CheckpointType.PRE_RESTORE)
_NAME_WIDTH = 24  # columns of a step's name, so that what follows is below each other


class AsItIs:
    """The output of a program byte by byte, for a pipe or a file; `Inert` is for terminals."""

    def piece(self, data: bytes) -> bytes:
        """Return what can be shown now that this was printed."""
        return data

    def rest(self) -> bytes:
        """Return what was held back, after the last piece."""
        return b""

    def line(self, data: bytes) -> bytes:
        """Return a whole line of pieces as it can follow something else."""
        return data


class _Doing(Struct, kw_only=True):
    """The progress of one plan."""

    name: str | None  # of a child
    parent: PlanId | None
    steps: int = 0
    index: int = 0
    step: str | None = None
    since: float = 0.0
    group: tuple[int, str] | None = None  # the newest one: how many steps were complete, and its number
    exit_status: int = 0  # of the step's command: one that is interactive fails no step
    did_nothing: bool = False  # the last step's command could not be started
    way_back: str = ""  # the number of the group from before the step
    printed: AsItIs | Inert
    titled: bool = False  # the step's name is above its output
    begun_line: bytes = b""  # of a child: output that is not a whole line yet


class _Counted(Struct, frozen=True):
    """Long work that counts."""

    what: str
    since: float
    done: int
    total: int | None


class Live:
    """Draws on stderr as things happen."""

    def __init__(
        self,
        *,
        screen: Screen,
        printed: Callable[[], AsItIs | Inert],
        monotonic: Callable[[], float],
        verbose: bool = False,
    ) -> None:
        """On a terminal with an area for what goes on; what each plan's tools print goes through a `printed`.

        A line for each step; with `verbose` also one for its start, and for each checkpoint.
        """
        self._screen = screen
        self._verbose = verbose
        self._printed = printed
        self._terminal = screen.terminal
        self._monotonic = monotonic
        self._plans: dict[PlanId, _Doing] = {}
        self._checkpoint: Event | None = None
        self._counted: _Counted | None = None
        self._above = b""  # what is to be written
        self._area: Sequence[Sequence[Span]] = ()
        self._at_line_start = True
        self._written = -_PACE
        self._begun: float | None = None
        self._ticking: threading.Thread | None = None
        self._over = threading.Event()
        self._lock = threading.Lock()  # child plans report from threads of their own

    def event(self, event: Event) -> None:
        """Something was recorded."""
        with self._lock:
            self._begin()
            self._counted = None
            doing = self._doing(event.plan_id)
            if event.type in (EventType.STEP_DONE, EventType.STEP_FAILED, EventType.PLAN_STATE):
                self._finish_output(doing)
            way_back = doing.way_back
            self._note(event, doing)
            for line in self._folded(self._lines(event, doing, way_back)):
                self._line(doing, line)
            if not self._terminal:  # there what belongs together comes at once, when the clock ticks
                self._flush()

    def output(self, plan_id: PlanId, data: bytes) -> None:
        """A tool printed something: shown at once, that of a child line by line with its name."""
        with self._lock:
            self._begin()
            self._counted = None
            doing = self._doing(plan_id)
            if doing.step is not None and not doing.titled:
                doing.titled = True
                self._line(doing, self._begun_line(doing.step))
            # Line by line, so that the colours of one end with it; whose the next one is has a colour of its own.
            pieces = [data] if doing.name is None else _LINES.findall(data)
            for piece in pieces:
                self._show(doing, doing.printed.piece(piece))
            if (
                self._monotonic() - self._written >= _PACE
                or len(self._above) >= _ENOUGH
                or not self._terminal
            ):
                self._flush()

    def progress(self, what: str, done: int, total: int | None) -> None:
        """Long work went on."""
        if not self._terminal:
            return
        count = self._counted
        since = count.since if count is not None and count.what == what else self._monotonic()
        self._counted = _Counted(what, since, done, total)
        if self._ticking is None:
            with self._lock:
                self._begin()

    def tick(self) -> None:
        """Draw what changed, be it only the time."""
        with self._lock:
            self._flush()

    def close(self) -> None:
        """Leave the terminal as it was, and forget which steps run."""
        self.pause()
        with self._lock:
            self._plans.clear()

    def pause(self) -> None:
        """Leave the terminal as it was, until something happens again: a step of the user's has it meanwhile."""
        if self._ticking is not None:
            self._over.set()
            self._ticking.join()
            self._ticking = None
        with self._lock:
            for doing in self._plans.values():
                self._finish_output(doing)
            if not self._at_line_start:
                self._add(b"\n")
            self._begun = None  # no area
            self._flush()

    # --- what goes on --------------------------------------------------------------------------------------

    def _doing(self, plan_id: PlanId) -> _Doing:
        if plan_id not in self._plans:
            self._plans[plan_id] = _Doing(name=None, parent=None, printed=self._printed())
        return self._plans[plan_id]

    def _note(self, event: Event, doing: _Doing) -> None:
        data = event.data
        match event.type:
            case EventType.STEP_STARTED:
                doing.step, doing.since = titled(data["step"], data.get("about")), self._monotonic()
                doing.index, doing.titled = int(str(data.get("index", 0))), self._verbose
                doing.exit_status = 0
                taken = doing.group is not None and doing.group[0] == doing.index
                doing.way_back = doing.group[1] if doing.group is not None and taken else ""
            case EventType.STEP_DONE | EventType.STEP_FAILED:
                doing.step, doing.did_nothing = None, data.get("started") is False
            case EventType.TOOL_CALLED:
                doing.exit_status = int(str(data.get("exit_status") or 0))
            case EventType.PLAN_STATE:
                doing.step, doing.steps = None, int(str(data.get("steps", doing.steps)))
            case EventType.SUBPLAN_SPAWNED:
                child = _Doing(name=str(data["name"]), parent=event.plan_id, printed=self._printed())
                self._plans[PlanId(str(data["plan_id"]))] = child
            case EventType.CHECKPOINT:
                self._checkpoint = event
                if not CheckpointType(
                    str(data["checkpoint_type"])
                ).is_at_work:  # no way back to before its step
                    doing.group = int(str(data["step_index"])), number_of(event)
            case _:
                pass

    def _folded(self, lines: Iterable[Sequence[Span]]) -> Iterator[Sequence[Span]]:
        """Break lines between words where the terminal is too narrow for them."""
        for line in lines:
            yield from folded_spans(line, self._screen.room) if self._terminal else (line,)

    def _lines(self, event: Event, doing: _Doing, way_back: str) -> Iterator[Sequence[Span]]:
        """Return the lines for an event; that of a step ends with the number of the checkpoint from before it."""
        data = event.data
        match event.type:
            case EventType.STEP_STARTED if self._verbose:
                yield self._begun_line(titled(data["step"], data.get("about")))
            case EventType.STEP_DONE:
                word = _end_word(doing.exit_status)
                yield self._step_line(event, word, lasting(int(str(data["duration_ms"]))), way_back)
            case EventType.STEP_FAILED:
                yield self._step_line(event, "failed", "", way_back)
                yield from _lines_of(str(data["error"]), "red")
            case EventType.CHECKPOINT:
                is_notable = data["checkpoint_type"] in _NOTABLE and not doing.did_nothing
                if self._verbose or data["label"] or is_notable:
                    sign = f"{glyphs.CHECKPOINT} " if self._terminal else ""
                    yield Span(f"    {sign}", "cyan"), Span(_checkpoint(event), "dim")
            case _:
                yield from _other_lines(event)

    def _begun_line(self, step: str) -> Sequence[Span]:
        return Span(f"{glyphs.RUNS} ", "yellow") if self._terminal else Span("> "), Span(step, "bold")

    def _step_line(self, event: Event, status: str, took: str, way_back: str) -> Sequence[Span]:
        failed = status == "failed"
        mark = Span(f"{glyphs.FAILED if failed else glyphs.DONE} ", "red" if failed else "green")
        number = int(str(event.data.get("index", 0))) + 1
        rest = f"  {status:<6}  {took:>6}  {way_back}".rstrip()
        return (
            mark if self._terminal else Span(""),
            Span(f"{number:>3} "),
            Span(f"{titled(event.data['step'], event.data.get('about')):<{_NAME_WIDTH}}", "bold"),
            Span(rest, "red" if failed else "dim"),
        )

    def _rows(self, parent: PlanId | None, indent: str) -> Iterator[tuple[Span, ...]]:
        """The steps that run, those of child plans below."""
        for plan_id, doing in self._plans.items():
            if doing.parent == parent:
                if doing.step is not None:
                    took = running(self._monotonic() - doing.since)
                    of = f"  step {doing.index + 1} of {doing.steps}" if doing.steps else ""
                    yield (
                        Span(f"{indent}{glyphs.RUNS} ", "yellow"),
                        Span(f"{doing.name}: " if doing.name else ""),
                        Span(doing.step, "bold"),
                        Span(f"  {took}", "yellow"),
                        Span(of, "dim"),
                    )
                yield from self._rows(plan_id, indent + "  ")

    def _present(self) -> Sequence[tuple[Span, ...]]:
        """The area as it should be now."""
        now = self._monotonic()
        if self._begun is None or now - self._begun < _PATIENCE:
            return ()
        rows = list(self._rows(None, ""))
        if rows and self._checkpoint is not None:
            rows.append((Span(f"  {glyphs.CHECKPOINT} {_checkpoint(self._checkpoint)}", "dim"),))
        count = self._counted
        if count is not None and now - count.since >= _PATIENCE:
            of = f" of {count.total:,}" if count.total is not None else ""
            number = f"{count.done:,}{of} " if count.done or of else ""  # a wait counts nothing
            rows.append((Span(f"  {number}{count.what}"),))
        return rows

    # --- writing -------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        if self._begun is None:
            self._begun = self._monotonic()
        if self._terminal and self._ticking is None:
            self._over.clear()
            self._ticking = threading.Thread(target=self._tick_on, name="screen", daemon=True)
            self._ticking.start()
            if threading.current_thread() is threading.main_thread():
                # It was stopped with Ctrl-Z, and the shell has written where the area was.
                signal.signal(signal.SIGCONT, self._continued)

    def _continued(self, _signal: int, _frame: object) -> None:
        self._screen.forget()

    def _tick_on(self) -> None:
        while not self._over.wait(_PACE):
            self.tick()

    def _show(self, doing: _Doing, data: bytes) -> None:
        """Write what a tool printed; that of a child when the line is whole, or too long to be waited for."""
        if doing.name is None:
            self._add(data)
            return
        *lines, doing.begun_line = (doing.begun_line + data).split(b"\n")
        if len(doing.begun_line) >= _ENOUGH:
            lines, doing.begun_line = [*lines, doing.begun_line], b""
        for line in lines:
            self._line(doing, line)

    def _finish_output(self, doing: _Doing) -> None:
        self._show(doing, doing.printed.rest())
        if doing.begun_line:
            line, doing.begun_line = doing.begun_line, b""
            self._line(doing, line)

    def _line(self, doing: _Doing, line: Sequence[Span] | bytes) -> None:
        start = "" if self._at_line_start else "\n"
        whose = f"[{harmless_lines(doing.name)}] " if doing.name is not None else ""
        data = (
            doing.printed.line(line) if isinstance(line, bytes) else self._encoded(self._screen.styled(line))
        )
        self._add(self._encoded(start + whose) + data + b"\n")

    def _encoded(self, text: str) -> bytes:
        return text.encode(self._screen.encoding, "backslashreplace")

    def _add(self, data: bytes) -> None:
        if data:
            self._above += data
            self._at_line_start = data.endswith(b"\n")

    def _flush(self) -> None:
        """Write what is to be written, and the area where it is another one by now."""
        area = self._present() if self._terminal else ()
        if self._above or area != self._area:
            self._screen.update(self._above, area)
            self._above, self._area, self._written = b"", area, self._monotonic()


def _other_lines(event: Event) -> Iterator[tuple[Span, ...]]:
    data = event.data
    match event.type:
        case EventType.DECISION if (
            data.get("by") != DecisionType.USER_INTERVENTION
        ):  # that is what was typed just now
            yield from _lines_of(f"  decision: {data['question']} {data['chosen']}", "magenta")
        case EventType.SUBPLAN_MERGED:
            done = "picked" if data.get("picked") else "merged"
            yield (Span(f"  {done} {data['name']}: {counted(int(str(data['paths'])), 'path')}"),)
        case EventType.TOOL_UNDONE if data["status"] == "done":
            yield (Span(f"  undone: {data['tool']} in step {data['step']!r}"),)
        case EventType.MESSAGE | EventType.LOG:
            yield from _lines_of(f"  {data['message']}", "")
        case _:
            return


def _end_word(exit_status: int) -> str:
    if exit_status > 0:
        return f"exit {exit_status}"
    return brief_status(exit_status) if exit_status else "ok"


def _lines_of(text: str, style: str) -> Iterator[tuple[Span, ...]]:
    return ((Span(line, style),) for line in text.split("\n"))


def _checkpoint(event: Event) -> str:
    return f"{number_of(event)} {moment_of(event)}"
