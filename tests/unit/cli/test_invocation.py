"""The questions that a command asks, and what it says of a project whose rows cannot be used."""

import io
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from mulligan.adapters.tools.user_tools.tool_discovery import FileStanding
from mulligan.cli.answers.answer import Answer, Line
from mulligan.cli.invocation import Invocation
from mulligan.errors import ConfirmationMissing, DatabaseUnusable, Declined, MulliganError
from tests.commands.program import data_of

KEEP = {"apply": "write it into the real files", "keep": "leave it in the sandbox"}


class Typed(io.StringIO):
    """A keyboard."""

    def isatty(self) -> bool:
        return True


class Interrupting(Typed):
    """A keyboard on which Ctrl-C is pressed."""

    def readline(self, *_: Any) -> str:
        raise KeyboardInterrupt


class Shown(io.TextIOWrapper):
    """A screen."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), "utf-8", write_through=True)

    def isatty(self) -> bool:
        return True


class Unusable:
    """A project whose rows cannot be read, or have these problems."""

    database = Path("mulligan.db")

    def __init__(self, *problems: str) -> None:
        self._problems = problems

    def handles(self, _: object) -> dict[str, str]:
        raise DatabaseUnusable(database="mulligan.db", reason="damaged", hint="none")

    def problems(self) -> tuple[str, ...]:
        if not self._problems:
            self.handles(())
        return self._problems


@pytest.fixture
def invocation() -> Invocation:
    return Invocation(format_option="plain")


def type_into(monkeypatch: pytest.MonkeyPatch, keyboard: io.StringIO) -> None:
    """Let a user sit at a terminal with that keyboard."""
    monkeypatch.setattr(sys, "stdin", keyboard)
    monkeypatch.setattr(sys, "stderr", Shown())


def said() -> str:
    return cast("io.BytesIO", sys.stderr.buffer).getvalue().decode()


@pytest.mark.parametrize(
    ("keyboard", "chosen", "times"),
    [
        (Typed("apply\n"), "apply", 1),
        (Typed(" A \n"), "apply", 1),
        (Typed("\n"), "keep", 1),
        (Typed(""), "keep", 1),
        (Interrupting(), "keep", 1),
        (Typed("what\nk\n"), "keep", 2),
    ],
)
def test_a_choice_is_a_word_or_its_letter_and_nothing_is_the_default(
    invocation: Invocation, monkeypatch: pytest.MonkeyPatch, keyboard: Typed, chosen: str, times: int
) -> None:
    type_into(monkeypatch, keyboard)
    assert invocation.choose("Apply?", KEEP, "keep", view=lambda: Answer(data=None)) == chosen
    assert said().count("Apply? [a/K/v/?] ") == times


def test_a_choice_explains_its_words_and_shows_what_it_is_about(
    invocation: Invocation, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    type_into(monkeypatch, Typed("?\nv\na\n"))
    view = Answer(data=None, blocks=[Line("all that changed")])
    assert invocation.choose("Apply?", KEEP, "keep", view=lambda: view) == "apply"
    assert "k keep: leave it in the sandbox\n" in said()
    assert capsys.readouterr().out == "all that changed\n"


def test_without_a_terminal_or_a_yes_nothing_is_confirmed(
    invocation: Invocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    type_into(monkeypatch, io.StringIO("y\n"))
    with pytest.raises(ConfirmationMissing):
        invocation.confirm("Undo?")
    type_into(monkeypatch, Typed("yes\nno\n"))
    invocation.confirm("Undo?")
    with pytest.raises(Declined):
        invocation.confirm("Undo?")
    assert said() == "Undo? [y/N] Undo? [y/N] "


def test_content_is_shown_before_it_is_trusted(
    invocation: Invocation,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    type_into(monkeypatch, Typed("n\n"))
    (tmp_path / "tools.py").write_text("import mulligan\n")
    data_of(tmp_path, "init")
    standing = FileStanding(path="tools.py", size_bytes=16, sha256="ab12", status="untrusted")
    with pytest.raises(Declined):
        invocation.ask_for_trust(standing, "It is new.")
    shown = capsys.readouterr().out
    assert "tools.py, 16 bytes" in shown
    assert "ab12" in shown


def test_ids_stay_where_the_rows_cannot_be_read(invocation: Invocation) -> None:
    invocation.found = cast("Any", Unusable())
    assert invocation.handles(["01J"]) == {}


def test_rows_that_make_no_sense_are_the_cause_of_what_follows(invocation: Invocation) -> None:
    assert invocation.unsound_rows() is None
    invocation.found = cast("Any", Unusable())
    assert isinstance(invocation.unsound_rows(), DatabaseUnusable)
    invocation.found = cast("Any", Unusable("one", "two", "three", "four"))
    cause = invocation.unsound_rows()
    assert isinstance(cause, MulliganError)
    assert cause.facts["reason"] == "one; two; three"
