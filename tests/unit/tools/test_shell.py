"""The tool `shell`: what a command sees, what it gives, and how it fails."""

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from mulligan.adapters.tools.launcher.launcher import is_zombie
from mulligan.adapters.tools.process.command_runner import Launchers
from mulligan.adapters.tools.process.tool_output import RECORDED
from mulligan.adapters.tools.toolbox import LocalToolbox
from mulligan.domain.views.printed import Printed, printed_in
from mulligan.errors import PathEscapes, SystemFailed, ToolFailed, ToolTimedOut
from tests.support.recording_host import PLAN, RecordingHost, a_request
from tests.unit.tools.timeouts import timed_out


def test_output_is_stdout_without_its_last_line_break(call, host):
    result = call("shell", command="echo one; echo two; echo aside >&2")
    assert result.output == "one\ntwo"
    assert b"one\ntwo\n" in host.shown
    assert b"aside\n" in host.shown
    assert (result.detail["exit_status"], result.detail["leftovers"]) == (0, [])
    assert printed_in(result.detail, result.output) == Printed(stdout=b"one\ntwo\n", stderr=b"aside\n")
    assert result.messages == ()


@pytest.mark.parametrize(("printed", "output"), [("a\\n\\n", "a\n"), ("a\\r\\n", "a"), ("a", "a"), ("", "")])
def test_only_one_line_break_is_removed(call, printed, output):
    assert call("shell", command=f"printf '{printed}'").output == output


def test_output_that_is_not_utf8_is_replaced_and_told(call):
    result = call("shell", command=r"printf 'a\377b'")
    assert result.output == "a\ufffdb"
    assert "not UTF-8" in result.messages[0]


def test_a_printed_replacement_character_is_no_replacement(call):
    assert call("shell", argv=["echo", "\ufffd"]).messages == ()


def test_argv_is_taken_as_it_is(call):
    assert call("shell", argv=["printf", "%s|", "a b", "$HOME", "*"]).output == "a b|$HOME|*|"


def test_a_failing_command_tells_status_and_stderr(call):
    with pytest.raises(ToolFailed) as failed:
        call("shell", command="echo first >&2; echo last >&2; exit 3")
    assert failed.value.text == "shell: ended with exit status 3:\nfirst\nlast"
    assert failed.value.facts["exit_status"] == 3
    assert failed.value.facts["stderr"] == "first\nlast\n"


def test_a_command_that_fails_in_silence(call):
    with pytest.raises(ToolFailed, match=r"exit status 1$"):
        call("shell", command="false")


@pytest.mark.parametrize(("number", "name"), [(11, "SIGSEGV"), (9, "SIGKILL"), (40, "signal 40")])
def test_the_signal_that_ended_a_command_is_named(call, number, name):
    with pytest.raises(ToolFailed, match=f"was ended by {name}"):
        call("shell", command=f"kill -{number} $$; sleep 5")


def test_a_program_that_is_not_there(call):
    with pytest.raises(ToolFailed, match="nonesuch could not be started: No such file"):
        call("shell", argv=["nonesuch", "x"])
    with pytest.raises(ToolFailed, match="could not be started: No such file"):
        call("shell", argv=["./nonesuch"])


def test_a_program_without_a_name(call):
    with pytest.raises(ToolFailed, match="the name of the program is empty"):
        call("shell", argv=["", "x"])


@pytest.mark.processes_measured
def test_a_program_that_is_not_executable(call, root):
    (root / "prog").write_text("#!/bin/sh\n")
    with pytest.raises(ToolFailed, match="Permission denied"):
        call("shell", argv=["prog"], env={"PATH": f"{root}:/usr/bin"})


def test_programs_are_looked_for_in_the_steps_own_path(call, root):
    (root / "bin").mkdir()
    program = root / "bin" / "greet"
    program.write_text("#!/bin/sh\necho hello\n")
    program.chmod(0o755)
    assert call("shell", argv=["greet"], env={"PATH": "/nowhere:bin"}).output == "hello"


def test_an_environment_without_path_still_finds_programs(root, host, tmp_path):
    toolbox = LocalToolbox(launchers=Launchers(python=sys.executable, environment={}), scratch=tmp_path)
    result = toolbox.tool("shell").call(a_request(root, {"argv": ["echo", "x"]}), host)
    toolbox.forget_processes()
    assert result.output == "x"


def test_it_starts_in_the_sandbox_or_in_cwd(call, root):
    (root / "sub").mkdir()
    assert call("shell", command="pwd; echo $PWD").output == f"{root}\n{root}"
    assert call("shell", command="pwd; echo $PWD", cwd="sub").output == f"{root}/sub\n{root}/sub"
    assert call("shell", command="pwd", cwd="./").output == str(root)
    assert call("shell", command="pwd", cwd="sub/..").output == str(root)


def test_cwd_stays_inside(call, root, outside):
    (root / "out").symlink_to(outside)
    for cwd in ("../outside", "/tmp", "out", "", "a\0b"):
        with pytest.raises(PathEscapes):
            call("shell", command="true", cwd=cwd)
    (root / "file").write_text("")
    for cwd in ("file", "missing"):
        with pytest.raises(ToolFailed, match="there is no folder"):
            call("shell", command="true", cwd=cwd)


def test_over_a_database_it_starts_in_its_folder(call, root):
    (root / "app.db").write_bytes(b"")
    assert call("shell", command="pwd", _root=root / "app.db").output == str(root)


def test_stdin_is_empty(call):
    assert call("shell", command="cat; readlink /proc/self/fd/0").output == "/dev/null"


def test_a_timeout_of_decades_is_one(call):
    assert call("shell", command="echo done", _timeout=1e9).output == "done"


def test_a_timeout_ends_everything(call, root):
    command = "sleep 300 & echo $! > pid; sleep 300"
    before = time.monotonic()
    late = timed_out(lambda timeout: call("shell", command=command, _timeout=timeout), root / "pid")
    assert time.monotonic() - before < 200
    assert late.facts["tool"] == "shell"
    assert is_zombie(int((root / "pid").read_text()))


def test_what_ignores_sigterm_is_killed_after_a_grace(call):
    with pytest.raises(ToolTimedOut):
        call("shell", command="trap '' TERM; while :; do sleep 0.05; done", _timeout=0.3)


def test_what_is_asked_to_end_can_clean_up(call, root):
    command = "trap 'echo bye > note; exit' TERM; while :; do sleep 0.05; done"
    timed_out(lambda timeout: call("shell", command=command, _timeout=timeout), root / "note")
    assert (root / "note").read_text() == "bye\n"


def test_a_stopped_process_is_ended_too(call):
    with pytest.raises(ToolTimedOut):
        call("shell", command="kill -STOP $$", _timeout=0.3)


def test_interrupting_the_runner_ends_everything_first(call, root):
    with pytest.raises(KeyboardInterrupt):
        call("shell", command="sleep 300 & echo $! > pid; echo interrupt me; sleep 300")
    assert is_zombie(int((root / "pid").read_text()))


def test_of_much_output_the_beginning_and_the_end_are_recorded_and_all_of_it_is_shown(call, host):
    result = call("shell", command="echo begin; yes é | head -c 40000001; echo; echo end")
    assert len(host.shown) == 40_000_001 + 11
    first, _, rest = result.output.partition("\n[... ")
    omitted, _, last = rest.partition(" bytes omitted ...]\n")
    assert first.startswith("begin\né\né\n")
    assert last.endswith("é\nend")
    assert "\ufffd" not in result.output, "no character is cut"
    kept = len(first.encode()) + len(last.encode())
    assert RECORDED - 16 < kept <= RECORDED
    assert 0 <= len(host.shown) - kept - int(omitted) <= 2, "but for line breaks"
    assert result.detail["truncated"] is True
    assert result.detail["omitted_bytes"] == int(omitted)
    (message,) = result.messages
    assert message.startswith("printed more than 16 MiB on stdout")


@pytest.mark.parametrize("more", [0, 1])
def test_output_is_recorded_whole_up_to_the_limit(call, more):
    result = call("shell", command=f"head -c {RECORDED + more} /dev/zero | tr '\\0' x")
    assert (len(result.output) == RECORDED) == (more == 0)
    assert ("truncated" in result.detail) == bool(more)


def test_a_flood_on_stderr_is_shown_and_only_its_end_kept(call, host):
    with pytest.raises(ToolFailed) as failed:
        call("shell", command="yes | head -c 3000000 >&2; echo end >&2; exit 1")
    assert len(host.shown) == 3_000_004
    assert str(failed.value.facts["stderr"]).endswith("end\n")
    assert len(str(failed.value.facts["stderr"])) <= 65536


def test_a_flood_does_not_outrun_the_timeout(call):
    with pytest.raises(ToolTimedOut):
        call("shell", command="yes >&2", _timeout=0.5)


def test_a_long_command_goes_through_a_file_that_goes_away(call, tmp_path):
    result = call("shell", command=": " + "x" * 300_000 + "\necho done")
    assert result.output == "done"
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_file_that_cannot_be_handed_over_is_told(call, tmp_path):
    (tmp_path / "scratch").write_text("in the way")
    with pytest.raises(SystemFailed, match="Not a directory") as failed:
        call("shell", command=": " + "x" * 300_000)
    assert str(failed.value.facts["path"]).startswith(str(tmp_path / "scratch"))


def test_values_no_variable_can_hold_come_as_files_that_go_away(toolbox, host, root, tmp_path):
    values = {"MULLIGAN_OUTPUT_BIG_FILE": "x" * 100_000, "MULLIGAN_VAR_NUL_FILE": "a\0b"}
    nul = '"$MULLIGAN_VAR_NUL_FILE"'
    command = f'wc -c < "$MULLIGAN_OUTPUT_BIG_FILE"; od -An -c {nul}; ls -l {nul}'
    request = a_request(root, {"command": command}, large_values=values)
    lines = toolbox.tool("shell").call(request, host).output.splitlines()
    assert lines[0].strip() == "100000"
    assert lines[1].split() == ["a", "\\0", "b"]
    assert not Path(lines[2].split()[-1]).exists()


@pytest.mark.processes_measured
def test_arguments_longer_than_the_system_takes(call):
    with pytest.raises(ToolFailed, match="Argument list too long"):
        call("shell", argv=["echo", "x" * 300_000])


@pytest.mark.parametrize(
    "args",
    [
        {"argv": ["echo", "a\0b"]},
        {"command": "true", "env": {"A=B": "c"}},
        {"command": "true", "env": {"": "c"}},
        {"command": "true", "env": {"A": 1}},
        {"command": "true", "env": ["A"]},
        {"argv": []},
        {"argv": ["a", 1]},
        {"argv": "a"},
        {"command": 1},
    ],
)
def test_arguments_no_process_can_be_given(call, args):
    with pytest.raises(ToolFailed):
        call("shell", **args)


def test_calls_in_several_threads_do_not_disturb_each_other(toolbox, root):
    outputs: list[object] = []

    def work(number: int) -> None:
        request = a_request(root, {"command": f"sleep 0.1; echo {number}"})
        outputs.append(toolbox.tool("shell").call(request, RecordingHost()).output)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, outputs)) == ["0", "1", "2", "3"]


def test_a_launcher_that_was_killed_is_told_and_its_processes_are_ended(call, root):
    with pytest.raises(ToolFailed, match="launcher was killed"):
        call("shell", command="echo $$ > pid; kill -9 $PPID; sleep 300")
    assert is_zombie(int((root / "pid").read_text()))
    assert call("shell", command="echo on").output == "on"


def test_an_idle_launcher_that_was_killed_is_replaced(call, root):
    launcher = int(call("shell", command="echo $PPID").output)
    os.kill(launcher, 9)
    while not is_zombie(launcher):
        time.sleep(0.01)
    assert int(call("shell", command="echo $PPID").output) != launcher


@pytest.mark.processes_measured
def test_a_launcher_told_to_stop_ends_its_processes(call, root):
    with pytest.raises(ToolFailed):
        call("shell", command="echo $$ > pid; kill -TERM $PPID; sleep 300")
    assert is_zombie(int((root / "pid").read_text()))


def test_an_interpreter_that_is_not_there(root, host, tmp_path):
    toolbox = LocalToolbox(launchers=Launchers(python="/nowhere/python", environment={}), scratch=tmp_path)
    for name, args in (("shell", {"command": "true"}), ("python", {"function": "a:b"})):
        with pytest.raises(SystemFailed, match="no process could be started"):
            toolbox.tool(name).call(a_request(root, args), host)


def test_launchers_are_kept_per_plan_and_forgotten_on_request(toolbox, call, root):
    first = call("shell", command="echo $PPID").output
    assert call("shell", command="echo $PPID").output == first
    assert call("shell", command="echo $PPID", _plan_id="another").output != first
    toolbox.end_survivors(PLAN, ())
    assert not Path(f"/proc/{first}").exists()
    toolbox.forget_processes()
    toolbox.forget_processes()


@pytest.mark.processes_measured
def test_ending_a_launcher_that_runs_nothing_waits_for_nothing(root):
    launcher = Launchers(python=sys.executable, environment=os.environ, how="tree").start(
        PLAN, (), None, None
    )
    ending = threading.Thread(target=launcher.end, daemon=True)  # Ctrl-C between two calls does this
    ending.start()
    ending.join(30)
    assert not ending.is_alive()
    launcher.close()
