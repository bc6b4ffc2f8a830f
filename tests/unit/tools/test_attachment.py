"""The streams of an attached command where something is odd: full, slow, closed, or without signals."""

import os
import select
import signal
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from selectors import DefaultSelector

import pytest

from mulligan.adapters.tools.process.attachment import Attachment
from mulligan.adapters.tools.process.tool_output import Shown
from mulligan.errors import SystemFailed
from mulligan.ports import Streams
from tests.support.patience import PATIENCE


def streams(
    stdin: int | None, stdout: int | None, stderr: int | None, *, interactive: bool = False
) -> Streams:
    return Streams(
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        encoding="utf-8",
        interactive=interactive,
        before=lambda: None,
    )


class Terminal:
    """A real terminal in the eyes of an attachment: the end with the user, and the end with the program."""

    def __init__(self) -> None:
        self.user, self.program = os.openpty()
        self.open = True

    def close(self) -> None:
        """Let the user go."""
        if self.open:
            os.close(self.user)
        self.open = False


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal()
    yield made
    made.close()
    os.close(made.program)


def command_end(attachment: Attachment) -> int:
    """Open the terminal that the command would have."""
    return os.open(attachment.words[2] or attachment.words[1], os.O_RDWR | os.O_NOCTTY)


def until(attachment: Attachment, shown: Shown, fits: Callable[[], bool]) -> None:
    selector, limit = DefaultSelector(), time.monotonic() + PATIENCE
    while not fits():
        assert time.monotonic() < limit
        selector.select(min(attachment.watch(selector, 0.1) or 0.1, 0.1))
        attachment.serve(shown, over=False)
    selector.close()


def test_without_terminals_nothing_is_made_and_stdin_is_handed_on() -> None:
    read, write = os.pipe()
    with Attachment(streams(read, write, None)) as attachment:
        (handed,) = attachment.handed
        assert attachment.words == (b"", b"%d" % handed, b"", b"")
        assert attachment.environment == {}
        attachment.begin(lambda *_: None)
        assert attachment.handed == ()
        attachment.stdout(b"bytes\xff")
        attachment.stderr(b"nowhere")
        attachment.serve(Shown(lambda _: None), over=True)
        selector = DefaultSelector()
        assert attachment.watch(selector, 7.0) == 7.0
    assert os.read(read, 100) == b"bytes\xff"
    for descriptor in (read, write):
        os.close(descriptor)


def test_a_slow_reader_of_a_stream_that_does_not_block_gets_everything() -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    got = bytearray()

    def slowly() -> None:
        while data := os.read(read, 30_000):
            got.extend(data)
            time.sleep(0.001)

    reader = threading.Thread(target=slowly)
    reader.start()
    with Attachment(streams(None, write, None)) as attachment:
        attachment.stdout(b"x" * 1_000_000)
    os.close(write)
    reader.join()
    os.close(read)
    assert got == b"x" * 1_000_000


@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_a_full_disk_is_named(name: str) -> None:
    with Path("/dev/full").open("wb", 0) as full:
        given = streams(None, *((full.fileno(), None) if name == "stdout" else (None, full.fileno())))
        with Attachment(given) as attachment, pytest.raises(SystemFailed) as failed:
            getattr(attachment, name)(b"lost")
    assert failed.value.facts["path"] == name


def test_keys_and_output_pass_and_the_terminal_is_as_it_was(terminal: Terminal) -> None:
    before, printed = termios.tcgetattr(terminal.program), bytearray()
    with Attachment(streams(terminal.program, terminal.program, terminal.program)) as attachment:
        attachment.begin(lambda *_: None)
        command = command_end(attachment)
        shown = Shown(lambda data: (printed.extend(data), attachment.stdout(data))[0])
        os.write(command, b"\x1b[1mask\x1b[2J? ")
        until(attachment, shown, lambda: b"ask" in printed)
        assert termios.tcgetattr(terminal.program) != before, "it is raw now"
        os.write(terminal.user, b"an answer\n")
        until(attachment, shown, lambda: b"answer\r\n" in printed)
        assert os.read(command, 100) == b"an answer\n"
        os.close(command)
    assert termios.tcgetattr(terminal.program) == before
    seen = os.read(terminal.user, 1000)
    assert b"\x1b[1mask" in seen
    assert b"\x1b[2J" not in seen


def test_ctrl_c_is_the_users_unless_the_command_reads_every_key(terminal: Terminal) -> None:
    with Attachment(streams(terminal.program, terminal.program, None)) as attachment:
        attachment.begin(lambda *_: None)
        command = command_end(attachment)
        attachment.watch(DefaultSelector(), 0)  # makes it raw: before, the real terminal obeys the key
        os.write(terminal.user, b"left\x03gone")
        with pytest.raises(KeyboardInterrupt):
            until(attachment, Shown(lambda _: None), lambda: False)
        attributes = termios.tcgetattr(command)
        attributes[3] &= ~(termios.ISIG | termios.ICANON | termios.ECHO)
        termios.tcsetattr(command, termios.TCSAFLUSH, attributes)
        os.set_blocking(command, False)
        got = bytearray()

        def read() -> bool:
            try:
                got.extend(os.read(command, 100))
            except BlockingIOError:
                return False
            return b"\x03key" in got

        os.write(terminal.user, b"\x03key")
        until(attachment, Shown(lambda _: None), read)
        os.close(command)


def test_in_a_thread_there_are_no_signals_and_all_keys_are_the_commands(terminal: Terminal) -> None:
    failed: list[BaseException] = []

    def attached() -> None:
        try:
            with Attachment(streams(terminal.program, terminal.program, None)) as attachment:
                attachment.begin(lambda *_: None)
                command, printed = command_end(attachment), bytearray()
                os.write(terminal.user, b"a\x1ab\n")
                until(attachment, Shown(printed.extend), lambda: b"b\r\n" in printed)
                os.close(command)
        except BaseException as exc:  # noqa: BLE001 - raised by the test
            failed.append(exc)

    handler = signal.getsignal(signal.SIGTSTP)
    thread = threading.Thread(target=attached)
    thread.start()
    thread.join()
    assert failed == []
    assert signal.getsignal(signal.SIGTSTP) is handler


def test_a_terminal_that_is_gone_stops_nothing(terminal: Terminal) -> None:
    with Attachment(streams(terminal.program, terminal.program, terminal.program)) as attachment:
        attachment.begin(lambda *_: None)
        command, printed = command_end(attachment), bytearray()
        shown = Shown(lambda data: (printed.extend(data), attachment.stdout(data))[0])
        os.write(command, b"one")
        until(attachment, shown, lambda: b"one" in printed)
        terminal.close()
        os.write(command, b"two")
        until(attachment, shown, lambda: b"two" in printed)
        os.close(command)


def test_of_a_command_that_is_gone_the_rest_is_read(terminal: Terminal) -> None:
    with Attachment(streams(None, terminal.program, None)) as attachment:
        attachment.begin(lambda *_: None)
        printed = bytearray()
        command = command_end(attachment)
        os.write(command, b"x" * 3000)
        os.close(command)
        attachment.serve(Shown(printed.extend), over=True)
        assert printed == b"x" * 3000


def test_modes_that_an_interactive_program_left_are_switched_back(terminal: Terminal) -> None:
    given = streams(terminal.program, terminal.program, terminal.program, interactive=True)
    with Attachment(given) as attachment:
        attachment.begin(lambda *_: None)
        assert attachment.environment == {}
        attachment.stdout(b"\x1b[?1049h\x1b[?25l\x1b[?1000;1006h\x1b[?1000l\x1b[?777h drawing")
    seen, last = b"", b"\x1b[?1049l\x1b[?25h\x1b[?1006l"
    while last not in seen and select.select([terminal.user], [], [], PATIENCE)[0]:
        seen += os.read(terminal.user, 1000)
    assert seen.endswith(last)


def test_the_command_has_the_size_of_the_terminal_also_when_that_changes(terminal: Terminal) -> None:
    termios.tcsetwinsize(terminal.user, (30, 100))
    with Attachment(streams(terminal.program, terminal.program, terminal.program)) as attachment:
        attachment.begin(lambda *_: None)
        command = command_end(attachment)
        shown = Shown(attachment.stdout)
        until(attachment, shown, lambda: termios.tcgetwinsize(command) == (30, 100))
        termios.tcsetwinsize(terminal.user, (20, 60))
        os.kill(os.getpid(), signal.SIGWINCH)
        until(attachment, shown, lambda: termios.tcgetwinsize(command) == (20, 60))
        terminal.close()  # and with it the size
        os.kill(os.getpid(), signal.SIGWINCH)
        os.write(command, b"end")
        printed = bytearray()
        until(attachment, Shown(printed.extend), lambda: b"end" in printed)
        os.close(command)


def test_keys_for_a_command_that_reads_none_and_then_is_gone_are_dropped(terminal: Terminal) -> None:
    given = streams(terminal.program, terminal.program, terminal.program, interactive=True)
    with Attachment(given) as attachment:
        attachment.begin(lambda *_: None)
        command = command_end(attachment)
        modes = termios.tcgetattr(command)
        modes[3] &= ~(termios.ECHO | termios.ICANON)
        termios.tcsetattr(command, termios.TCSANOW, modes)
        shown = Shown(attachment.stdout)
        selector = DefaultSelector()
        os.set_blocking(terminal.user, False)
        for _ in range(100):  # more than a terminal holds that nobody reads
            with suppress(BlockingIOError):
                os.write(terminal.user, b"k" * 512)
            attachment.watch(selector, 0.0)
            attachment.serve(shown, over=False)
        os.close(command)
        attachment.serve(shown, over=True)
        attachment.watch(selector, 0.0)
        selector.close()


@pytest.mark.parametrize("interactive", [True, False])
def test_the_keyboard_may_go(terminal: Terminal, *, interactive: bool) -> None:
    given = streams(terminal.program, terminal.program, terminal.program, interactive=interactive)
    with Attachment(given) as attachment:
        attachment.begin(lambda *_: None)
        command, printed = command_end(attachment), bytearray()
        shown = Shown(printed.extend)
        terminal.close()
        for _ in range(3):
            attachment.serve(shown, over=False)
        os.write(command, b"still here")
        until(attachment, shown, lambda: b"still here" in printed)
        os.close(command)
