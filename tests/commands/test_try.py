"""`try`: variants side by side, what passes, what is picked, and what that leaves."""

from __future__ import annotations

import sqlite3
from contextlib import chdir, closing
from pathlib import Path
from typing import Any

import pytest

import mulligan
from mulligan.cli.main import run
from tests.commands.program import ask, data_of
from tests.commands.timelines import cut_off, killed, kind_of, plain_folder, use_own_git
from tests.support.git_world import run_git
from tests.support.homes import home_of
from tests.support.snapshot_world import picture

NUMBER = ("sh", "-c", "echo $MULLIGAN_VARIANT > n")


@pytest.fixture(autouse=True)
def _own_git(monkeypatch: pytest.MonkeyPatch) -> None:
    use_own_git(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return plain_folder(tmp_path)


def column(tried: Any, *names: str) -> list[Any]:
    """Return fields of all variants."""
    rows = [tuple(variant[name] for name in names) for variant in tried["variants"]]
    return [row[0] for row in rows] if len(names) == 1 else rows


def shown(folder: Path, handle: str, path: str) -> str:
    """Return a file as the newest checkpoint of a plan holds it."""
    with closing(mulligan.open(folder)) as project:
        return project.read_path(f"{handle}@-1", path).decode()


def test_variants_of_one_command_know_their_number_and_have_a_row_each(folder: Path) -> None:
    data_of(folder, "init")
    before = picture(folder)
    tried = data_of(folder, "try", "-n", "3", "--name", "fix", "--", *NUMBER)
    assert column(tried, "variant", "number", "handle") == [
        ("1", 1, "fix.1"),
        ("2", 2, "fix.2"),
        ("3", 3, "fix.3"),
    ]
    assert (
        column(tried, "exit_status", "check", "files", "insertions", "deletions") == [(0, None, 1, 1, 0)] * 3
    )
    assert all(took >= 0 for took in column(tried, "duration_ms"))
    assert (tried["passed"], tried["picked"]) == (3, None)
    assert [shown(folder, f"fix.{n}", "n") for n in (1, 2, 3)] == ["1\n", "2\n", "3\n"]
    assert picture(folder) == before
    waiting = data_of(folder, "status", "fix")
    assert (waiting["phase"], waiting["state"]) == ("execute", "constrained")
    assert waiting["waiting"]["reason"] == "question"
    assert waiting["waiting"]["alternatives"] == ["1", "2", "3"]


def test_a_check_decides_and_what_it_writes_is_dropped(folder: Path) -> None:
    check = "echo junk > junk; rm a.txt; echo 9 >> n; test $(head -1 n) = 2"
    tried = data_of(folder, "try", "-n", "2", "--name", "fix", "--check", check, "--", *NUMBER)
    assert column(tried, "check", "check_exit_status", "passed") == [
        ("failed", 1, False),
        ("passed", 0, True),
    ]
    assert column(tried, "exit_status", "files") == [(0, 1), (0, 1)]
    assert [shown(folder, f"fix.{n}", "n") for n in (1, 2)] == ["1\n", "2\n"]
    data_of(folder, "try", "pick", "2")
    assert [f["path"] for f in data_of(folder, "diff", "fix")["files"]] == ["n"]


def test_a_check_decides_whatever_the_command_ended_with(folder: Path) -> None:
    tried = data_of(folder, "try", "-n", "1", "--check", "test -e n", "--", "sh", "-c", "touch n; exit 3")
    assert column(tried, "exit_status", "check", "passed") == [(3, "passed", True)]


def test_without_a_check_the_exit_status_decides_and_the_work_of_others_is_kept(folder: Path) -> None:
    tried = data_of(
        folder, "try", "--variant", "good=echo 1 > n", "--variant", "bad=echo 2 > n; echo; exit 3"
    )
    assert tried["handle"] == "try"
    assert column(tried, "variant", "exit_status", "passed") == [("good", 0, True), ("bad", 3, False)]
    picked = data_of(folder, "try", "pick", "bad")
    assert picked["picked"] == "bad"
    data_of(folder, "apply", "--yes")
    assert (folder / "n").read_text() == "2\n"


def test_where_none_passes_the_exit_code_says_so_and_the_rows_are_there(folder: Path) -> None:
    answer = ask(folder, "try", "-n", "2", "--check", "false", "--", "true")
    assert (answer["exit_code"], answer["error"]["kind"]) == (1, "no_variant_passed")
    assert column(answer["data"], "check") == ["failed", "failed"]
    assert data_of(folder, "try", "pick", "1")["picked"] == "1"


def test_a_signal_and_a_timeout_end_a_variant_and_leave_its_work(folder: Path) -> None:
    line = "echo $MULLIGAN_VARIANT > n; test $MULLIGAN_VARIANT = 1 && kill -9 $$; sleep 600"
    answer = ask(folder, "try", "-n", "2", "--timeout", "1s", "--", "sh", "-c", line)
    assert answer["exit_code"] == 1
    assert column(answer["data"], "exit_status", "timed_out", "files") == [(-9, False, 1), (None, True, 1)]


def test_the_table_names_signals_and_what_ran_out_of_time(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    line = "test $MULLIGAN_VARIANT = 1 && kill -9 $$; sleep 600"
    words = ["try", "-n", "2", "--timeout", "1s", "--check", "kill -15 $$", "--", "sh", "-c", line]
    with chdir(folder):
        assert run(words) == 1
    rows = [row.split()[:4] for row in capfd.readouterr().out.splitlines()[2:4]]
    assert rows == [["1", "SIGKILL", "failed", "(SIGTERM)"], ["2", "timed", "out", "failed"]]


def test_another_variant_can_be_picked_afterwards(folder: Path) -> None:
    data_of(folder, "try", "-n", "3", "--name", "fix", "--", *NUMBER)
    for word, number in (("2", "2"), ("fix.3", "3"), ("3", "3"), ("fix.1", "1")):
        assert data_of(folder, "try", "pick", word)["picked"] == number
        assert shown(folder, "fix", "n") == f"{number}\n"
    data_of(folder, "apply", "--yes", "fix")
    assert (folder / "n").read_text() == "1\n"
    assert kind_of(folder, "try", "pick", "2") == (3, "plan_already_applied")
    data_of(folder, "undo", "--yes")
    assert not (folder / "n").exists()
    data_of(folder, "try", "pick", "2")
    data_of(folder, "apply", "--yes", "fix")
    assert (folder / "n").read_text() == "2\n"


def test_an_answer_picks_and_a_rollback_asks_again(folder: Path) -> None:
    data_of(folder, "try", "--name", "fix", "--", *NUMBER)
    assert ask(folder, "answer", "fix", "3")["error"]["kind"] == "answer_unknown"
    assert data_of(folder, "answer", "fix", "2", "--rationale", "shorter")["state"] == "complete"
    before = next(
        c for c in data_of(folder, "checkpoint", "list", "fix")["checkpoints"] if c["step_index"] == 1
    )
    data_of(folder, "rollback", "--yes", "fix", before["checkpoint_id"])
    assert data_of(folder, "try", "pick", "1")["picked"] == "1"
    assert shown(folder, "fix", "n") == "1\n"


def test_edits_in_the_sandbox_of_a_try_are_merged_with_what_is_picked(folder: Path) -> None:
    data_of(folder, "try", "--name", "fix", "--", *NUMBER)
    (sandbox,) = data_of(folder, "status", "fix")["sandboxes"]
    Path(sandbox["path"], "mine").write_text("mine")
    data_of(folder, "try", "pick", "2")
    data_of(folder, "apply", "--yes", "fix")
    assert ((folder / "n").read_text(), (folder / "mine").read_text()) == ("2\n", "mine")


def test_two_variants_are_compared(folder: Path) -> None:
    data_of(folder, "try", "--variant", "a=echo a > n; echo x > only", "--variant", "b=echo b > n")
    found = data_of(folder, "try", "diff", "a", "b")
    assert [(f["path"], f["status"]) for f in found["files"]] == [("n", "modified"), ("only", "deleted")]
    narrowed = data_of(folder, "try", "diff", "try.b", "2", "--", "n")
    assert narrowed["files"] == []
    assert [f["path"] for f in data_of(folder, "try", "diff", "a", "b", "--", "n")["files"]] == ["n"]
    assert kind_of(folder, "try", "diff", "a", "c") == (3, "variant_not_found")


def test_variants_start_from_a_checkpoint_and_the_apply_merges_against_its_base(folder: Path) -> None:
    (folder / "p.yaml").write_text(
        "name: tune\nsteps:\n  - {name: one, run: echo one >> a.txt}\n  - {name: two, run: echo two >> a.txt}\n"
    )
    data_of(folder, "plan", "execute", "p.yaml")
    line = "sh -c 'echo $MULLIGAN_VARIANT >> a.txt'"
    tried = data_of(folder, "try", "-n", "2", "--from", "tune@3", "--name", "v", "--", "sh", "-c", line[7:-1])
    assert column(tried, "insertions") == [1, 1]
    assert shown(folder, "v.2", "a.txt") == "a\none\n2\n"
    assert data_of(folder, "status", "v")["forked_from"]["number"] == 3
    data_of(folder, "try", "pick", "2")
    data_of(folder, "apply", "--yes", "v")
    assert (folder / "a.txt").read_text() == "a\none\n2\n"
    assert data_of(folder, "status", "tune")["state"] == "complete"
    assert kind_of(folder, "try", "--from", "tune@99", "--", "true") == (3, "checkpoint_not_found")
    assert kind_of(folder, "try", "--from", "nobody@1", "--", "true") == (3, "plan_not_found")


def test_commits_of_a_variant_come_with_it(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "a").write_text("a")
    run_git(tmp_path, "add", ".")
    run_git(tmp_path, "commit", "-qm", "first")
    line = "echo $MULLIGAN_VARIANT > n; git add n; git commit -qm v$MULLIGAN_VARIANT"
    data_of(tmp_path, "try", "--name", "g", "--", "sh", "-c", line)
    data_of(tmp_path, "try", "pick", "2")
    (sandbox,) = data_of(tmp_path, "status", "g")["sandboxes"]
    place = Path(sandbox["path"])
    assert run_git(place, "log", "--format=%s").split() == ["v2", "first"]
    run_git(place, "fsck", "--strict")
    assert run_git(place, "status", "--porcelain") == ""
    data_of(tmp_path, "try", "pick", "1")
    assert run_git(place, "log", "--format=%s").split() == ["v1", "first"]
    data_of(tmp_path, "apply", "--yes", "g")
    assert (tmp_path / "n").read_text() == "1\n"
    assert run_git(tmp_path, "status", "--porcelain") == ""


def test_databases_are_part_of_a_variant(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "rows.db")) as db:
        db.execute("create table t (x)")
        db.commit()
    (tmp_path / "p.yaml").write_text(
        "name: kinds\n"
        "resources:\n  code: {type: fs-directory, location: .}\n  rows: {type: sqlite, location: rows.db}\n"
        "steps:\n  - {name: one, run: touch n}\n"
    )
    answer = ask(tmp_path, "plan", "execute", "p.yaml")
    assert answer["exit_code"] == 0, answer
    insert = (
        "import sqlite3; d = sqlite3.connect('rows.db'); d.execute('insert into t values (1)'); d.commit()"
    )
    line = f'python3 -c "{insert}"'
    tried = ask(tmp_path, "try", "--from", "kinds@1", "-n", "1", "--check", line, "--", "sh", "-c", line)
    assert tried["exit_code"] == 0, tried
    data_of(tmp_path, "try", "pick", "1")
    data_of(tmp_path, "apply", "--yes")
    with closing(sqlite3.connect(tmp_path / "rows.db")) as db:
        assert db.execute("select x from t").fetchall() == [(1,)]


def test_a_command_that_cannot_be_started_leaves_no_plan(folder: Path) -> None:
    data_of(folder, "run", "--", "true")
    assert kind_of(folder, "try", "-n", "3", "--", "no-such-program") == (1, "step_failed")
    assert [plan["handle"] for plan in data_of(folder, "list")["plans"]] == ["true"]


@pytest.mark.parametrize(
    "words",
    [
        ("try",),
        ("try", "-n", "0", "--", "true"),
        ("try", "-n", "101", "--", "true"),
        ("try", "-n", "2", "--variant", "a=true"),
        ("try", "--variant", "a=true", "--", "true"),
        ("try", "--variant", "a=true", "--variant", "a=false"),
        ("try", "--variant", "true"),
        ("try", "--variant", "a= "),
        ("try", "--variant", "latest=true"),
        ("try", "--check", " ", "--", "true"),
        ("try", "--timeout", "soon", "--", "true"),
        ("try", "--from", "x@1", "--resource", ".", "--", "true"),
        ("try", "--", ""),
        ("try", "true"),
        ("try", "-n", "2", "show"),
        ("try", "pick"),
    ],
)
def test_what_cannot_be_tried_is_a_usage_error(folder: Path, words: tuple[str, ...]) -> None:
    assert kind_of(folder, *words) == (2, "usage_wrong")


def test_what_is_no_try_and_what_is_not_finished_is_refused(folder: Path) -> None:
    data_of(folder, "run", "--", "true")
    assert kind_of(folder, "try", "show") == (3, "plan_not_a_try")
    assert kind_of(folder, "try", "show", "true") == (3, "plan_not_a_try")
    killed(folder, "before:variant.finish:1:SIGKILL", "try", "-n", "2", "--name", "cut", "--", *NUMBER)
    assert kind_of(folder, "try", "pick", "1") == (3, "plan_not_ready")
    assert kind_of(folder, "try", "pick", "9") == (3, "variant_not_found")


def test_a_resume_runs_only_variants_that_are_not_finished(folder: Path) -> None:
    line = "echo $MULLIGAN_VARIANT >> n"
    words = ("try", "-c", "plan.max-parallel=1", "-n", "3", "--name", "cut", "--check", "test -e n")
    killed(folder, "before:check.drop:2:SIGKILL", *words, "--", "sh", "-c", line)
    cut = data_of(folder, "try", "show")
    assert column(cut, "finished") == [True, False, False]
    first = [each["started_at"] for each in outputs(folder, "cut.1")]
    resumed = data_of(folder, "resume", "cut")
    assert column(resumed, "passed", "insertions") == [(True, 1)] * 3
    assert (resumed["handle"], resumed["waiting"]["reason"]) == ("cut", "question")
    assert [each["started_at"] for each in outputs(folder, "cut.1")] == first
    assert [shown(folder, f"cut.{n}", "n") for n in (1, 2, 3)] == ["1\n", "2\n", "3\n"]


def outputs(folder: Path, plan: str) -> list[dict[str, Any]]:
    """Return the rows of all calls of a plan."""
    with closing(sqlite3.connect(home_of(folder) / "mulligan.db")) as db:
        db.row_factory = sqlite3.Row
        query = "select c.* from tool_calls as c join plans as p using (plan_id) where p.handle = ?"
        return [dict(row) for row in db.execute(query, (plan,))]


def test_an_interrupt_stops_all_and_keeps_what_is_finished(folder: Path) -> None:
    line = "echo $MULLIGAN_VARIANT > n; test $MULLIGAN_VARIANT = 1 || sleep 600"
    ended = cut_off(
        folder, "after:variant.finish:1:SIGTERM", "try", "-n", "3", "--name", "cut", "--", "sh", "-c", line
    )
    assert ended.returncode == 130, ended
    assert column(data_of(folder, "try", "show"), "finished") == [True, False, False]
    assert data_of(folder, "status", "cut")["state"] == "queued"
    data_of(folder, "cancel", "cut")
    assert kind_of(folder, "try", "pick", "1") == (3, "plan_cancelled")


def test_sandboxes_of_finished_variants_are_given_back_and_the_plan_is_removed_whole(folder: Path) -> None:
    data_of(folder, "try", "-n", "3", "--name", "fix", "--", *NUMBER)
    assert data_of(folder, "status", "fix.2")["sandboxes"] == []
    assert len(data_of(folder, "status", "fix")["sandboxes"]) == 1
    data_of(folder, "try", "pick", "2")
    data_of(folder, "apply", "--yes", "fix")
    data_of(folder, "unapply", "--yes", "fix")
    assert data_of(folder, "status", "fix.2")["sandboxes"] == []
    forked = data_of(folder, "fork", "fix.3", "--name", "other")
    assert Path(forked["sandboxes"][0]["path"], "n").read_text() == "3\n"
    data_of(folder, "rm", "--yes", "other")
    data_of(folder, "rm", "--yes", "fix")
    assert data_of(folder, "list")["plans"] == []
    assert data_of(folder, "doctor")["findings"] == []


def test_the_words_of_a_line_are_literal(folder: Path) -> None:
    tried = data_of(folder, "try", "--variant", "a=printf '${{ x }}' > n", "--check", "grep -F '${{ x }}' n")
    assert column(tried, "passed") == [True]
    assert shown(folder, "try.a", "n") == "${{ x }}"


def test_variants_run_in_the_folder_where_the_user_is(folder: Path) -> None:
    (folder / "sub").mkdir()
    data_of(folder, "init")
    data_of(
        folder / "sub", "try", "-n", "1", "--name", "s", "--resource", "..", "--", "sh", "-c", "touch here"
    )
    assert shown(folder, "s.1", "sub/here") == ""


def test_shells_complete_variants(folder: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: Any) -> None:
    data_of(folder, "try", "--variant", "quick=true", "--variant", "slow=true")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("_MULLIGAN_COMPLETE", "bash")
    found: dict[str, list[str]] = {}
    for line in (
        "mulligan try pick ",
        "mulligan try diff quick s",
        "mulligan try -n 2 -- ca",
        "mulligan try p",
    ):
        monkeypatch.setenv("_MULLIGAN_LINE", line)
        assert run([]) == 0
        told = capfdbinary.readouterr().out.decode().splitlines()
        found[line] = [" ".join(each.split("\t")[:2]).strip() for each in told]
    assert sorted(found["mulligan try pick "]) == ["plain quick", "plain slow"]
    assert found["mulligan try diff quick s"] == ["plain slow"]
    assert found["mulligan try -n 2 -- ca"] == ["program"]
    assert found["mulligan try p"] == ["plain pick"]
