"""How the results of child plans come together in their parent's sandboxes."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from types import NoneType

import pytest

from mulligan.application.apply.snapshot_merge import Merged, MergeRules, MergeService
from mulligan.domain.checkpoints.snapshot import Root
from mulligan.domain.plans.plan import State
from mulligan.errors import (
    ChangedMeanwhile,
    ChildConstrained,
    ConflictsUnresolved,
    ConflictUnknown,
    MarkersLeft,
    PlanNotReady,
    StepFailed,
    SubplanConflicts,
)
from tests.subplans.families import Family, children, note, shell
from tests.support.homes import home_of


def changed(line: int, word: str) -> list[dict[str, object]]:
    """Steps that change one line of the text."""
    return [shell(f"{note(word)}; sed -i 's/^line {line}$/{word}/' text")]


def lines(family: Family, plan: str = "p") -> list[str]:
    return family.files(plan)["text"].splitlines()


def test_changes_of_different_lines_are_both_kept(family: Family) -> None:
    parts = {
        "a": [*changed(1, "a"), shell("mkdir -p new; echo a > new/a; ln -s text link")],
        "b": [*changed(9, "b"), shell("mkdir -p new; echo b > new/b; rm -f none; echo same > same")],
        "c": [shell("echo same > same")],
    }

    status = family.project().execute(family.write(children(parts)))

    assert status.state is State.COMPLETE
    assert lines(family) == ["a", *[f"line {n}" for n in range(2, 9)], "b"]
    top = family.sandbox()
    assert sorted(os.listdir(top / "new")) == ["a", "b"]
    assert (top / "link").readlink() == Path("text")
    assert (top / "same").read_text() == "same\n"


def test_an_overlap_leaves_markers_and_waits_until_it_is_mended(family: Family) -> None:
    parts = {
        "a": changed(5, "ours"),
        "b": [*changed(5, "theirs"), shell("echo b > b")],
        "c": [shell(f"{note('c')}; echo c > c")],
    }
    plan = family.write(children(parts), shell("echo end > end", "end"))

    status, execution = family.project().run(plan)

    assert status.state is State.CONSTRAINED
    assert isinstance(execution.error, SubplanConflicts)
    assert execution.error.exit_code == 4
    assert status.conflicts == ({"resource": "d", "path": "text", "reason": "both sides changed line 5"},)
    assert lines(family)[4:9] == ["<<<<<<< p", "ours", "=======", "theirs", ">>>>>>> b"]
    assert family.files()["b"] == "b\n"
    assert family.states()["c"] == "execute/complete"
    assert "c" not in family.files()

    for refused in (lambda: family.project().resume("p"), lambda: family.project().preview_resume("p")):
        with pytest.raises(ConflictsUnresolved, match="text"):
            refused()
    with pytest.raises(ConflictUnknown, match="it has: text"):
        family.project().resolve("p", ["other"])
    with pytest.raises(MarkersLeft, match="text"):
        family.project().resolve("p")

    text = family.sandbox() / "text"
    text.write_text("".join(f"{line}\n" for line in lines(family) if line[0] not in "<=>"))
    mended = family.project().resolve("p", ["text"])
    assert (mended.state, mended.conflicts, mended.error) == (State.QUEUED, (), None)

    done, _ = family.project().resume("p")
    assert done.state is State.COMPLETE
    assert done.resumed_from is not None
    assert done.resumed_from.discarded is None
    assert lines(family)[4:6] == ["ours", "theirs"]
    assert family.files().keys() == {"text", "b", "c", "end"}
    assert sorted(family.noted("ran")) == ["c", "ours", "theirs"]
    with pytest.raises(PlanNotReady, match="no conflicts"):
        family.project().resolve("p")


def test_paths_can_be_solved_one_by_one(family: Family) -> None:
    (family.real / "other").write_text("1\n")
    parts = {name: [shell(f"echo {name} > text; echo {name} > other")] for name in "ab"}
    family.project().execute(family.write(children(parts)))
    (family.sandbox() / "text").write_text("mended\n")

    status = family.project().resolve("p", ["text"])
    assert status.state is State.CONSTRAINED
    assert [c["path"] for c in status.conflicts] == ["other"]
    (family.sandbox() / "other").unlink()

    assert family.project().resolve("p").state is State.QUEUED
    assert family.project().resume("p")[0].state is State.COMPLETE
    assert family.files() == {"text": "mended\n"}


def test_where_markers_are_impossible_the_parents_version_stands(family: Family) -> None:
    (family.real / "image").write_bytes(b"\0base")
    parts = {
        "a": [shell("printf '\\0a' > image; rm text")],
        "b": [shell("printf '\\0b' > image; echo more >> text")],
    }

    status = family.project().execute(family.write(children(parts)))

    assert status.state is State.CONSTRAINED
    assert {c["path"] for c in status.conflicts} == {"image", "text"}
    top = family.sandbox()
    assert (top / "image").read_bytes() == b"\0a"
    assert not (top / "text").exists()


def test_a_conflict_that_was_rolled_back_from_is_none_any_more(family: Family) -> None:
    parts = {"a": changed(5, "ours"), "b": changed(5, "theirs")}
    family.project().execute(family.write(children(parts)))

    family.project().rollback("p", "first")

    status = family.project().status("p")
    assert (status.state, status.conflicts) == (State.QUEUED, ())
    assert lines(family)[4] == "line 5"


def test_fail_on_conflict_fails_the_step_and_touches_nothing(family: Family) -> None:
    parts = {"a": changed(5, "ours"), "b": [*changed(5, "theirs"), shell("echo b > b")]}
    plan = family.write(
        children(parts, merge_strategy="fail_on_conflict"), rollback_policy={"on_failure": "keep"}
    )

    status, execution = family.project().run(plan)

    assert status.state is State.ERRORED
    assert isinstance(execution.error, StepFailed)
    assert "b: it is in conflict with what was merged before: text (both" in execution.error.text
    assert lines(family)[4] == "ours"
    assert "b" not in family.files()


def test_last_wins_takes_the_later_file(family: Family) -> None:
    parts = {"a": [*changed(1, "one"), *changed(5, "ours")], "b": changed(5, "theirs")}

    assert (
        family.project().execute(family.write(children(parts, merge_strategy="last_wins"))).state
        is State.COMPLETE
    )
    assert lines(family)[0] == "line 1"
    assert lines(family)[4] == "theirs"


def test_sequential_apply_has_nothing_to_merge(family: Family) -> None:
    parts = {"a": changed(5, "first"), "b": [shell("sed -i 's/^first$/second/' text")]}
    options = {"mode": "dependency_ordered", "merge_strategy": "sequential_apply"}

    assert family.project().execute(family.write(children(parts, **options))).state is State.COMPLETE
    assert lines(family)[4] == "second"


def test_a_child_with_conflicts_of_its_own_stops_its_parent(family: Family) -> None:
    inner = children({"a": changed(5, "ours"), "b": changed(5, "theirs")})
    plan = family.write(children({"y": [inner], "z": [shell(f"{note('z')}; echo z > z")]}))

    status, execution = family.project().run(plan)

    assert status.state is State.CONSTRAINED
    assert status.conflicts == ()
    assert isinstance(execution.error, ChildConstrained)
    assert "resolve" in {step.verb for step in execution.error.next_step.steps}
    assert family.states()["y"] == "execute/constrained"
    assert family.project().resume("p")[0].state is State.CONSTRAINED  # nothing was mended yet

    (family.sandbox("y") / "text").write_text("mended\n")
    family.project().resolve("y")
    done, _ = family.project().resume("p")

    assert done.state is State.COMPLETE
    assert family.files() == {"text": "mended\n", "z": "z\n"}
    assert sorted(family.noted("ran")) == ["ours", "theirs", "z"]


def test_children_without_checkpoints_are_merged_as_they_stand(family: Family) -> None:
    plan = family.write(
        children({"a": changed(1, "a"), "b": changed(9, "b")}), rollback_policy={"enabled": False}
    )
    assert family.project().execute(plan).state is State.COMPLETE
    assert (lines(family)[0], lines(family)[8]) == ("a", "b")


def test_children_of_a_plan_that_works_in_place_work_on_copies(family: Family) -> None:
    parts = {"a": [*changed(1, "a"), shell("test ! -d .mulligan; pwd", "where")], "b": changed(9, "b")}
    resources = {"d": {"type": "fs-directory", "location": "d", "strategy": "in_place"}}

    assert family.project().execute(family.write(children(parts), resources=resources)).state is State.APPLIED

    real = (family.real / "text").read_text().splitlines()
    assert (real[0], real[8]) == ("a", "b")
    assert family.sandbox("a").is_relative_to(home_of(family.folder) / "sandboxes")


def rows(file: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(file)) as database:
        return database.execute("SELECT * FROM t ORDER BY id").fetchall()


@pytest.fixture
def with_database(family: Family) -> Family:
    with closing(sqlite3.connect(family.real / "app.db")) as database:
        database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, word TEXT)")
        database.execute("INSERT INTO t VALUES (1, 'base')")
        database.commit()
    return family


RESOURCES = {
    "d": {"type": "fs-directory", "location": "d"},
    "data": {"type": "sqlite", "location": "d/app.db"},
}


def sql(*statements: str) -> dict[str, object]:
    return {"tool": "sql", "resource": "data", "args": {"statements": list(statements)}}


def test_a_database_that_one_child_changed_is_taken_from_it(with_database: Family) -> None:
    parts = {
        "a": [sql("INSERT INTO t VALUES (2, 'a')"), shell("echo a > a")],
        "b": [shell("echo b > b; sqlite3 app.db 'SELECT 1' || true")],
    }
    plan = with_database.write(children(parts), resources=RESOURCES)

    assert with_database.project().execute(plan).state is State.COMPLETE
    assert rows(with_database.sandbox() / "app.db") == [(1, "base"), (2, "a")]
    assert {"a", "b"} <= set(os.listdir(with_database.sandbox()))


def test_equal_changes_of_a_database_go_together_whatever_its_bytes(with_database: Family) -> None:
    parts = {
        "a": [sql("INSERT INTO t VALUES (2, 'x')")],
        "b": [
            sql("INSERT INTO t VALUES (3, 'y')", "INSERT INTO t VALUES (2, 'x')"),
            sql("DELETE FROM t WHERE id = 3"),
        ],
        "c": [sql("INSERT INTO t VALUES (9, 'y')"), sql("DELETE FROM t WHERE id = 9")],
    }
    plan = with_database.write(children(parts), resources=RESOURCES)

    assert with_database.project().execute(plan).state is State.COMPLETE
    assert rows(with_database.sandbox() / "app.db") == [(1, "base"), (2, "x")]


@pytest.mark.parametrize(("strategy", "word"), [("three_way", "a"), ("last_wins", "b")])
def test_different_changes_of_a_database_are_a_conflict(
    with_database: Family, strategy: str, word: str
) -> None:
    parts = {name: [sql(f"UPDATE t SET word = '{name}'")] for name in "ab"}
    plan = with_database.write(children(parts, merge_strategy=strategy), resources=RESOURCES)

    status = with_database.project().execute(plan)

    assert rows(with_database.sandbox() / "app.db") == [(1, word)]
    reason = "a database that p and b changed differently"
    conflict = {"resource": "data", "path": "app.db", "reason": reason}
    assert status.conflicts == ((conflict,) if strategy == "three_way" else ())
    if strategy == "three_way":
        assert with_database.project().resolve("p", ["app.db"]).state is State.QUEUED
        assert with_database.project().resume("p")[0].state is State.COMPLETE


@pytest.mark.parametrize("always", [False, True], ids=["once", "always"])
def test_what_others_save_into_a_real_folder_while_children_are_merged_stays(
    family: Family, monkeypatch: pytest.MonkeyPatch, always: bool
) -> None:
    merge, saved = MergeService.merge, list[int]()

    def meanwhile(self: MergeService, base: Root, ours: Root, theirs: Root, rules: MergeRules) -> Merged:
        if always or not saved:
            saved.append(len(saved))
            (family.real / "mine").write_text(f"saved {len(saved)}")
        return merge(self, base, ours, theirs, rules)

    monkeypatch.setattr(MergeService, "merge", meanwhile)
    resources = {"d": {"type": "fs-directory", "location": "d", "strategy": "in_place"}}
    plan = family.write(children({"a": changed(1, "a")}), resources=resources)

    status, execution = family.project().run(plan)

    assert (family.real / "mine").read_text() == f"saved {len(saved)}"
    assert (family.real / "text").read_text().startswith("line 1" if always else "a\n")
    assert isinstance(execution.error, ChangedMeanwhile if always else NoneType)
    assert status.state is (State.ERRORED if always else State.APPLIED)
