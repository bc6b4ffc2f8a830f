"""`run` as `env` and `timeout` do it: input, output and exit status of the command are those of the program."""

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.commands.program import ask, data_of
from tests.support.patience import PATIENCE

BINARY = random.Random(7).randbytes(3_000_000)
PROGRAM = [sys.executable, "-m", "mulligan"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("one\n")
    return tmp_path


def wrapped(folder: Path, *words: str, stdin: bytes = b"", options: tuple[str, ...] = ()) -> Any:
    command = [*PROGRAM, "run", *options, "--", *words]
    return subprocess.run(
        command, cwd=folder, input=stdin, capture_output=True, timeout=PATIENCE, check=False
    )


def test_bytes_pass_both_ways_exactly_and_the_record_is_bounded(folder: Path) -> None:
    done = wrapped(folder, "cat", stdin=BINARY)
    assert done.returncode == 0, done.stderr
    assert done.stdout == BINARY
    data = data_of(folder, "status")
    assert data["name"] == data["handle"] == "cat"
    assert len(data["steps"][0]["stdout"]) < 20_000
    again = subprocess.run([*PROGRAM, "show", "cat", "--output"], cwd=folder, capture_output=True, check=True)
    assert again.stdout == BINARY, "what is not UTF-8 is recorded byte by byte"


def test_of_a_flood_both_ends_are_recorded_and_all_of_it_passes(folder: Path) -> None:
    done = wrapped(folder, "sh", "-c", "head -c 20000000 /dev/zero | tr '\\0' x; echo end; seq 3000000 >&2")
    assert len(done.stdout) == 20_000_004
    assert done.stderr.count(b"\n") > 3_000_000
    (output,) = data_of(folder, "show", "sh", "--output")["outputs"]
    assert output["stdout"].endswith("xend\n")
    assert output["stderr"].startswith("1\n2\n")
    assert output["stderr"].endswith("2999999\n3000000\n")
    for stream in ("stdout", "stderr"):
        assert output[f"{stream}_omitted"] > 3_000_000
        assert len(output[stream]) < 17 * 2**20


def test_stdout_is_the_commands_and_what_mulligan_says_is_on_stderr(folder: Path) -> None:
    done = wrapped(folder, "sh", "-c", "echo out; echo err >&2; echo two >> a.txt")
    assert done.stdout == b"out\n"
    assert b"err\n" in done.stderr
    assert b"sh: complete\n" in done.stderr
    (line,) = (line for line in done.stderr.splitlines() if line.startswith(b"  1 sh -c"))
    assert line.endswith(b"  @2"), "the number of the checkpoint before the step"


def test_unread_input_stays_for_the_next_program(folder: Path) -> None:
    """As in a loop of a script over lines: the command reads no more than it wants."""
    line = f"{sys.executable} -m mulligan run -- true 2>/dev/null; read rest; echo $rest"
    done = subprocess.run(
        ["sh", "-c", line], cwd=folder, input=b"kept\n", capture_output=True, timeout=PATIENCE, check=True
    )
    assert done.stdout == b"kept\n"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["true"], 0),
        (["false"], 1),
        (["sh", "-c", "exit 42"], 42),
        (["sh", "-c", "exit 126"], 126),
        (["./a.txt"], 126),
        (["no-such-program"], 127),
        (["sh", "-c", "kill -9 $$"], 137),
        (["sh", "-c", "kill -TERM $$"], 143),
    ],
)
def test_the_exit_status_is_the_commands(folder: Path, words: list[str], code: int) -> None:
    assert wrapped(folder, *words).returncode == code


@pytest.mark.processes_measured
@pytest.mark.parametrize(
    ("options", "kind"),
    [
        (["--bogus"], "usage_wrong"),
        (["--resource", "nowhere"], "resource_unsuitable"),
        (["--project", "/nowhere"], "project_not_found"),
        (["-i"], "usage_wrong"),
        (["--drop"], "usage_wrong"),
        (["--apply", "--drop"], "usage_wrong"),
    ],
)
def test_a_failure_of_its_own_is_125_and_named(folder: Path, options: list[str], kind: str) -> None:
    done = wrapped(folder, "true", options=("--format", "json", *options))
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["exit_code"], answer["error"]["kind"]) == (125, 125, kind)


@pytest.mark.processes_measured
@pytest.mark.parametrize("words", [["run", "-i", "--", "true"], ["shell"]])
def test_an_interactive_command_needs_a_terminal(folder: Path, words: list[str]) -> None:
    done = subprocess.run([*PROGRAM, *words], cwd=folder, input=b"", capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (125, b"")
    assert b"stdin and stdout" in done.stderr
    assert not (folder / ".mulligan").exists()


def test_a_script_without_its_first_line_is_run_by_a_shell(folder: Path) -> None:
    (folder / "x.sh").write_text("echo ran $1\n")
    (folder / "x.sh").chmod(0o755)
    done = wrapped(folder, "./x.sh", "well")
    assert (done.returncode, done.stdout) == (0, b"ran well\n")
    assert data_of(folder, "status")["handle"] == "x.sh"


def test_the_second_run_of_a_program_has_a_number(folder: Path) -> None:
    handles = [data_of(folder, "run", "--", "/bin/sh", "-c", "exit 0")["handle"] for _ in range(2)]
    assert handles == ["sh", "sh-2"]


def test_a_reader_that_goes_away_ends_the_command(folder: Path) -> None:
    line = f"{sys.executable} -m mulligan run -- yes 2>err | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (128 + signal.SIGPIPE, b"y\n")
    assert b"Traceback" not in (folder / "err").read_bytes()


@pytest.mark.processes_measured
def test_output_that_cannot_be_written_is_a_failure_of_its_own(folder: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*PROGRAM, "run", "--", "echo", "lost"],
            cwd=folder,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 125
    assert b"No space left" in done.stderr


def test_output_is_passed_on_at_once(folder: Path) -> None:
    """Half a line of a command that waits for an answer: a dialogue through pipes."""
    line = "printf 'name? '; read name; printf 'hello %s' \"$name\"; read end"
    with subprocess.Popen(
        [*PROGRAM, "run", "--", "sh", "-c", line],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.read(6) == b"name? "
        process.stdin.write(b"Ada\n")
        assert process.stdout.read(9) == b"hello Ada"
        process.stdin.close()
        assert process.wait(60) == 1, "`read` found the end"


def test_a_document_has_what_the_command_printed_and_nothing_else_is_shown(folder: Path) -> None:
    line = "cat; echo why >&2; exit 3"
    done = wrapped(folder, "sh", "-c", line, stdin=b"read\n", options=("--format", "json"))
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["exit_code"], answer["data"]["exit_status"]) == (3, 3, 3)
    assert (answer["data"]["stdout"], answer["data"]["stderr"]) == ("read\n", "why\n")
    assert done.stderr == b""
    (step,) = data_of(folder, "status")["steps"]
    assert (step["exit_status"], step["stdout"], step["stderr"]) == (3, "read\n", "why\n")
    called = [e["data"] for e in data_of(folder, "log", "sh")["events"] if e["type"] == "tool_called"]
    assert [(c["exit_status"], c["stdout"], c["stderr"]) for c in called] == [(3, "read\n", "why\n")]


def test_a_long_output_is_cut_in_documents_and_whole_in_show(folder: Path) -> None:
    data = data_of(folder, "run", "--", "seq", "100000")
    assert data["stdout"].startswith("1\n2\n")
    assert data["stdout"].endswith("99999\n100000\n")
    assert data["stdout_omitted"] > 400_000
    assert len(data["stdout"]) < 70_000
    (output,) = data_of(folder, "show", "seq", "--output")["outputs"]
    assert output["stdout"] == "".join(f"{n}\n" for n in range(1, 100_001))
    assert (output["stdout_omitted"], output["exit_status"]) == (0, 0)


@pytest.mark.processes_measured
def test_outputs_of_steps_can_be_shown_one_by_one(folder: Path) -> None:
    steps = ["{name: one, run: echo 1}", "{name: two, run: 'echo 2 >&2; exit 5'}"]
    lines = [step.replace("run: ", "tool: shell, args: {command: ").replace("}", "}}") for step in steps]
    (folder / "plan.yaml").write_text("name: p\nsteps:\n" + "".join(f"  - {line}\n" for line in lines))
    ask(folder, "plan", "execute", "plan.yaml")
    shown = data_of(folder, "show", "p", "--output")["outputs"]
    assert [(o["step"], o["exit_status"], o["stdout"], o["stderr"]) for o in shown] == [
        ("one", 0, "1\n", ""),
        ("two", 5, "", "2\n"),
    ]
    for word in ("two", "1"):
        assert data_of(folder, "show", "p", "--output", "--step", word)["outputs"] == shown[1:]
    assert ask(folder, "show", "p", "--output", "--step", "three")["error"]["kind"] == "step_not_found"
    assert ask(folder, "show", "p", "--step", "two")["error"]["kind"] == "usage_wrong"
    text = subprocess.run(
        [*PROGRAM, "show", "p", "--output"], cwd=folder, capture_output=True, check=True, env=os.environ
    )
    assert (text.stdout, text.stderr) == (b"1\n", b"2\n")


def test_output_of_a_step_that_was_taken_back_is_not_in_the_status(folder: Path) -> None:
    data_of(folder, "run", "--", "sh", "-c", "echo gone; touch new")
    data_of(folder, "undo", "--yes")
    (step,) = data_of(folder, "status")["steps"]
    assert (step["status"], step["stdout"], step["exit_status"]) == ("pending", None, None)
    assert data_of(folder, "show", "sh", "--output")["outputs"][0]["stdout"] == "gone\n"


def test_a_function_is_shown_with_what_it_printed(folder: Path) -> None:
    (folder / "work.py").write_text(
        "import sys\n"
        "def good(context):\n    print('well')\n    return 7\n"
        "def bad(context):\n    print('oh', file=sys.stderr)\n    raise ValueError('no')\n"
    )
    steps = "".join(
        f"  - {{name: {n}, tool: python, args: {{function: 'work:{n}'}}}}\n" for n in ("good", "bad")
    )
    (folder / "plan.yaml").write_text(f"name: p\nsteps:\n{steps}")
    answer = ask(folder, "plan", "execute", "plan.yaml")
    assert "printed" not in answer["error"]
    shown = data_of(folder, "show", "p", "--output")["outputs"]
    assert [(o["step"], o["stdout"], o["stderr"]) for o in shown] == [
        ("good", "well\n", ""),
        ("bad", "", "oh\n"),
    ]
    page = subprocess.run(
        [*PROGRAM, "plan", "report", "--html", "-"], cwd=folder, capture_output=True, check=True
    )
    assert b">oh<" in page.stdout or b"oh" in page.stdout.partition(b"ValueError")[2]


def test_what_an_interrupted_command_printed_stays(folder: Path) -> None:
    with subprocess.Popen(
        [*PROGRAM, "run", "--", "sh", "-c", "echo so far; exec sleep 1000"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"so far\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    (output,) = data_of(folder, "show", "sh", "--output")["outputs"]
    assert (output["stdout"], output["exit_status"]) == ("so far\n", None)


def test_a_plan_that_printed_nothing_says_so(folder: Path) -> None:
    (folder / "plan.yaml").write_text("name: p\nsteps: [{tool: write_file, args: {path: b, content: x}}]\n")
    data_of(folder, "plan", "execute", "plan.yaml")
    answer = ask(folder, "show", "p", "--output")
    assert answer["data"]["outputs"] == []
    assert len(answer["messages"]) == 1


def test_steps_of_a_plan_file_have_no_input(folder: Path) -> None:
    (folder / "plan.yaml").write_text("name: p\nsteps: [{tool: shell, args: {command: cat}}]\n")
    done = subprocess.run(
        [*PROGRAM, "plan", "execute", "plan.yaml"],
        cwd=folder,
        input=b"unread\n",
        capture_output=True,
        check=True,
    )
    assert b"unread" not in done.stdout + done.stderr


def test_a_cancel_from_another_process_ends_the_command(folder: Path) -> None:
    with subprocess.Popen(
        [*PROGRAM, "run", "--", "sh", "-c", "echo ready; exec sleep 1000"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        data_of(folder, "plan", "cancel", "latest")
        assert process.wait(PATIENCE) == 130
