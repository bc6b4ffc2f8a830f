"""The screens of the page about what agents did: which call of which prompt changed a file."""

from pathlib import Path

from tests.agents.test_hook import plain
from tests.commands.program import data_of
from tests.page.served import Visit, visit
from tests.report.parsed import parsed
from tests.support.fake_agent import FakeAgent

__all__ = ["plain"]  # a fixture


def test_the_history_of_a_file_names_the_calls_that_changed_it(plain: Path) -> None:
    agent = FakeAgent(plain)
    agent.start()
    with agent.prompted("two files"):
        agent.shell("mkdir sub; echo one > sub/b.txt")
        agent.shell("echo two > c.txt")
        agent.shell("echo three >> sub/b.txt; touch sub/bb.txt")

    async def body(visitor: Visit) -> None:
        for path, named in (
            ("sub/b.txt", "1.1 1.3"),
            ("sub", "1.1 1.3"),
            ("c.txt", "1.2"),
            ("sub/bb.txt", "1.3"),
        ):
            page = parsed(await visitor.seen("/history", path=path))
            assert [each.text.split()[1].strip(":") for each in page.all(class_="call")] == named.split()

    visit(plain, body)


def _worked(folder: Path) -> None:
    """Two prompts of an agent, and between them and between calls changes by someone else."""
    agent = FakeAgent(folder)
    agent.start()
    with agent.prompted("first"):
        agent.shell("echo one > one.txt")
    (folder / "mine.txt").write_text("by hand\n")
    (folder / "one.txt").write_text("by hand\n")
    with agent.prompted("second"):
        agent.shell("echo two > two.txt")


def test_what_changed_outside_of_any_call_is_on_the_timeline_and_in_histories(plain: Path) -> None:
    _worked(plain)

    async def body(visitor: Visit) -> None:
        page = parsed(await visitor.seen("/"))
        rows = page.all("li", class_="entry")
        assert [row.all(class_="number")[0].text for row in rows] == ["2", "", "1"]
        found = rows[1]
        assert "changed outside of any call: 2 paths" in " ".join(found.text.split())
        assert not any("/act/" in (link.attributes["href"] or "") for link in found.all("a"))
        compared = await visitor.seen(found.all("a", class_="button")[0].attributes["href"])
        assert "mine.txt" in compared
        assert "two.txt" not in compared

        for query, count in (
            ({"kind": "found"}, [""]),
            ({"kind": "prompt"}, ["2", "1"]),
            ({"path": "mine.txt"}, [""]),
            ({"path": "one.txt"}, ["", "1"]),
            ({"path": "two.txt"}, ["2"]),
            ({"kind": "found", "path": "two.txt"}, []),
            ({"agent": "claude-code"}, ["2", "1"]),
        ):
            page = parsed(await visitor.seen("/", **query))
            assert [row.all(class_="number")[0].text for row in page.all("li", class_="entry")] == count, (
                query
            )

    visit(plain, body)


def test_programs_are_told_what_changed_outside_of_any_call(plain: Path) -> None:
    _worked(plain)

    async def body(visitor: Visit) -> None:
        window = (await visitor.get("/api/timeline")).json()["data"]
        assert [entry["number"] for entry in window["entries"]] == [2, 1]
        [found] = window["found"]
        assert (found["entry"], found["files"], found["paths"]) == (1, 2, ["mine.txt", "one.txt"])
        alone = (await visitor.get("/api/timeline", found="true")).json()["data"]
        assert (alone["entries"], alone["found"], alone["before"]) == ([], [found], None)
        # Each comes once, however the timeline is cut.
        newest = (await visitor.get("/api/timeline", limit=1)).json()["data"]
        older = (await visitor.get("/api/timeline", limit=1, before=newest["before"])).json()["data"]
        assert (newest["found"], older["found"]) == ([], [found])

    visit(plain, body)


def test_what_a_plan_did_meanwhile_is_not_called_found(plain: Path) -> None:
    agent = FakeAgent(plain)
    agent.start()
    with agent.prompted("first"):
        agent.shell("echo one > one.txt")
    data_of(plain, "run", "--in-place", "--", "sh", "-c", "echo run > run.txt")
    data_of(plain, "run", "--name", "boxed", "--", "sh", "-c", "echo box > box.txt")
    data_of(plain, "apply", "boxed", "--yes")
    with agent.prompted("second"):
        agent.shell("echo two > two.txt")
    data_of(plain, "undo", "--yes")

    async def body(visitor: Visit) -> None:
        assert (await visitor.get("/api/timeline")).json()["data"]["found"] == []

    visit(plain, body)


def test_what_a_call_that_goes_on_may_have_changed_is_not_called_found(plain: Path) -> None:
    agent, other = FakeAgent(plain), FakeAgent(plain, "s2")
    agent.start()
    agent.prompt("first")
    call = agent.before("server")
    (plain / "during.txt").write_text("by someone\n")
    other.start()
    with other.prompted("meanwhile"):
        other.shell("echo other > other.txt")
    agent.after(call, "server", backgroundTaskId="b1")
    (plain / "later.txt").write_text("by someone\n")
    agent.shell("echo one > one.txt")
    agent.prompt("cut off")
    agent.before("sleep 9")
    (plain / "cut.txt").write_text("by someone\n")
    agent.prompt("next")

    async def body(visitor: Visit) -> None:
        assert (await visitor.get("/api/timeline")).json()["data"]["found"] == []

    visit(plain, body)


def test_what_an_undo_finds_is_found(plain: Path) -> None:
    agent = FakeAgent(plain)
    agent.start()
    with agent.prompted("first"):
        agent.shell("echo one > one.txt")
    (plain / "mine.txt").write_text("by hand\n")
    data_of(plain, "undo", "--yes")

    async def body(visitor: Visit) -> None:
        [found] = (await visitor.get("/api/timeline")).json()["data"]["found"]
        assert found["paths"] == ["mine.txt"]

    visit(plain, body)
