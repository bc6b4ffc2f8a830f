"""The launcher: the program under which every process of a tool runs, so that none outlives its call.

It is a child subreaper: a process whose parent died becomes its child, also after a double fork or setsid.
So a call is over when the launcher has no children left, which one system call reports. Where the system
has no subreaper (macOS) it uses the process group of the command, which setsid can leave.

The runner talks to it over two pipes. A message is its length in four bytes, then words divided by NUL,
which neither arguments nor environments can hold:

    enter                                      have a mount namespace of its own; one of
           entered
           outside errno, part                 the system refused a part of it: it serves nothing more
    appear  (verb, source, target)…            show sandboxes in the places of the real resources there; the same
                                               answers
    confine  count, path…                      write below these paths only, and all commands too; the first
                                               `count` are sandboxes; one of
           confined                            and each link that is made is noted: a byte on a pipe of its own
           confined unnoticed                  links cannot be noticed
           open errno, part                    the system refused a part of it
    attach flag, stdin, stdout, stderr         the streams of the next command: a descriptor, the path of a terminal,
                                               or nothing; flag `own`: the terminal becomes its controlling one
    start  folder, count, argv…, NAME=value…   run a command; then one of
           refused errno                       the command could not be started
           over    status, (pid, command)…     it ended, and what it left running was ended too
    sweep                                      end what the command, which stays, left running:
           clean                               nothing, and the command is still there
           over …                              something: all was ended, the command with it
    stop, continue                             stop every process, let it continue
    end                                        end everything: SIGTERM, a grace, SIGKILL; then `over`
    interrupt                                  the same, but first SIGINT, and time for the command to end

When the runner dies its end of the pipe closes, and everything is killed at once. Starting it is part of
the cost of a step: it imports next to nothing, and serves one call after the other.
"""

import os
import select
import sys
import time

from mulligan.adapters.tools.launcher.kernel import prctl

TYPE_CHECKING = False  # importing typing would double what this program imports
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable

    from mulligan.adapters.tools.launcher.call_filter import Notices
else:
    import _signal as signal  # the functions without the enums: importing those takes longer than the rest

SETTLE = 0.1  # seconds in which leftovers of a command may end on their own
GRACE = 1.0  # seconds between SIGTERM and SIGKILL
LEAVE = 5.0  # seconds that a command has after Ctrl-C; a second one ends it at once
LISTED = 100  # leftovers named in a report; a fork bomb has more
PR_SET_CHILD_SUBREAPER = 36
ENOEXEC = 8  # a script without `#!`
JOB_SIGNALS = (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)

Message = list[bytes]
Actions = list["tuple[object, ...]"]


def become_subreaper() -> bool:
    """Adopt every orphan below this process; False where the system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    return prctl(PR_SET_CHILD_SUBREAPER, 1) == 0


def is_zombie(pid: int) -> bool:
    """Return whether the process has ended and only waits for its parent; one that is gone counts as such."""
    stat = _stat_fields(str(pid))
    return not stat or stat[0] in (b"Z", b"X")


def _stat_fields(pid: str) -> list[bytes]:
    """State, parent and so on of a process; the name before them may hold anything, so it is cut off."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []


def scanned_children(pid: int) -> list[int]:
    """Children of a process, found by looking at every process: for kernels that do not list them."""
    wanted = str(pid).encode()
    found = [name for name in os.listdir("/proc") if name.isdigit()]
    return [int(name) for name in found if _stat_fields(name)[1:2] == [wanted]]


def children_of(pid: int) -> list[int]:
    """Children of a process, of all its threads."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += map(int, file.read().split())
    except OSError:
        if not os.path.exists(f"/proc/{os.getpid()}/task/{os.getpid()}/children"):
            return scanned_children(pid)
    return found


def below(pid: int) -> list[int]:
    """Every live process below one, parents first."""
    found: list[int] = []
    queue = [pid]
    while queue:
        children = children_of(queue.pop(0))
        queue += children
        found += [child for child in children if not is_zombie(child)]
    return found


def command_line(pid: int) -> bytes:
    """Return the command line of a process; its bare name where it hides that."""
    for source in ("cmdline", "comm"):
        try:
            with open(f"/proc/{pid}/{source}", "rb") as file:
                text = file.read(4096).replace(b"\0", b" ").strip()
        except OSError:
            continue
        if text:
            return text
    return b"?"


def spawn(argv: Message, folder: bytes, environment: dict[bytes, bytes], attached: Message) -> int:
    """Start a command in a session of its own; raises OSError when it cannot be."""
    os.chdir(folder)
    actions = _stream_actions(attached)
    try:
        failure: OSError | None = None
        for program in _candidates(argv[0], environment):
            try:
                return _spawn(program, argv, environment, actions)
            except (FileNotFoundError, NotADirectoryError) as exc:
                failure = failure or exc
            except PermissionError as exc:  # found but not executable says more than not found
                failure = exc
            except OSError as exc:
                if exc.errno != ENOEXEC:
                    raise
                return _spawn(b"/bin/sh", [b"/bin/sh", program, *argv[1:]], environment, actions)  # as execvp
        raise failure or FileNotFoundError(2, "no PATH")
    finally:
        os.chdir("/")  # stay in no folder that someone may want to remove


def _spawn(program: bytes, argv: Message, environment: dict[bytes, bytes], actions: "Actions") -> int:
    return os.posix_spawn(
        program,
        argv,
        environment,
        file_actions=actions,
        setsid=True,
        setsigmask=[],
        # what Python or this program ignores would stay ignored
        setsigdef=[signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE, signal.SIGXFSZ, *JOB_SIGNALS],
    )


def _stream_actions(attached: Message) -> "Actions":
    """Return what the new process does about its streams; the first terminal that it opens controls its session."""
    actions: Actions = [(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0)]
    how, *words = attached or [b""]
    for number, word in enumerate(words):
        if word.startswith(b"/"):
            flags = os.O_RDWR if how == b"own" else os.O_RDWR | os.O_NOCTTY
            actions.append((os.POSIX_SPAWN_OPEN, number, word, flags, 0))
        elif word:
            actions += [(os.POSIX_SPAWN_DUP2, int(word), number), (os.POSIX_SPAWN_CLOSE, int(word))]
    return actions


def _candidates(program: bytes, environment: dict[bytes, bytes]) -> Message:
    """Return the paths to try for a program: the PATH is the command's, not this process's."""
    if b"/" in program:
        return [program]
    path = environment.get(b"PATH", os.defpath.encode())
    return [os.path.join(folder, program) for folder in path.split(b":")]


class Launcher:
    """Serves the runner at the other end of two pipes, one call after the other."""

    def __init__(
        self,
        requests: int,
        replies: int,
        kept: list[int],
        restrict: "Callable[[Message, Message], Notices | None]",
        appear: "Callable[[Message | None], None]",
        *,
        subreaper: bool,
    ) -> None:
        """Take over the signals of this process; `kept` descriptors are for the first command alone."""
        self._requests = requests
        self._replies = replies
        self._kept = kept
        self._restrict = restrict
        self._appear = appear
        self._notices: Notices | None = None  # of links that commands make
        self._subreaper = subreaper
        self._orphaned = False  # the runner is gone, or someone wants this process to end
        self._attached: Message = []  # the streams of the next command
        self._main = 0
        self._status: int | None = None  # of the command, once it has ended
        self._woken, wake = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, self._wake)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the runner says when Ctrl-C ends a call
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._stop)
        self._poll = select.poll()
        for descriptor in (self._requests, self._woken):
            self._poll.register(descriptor, select.POLLIN)

    def serve(self) -> None:
        while not self._orphaned:
            message = self._next(None)
            if message and message[0] == b"start":
                self._run(message[1:])
            elif message and message[0] in (b"enter", b"appear"):
                self._move(message[1:] if message[0] == b"appear" else None)
            elif message and message[0] == b"confine":
                self._confine(message[1:])
            elif message and message[0] == b"attach":
                self._attached = message[1:]
            elif message and message[0] in (b"end", b"interrupt"):
                self._reply(b"over", b"0")  # nothing is left to end, and someone waits to hear so

    def _move(self, steps: Message | None) -> None:
        """Enter a mount namespace, or arrange the mounts in it."""
        try:
            self._appear(steps)
        except Exception as exc:  # noqa: BLE001 - its class is loaded when it is needed
            part, number = exc.args
            self._reply(b"outside", b"%d" % number, os.fsencode(part))
            return
        self._reply(b"entered")

    def _confine(self, words: Message) -> None:
        count = int(words[0])
        try:
            self._notices = self._restrict(words[1 : 1 + count], words[1 + count :])
        except Exception as exc:  # noqa: BLE001 - its class is loaded when it is needed
            part, number = exc.args
            self._reply(b"open", b"%d" % number, part.encode())
            return
        if self._notices is None:
            self._reply(b"confined", b"unnoticed")
        else:
            self._poll.register(self._notices.listener, select.POLLIN)
            self._reply(b"confined")

    def _run(self, words: Message) -> None:
        count = int(words[1])
        environment = dict(word.split(b"=", 1) for word in words[2 + count :])
        for descriptor in (1, 2):
            os.set_blocking(descriptor, True)  # an earlier command may have left them otherwise
        self._status = None
        try:
            self._main = spawn(words[2 : 2 + count], words[0], environment, self._attached)
        except OSError as exc:
            self._reply(b"refused", b"%d" % (exc.errno or 0))
            return
        while self._kept:  # held open here, they would hide that the command is gone
            os.close(self._kept.pop())
        asked = self._watch()
        leftovers = self._end(asked=asked)
        self._reply(b"over", b"%d" % (self._status or 0), *leftovers)

    def _watch(self) -> bool:
        """Wait until the command ends or is to be ended; True for the latter."""
        while True:
            self._reap()
            if self._status is not None:
                return False
            message = self._next(None)
            if self._orphaned:
                return True
            if message and message[0] == b"interrupt":
                self._interrupt()
                return True
            if message and message[0] == b"end":
                return True
            if message and message[0] in (b"stop", b"continue"):
                number = signal.SIGSTOP if message[0] == b"stop" else signal.SIGCONT
                self._signal(number, [self._main, *self._strays()])
            if message and message[0] == b"sweep":
                if self._settled():
                    self._reply(b"clean")
                else:
                    return True

    def _interrupt(self) -> None:
        """Send the command the signal of Ctrl-C and wait for it alone; its leftovers are ended afterwards."""
        self._signal(signal.SIGINT, [self._main, *self._strays()])
        limit = time.monotonic() + LEAVE
        while self._reap() and self._status is None and not self._orphaned:
            left = limit - time.monotonic()
            if left <= 0:
                return
            self._next(left)

    def _end(self, *, asked: bool) -> Message:
        """End every process; return pid and command of each except the command itself."""
        if not asked and (not self._reap() or self._settled()):
            return []
        found = self._strays()
        leftovers = [word for pid in found[:LISTED] for word in (b"%d" % pid, command_line(pid))]
        if not self._orphaned:
            everyone = found if self._status is not None else [self._main, *found]
            self._signal(signal.SIGTERM, everyone)
            self._signal(signal.SIGCONT, everyone)  # one that is stopped would not notice
            self._wait_until_gone(GRACE)
        self._kill()
        return leftovers

    def _kill(self) -> None:
        """Kill until nothing is left.

        Only children: their pids cannot be reused before we reap them. Their orphans become our children and are
        killed in the next round, and so are their new forks. The next round starts at once, unless all that is
        left was killed before and only takes its time.
        """
        killed: list[int] = []
        while self._reap():
            found = children_of(os.getpid()) if self._subreaper else [self._main]
            self._signal(signal.SIGKILL, found)
            if found == killed:
                time.sleep(0.001)
            killed = found

    def _settled(self) -> bool:
        """Give leftovers a moment to end on their own, as the far ends of pipes do; return whether all did."""
        limit = time.monotonic() + SETTLE
        while True:
            alive = self._reap()
            if not alive or (self._status is None and not self._strays()):
                return True
            left = limit - time.monotonic()
            if left <= 0 or self._orphaned:
                return False
            message = self._next(min(left, 0.005))
            if message and message[0] in (b"end", b"interrupt"):
                return False

    def _wait_until_gone(self, seconds: float) -> None:
        limit = time.monotonic() + seconds
        while self._reap() and not self._orphaned:
            left = limit - time.monotonic()
            if left <= 0:
                return
            self._next(left if self._subreaper else min(left, 0.01))

    def _strays(self) -> list[int]:
        """Every live process but the command: first below it, for orphans meanwhile move up to us."""
        if not self._subreaper:
            return [] if self._status is None else [self._main]
        found = below(self._main) if self._status is None else []
        return found + [pid for pid in below(os.getpid()) if pid != self._main and pid not in found]

    def _reap(self) -> bool:
        """Reap ended processes; return whether any process is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return not self._subreaper and self._group_lives()
            if pid == 0:
                return True
            if pid == self._main:
                self._status = status

    def _group_lives(self) -> bool:
        try:
            os.killpg(self._main, 0)
        except OSError:
            return False
        return True

    def _signal(self, number: int, pids: list[int]) -> None:
        for pid in pids:
            try:
                if self._subreaper:
                    os.kill(pid, number)
                else:
                    os.killpg(pid, number)
            except OSError:
                continue  # it has ended, or is another user's: reaping shows which

    def _next(self, timeout: float | None) -> Message | None:
        """Sleep until the runner says something, a process ends, or the time is up."""
        ready = self._poll.poll(None if timeout is None else timeout * 1000)
        self._hush()
        if self._notices is not None and (self._notices.listener, select.POLLIN) in ready:
            self._notices.serve()
        return self._receive() if any(fd == self._requests for fd, _ in ready) else None

    def _hush(self) -> None:
        try:
            os.read(self._woken, 4096)
        except BlockingIOError:
            return

    def _receive(self) -> Message | None:
        size = self._read(4)
        body = self._read(int.from_bytes(size, "big")) if size else b""
        if not body:
            self._orphaned = True
            self._poll.unregister(self._requests)
            return None
        return body.split(b"\0")

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = os.read(self._requests, size - len(data))
            if not part:
                return b""
            data += part
        return data

    def _reply(self, *words: bytes) -> None:
        body = b"\0".join(words)
        data = len(body).to_bytes(4, "big") + body
        try:
            while data:
                data = data[os.write(self._replies, data) :]
        except BrokenPipeError:
            self._orphaned = True

    def _wake(self, *_: object) -> None:
        """A handler is needed for the system to wake us; what ended is seen by reaping."""

    def _stop(self, *_: object) -> None:
        self._orphaned = True
