"""A command in the place of this process: its streams are ours, and where ours is a terminal it has one too.

What is not a terminal is handed on: stdin as it is, stdout and stderr byte by byte. For terminals the command gets a
pseudo terminal of its own, so that it cannot do more to the real one than print, unless it is interactive. Keys are
passed on raw where stdin and stdout are terminals, so that the pseudo terminal edits lines and echoes. In a pipeline
the terminal belongs to other programs too: it stays as it is, and lines are passed on while nobody else uses it.
"""

import errno
import os
import re
import select
import signal
import termios
import threading
import tty
from collections.abc import Callable, Mapping
from contextlib import suppress
from selectors import EVENT_READ, EVENT_WRITE, BaseSelector
from types import FrameType
from typing import Any, Self

from mulligan.adapters.tools.process.tool_output import MEBIBYTE, Shown
from mulligan.domain.text.inert_text import Inert
from mulligan.errors import SystemFailed
from mulligan.ports import Streams

_PACE = 0.2  # seconds after which it is asked again whether the terminal may be read
_LFLAG, _CHARACTERS = 3, 6  # of the attributes of a terminal
# Programs that would draw on the whole screen, which only an interactive command may.
_PAGERS: Mapping[str, str] = dict[str, str].fromkeys(
    ("PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER"), "cat"
)
# Modes of a terminal that a killed program may leave behind, each with its usual value.
_MODE = re.compile(rb"\x1b\[\?([0-9;]+)([hl])")
_USUAL_MODES = {
    **dict.fromkeys(("1", "9", "47", "1000", "1002", "1003", "1004", "1006", "1015", "1047", "1049", "2004"), "l"),
    "7": "h",
    "25": "h",
}  # fmt: skip
_FULL_SCREEN = re.compile(rb"\x1b\[\?(?:47|1047|1049)h")
# Signals that end this process unless it handles them: the terminal is given back first.
_DEADLY = ("SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGXCPU")


class Attachment:
    """The streams of one command; leaving it restores everything, however it ends."""

    def __init__(self, streams: Streams) -> None:
        """Make the pseudo terminal, if one is needed; nothing real changes yet."""
        self._streams = streams
        given = (streams.stdin, streams.stdout, streams.stderr)
        terminals = [descriptor is not None and os.isatty(descriptor) for descriptor in given]
        self._keyboard = streams.stdin if terminals[0] else None
        self._screen = streams.stdout if terminals[1] else streams.stderr if terminals[2] else None
        self._raw_wanted = terminals[0] and terminals[1]
        self._on_stderr = not terminals[1]  # the pseudo terminal is what the command prints on stderr
        self.on_terminal = self._screen is not None
        self._pagers = terminals[1] and not streams.interactive
        self._handed = os.dup(streams.stdin) if streams.stdin is not None and not terminals[0] else None
        self._master = self._slave = -1
        name = b""
        if any(terminals):
            self._master, self._slave = os.openpty()
            os.set_blocking(self._master, False)
            name = os.fsencode(os.ttyname(self._slave))
        words = [name if terminal else b"" for terminal in terminals]
        if self._handed is not None:
            words[0] = b"%d" % self._handed
        self.words = (b"own" if self._keyboard is not None else b"", *words)
        self._inert = (
            Inert(streams.encoding, draws_a_line=True)
            if self._screen is not None and not streams.interactive
            else None
        )
        self._send: Callable[..., None] = lambda *_: None
        self._typed = b""  # on its way to the command
        self._modes: dict[bytes, bytes] = {}  # that an interactive program has switched
        self._at_line_start = True
        self._hung_up = False
        self._saved: list[Any] | None = None  # attributes of the real terminal while it is raw
        self._handlers: dict[int, Any] = {}
        self._obeys_keys = False  # Ctrl-C and Ctrl-Z mean this process too
        self._woken = self._wake = self._old_wake = -1
        self._resized = self._suspended = False
        self.full_screen = False  # it tried to draw on the whole screen

    @property
    def handed(self) -> tuple[int, ...]:
        """Return the descriptors that the launcher must inherit."""
        return () if self._handed is None else (self._handed,)

    @property
    def environment(self) -> Mapping[str, str]:
        """Return what the command needs to know beside its streams."""
        return _PAGERS if self._pagers else {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Give the terminal back as it was."""
        try:
            self._finish_output()
        finally:
            self._give_back()
            self._restore_signals()
            for descriptor in (self._master, self._slave, self._handed, self._woken, self._wake):
                if descriptor is not None and descriptor >= 0:
                    os.close(descriptor)

    def begin(self, send: Callable[..., None]) -> None:
        """Take the terminal: the command starts next. `send` sends requests to its launcher."""
        self._streams.before()
        self._send = send
        if self._handed is not None:
            os.close(self._handed)  # the launcher has it
            self._handed = None
        if self._master < 0:
            return
        self._catch_signals()
        self._set_up()
        self._fit()

    def _set_up(self) -> None:
        """Give the pseudo terminal the settings of the real one, unless another program in front has changed them."""
        real = self._keyboard if self._keyboard is not None else self._screen
        assert real is not None
        attributes = termios.tcgetattr(real if _in_foreground(real) else self._slave)
        if not self._raw_wanted:
            attributes[_LFLAG] &= ~termios.ECHO  # the real terminal echoes
        termios.tcsetattr(self._slave, termios.TCSANOW, attributes)

    # --- while the command runs ----------------------------------------------------------------------------

    def watch(self, selector: BaseSelector, nap: float | None) -> float | None:
        """Have the selector watch what may be read now; return how long to wait at most."""
        reads_keys = self._may_read()
        wanted = {self._woken: EVENT_READ}
        if not self._hung_up:
            wanted[self._master] = EVENT_READ | (EVENT_WRITE if self._typed else 0)
        if self._keyboard is not None and reads_keys and not self._typed:
            wanted[self._keyboard] = EVENT_READ
        for descriptor in (self._woken, self._master, self._keyboard):
            if descriptor is None or descriptor < 0:
                continue
            known = selector.get_map().get(descriptor)
            if known is not None and descriptor not in wanted:
                selector.unregister(descriptor)
            elif known is None and descriptor in wanted:
                selector.register(descriptor, wanted[descriptor])
            elif known is not None and known.events != wanted[descriptor]:
                selector.modify(descriptor, wanted[descriptor])
        if self._keyboard is None or reads_keys:
            return nap
        return _PACE if nap is None else min(nap, _PACE)

    def serve(self, shown: Shown, *, over: bool) -> None:
        """Pass on what was printed and typed, and what became of the terminal; `over`: all that is left of it."""
        if self._master < 0:
            return
        self._hear_signals()
        show = shown.stderr if self._on_stderr else shown.stdout
        while data := self._printed():
            if self._screen is not None:  # else it is the echo of what was typed elsewhere
                show(data)
            if not over:
                break
        if not over:
            self._pass_on_keys()

    def stdout(self, data: bytes) -> None:
        """Write what the command printed on stdout."""
        self._write(self._streams.stdout, data, terminal=not self._on_stderr)

    def stderr(self, data: bytes) -> None:
        """Write what it printed on stderr."""
        self._write(self._streams.stderr, data, terminal=self._screen is not None and self._on_stderr)

    def _write(self, descriptor: int | None, data: bytes, *, terminal: bool) -> None:
        if descriptor is None:
            return
        if terminal:
            self._at_line_start = data.endswith(b"\n")
            if self._inert is not None:
                self.full_screen = self.full_screen or _FULL_SCREEN.search(data) is not None
                data = self._inert.piece(data)
            else:
                self._note_modes(data)
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(descriptor, rest) :]
            except BlockingIOError:  # the caller may have opened it so
                select.select([], [descriptor], [])
            except BrokenPipeError:
                raise
            except OSError as exc:
                if terminal and exc.errno == errno.EIO:
                    return  # the terminal is gone
                name = "stdout" if descriptor == self._streams.stdout else "stderr"
                raise SystemFailed(path=name, reason=exc.strerror or str(exc)) from exc

    def _printed(self) -> bytes:
        try:
            return b"" if self._hung_up else os.read(self._master, MEBIBYTE)
        except BlockingIOError:
            return b""
        except OSError:  # EIO: the command is gone, and with it the session that the terminal belonged to
            self._hung_up = True
            return b""

    def _note_modes(self, data: bytes) -> None:
        for numbers, value in _MODE.findall(data):
            for number in numbers.split(b";"):
                self._modes[number] = value

    def _finish_output(self) -> None:
        """End a line that was begun, and undo what an interactive program that was killed left of its modes."""
        if self._screen is None:
            return
        rest = self._inert.rest() if self._inert is not None else b""
        for number, value in self._modes.items():
            usual = _USUAL_MODES.get(number.decode())
            if usual is not None and usual != value.decode():
                rest += b"\x1b[?%b%b" % (number, usual.encode())
        if not self._at_line_start and not self._modes:
            rest += b"\r\n"
        try:
            os.write(self._screen, rest)
        except OSError:
            return  # the terminal is gone

    # --- keys ----------------------------------------------------------------------------------------------

    def _may_read(self) -> bool:
        """Return whether keys are for the command now; take the terminal where that is so and it is to be raw."""
        if self._keyboard is None or self._master < 0 or not _in_foreground(self._keyboard):
            return False
        try:
            if self._raw_wanted:
                self._take()
                return True
            # In a pipeline a pager, say, reads keys rather than lines: they are its own.
            return bool(termios.tcgetattr(self._keyboard)[_LFLAG] & termios.ICANON)
        except termios.error:  # the terminal is gone: SIGHUP says so too
            self._keyboard = None
            return False

    def _take(self) -> None:
        if self._saved is None:
            assert self._keyboard is not None
            self._saved = termios.tcgetattr(self._keyboard)
            tty.setraw(self._keyboard, termios.TCSANOW)

    def _give_back(self) -> None:
        if self._saved is not None and self._keyboard is not None:
            saved, self._saved = self._saved, None
            if _in_foreground(self._keyboard):
                try:
                    termios.tcsetattr(self._keyboard, termios.TCSANOW, saved)
                except termios.error:
                    return  # the terminal is gone

    def _pass_on_keys(self) -> None:
        if self._keyboard is not None and not self._typed and self._may_read():
            self._read_keys(self._keyboard)
        if self._typed and not self._hung_up:
            try:
                self._typed = self._typed[os.write(self._master, self._typed) :]
            except BlockingIOError:
                return
            except OSError:
                self._typed = b""  # nobody is there to read it

    def _read_keys(self, keyboard: int) -> None:
        if not select.select([keyboard], [], [], 0)[0]:
            return
        try:
            keys = os.read(keyboard, 1024)
        except OSError:  # the terminal is gone: SIGHUP says so too
            self._keyboard = None
            return
        if not keys and self._raw_wanted:
            self._keyboard = None
            return
        attributes = termios.tcgetattr(self._master)
        characters: list[Any] = attributes[_CHARACTERS]
        if not keys:
            self._typed = characters[termios.VEOF]
        elif self._obeys_keys and attributes[_LFLAG] & termios.ISIG:
            self._obey_keys(keys, characters[termios.VINTR], characters[termios.VSUSP], attributes[_LFLAG])
        else:
            self._typed = keys

    def _obey_keys(self, keys: bytes, interrupt: bytes, suspend: bytes, flags: int) -> None:
        """Pass on what is for the command; Ctrl-C and Ctrl-Z mean this process too."""
        meant = [re.escape(key) for key in (interrupt, suspend) if key != b"\0"]  # which is none
        found = re.search(b"|".join(meant), keys) if meant else None
        if found is None:
            self._typed = keys
            return
        self._typed = keys[: found.start()]
        if flags & termios.ECHO and self._streams.stdout is not None:
            os.write(self._streams.stdout, b"^" + bytes([found.group()[0] ^ 0x40]))
            self._at_line_start = False
        if found.group() == interrupt:
            raise KeyboardInterrupt
        self._suspend()

    # --- signals -------------------------------------------------------------------------------------------

    def _catch_signals(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return  # only there can they be caught
        self._obeys_keys = self._raw_wanted and not self._streams.interactive
        self._woken, self._wake = os.pipe()
        for descriptor in (self._woken, self._wake):
            os.set_blocking(descriptor, False)
        self._old_wake = signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        self._handle(signal.SIGWINCH, self._note_size)
        self._handle(signal.SIGTSTP, self._note_suspend)
        for name in _DEADLY:
            number = getattr(signal, name)
            if signal.getsignal(number) is signal.SIG_DFL:
                self._handle(number, self._die)

    def _handle(self, number: int, handler: Callable[[int, FrameType | None], None]) -> None:
        self._handlers[number] = signal.signal(number, handler)

    def _restore_signals(self) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        if self._handlers:
            signal.set_wakeup_fd(self._old_wake)
            self._handlers = {}

    def _note_size(self, _signal: int, _frame: object) -> None:
        self._resized = True

    def _note_suspend(self, _signal: int, _frame: object) -> None:
        self._suspended = True

    def _die(self, number: int, _frame: object) -> None:
        """Give the terminal back, then end as this signal ends a process that does not handle it."""
        self._give_back()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def _hear_signals(self) -> None:
        if self._woken >= 0:
            with suppress(BlockingIOError):
                os.read(self._woken, 4096)
        if self._resized:
            self._resized = False
            self._fit()
        if self._suspended:
            self._suspend()

    def _fit(self) -> None:
        """Give the pseudo terminal the size of the real one; the kernel sends the command SIGWINCH."""
        real = self._screen if self._screen is not None else self._keyboard
        assert real is not None
        try:
            termios.tcsetwinsize(self._slave, termios.tcgetwinsize(real))
        except (termios.error, OSError):
            return  # the terminal is gone

    def _suspend(self) -> None:
        """Stop the command and this process, as Ctrl-Z does; continue both when a shell says so."""
        self._suspended = False
        self._send(b"stop")
        self._give_back()
        handler = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.killpg(os.getpgrp(), signal.SIGTSTP)  # goes on here when it is continued
        signal.signal(signal.SIGTSTP, handler)
        self._resized = True
        self._send(b"continue")


def _in_foreground(terminal: int) -> bool:
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return True  # a terminal of another session: the system stops nobody who reads it
