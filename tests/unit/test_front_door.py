"""Another front door gets the document of the command line by calling the API."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mulligan.api.document import document
from mulligan.api.entrance import Unobserved, look_around, open_project
from mulligan.api.operations.command_words import in_commands
from mulligan.api.operations.tool_trust import trusting
from mulligan.api.replies import application_reply, execution_reply
from mulligan.cli.main import run
from mulligan.errors import MulliganError, PlanNotFound, ToolsUntrusted

PLAN = "name: p\nsteps:\n  - {name: one, tool: write_file, args: {path: one, content: x}}\n"


def shown(capsysbinary: pytest.CaptureFixture[bytes], *words: str) -> dict[str, object]:
    run([*words, "--format", "json"])
    answer = json.loads(capsysbinary.readouterr().out)
    del answer["timing"]
    return answer


def test_documents_are_those_of_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yaml").write_text(PLAN)
    run(["init", "."])
    capsysbinary.readouterr()
    project = open_project(look_around({}), None, Unobserved())
    status, execution = project.run(Path("p.yaml"))
    made = document(execution_reply(status, execution), "plan execute", datetime.now(UTC), timedelta(0))
    assert made["status"] == "ok"
    made = document(
        application_reply(*project.apply("p", dry_run=True)),
        "plan apply",
        datetime.now(UTC),
        timedelta(0),
        in_commands,
    )
    del made["timing"]
    assert shown(capsysbinary, "plan", "apply", "p", "--dry-run") == json.loads(json.dumps(made))
    project.close()


def test_trust_is_asked_for_once_and_given_to_the_content_that_was_shown() -> None:
    class Standing:
        sha256 = "abc"

    class Tools:
        trusted: str | None = None

        def standing(self) -> Standing:
            return Standing()

        def trust(self, sha256: str) -> None:
            self.trusted = sha256

    class Fake:
        tools = Tools()

    asked: list[str] = []

    def act() -> str:
        if Fake.tools.trusted is None:
            raise ToolsUntrusted(path="tools.py", reason="is new", need="a plan needs it")
        return "done"

    with pytest.raises(ToolsUntrusted):
        trusting(Fake(), act, lambda _, __: False)  # pyright: ignore[reportArgumentType] - what is used of it
    assert trusting(Fake(), act, lambda _, why: not asked.append(why)) == "done"  # pyright: ignore[reportArgumentType] - as above
    assert (Fake.tools.trusted, asked) == ("abc", ["tools.py is new, and a plan needs it"])


def test_an_error_is_an_exception_with_its_next_step_for_programs() -> None:
    error: MulliganError = PlanNotFound(wanted="x")
    assert error.next_step == "`project.plans()` shows all plans"
