"""The command `undo --only`: what one session, prompt or call did goes, and what others did stays."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.agents.test_hook import checkout, entries, plain, seen
from tests.commands.program import ask, data_of
from tests.support.fake_agent import FakeAgent
from tests.support.forked_program import run_program
from tests.support.git_world import run_git

__all__ = ["checkout", "plain"]  # fixtures


def calls(folder: Path, number: int = 1) -> list[dict[str, Any]]:
    return list(data_of(folder, "log", str(number))["calls"])


def shown(folder: Path, *words: str) -> tuple[int, str]:
    ran = run_program(words, folder=folder, environment=FakeAgent(folder).environment(""))
    return ran.returncode, ran.stdout.decode()


def only(folder: Path, *names: str, more: tuple[str, ...] = ()) -> dict[str, Any]:
    words = [word for name in names for word in ("--only", name)]
    return data_of(folder, "undo", *words, "--yes", *more)


def test_one_call_of_a_prompt_goes_and_comes_back(plain: Path) -> None:
    agent = FakeAgent(plain)
    agent.start()
    with agent.prompted("three files"):
        agent.shell("echo one > b.txt")
        agent.shell("echo two > c.txt; echo more >> a.txt")
        agent.shell("rm b.txt; echo three > d.txt")
    assert [(c["name"], c["tool"], c["files"], c["shared"]) for c in calls(plain)] == [
        ("1.1", "Bash", 1, 0),
        ("1.2", "Bash", 2, 0),
        ("1.3", "Bash", 2, 0),
    ]
    (plain / "mine").write_text("the user's\n")
    before = seen(plain)
    preview = data_of(plain, "undo", "--only", "1.2", "--dry-run")
    assert seen(plain) == before
    done = only(plain, "1.2")
    assert {c["file"] for c in preview["changes_reverted"]} == {c["file"] for c in done["changes_reverted"]}
    assert sorted(os.listdir(plain)) == [".mulligan", "a.txt", "d.txt", "mine"]
    assert (plain / "a.txt").read_text() == "one\n"
    assert [c["undone"] for c in calls(plain)] == [False, True, False]
    newest, prompt = entries(plain)
    assert (newest["kind"], newest["redoable"], newest["counts"], newest["files"]) == ("undo", True, False, 2)
    assert prompt["counts"]
    assert ask(plain, "undo", "--only", "1.2", "--yes")["error"]["kind"] == "nothing_to_undo"
    assert ask(plain, "undo", str(newest["number"]), "--yes")["error"]["kind"] == "nothing_to_undo"
    data_of(plain, "redo", "--yes")
    assert seen(plain) == before
    assert [c["undone"] for c in calls(plain)] == [False, False, False]
    assert entries(plain)[0]["undone"]


def test_undo_takes_the_rest_of_a_prompt_back_after_one_of_its_calls(plain: Path) -> None:
    agent = FakeAgent(plain)
    agent.start()
    before = seen(plain)
    with agent.prompted("two files"):
        agent.shell("echo one > b.txt")
        agent.shell("echo two > c.txt")
    after = seen(plain)
    only(plain, "1.1")
    data_of(plain, "undo", "--yes")
    assert seen(plain) == before
    data_of(plain, "redo", "--yes")
    data_of(plain, "redo", "--yes")
    assert seen(plain) == after


def test_what_calls_of_two_agents_did_at_the_same_time_is_told_apart_by_the_paths_of_edit_tools(
    plain: Path,
) -> None:
    one, two = FakeAgent(plain), FakeAgent(plain, "s2")
    one.start()
    two.start()
    one.prompt("edit")
    two.prompt("run")
    edit = one.before_edit(plain / "a.txt")
    shell = two.before("make")
    (plain / "a.txt").write_text("edited\n")
    (plain / "built").write_text("by make\n")
    one.after_edit(edit, plain / "a.txt")
    two.run("echo later > later")
    two.after(shell, "make")
    (plain / "mine").write_text("the user's\n")
    assert [(c["files"], c["shared"]) for number in (1, 2) for c in calls(plain, number)] == [(1, 0), (2, 0)]
    only(plain, "1.1")
    assert (plain / "a.txt").read_text() == "one\n"
    assert (plain / "built").exists()
    only(plain, "claude-code-2")
    assert sorted(os.listdir(plain)) == [".mulligan", "a.txt", "mine"]
    assert not entries(plain)[2]["counts"]
    data_of(plain, "redo", "--yes")
    data_of(plain, "redo", "--yes")
    assert (plain / "a.txt").read_text() == "edited\n"
    assert (plain / "later").exists()


def test_what_several_calls_may_have_changed_is_refused_by_name_unless_all_are_asked_for(plain: Path) -> None:
    agent = FakeAgent(plain)
    agent.start()
    before = seen(plain)
    agent.prompt("two subagents")
    one = agent.before("one", subagent="x")
    agent.run("echo alone > alone")
    two = agent.before("two", subagent="y")
    agent.run("echo both > both")
    agent.after(one, "one", subagent="x")
    agent.after(two, "two", subagent="y")
    agent.stop()
    there = seen(plain)
    refused = ask(plain, "undo", "--only", "1.1", "--yes")
    assert (refused["exit_code"], refused["error"]["kind"]) == (4, "undo_shared")
    assert refused["error"]["shared"] == [{"path": "both", "calls": ["1.1", "1.2"]}]
    assert seen(plain) == there
    assert "--only 1.1 --only 1.2" in refused["error"]["hint"]
    only(plain, "1.1", "1.2")
    assert seen(plain) == before


def test_calls_of_two_sessions_go_together(plain: Path) -> None:
    one, two = FakeAgent(plain), FakeAgent(plain, "s2")
    one.start()
    two.start()
    before = seen(plain)
    one.prompt("one")
    two.prompt("two")
    first, second = one.before("x"), two.before("y")
    one.run("echo both > both")
    one.after(first, "x")
    two.after(second, "y")
    after = seen(plain)
    assert ask(plain, "undo", "--only", "2", "--yes")["error"]["kind"] == "undo_shared"
    only(plain, "1", "claude-code-2")
    assert seen(plain) == before
    assert not any(entry["counts"] for entry in entries(plain))
    data_of(plain, "redo", "--yes")
    assert seen(plain) == after
    assert [entry["counts"] for entry in entries(plain)] == [False, True, True]


def test_lines_that_others_changed_since_stay_and_a_conflict_changes_nothing(plain: Path) -> None:
    text = "".join(f"{number}\n" for number in range(20))
    (plain / "long").write_text(text)
    agent = FakeAgent(plain)
    agent.start()
    with agent.prompted("change it"):
        agent.shell("sed -i s/^3$/three/ long")
        agent.shell("sed -i s/^9$/nine/ long")
    (plain / "long").write_text((plain / "long").read_text().replace("17\n", "the user's\n"))
    only(plain, "1.1")
    assert (plain / "long").read_text() == text.replace("\n9\n", "\nnine\n").replace("17\n", "the user's\n")
    (plain / "long").write_text((plain / "long").read_text().replace("nine\n", "another\n"))
    there = seen(plain)
    assert ask(plain, "undo", "--only", "1.2", "--yes")["error"]["kind"] == "undo_conflicted"
    assert seen(plain) == there


@pytest.mark.parametrize(
    "damage",
    [
        "printf 'a\\0b' > binary; chmod 755 a.txt; ln -s a.txt link; mkdir -p new/sub; echo x > new/sub/file",
        "rm -rf sub ignored; mkdir empty; chmod 600 .env",
        "git add untracked; echo more >> a.txt; git commit -qam more",
        "git checkout -q -b other; git rm -q a.txt; git commit -qm gone",
    ],
)
def test_all_kinds_of_changes_of_a_call_are_taken_back_exactly(checkout: Path, damage: str) -> None:
    agent = FakeAgent(checkout)
    agent.start()
    with agent.prompted("first"):
        agent.shell("echo kept > kept")
    before = seen(checkout)
    with agent.prompted("second"):
        agent.shell(damage)
    after = seen(checkout)
    only(checkout, "2.1")
    assert seen(checkout) == before
    data_of(checkout, "redo", "--yes")
    assert seen(checkout) == after


def test_a_commit_that_may_be_of_either_call_is_shared_and_stays_with_keep_commits(checkout: Path) -> None:
    agent = FakeAgent(checkout)
    agent.start()
    head = run_git(checkout, "rev-parse", "HEAD")
    agent.prompt("two")
    one = agent.before("commit")
    edit = agent.before_edit(checkout / "untracked")
    two = agent.before("other")
    agent.run("git add untracked; git commit -qm more")
    (checkout / "untracked").write_text("edited\n")
    agent.after(one, "commit")
    agent.after(two, "other")
    agent.after_edit(edit, checkout / "untracked")
    agent.stop()
    refused = ask(checkout, "undo", "--only", "1.1", "--yes")
    assert refused["error"]["kind"] == "undo_shared"
    only(checkout, "1.2")
    assert (checkout / "untracked").read_text() == "not committed\n"
    assert run_git(checkout, "rev-parse", "HEAD") != head
    only(checkout, "1.1", "1.3", more=("--keep-commits",))
    assert run_git(checkout, "rev-parse", "HEAD") != head


def test_a_database_goes_back_as_a_whole_or_is_shared(checkout: Path) -> None:
    data_of(checkout, "config", "set", "agent.databases", "*.db")
    agent = FakeAgent(checkout)
    agent.start()
    agent.prompt("tidy")
    one, two = agent.before("drop"), agent.before("other")
    with closing(sqlite3.connect(checkout / "app.db")) as database:
        database.executescript("DROP TABLE t")
    agent.after(one, "drop")
    agent.after(two, "other")
    agent.shell("echo b > b.txt")
    assert ask(checkout, "undo", "--only", "1.1", "--yes")["error"]["kind"] == "undo_shared"
    only(checkout, "1.1", "1.2")
    with closing(sqlite3.connect(checkout / "app.db")) as database:
        assert database.execute("SELECT x FROM t").fetchall() == [(1,), (2,)]
    assert (checkout / "b.txt").exists()


def test_a_call_without_an_end_goes_as_far_as_the_present(plain: Path) -> None:
    agent = FakeAgent(plain)
    agent.start()
    agent.prompt("first")
    agent.shell("echo kept > kept")
    before = seen(plain)
    agent.before("make")
    agent.run("echo new > new")
    only(plain, "1.2")
    assert seen(plain) == before


def test_an_undo_between_belongs_to_no_call(plain: Path) -> None:
    agent = FakeAgent(plain)
    agent.start()
    with agent.prompted("first"):
        agent.shell("echo first > first")
    agent.prompt("second")
    call = agent.before("make")
    agent.run("echo second > second")
    data_of(plain, "undo", "1", "--yes")
    agent.run("echo third > third")
    agent.after(call, "make")
    agent.stop()
    assert sorted(os.listdir(plain)) == [".mulligan", "a.txt", "second", "third"]
    only(plain, "2.1")
    assert sorted(os.listdir(plain)) == [".mulligan", "a.txt"]


def test_words_that_name_nothing_are_refused(plain: Path) -> None:
    agent = FakeAgent(plain)
    agent.start()
    with agent.prompted("first"):
        agent.shell("echo first > first")
    data_of(plain, "run", "--in-place", "--", "true")
    for word, kind in (
        ("1.9", "call_not_found"),
        ("9.1", "entry_not_found"),
        ("9", "entry_not_found"),
        ("2", "usage_wrong"),
        ("true", "usage_wrong"),
        ("nothing", "plan_not_found"),
    ):
        assert ask(plain, "undo", "--only", word, "--yes")["error"]["kind"] == kind, word
    assert ask(plain, "undo", "--only", "1", "2", "--yes")["error"]["kind"] == "usage_wrong"


def test_people_see_the_calls_and_what_was_taken_back(plain: Path) -> None:
    agent = FakeAgent(plain)
    agent.start()
    with agent.prompted("first"):
        agent.shell("echo first > first")
    code, out = shown(plain, "log", "1")
    assert (code, "1.1" in out, "echo first > first" in out) == (0, True, True)
    code, out = shown(plain, "undo", "--only", "1.1", "--yes")
    assert code == 0
    assert "1.1" in out
    assert "only 1.1: echo first > first" in shown(plain, "log")[1]
