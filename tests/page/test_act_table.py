"""The acts as a table: the command that each names is one that the program accepts, with every option."""

import shlex
from typing import Any

import msgspec
import pytest

from mulligan.api.operations.command_words import command_line
from mulligan.cli.main import run
from mulligan.page.acts.act_table import ACTS

SAMPLES: dict[str, Any] = {
    "paths": ["a b"],
    "only": ["3.2"],
    "include": ["x"],
    "entry": 3,
    "agreed": "3",
    "mode": "append",
    "commit": True,
}


@pytest.mark.parametrize("name", sorted(ACTS))
def test_its_command_is_accepted_with_every_option(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    act = ACTS[name]
    fields = msgspec.structs.fields(act.arguments)
    for field in fields:
        needed = {each.name: "x" for each in fields if each.required}
        value = SAMPLES.get(field.name, (not field.default) if field.default in (True, False) else "x")
        wish = msgspec.convert({**needed, field.name: value}, act.arguments, strict=False)
        words = shlex.split(command_line(act.command(wish)))
        assert words[0] == "mulligan"
        assert run([*words[1:], "--help"]) == 0, (words, capsys.readouterr().err)


def test_whether_to_commit_is_said_both_ways() -> None:
    act = ACTS["apply"]
    said = {
        commit: command_line(act.command(msgspec.convert({"plan": "x", "commit": commit}, act.arguments)))
        for commit in (True, False)
    }
    assert said == {True: "mulligan apply x --commit", False: "mulligan apply x --no-commit"}


def test_a_long_text_is_cut_in_the_command() -> None:
    act = ACTS["correct"]
    wish = msgspec.convert({"decision": "x/d1", "guidance": "long " * 1000}, act.arguments)
    assert len(command_line(act.command(wish))) < 300
