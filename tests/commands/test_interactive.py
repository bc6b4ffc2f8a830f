"""Commands on a real terminal: full-screen programs, shells with job control, keys, sizes, and what is left of it."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.program import ask, data_of
from tests.support.patience import PATIENCE
from tests.support.tmux import MISSING, Pane, pane

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
LONG = f"sleep {os.getpid()}61"  # seconds; no other process on the machine has this command line
QUESTION = "apply, keep or drop? [a/K/d/v/?]"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir()
    (made / "a.txt").write_text("one\n")
    return made


@pytest.fixture
def shell(folder: Path) -> Iterator[Pane]:
    with pane(folder) as made:
        yield made


def process_of(pattern: str) -> int:
    """The newest process with such a command line."""
    limit = time.monotonic() + PATIENCE
    while time.monotonic() < limit:
        found = subprocess.run(["pgrep", "-n", "-f", pattern], capture_output=True, text=True, check=False)
        if found.stdout:
            return int(found.stdout)
        time.sleep(0.05)
    raise AssertionError(pattern)


def is_gone(pattern: str) -> bool:
    limit = time.monotonic() + PATIENCE
    while subprocess.run(["pgrep", "-f", pattern], stdout=subprocess.DEVNULL, check=False).returncode == 0:
        if time.monotonic() > limit:
            return False
        time.sleep(0.05)
    return True


# --- interactive programs ----------------------------------------------------------------------------------


@pytest.mark.processes_measured
def test_an_editor_draws_on_the_screen_and_its_work_is_applied(shell: Pane) -> None:
    before = shell.settings()
    shell.enter("mulligan run -i -- vim -u NONE -N a.txt; echo code $?")
    screen = shell.wait_for("one\n~", '"a.txt" 1L')
    assert screen.count("\n~") > 20, "it has the whole screen"
    shell.type("Gotwo")
    shell.press("Escape")
    shell.enter(":wq")
    shell.wait_for("+two", "vim has ended, exit status 0", QUESTION)
    assert (shell.folder / "a.txt").read_text() == "one\n"
    shell.enter("a")
    shell.wait_for("code 0")
    assert (shell.folder / "a.txt").read_text() == "one\ntwo\n"
    assert shell.settings() == before
    plan = data_of(shell.folder, "status")
    assert (plan["handle"], plan["phase"], plan["state"]) == ("vim", "apply", "applied")


def test_a_pager_shows_and_nothing_is_asked_where_nothing_differs(shell: Pane) -> None:
    (shell.folder / "long").write_text("".join(f"line {n}\n" for n in range(1000)))
    shell.enter("mulligan run -i -- less long; echo code $?")
    shell.wait_for("line 0", "line 28")
    shell.press("G")
    shell.until(lambda screen: "line 999" in screen and "line 28" not in screen, "the end")
    shell.press("q")
    assert "drop?" not in shell.wait_for("nothing differs", "code 0")


@pytest.mark.processes_measured
def test_a_shell_has_job_control_and_the_size_and_its_work_is_dropped(shell: Pane) -> None:
    before = shell.settings()
    shell.enter("mulligan shell; echo code $?")
    shell.wait_for("works in a sandbox", "workspace")
    shell.enter(f"PS1='in> '; {LONG} &")
    shell.wait_for("[1]")
    shell.enter("fg")
    shell.wait_for(f"fg\n{LONG}")
    shell.press("C-z")
    shell.wait_for("Stopped")
    job = process_of(f"^{LONG}")
    assert state_of(job) == "T"
    shell.enter("fg")
    shell.until(lambda _: state_of(job) == "S", "the job continues")
    shell.press("C-c")
    assert is_gone(f"^{LONG}")
    shell.enter("clear; stty size")
    shell.wait_for("30 100")
    shell.resize(90, 25)
    shell.enter("stty size; tput cols")
    shell.wait_for("25 90", "\n90\n")
    shell.enter("clear; echo $MULLIGAN_PLAN $debian_chroot")
    shell.wait_for("shell mulligan shell")
    shell.enter("touch made; exit 7")
    shell.wait_for("exit 7  ", "shell has ended, exit status 7", "made", QUESTION)
    shell.enter("what?")
    shell.until(lambda screen: screen.count(QUESTION) == 2, "the question again")
    shell.resize(60, 25)
    shell.enter("?")
    shell.wait_for("d drop: ", "v view: ", "applies it later")
    shell.resize(90, 25)
    shell.enter("clear")  # is not an answer
    shell.enter("v")
    shell.until(lambda screen: screen.count("new file mode") > 1, "the diff")
    shell.enter("drop")
    shell.wait_for("code 7")
    assert not (shell.folder / "made").exists()
    assert data_of(shell.folder, "status")["state"] == "cancelled"
    assert shell.settings() == before


@pytest.mark.processes_measured
@pytest.mark.parametrize("answer", ["Enter", "C-d", "C-c", "k"])
def test_what_is_kept_can_be_applied_later(shell: Pane, answer: str) -> None:
    shell.enter("mulligan run -i -- sh -c 'echo two >> a.txt; exit 3'; echo code $?")
    shell.wait_for(QUESTION)
    shell.press(*([answer] if len(answer) > 1 else [answer, "Enter"]))
    shell.wait_for("kept as sh", "code 3")
    plan = data_of(shell.folder, "status")
    assert (plan["state"], plan["steps"][0]["exit_status"]) == ("complete", 3)
    data_of(shell.folder, "apply", "--yes", "sh")
    assert (shell.folder / "a.txt").read_text() == "one\ntwo\n"


@pytest.mark.processes_measured
@pytest.mark.parametrize(
    ("option", "state", "content"),
    [
        ("--apply", "apply/applied", "one\ntwo\n"),
        ("--keep", "execute/complete", "one\n"),
        ("--drop", "execute/cancelled", "one\n"),
        ("--in-place", "apply/applied", "one\ntwo\n"),
    ],
)
def test_an_option_answers_in_advance(shell: Pane, option: str, state: str, content: str) -> None:
    shell.enter(f"mulligan run -i {option} -- sh -c 'echo two >> a.txt'; echo code $?")
    assert "drop?" not in shell.wait_for("code 0")
    plan = data_of(shell.folder, "status")
    assert f"{plan['phase']}/{plan['state']}" == state
    assert (shell.folder / "a.txt").read_text() == content


def test_ctrl_c_and_ctrl_z_belong_to_the_program(shell: Pane) -> None:
    program = "import signal,sys,time\nfor s in (2,20): signal.signal(s, lambda n, f: print('got', n, flush=True))\n"
    (shell.folder / "p.py").write_text(program + "print('ready', flush=True)\nsys.stdin.readline()\n")
    shell.enter("mulligan run -i -- python3 p.py; echo code $?")
    shell.wait_for("\nready")
    shell.press("C-c")
    shell.wait_for("got 2")
    shell.press("C-z")
    shell.wait_for("got 20")
    shell.press("Enter")
    shell.wait_for("code 0")


@pytest.mark.processes_measured
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGQUIT", "SIGINT"])
def test_a_signal_that_ends_mulligan_leaves_the_terminal_as_it_was(shell: Pane, name: str) -> None:
    before = shell.settings()
    shell.enter(f"mulligan run -i -- sh -c 'stty raw -echo; echo ready; exec {LONG}'")
    shell.wait_for("\nready")
    os.kill(process_of(f"mulligan run -i -- .*{LONG}"), signal.Signals[name])
    assert is_gone(f"^{LONG}")
    shell.until(lambda screen: screen.rstrip().endswith("$"), "a prompt")
    assert shell.settings() == before
    ask(shell.folder, "undo", "--yes")
    assert data_of(shell.folder, "status")["phase"] == "execute"


@pytest.mark.processes_measured
def test_a_program_that_is_killed_leaves_no_modes_of_the_terminal(shell: Pane) -> None:
    (shell.folder / "draw").write_text(r"printf '\033[?1049h\033[?25lalternate'; kill -9 $$")
    shell.enter("mulligan run -i -- sh draw; echo code $?")
    assert "alternate" not in shell.wait_for("code 137")
    shown = shell.tmux("display-message", "-p", "-t", "w", "#{alternate_on} #{cursor_flag}")
    assert shown.split() == ["0", "1"]


@pytest.mark.processes_measured
def test_after_a_kill_the_program_is_ended_and_the_next_command_recovers(shell: Pane) -> None:
    shell.enter(f"mulligan run -i -- sh -c 'echo mess >> a.txt; echo ready; exec {LONG}'")
    shell.wait_for("\nready")
    os.kill(process_of(f"mulligan run -i -- .*{LONG}"), signal.SIGKILL)
    shell.enter("echo it is $((40 + 2))")  # the shell reads on once the process is gone, with its locks
    shell.wait_for("it is 42")
    assert is_gone(LONG)
    assert data_of(shell.folder, "status")["error"]["recoverable"] is True
    data_of(shell.folder, "undo", "--yes")
    assert data_of(shell.folder, "status")["state"] == "queued"
    assert (shell.folder / "a.txt").read_text() == "one\n"


# --- commands that are not interactive ---------------------------------------------------------------------


def test_a_command_has_a_terminal_where_we_have_one(shell: Pane) -> None:
    before = shell.settings()
    look = "test -t 0 && test -t 1 && echo both; test -t 2 || echo err is a file; stty size; tty > /dev/null < /dev/tty"
    shell.enter(
        f"mulligan run -- sh -c '{look}; echo $PAGER; read x; echo got $x >&2; exit 4' 2> err; echo code $?"
    )
    shell.wait_for("both\nerr is a file\n30 100\ncat")
    shell.enter("hello")
    screen = shell.wait_for("code 4")
    assert "got hello" not in screen
    assert "\nhello\ncode 4" in screen, "the terminal echoes, once"
    assert "got hello\n" in (shell.folder / "err").read_text()
    assert shell.settings() == before
    (step,) = data_of(shell.folder, "status")["steps"]
    assert step["stdout"] == "both\nerr is a file\n30 100\ncat\nhello\n"
    assert step["stderr"] == "got hello\n"


@pytest.mark.processes_measured
def test_with_other_input_there_is_a_screen_and_no_keyboard(shell: Pane) -> None:
    """Nobody could type an answer: what asks at the terminal learns so at once."""
    look = "cat; test -t 1 && echo screen; (: < /dev/tty) 2>/dev/null || echo no keyboard"
    shell.enter(f"echo piped | mulligan run -- sh -c '{look}'; echo code $?")
    shell.wait_for("piped\nscreen\nno keyboard", "code 0")


def test_a_progress_bar_is_drawn_in_its_line_and_nowhere_else(shell: Pane) -> None:
    bar = r"printf 'old\n 10%%\033[K\r100%% done\033[3D\033[K\033[2J\033[1A?\n'"
    (shell.folder / "bar").write_text(bar)
    shell.enter("mulligan run -- sh bar; echo code $?")
    screen = shell.wait_for("code 0")
    assert "old\n100% d?\n" in screen, screen


def test_a_write_that_was_stopped_is_explained(shell: Pane) -> None:
    shell.enter("mulligan -c sandbox.isolate=required run -- touch /etc/mulligan-test; echo code $?")
    shell.wait_for("writing /etc/mulligan-test was stopped", "code 1")


@pytest.mark.processes_measured
def test_a_program_that_needs_the_whole_screen_is_named(shell: Pane) -> None:
    shell.enter(r"mulligan run -- printf '\033[?1049h'; echo code $?")
    assert "mulligan run -i -- printf" in shell.wait_for("code 0")


def test_ctrl_c_interrupts_the_command_and_the_terminal_is_as_it_was(shell: Pane) -> None:
    before = shell.settings()
    shell.enter(f"mulligan run -- sh -c 'echo two >> a.txt; echo ready; exec {LONG}'; echo code $?")
    shell.wait_for("\nready")
    shell.press("C-c")
    shell.wait_for("^C", "interrupted", "code 130")
    assert is_gone(f"^{LONG}")
    assert shell.settings() == before
    plan = data_of(shell.folder, "status")
    assert (plan["phase"], plan["state"]) == ("execute", "queued")


@pytest.mark.processes_measured
def test_ctrl_z_suspends_both_and_fg_continues_both(shell: Pane) -> None:
    before = shell.settings()
    shell.enter(f"mulligan run -- sh -c 'echo ready; exec {LONG}'; echo code $?")
    shell.wait_for("\nready")
    shell.press("C-z")
    shell.wait_for("Stopped", "code 148")
    assert shell.settings() == before
    pid = process_of(f"^{LONG}")
    assert state_of(pid) == "T"
    shell.enter("clear; fg")
    shell.until(lambda _: state_of(pid) == "S", "the command continues")
    shell.press("C-c")
    shell.wait_for("interrupted")
    assert shell.settings() == before


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.processes_measured
def test_in_a_pipeline_lines_are_passed_on(shell: Pane) -> None:
    before = shell.settings()
    shell.enter("mulligan run -- sh -c 'test -t 0 && echo ask; read x; echo got $x; cat' 2>/dev/null | cat")
    shell.wait_for("\nask")
    shell.enter("hello")
    shell.wait_for("hello\ngot hello")
    shell.press("C-d")
    shell.until(lambda screen: screen.rstrip().endswith("\n$"), "a prompt after the end of input")
    assert shell.settings() == before


@pytest.mark.processes_measured
def test_in_a_pipeline_keys_are_those_of_the_pager(shell: Pane) -> None:
    shell.enter("mulligan run -- seq 300000 2>/dev/null | less; echo code $?")
    shell.wait_for("\n28\n")
    for _ in range(10):
        shell.press("Space")
    shell.wait_for("\n319\n")
    shell.press("q")
    shell.wait_for("code 0")


def test_in_the_background_the_terminal_is_left_alone(shell: Pane) -> None:
    shell.enter("mulligan run -- sh -c 'echo begun; cat; echo ended' &")
    shell.wait_for("\nbegun")
    shell.enter("clear; jobs")
    assert "Stopped" not in shell.wait_for("Running")
    shell.enter("fg")
    shell.await_raw()
    shell.enter("typed")
    shell.until(lambda screen: len(re.findall("^typed$", screen, re.MULTILINE)) == 2, "echo and output")
    shell.press("C-d")
    shell.wait_for("\nended")
