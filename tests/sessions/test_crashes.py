"""A session that is killed goes on where it was, and no other process can write behind its back."""

import mmap
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import mulligan
from mulligan import errors
from mulligan.boundaries import watch
from mulligan.wiring.faults import arm
from tests.commands.program import ask
from tests.support.git_world import run_git
from tests.support.homes import home_of

ROOT = Path(__file__).parents[2]
WHERE = (
    "inside two",
    "after one",
    "after:sandbox.record:1:SIGKILL",
    "after:group.record:3:SIGKILL",
    "before:return.settle:1:SIGKILL",
)


def test_a_killed_session_goes_on(tmp_path: Path) -> None:
    """Whatever is cut off, the same program started again ends as if nothing had happened.

    `python -m tests.sessions.killed FOLDER` kills it at every boundary and moment.
    """
    words = [sys.executable, "-m", "tests.sessions.killed", str(tmp_path), *WHERE]
    ended = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.stdout.splitlines() == [f"{trial}: ok" for trial in WHERE], ended.stderr
    assert ended.returncode == 0


def killed(folder: Path, code: str) -> str:
    """The plan of a session in which a program did this and was killed."""
    (folder / "app").mkdir()
    (folder / "app" / "a.txt").write_text("old")
    project = mulligan.init(folder)
    text = f"""
import os, signal, mulligan
project = mulligan.open({str(folder)!r})
with project.session("s", resources={{"app": mulligan.directory("app")}}) as session:
    file = session.path() / "a.txt"
{code}
    os.kill(os.getpid(), signal.SIGKILL)
"""
    ended = subprocess.run([sys.executable, "-c", text], check=False)
    assert ended.returncode == -signal.SIGKILL
    (line,) = project.plans()
    return line.plan_id


IN_A_STEP = """
    with session.step("one"):
        file.write_text("one")
        session.state["n"] = 1
    with session.step("two"):
        file.write_text("half")
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_resume_on_the_command_line_only_restores_and_says_so(tmp_path: Path) -> None:
    plan_id = killed(tmp_path, IN_A_STEP)
    status = ask(tmp_path, "plan", "status", plan_id)["data"]
    assert (status["state"], status["error"]["recoverable"]) == ("processing", True)
    assert f"project.session(resume='{plan_id}')" in status["error"]["hint"]
    previewed = ask(tmp_path, "plan", "resume", "--dry-run", plan_id)
    assert "after 'one'" in str(previewed["messages"])
    answer = ask(tmp_path, "plan", "resume", plan_id)
    assert (answer["status"], answer["exit_code"]) == ("warn", 0)
    assert "nothing was run: this plan is a session" in answer["messages"][-1]
    data = answer["data"]
    assert (data["phase"], data["state"], data["resumed_from"]["step_index"]) == ("execute", "queued", 1)
    assert (Path(data["sandboxes"][0]["path"]) / "a.txt").read_text() == "one"
    kept = data["resumed_from"]["discarded"]
    ask(tmp_path, "checkpoint", "restore", kept, "--to", "kept")
    assert (tmp_path / "kept" / "a.txt").read_text() == "half"
    again = ask(tmp_path, "plan", "execute", plan_id)
    assert (again["status"], again["data"]["resumed_from"]["discarded"]) == ("warn", None)
    (tmp_path / "other.yaml").write_text("name: s\nsteps: [{name: one, checkpoint: x}]\n")
    refused = ask(tmp_path, "plan", "resume", "--plan", "other.yaml", plan_id)
    assert (refused["exit_code"], refused["error"]["kind"]) == (3, "plan_file_differs")
    with mulligan.open(tmp_path).session(resume=plan_id) as session:
        assert (session.steps, session.state, session.done("two")) == (("one",), {"n": 1}, False)


def test_a_decision_of_a_session_can_be_corrected_and_its_program_is_told(tmp_path: Path) -> None:
    project = mulligan.init(tmp_path)
    (tmp_path / "a.txt").write_text("old")
    with project.session("s") as session, session.step("one"):
        (session.path() / "a.txt").write_text("bad")
        decision = session.record_decision("Which?", chosen="bad")
    status, corrected = project.correct(decision, guidance="Take the good one.")
    assert corrected.execution is not None
    assert corrected.execution.only_restored
    assert (status.state, status.attempt, status.steps) == ("queued", 2, ())
    with project.session(resume="s") as session:
        assert (session.guidance, session.steps) == ("Take the good one.", ())
        assert (session.path() / "a.txt").read_text() == "old"
        with session.step("one"):
            pass
    assert project.status("s").state == "complete"


def test_a_session_in_a_git_checkout_is_applied_as_a_commit(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q")
    for name in ("user.name", "user.email"):
        run_git(tmp_path, "config", name, "someone@localhost")
    (tmp_path / "a.txt").write_text("old\n")
    run_git(tmp_path, "add", "-A")
    run_git(tmp_path, "commit", "-qm", "first")
    project = mulligan.init(tmp_path)
    with project.session("fix", resources={"app": mulligan.git(".")}) as session:
        with session.step("edit"):
            (session.path() / "a.txt").write_text("new\n")
            run_git(session.path(), "commit", "-qam", "inside")
        session.checkpoint("mine")
        with session.step("more"):
            (session.path() / "b.txt").write_text("b\n")
        session.rollback("mine")
        assert not (session.path() / "b.txt").exists()
    project.apply(session.plan_id)
    assert run_git(tmp_path, "show", "HEAD:a.txt") == "new\n"


def test_a_file_that_the_program_keeps_mapped_is_in_every_checkpoint(tmp_path: Path) -> None:
    """A write to a page that is dirty already changes no time stamp and raises no event."""
    project = mulligan.init(tmp_path)
    (tmp_path / "big").write_bytes(b"a" * 4096)
    with project.session("s") as session:
        with (session.path() / "big").open("r+b") as file, mmap.mmap(file.fileno(), 4096) as mapped:
            with session.step("one"):
                mapped[0:1] = b"1"
            with session.step("two"):
                mapped[0:1] = b"2"
            session.checkpoint("two")
            mapped[0:1] = b"3"
            session.checkpoint("three")
        for label in ("two", "three"):
            project.checkpoints.restore(label, tmp_path / label)
    assert (tmp_path / "two" / "workspace" / "big").read_bytes()[:2] == b"2a"
    assert (tmp_path / "three" / "workspace" / "big").read_bytes()[:2] == b"3a"


def test_two_sessions_at_once_and_one_used_from_several_threads(tmp_path: Path) -> None:
    project = mulligan.init(tmp_path)
    (tmp_path / "a.txt").write_text("old")

    def work(name: str) -> None:
        with project.session(name) as session:
            for number in range(3):
                with session.step(f"step {number}"):
                    (session.path() / "a.txt").write_text(f"{name} {number}")
                    asking = [
                        threading.Thread(target=session.record_decision, args=("q",), kwargs={"chosen": "c"})
                        for _ in range(3)
                    ]
                    for thread in asking:
                        thread.start()
                    for thread in asking:
                        thread.join()

    threads = [threading.Thread(target=work, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in ("one", "two"):
        status = project.status(name)
        assert (status.state, status.execution.decisions, len(status.steps)) == ("complete", 9, 3)
        assert (Path(status.sandboxes[0].path) / "a.txt").read_text() == f"{name} 2"


OTHER = """
import sys, mulligan
with mulligan.open(sys.argv[1]).session(resume="s") as session, session.step("other"):
    (session.path() / "a.txt").write_text("second")
"""


def test_a_session_that_was_taken_over_writes_nothing_more(tmp_path: Path) -> None:
    project = mulligan.init(tmp_path)
    (tmp_path / "a.txt").write_text("old")
    first = project.session("s")

    def lose() -> None:
        with first, first.step("one"):
            # As one does who cannot end this process.
            (home_of(tmp_path) / "locks" / f"{first.plan_id}.lock").unlink()
            subprocess.run([sys.executable, "-c", OTHER, str(tmp_path)], check=True)

    with pytest.raises(errors.PlanTakenOver):
        lose()
    status = project.status("s")
    assert (status.state, [s.name for s in status.steps]) == ("complete", ["other"])
    assert (first.path() / "a.txt").read_text() == "second"


def full_disk(session: mulligan.Session) -> None:
    """Let the next new file in the store find no room, and make one necessary."""
    (session.path() / "a.txt").write_text("new")
    arm({"MULLIGAN_FAULT": "before:pack.sync:1:ENOSPC"})


@pytest.fixture(autouse=True)
def disarmed() -> Iterator[None]:
    yield
    watch(None)


def test_a_session_never_goes_on_without_a_checkpoint(tmp_path: Path) -> None:
    project = mulligan.init(tmp_path)
    (tmp_path / "a.txt").write_text("old")
    session = project.session("s")

    def work() -> None:
        with session:
            full_disk(session)
            with pytest.raises(errors.CheckpointFailed), session.step("one"):
                pass
            with pytest.raises(errors.SessionClosed, match="No space left"), session.step("two"):
                pass

    with pytest.raises(errors.SessionClosed):
        work()
    assert project.status("s").state == "errored"
    with project.session(resume="s") as again:
        assert (again.path() / "a.txt").read_text() == "old"


@pytest.mark.parametrize("fails", [True, False])
def test_a_checkpoint_that_fails_inside_a_step_ends_the_session(tmp_path: Path, fails: bool) -> None:
    """That of a decision, which ends the step, or that of what a step left which had failed before."""
    project = mulligan.init(tmp_path)
    (tmp_path / "a.txt").write_text("old")

    def work() -> None:
        with project.session("s") as session, session.step("one"):
            full_disk(session)
            if fails:
                raise ValueError("no")
            session.record_decision("q", chosen="c")

    with pytest.raises(errors.CheckpointFailed):
        work()
    status = project.status("s")
    assert (status.state, status.error and "No space left" in status.error.message) == ("errored", True)
    with project.session(resume="s") as again:
        assert (again.steps, (again.path() / "a.txt").read_text()) == ((), "old")
