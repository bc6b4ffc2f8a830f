"""Long lists: the newest of them on request, and nothing is left out silently."""

from contextlib import chdir
from pathlib import Path

import pytest
from msgspec.structs import replace

from mulligan.adapters.db.database_file import sqlite_database
from mulligan.cli.main import run
from mulligan.domain.checkpoints.checkpoint import CheckpointGroup
from mulligan.domain.text.ids import CheckpointId, GroupId, PlanId
from mulligan.rows.tables.plan_rows import Counters
from tests.commands.program import ask, data_of, project_with_plan
from tests.support.homes import home_of

LISTS = [
    (("checkpoint", "list"), "checkpoints", "groups"),
    (("checkpoint", "list", "--all"), "checkpoints", "groups"),
    (("plan", "log"), "events", "entries"),
    (("plan", "list"), "plans", "plan"),  # there are two
    (("plan", "list", "--state", "complete"), "plans", "plan"),
]
MANY = 10_000


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project with two plans, one of them rolled back."""
    folder = tmp_path_factory.mktemp("project")
    project_with_plan(folder, steps=3, limit=50)
    newest = project_with_plan(folder, steps=3, limit=50)
    data_of(folder, "plan", "rollback", "--yes", newest, "first")
    data_of(folder, "plan", "resume", newest)
    return folder


@pytest.mark.parametrize(("words", "name", "of_what"), LISTS)
def test_a_limit_gives_the_newest_and_says_how_many_it_left_out(
    project: Path, words: tuple[str, ...], name: str, of_what: str
) -> None:
    everything = data_of(project, *words)[name]
    assert len(everything) > 1
    limited = ask(project, *words, "--limit", "1")
    assert limited["data"][name] == everything[-1:]
    assert limited["messages"] == [f"{len(everything) - 1} older {of_what} not shown"]
    assert limited["status"] == "ok"
    enough = ask(project, *words, "--limit", str(len(everything)))
    assert (enough["data"][name], enough["messages"]) == (everything, [])


def test_a_limit_counts_groups_so_that_none_is_torn(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    (tmp_path / "plan.yaml").write_text(
        "name: two\n"
        "resources: {a: {type: fs-directory, location: a}, b: {type: fs-directory, location: b}}\n"
        "steps: [{name: s, tool: write_file, args: {path: f, content: x}}]\n"
    )
    data_of(tmp_path, "plan", "execute", "plan.yaml")
    listed = ask(tmp_path, "checkpoint", "list", "--limit", "2")
    assert [c["resource"] for c in listed["data"]["checkpoints"]] == ["a", "b", "a", "b"]
    assert listed["messages"] == ["1 older group not shown"]


@pytest.mark.parametrize("limit", ["0", "-1", "some"])
def test_a_limit_that_is_none_is_a_usage_error(project: Path, limit: str) -> None:
    for words, _, _ in LISTS:
        assert ask(project, *words, "--limit", limit)["error"]["kind"] == "usage_wrong"


def test_people_are_told_too(project: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with chdir(project):
        assert run(["plan", "list", "--limit", "1", "--format", "plain"]) == 0
    printed = capfdbinary.readouterr()
    assert printed.out.count(b"growing") == 1
    assert printed.err == b"note: 1 older plan not shown\n"


def test_ten_thousand_checkpoints_are_listed_whole_or_the_newest_of_them(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    plan_id = project_with_plan(tmp_path, steps=1, limit=50)
    database = sqlite_database(home_of(tmp_path) / "mulligan.db")
    with database.writing() as db:
        newest = db.checkpoints.list(PlanId(plan_id), superseded=False)[-1]
        used = db.plans.counters(newest.plan_id)
        for _ in range(MANY):
            used.seq += 1
            used.groups += 1
            db.checkpoints.add(_copy(newest, used))
        db.plans.set_counters(newest.plan_id, used)
    database.close()
    listed = ask(tmp_path, "checkpoint", "list", "--limit", "50")
    assert listed["messages"] == [f"{MANY - 50 + 3:,} older groups not shown"]
    everything = data_of(tmp_path, "checkpoint", "list")["checkpoints"]
    assert len(everything) == MANY + 3
    assert listed["data"]["checkpoints"] == everything[-50:]
    with chdir(tmp_path):
        for format in ("plain", "rich"):
            assert run(["checkpoint", "list", "--format", format]) == 0
            lines = capfdbinary.readouterr().out.decode().splitlines()
            assert [line.split()[0] for line in lines[1:]] == [f"growing@{c['number']}" for c in everything]


def _copy(group: CheckpointGroup, used: Counters) -> CheckpointGroup:
    (checkpoint,) = group.checkpoints
    return replace(
        group,
        group_id=GroupId(f"01KG{used.groups:022}"),
        number=used.groups,
        seq=used.seq,
        checkpoints=(replace(checkpoint, checkpoint_id=CheckpointId(f"01KC{used.groups:022}")),),
    )
