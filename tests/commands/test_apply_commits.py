"""The commit of an apply: named before it is made, made or not as the user wishes, and taken back."""

from __future__ import annotations

from pathlib import Path
from threading import Event, Thread, Timer
from typing import Any

import pytest

from mulligan.adapters.sandboxes.git.position.index_lock import index_locked
from tests.commands.program import ask, data_of
from tests.commands.running import on_a_terminal
from tests.commands.timelines import killed, use_own_git
from tests.hostile.program import say
from tests.support.git_world import run_git


@pytest.fixture(autouse=True)
def _own_git(monkeypatch: pytest.MonkeyPatch) -> None:
    use_own_git(monkeypatch)


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A checkout on `main` with one commit, an ignored file and a staged change."""
    made = tmp_path / "r1"
    made.mkdir()
    run_git(made, "init", "-q", "-b", "main")
    run_git(made, "config", "user.name", "n")
    run_git(made, "config", "user.email", "n@e")
    (made / "f").write_text("a\nb\n")
    (made / "g").write_text("1\n")
    (made / ".gitignore").write_text("*.log\n")
    run_git(made, "add", "-A")
    run_git(made, "commit", "-qm", "1")
    (made / "g").write_text("2\n")
    run_git(made, "add", "g")
    return made


def subjects(top: Path) -> list[str]:
    return run_git(top, "log", "--format=%s").splitlines()


def staged(top: Path) -> str:
    return run_git(top, "ls-files", "-s")


def only(data: Any) -> Any:
    (applied,) = data["applied"]
    return applied


EDIT = ("sh", "-c", "sed -i s/a/A/ f; echo x > y.log")


def test_a_preview_names_the_commit_its_branch_and_its_files(top: Path) -> None:
    data_of(top, "run", "--name", "up", "--", *EDIT)
    before = only(data_of(top, "apply", "--dry-run"))
    assert (before["commit"], before["branch"], before["subject"]) == (None, "main", "up")
    assert before["committed"] == ["f"]
    other = only(data_of(top, "apply", "--dry-run", "-m", "Use capitals\n\nThey are larger."))
    assert other["subject"] == "Use capitals"
    without = only(data_of(top, "apply", "--dry-run", "--no-commit"))
    assert (without["branch"], without["subject"], without["committed"]) == (None, None, [])
    shown = say(top, "apply", "--dry-run", format="plain").stdout.decode()
    assert "on main" in shown
    assert "'up'" in shown
    done = only(data_of(top, "apply", "--yes", "--message", "Use capitals"))
    assert (done["branch"], done["subject"], done["committed"]) == ("main", "Use capitals", ["f"])
    assert run_git(top, "show", "--format=%s", "--name-only").split() == ["Use", "capitals", "f"]


def test_the_question_names_the_commit(top: Path) -> None:
    data_of(top, "run", "--name", "up", "--", *EDIT)
    code, shown = on_a_terminal(top, "apply", typed=(b"[y/N]", b"n\n"))
    assert code == 3
    (question,) = (line for line in shown.splitlines() if "[y/N]" in line)
    assert "main" in question
    assert "up" in question


def test_a_setting_decides_whether_a_commit_is_made(top: Path) -> None:
    index = staged(top)
    data_of(top, "run", "--", *EDIT)
    data_of(top, "config", "set", "apply.commit", "false")
    applied = only(data_of(top, "apply", "--yes"))
    assert (applied["commit"], subjects(top), staged(top)) == (None, ["1"], index)
    assert (top / "f").read_text() == "A\nb\n"
    data_of(top, "undo", "--yes")
    assert ((top / "f").read_text(), staged(top)) == ("a\nb\n", index)
    data_of(top, "redo", "--yes")
    assert (subjects(top), staged(top)) == (["1"], index)
    data_of(top, "undo", "--yes")
    # An option goes before the setting, and a message asks for a commit.
    assert only(data_of(top, "apply", "--dry-run", "--commit"))["branch"] == "main"
    data_of(top, "apply", "--yes", "--message", "with one")
    assert subjects(top) == ["with one", "1"]


@pytest.mark.parametrize("value", [b"true", b"false"])
def test_a_plan_file_decides_as_well(top: Path, value: bytes) -> None:
    text = b"name: p\nconfig: {apply.commit: %s}\nsteps: [{name: s, run: sed -i s/a/A/ f}]\n" % value
    (top / "p.log").write_bytes(text)
    data_of(top, "plan", "execute", "p.log")
    assert (only(data_of(top, "apply", "--dry-run"))["branch"] == "main") is (value == b"true")


def test_run_with_apply_takes_the_same_options(top: Path) -> None:
    index = staged(top)
    applied = only(data_of(top, "run", "--apply", "--no-commit", "--", "sed", "-i", "s/a/A/", "f"))
    assert (applied["commit"], subjects(top), staged(top)) == (None, ["1"], index)
    data_of(top, "run", "--apply", "-m", "a new file", "--", "touch", "new")
    assert subjects(top) == ["a new file", "1"]


@pytest.mark.parametrize(
    "words",
    [
        ("apply", "--dry-run", "--no-commit", "-m", "text"),
        ("run", "--no-commit", "--", "true"),
        ("run", "-m", "text", "--", "true"),
        ("run", "--apply", "--no-commit", "-m", "text", "--", "true"),
    ],
)
def test_options_of_a_commit_that_is_not_made_are_refused(top: Path, words: tuple[str, ...]) -> None:
    data_of(top, "run", "--", *EDIT)
    plans = len(data_of(top, "list")["plans"])
    assert ask(top, *words)["error"]["kind"] == "usage_wrong"
    assert len(data_of(top, "list")["plans"]) == plans


def test_commits_of_the_sandbox_are_named_before_they_become_one(top: Path) -> None:
    who = "git -c user.name=n -c user.email=n@e"
    words = f"echo x > x; git add x; {who} commit -qm first; echo y > y; git add y; {who} commit -qm second"
    data_of(top, "run", "--name", "up", "--", "sh", "-c", words)
    before = only(data_of(top, "apply", "--dry-run"))
    assert [each.partition(" ")[2] for each in before["combined"]] == ["second", "first"]
    code, shown = on_a_terminal(top, "apply", typed=(b"[y/N]", b"y\n"))
    assert code == 0
    asked, _, then = shown.partition("[y/N]")
    assert "2 commits of the sandbox become one" in asked
    assert "first" in asked
    assert "second" in asked
    assert "2 commits" not in then
    assert subjects(top) == ["up", "1"]


# --- taken back --------------------------------------------------------------------------------------------


def state(top: Path) -> tuple[list[str], str, str, str]:
    """Return commits, index, what git says of the files, and one of them."""
    status = run_git(top, "status", "--porcelain", "--", ".", ":!.mulligan")
    return subjects(top), staged(top), status, (top / "f").read_text()


def test_an_undo_withdraws_a_commit_that_no_other_ref_has(top: Path) -> None:
    data_of(top, "run", "--name", "up", "--", *EDIT)
    before, tip = state(top), run_git(top, "rev-parse", "HEAD").strip()
    data_of(top, "apply", "--yes")
    after = state(top)
    preview = only(data_of(top, "undo", "--dry-run"))
    assert (preview["branch"], preview["moved_back"], preview["subject"]) == ("main", tip, None)
    assert state(top) == after
    for _ in range(2):
        data_of(top, "undo", "--yes")
        assert state(top) == before
        data_of(top, "redo", "--yes")
        assert state(top) == after
    assert only(data_of(top, "unapply", "--yes", "up"))["moved_back"] == tip
    assert state(top) == before
    assert run_git(top, "fsck", "--no-dangling") == ""


def test_what_the_user_did_since_stays_when_a_commit_is_withdrawn(top: Path) -> None:
    (top / "h").write_text("".join(f"{n}\n" for n in range(9)))
    run_git(top, "add", "h")
    run_git(top, "commit", "-qm", "h", "h")
    data_of(top, "run", "--apply", "--name", "up", "--", "sed", "-i", "s/^1$/one/", "h")
    (top / "h").write_text((top / "h").read_text().replace("7\n", "seven\n"))
    (top / "new").write_text("new\n")
    run_git(top, "add", "new")
    data_of(top, "undo", "--yes")
    assert subjects(top) == ["h", "1"]
    assert (top / "h").read_text() == "0\n1\n2\n3\n4\n5\n6\nseven\n8\n"
    found = run_git(top, "status", "--porcelain", "--", ".", ":!.mulligan").splitlines()
    assert sorted(found) == [" M h", "A  new", "M  g"]


@pytest.mark.parametrize("how", ["tag", "branch", "remote", "worktree", "commit", "staged"])
def test_a_commit_that_others_may_have_is_reverted(top: Path, tmp_path: Path, how: str) -> None:
    data_of(top, "run", "--apply", "--name", "up", "--", "sed", "-i", "s/a/A/", "f")
    match how:
        case "tag" | "branch":
            run_git(top, how, "mark")
        case "remote":
            run_git(top, "update-ref", "refs/remotes/origin/main", "HEAD")
        case "worktree":
            run_git(top, "worktree", "add", "-q", "--detach", str(tmp_path / "other"))
        case "commit":
            run_git(top, "commit", "-qm", "mine")  # what was staged
        case _:  # what the apply wrote, staged again
            (top / "f").write_text("A\nb\nc\nd\ne\n")
            run_git(top, "add", "f")
    after = (top / "f").read_text()
    applied = only(data_of(top, "undo", "--yes"))
    assert (applied["moved_back"], applied["subject"]) == (None, 'Revert "up"')
    assert subjects(top)[0] == 'Revert "up"'
    data_of(top, "redo", "--yes")
    assert (top / "f").read_text() == after


def test_a_withdrawal_that_is_killed_is_taken_back_and_can_be_repeated(top: Path) -> None:
    data_of(top, "run", "--name", "up", "--", *EDIT)
    before = state(top)
    data_of(top, "apply", "--yes")
    after = state(top)
    for fault in (
        "before:position.move",
        "after:position.move",
        "after:position.index",
        "before:apply.settle",
    ):
        killed(top, f"{fault}:1:SIGKILL", "undo", "--yes")
        assert ask(top, "resume", "up")["error"]["kind"] == "plan_already_applied"  # claims the plan
        assert state(top) == after, fault
    data_of(top, "undo", "--yes")
    assert state(top) == before
    data_of(top, "redo", "--yes")
    assert state(top) == after


def test_an_apply_waits_for_another_one_that_is_writing_the_index(top: Path) -> None:
    index = top / ".git" / "index"
    held, refused, done = Event(), Event(), Event()

    def hold() -> None:
        with index_locked(index, index.read_bytes(), None):
            held.set()
            refused.wait(1)  # until the apply ends: it is refused where it does not wait
        done.set()

    data_of(top, "run", "--name", "up", "--", *EDIT)
    other = Thread(target=hold)
    other.start()
    assert held.wait(60)
    answer = ask(top, "apply", "--yes")
    refused.set()
    other.join()
    assert done.is_set()
    assert answer["status"] == "ok", answer
    assert subjects(top) == ["up", "1"]


def test_an_apply_lets_a_git_command_end_that_refreshes_the_index(top: Path) -> None:
    data_of(top, "run", "--name", "up", "--", *EDIT)
    lock = top / ".git" / "index.lock"
    lock.touch()
    ended = Timer(0.2, lock.unlink)
    ended.start()
    assert ask(top, "apply", "--yes")["status"] == "ok"
    ended.join()
    assert subjects(top) == ["up", "1"]
