"""The runner's side of a launcher process: requests to it, and events from it."""

import errno
import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mulligan.adapters.tools.launcher import control_groups
from mulligan.adapters.tools.launcher.jail import LOADED, Unconfined
from mulligan.adapters.tools.launcher.namespace import Unseen
from mulligan.adapters.tools.process.environment import PLAN_MARK, clean
from mulligan.adapters.tools.process.survivors import LAUNCHER_MARK
from mulligan.adapters.tools.process.tool_output import MEBIBYTE, RECORDED, Shown
from mulligan.domain.resources.appearance import Appearance
from mulligan.domain.resources.bounds import Bounds
from mulligan.domain.text.ids import PlanId

if TYPE_CHECKING:
    from mulligan.adapters.tools.process.attachment import Attachment
    from mulligan.ports import StepHost

# Loads a program of the folders beside this one under its full name, from its cached bytecode, without its package.
LOAD = """\
import sys
from importlib.machinery import SourceFileLoader
def load(name):
    name, path = "mulligan.adapters.tools." + name, sys.argv[1] + "/" + name.replace(".", "/") + ".py"
    if name not in sys.modules:
        module = sys.modules[name] = type(sys)(name)
        SourceFileLoader(name, path).exec_module(module)
    return sys.modules[name]
"""
# What confines, and what makes a namespace, is loaded when it is needed; and before a sandbox takes the place of a
# folder that may hold this program.
_START = f"""\
for name in ("launcher.kernel", "launcher.control_groups", "launcher.launcher"):
    load(name)
def jail():
    return [load(name) for name in {LOADED}][-1]
def appear(steps):
    jail()
    namespace = load("launcher.namespace")
    namespace.enter() if steps is None else namespace.arrange(steps)
load("launcher.guardian").main(sys.argv[2:], lambda *p: jail().confine(*p), appear)
"""
LONGEST_NAP = 3600.0  # seconds; the system counts milliseconds in 31 bits, and a timeout may be longer
PACE = 0.1  # seconds: how long a request to stop may go unseen
PROGRAMS = str(Path(__file__).parents[1])

# A reply of the launcher, or (b"line", data) or (b"flood",) from the channel, or (b"lost",).
Event = tuple[bytes, ...]


class LauncherProcess:
    """A launcher, the pipes to it, and the one command that runs under it at a time."""

    def __init__(
        self,
        *,
        python: str,
        environment: Mapping[str, str],
        plan_id: PlanId,
        kept: tuple[int, ...],
        how: str,
        obey: Callable[[], None] | None,
        linked: Callable[[], None],
    ) -> None:
        """Start it. `kept` descriptors are handed on to its commands; `how` is `tree` or `group`.

        `obey` raises when this run is asked to stop; in a thread no signal does that. `linked` is called before an
        event is returned after which files may have additional names.
        """
        import selectors
        import subprocess  # slow to import, and no command but those that run steps needs it

        replies, replies_there = os.pipe()
        noted, noted_there = os.pipe()
        for descriptor in (noted, noted_there):
            os.set_blocking(descriptor, False)
        try:
            descriptors = (replies_there, noted_there, *kept)
            program = LOAD + _START
            self._process = subprocess.Popen(
                [python, "-I", "-c", program, PROGRAMS, how, plan_id, *map(str, descriptors)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                pass_fds=descriptors,
                env=clean(environment) | {PLAN_MARK: plan_id, LAUNCHER_MARK: "1"},
                cwd="/",
                start_new_session=True,  # Ctrl-C of the terminal is the runner's to handle
            )
        except BaseException:
            os.close(replies)
            os.close(noted)
            raise
        finally:
            os.close(replies_there)
            os.close(noted_there)
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None
        self._streams = (stdin, stdout, stderr)
        self._requests, self._stdout, self._stderr = stdin.fileno(), stdout.fileno(), stderr.fileno()
        self._replies = replies
        self._plan_id = plan_id
        self._noted = noted
        self._linked = linked
        self._notices_links = False  # until it is confined
        self._may_link = False  # a command runs, or ran, whose links are not noticed
        self._incoming = bytearray()
        self._lines = bytearray()
        self._events: deque[Event] = deque()
        self._channel: int | None = None
        self._attachment: Attachment | None = None
        self._unread: set[int] = set()  # what goes nowhere, as in `mulligan run … | head`
        self._obey = obey
        self._selector = selectors.DefaultSelector()
        for descriptor in (self._stdout, self._stderr, self._replies):
            os.set_blocking(descriptor, False)
            self._selector.register(descriptor, selectors.EVENT_READ)

    def enter(self) -> None:
        """Give it a mount namespace of its own; Unseen where the system refuses a part."""
        self._move(b"enter")

    def appear(self, appearance: Appearance) -> None:
        """Let all that runs under it see sandboxes in the places of the real resources; it has a namespace."""
        words = [word for step in appearance.mounts for word in (step.verb, step.source, step.target)]
        self._move(b"appear", *map(os.fsencode, words))

    def _move(self, *request: bytes) -> None:
        self.send(*request)
        event = self.next_event(Shown(lambda _: None), None)
        if event is not None and event[0] == b"outside":
            raise Unseen(os.fsdecode(event[2]), int(event[1]))
        if event is None or event[0] != b"entered":
            raise ProcessLookupError(errno.ESRCH, "the launcher was killed")

    def confine(self, bounds: Bounds) -> None:
        """Let nothing that runs under it write out of bounds; Unconfined where the system refuses a part."""
        elsewhere = [path for path in bounds.writable if path not in bounds.sandboxes]
        count = str(len(bounds.sandboxes))
        self.send(b"confine", *map(os.fsencode, (count, *bounds.sandboxes, *elsewhere)))
        event = self.next_event(Shown(lambda _: None), None)
        if event is not None and event[0] == b"open":
            raise Unconfined(event[2].decode(), int(event[1]))
        if event is None or event[0] != b"confined":
            raise ProcessLookupError(errno.ESRCH, "the launcher was killed")
        self._notices_links = event[1:] != (b"unnoticed",)

    def listen(self, channel: int) -> None:
        """Give lines that arrive on this descriptor as events too."""
        import selectors

        os.set_blocking(channel, False)
        self._channel = channel
        self._selector.register(channel, selectors.EVENT_READ)

    def attach(self, attachment: "Attachment") -> None:
        """Run the next command attached to streams of this process."""
        self._attachment = attachment
        self.send(b"attach", *attachment.words)
        attachment.begin(self.send)

    def send(self, *words: bytes) -> None:
        """Send the launcher a request; if it is gone, the missing answer shows that."""
        self._may_link |= words[0] == b"start" and not self._notices_links
        body = b"\0".join(words)
        try:
            write_all(self._requests, len(body).to_bytes(4, "big") + body)
        except BrokenPipeError:
            return

    def next_event(
        self, shown: Shown, deadline: float | None, host: "StepHost | None" = None
    ) -> Event | None:
        """Hand on what is printed until something happens; None when the time is up first.

        The host, if there is one, is called meanwhile.
        """
        while not self._events:
            timeout = None if deadline is None else deadline - time.monotonic()
            if timeout is not None and timeout <= 0:
                return None
            nap = self._nap(timeout)
            if host is not None:
                due = host.while_waiting(time.monotonic(), self._tell_of_links)
                nap = due if nap is None else nap if due is None else min(nap, due)
            if self._attachment is not None:
                nap = self._attachment.watch(self._selector, nap)
            ready = {key.fd for key, _ in self._selector.select(nap)}
            # Output that was printed before an event is shown before it: look for the event, print, then return it.
            if self._replies in ready:
                self._read_replies()
            if self._channel in ready:
                self._read_lines()
            # One read takes all that a pipe can hold; more than one, and a flood would keep us here for ever.
            self._hand_on(self._stdout, shown.stdout)
            self._hand_on(self._stderr, shown.stderr)
            if self._attachment is not None:
                self._attachment.serve(shown, over=bool(self._events))
        self._tell_of_links()
        return self._events.popleft()

    def _hand_on(self, descriptor: int, show: Callable[[bytes], None]) -> None:
        """Show what was printed; the command learns that nobody reads it as it would without us."""
        if descriptor in self._unread:
            return
        try:
            if data := _read(descriptor):
                show(data)
        except BrokenPipeError:
            self._unread.add(descriptor)
            self._selector.unregister(descriptor)
            self._streams[1 if descriptor == self._stdout else 2].close()

    def _tell_of_links(self) -> None:
        """Say that files got other names, or may have; a note is written before the link is made."""
        if _read(self._noted) or self._may_link:
            self._linked()

    def _nap(self, timeout: float | None) -> float | None:
        """Return how long to wait at most before `obey` is asked again."""
        if self._obey is not None:
            try:
                self._obey()
            except BaseException:
                self._obey = None  # once: what is still to come is to see the command ended
                raise
            return PACE if timeout is None else min(timeout, PACE)
        return None if timeout is None else min(timeout, LONGEST_NAP)

    def _read_replies(self) -> None:
        data = _read(self._replies)
        if data == b"":
            self._selector.unregister(self._replies)
            self._events.append((b"lost",))
        self._incoming += data or b""
        while len(self._incoming) >= 4:
            end = 4 + int.from_bytes(self._incoming[:4], "big")
            if len(self._incoming) < end:
                return
            self._events.append(tuple(bytes(self._incoming[4:end]).split(b"\0")))
            del self._incoming[:end]

    def _read_lines(self) -> None:
        assert self._channel is not None
        data = _read(self._channel)
        if data == b"":
            self._selector.unregister(self._channel)  # the launcher reports how the process ended
        self._lines += data or b""
        if data and b"\n" in data:
            *lines, self._lines = self._lines.split(b"\n")
            self._events.extend((b"line", bytes(line)) for line in lines)
        if len(self._lines) > RECORDED:
            self._events.append((b"flood",))

    def end(self, how: bytes = b"end", shown: Shown | None = None) -> None:
        """End the command with all its processes, and return when they are gone; `interrupt` sends Ctrl-C first."""
        shown = shown or Shown(lambda _: None)
        try:
            self.send(how)
            ends = (b"over", b"lost", b"refused")
            while (event := self.next_event(shown, None)) and event[0] not in ends:
                continue
        except BaseException:  # a second Ctrl-C: no more grace
            self.close()
            raise

    def close(self) -> None:
        """Let the launcher go; whatever still runs under it is killed."""
        stdin, *others = self._streams
        stdin.close()
        self._process.wait()
        control_groups.discard(self._plan_id, self._process.pid)
        for stream in others:
            stream.close()
        self._selector.close()
        self._tell_of_links()
        os.close(self._noted)
        os.close(self._replies)

    @property
    def running(self) -> bool:
        """Return whether the launcher itself is alive; its guardian may live a little longer."""
        import select

        requests = select.poll()
        requests.register(self._requests, 0)  # an error is reported all the same: nobody reads it
        return self._process.poll() is None and not requests.poll(0)


def write_all(descriptor: int, data: bytes) -> None:
    """Write, however many writes it takes."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _read(descriptor: int) -> bytes | None:
    """Read what is available: None for nothing yet, b"" at the end."""
    try:
        return os.read(descriptor, MEBIBYTE)
    except BlockingIOError:
        return None
