"""The screens of the page about what agents did: which call of which prompt changed a file."""

from pathlib import Path

from tests.agents.test_hook import plain
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
