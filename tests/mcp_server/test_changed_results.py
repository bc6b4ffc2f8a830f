"""A result that changes while the user is asked about it: only what was shown is applied."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import mulligan
from mulligan.mcp_server.tool_table import TOOLS
from mulligan.mcp_server.tool_work import ToolWork
from tests.mcp_server.talk import ERAS, Talk, talk

ADD = ["sh", "-c", "echo two >> a.txt"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    (place / "a.txt").write_text("one\n")
    return place


@pytest.mark.parametrize("era", ERAS)
def test_the_user_is_asked_again_where_the_same_files_would_get_other_contents(
    folder: Path, era: str
) -> None:
    def change_meanwhile(number: int) -> str:
        if number == 1:
            with closing(mulligan.open(folder)) as project:
                project.run_command(["sed", "-i", "s/two/TWO/", "a.txt"], on="work")
        return "accept"

    async def body(talk: Talk) -> int:
        await talk.call("run_in_sandbox", command=ADD, name="work")
        await talk.call("apply")
        return len(talk.questions)

    assert talk(folder, body, answers=change_meanwhile, era=era) == 2
    assert (folder / "a.txt").read_text() == "one\nTWO\n"


def test_a_result_that_changes_after_the_last_look_is_not_applied(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = TOOLS["apply"]

    def act_later(work: ToolWork, wish: Any) -> Any:
        with closing(mulligan.open(folder)) as project:
            project.run_command(["sed", "-i", "s/two/TWO/", "a.txt"], on="work")
        return tool.act(work, wish)

    async def body(talk: Talk) -> None:
        await talk.call("run_in_sandbox", command=ADD, name="work")
        monkeypatch.setitem(TOOLS, "apply", replace(tool, act=act_later))
        assert (await talk.refused("apply"))["kind"] == "result_changed"
        monkeypatch.setitem(TOOLS, "apply", tool)
        assert (folder / "a.txt").read_text() == "one\n"
        await talk.call("apply")

    talk(folder, body)
    assert (folder / "a.txt").read_text() == "one\nTWO\n"
