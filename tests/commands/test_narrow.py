"""A terminal of sixty columns: lines are broken between words, and what is long is cut with a way to see the rest."""

import re
from pathlib import Path

import pytest

from tests.commands.program import ask, data_of
from tests.support.terminal import on_a_terminal

COLUMNS = 60
MANY = (
    "name: many\nsteps:\n  - {name: a step with a name of several words, tool: shell, args: {command: %s}}\n"
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("p")
    (folder / "many.yaml").write_text(MANY % "for i in $(seq 50); do echo $i > f$i; done")
    (folder / "fails.yaml").write_text(MANY.replace("many", "fails") % "echo why; exit 3")
    data_of(folder, "plan", "execute", "many.yaml")
    assert ask(folder, "plan", "execute", "fails.yaml")["exit_code"] == 1
    return folder


@pytest.mark.parametrize(
    "line",
    [
        "status many",
        "status fails",
        "resume fails",
        "apply fails",
        "rollback many first",
        "apply --dry-run many",
        "resume many",
        "log many",
        "plan tree many",
        "list",
        "show many@1",
        "status nobody",
    ],
)
def test_no_word_is_torn(project: Path, line: str) -> None:
    environ = {"COLUMNS": str(COLUMNS), "PAGER": "cat"}
    _, shown = on_a_terminal(project, *line.split(), columns=COLUMNS, environ=environ, look=_no)
    for text in re.sub(r"\x1b\[[\d;]*[A-Za-z]|\r", "", shown.decode()).split("\n"):
        words = re.findall(r"`[^`]*`|\S+", text)
        assert len(text) <= COLUMNS or len(words) == 1 or re.search(r"`[^`]{40,}`|/\S{30,}|\w{50,}", text), (
            text
        )


def _no(shown: bytes, keyboard: int) -> None:
    if shown.endswith(b"[y/N] "):
        import os

        os.write(keyboard, b"n\n")


def test_a_long_list_is_cut_in_text_and_whole_in_documents(project: Path) -> None:
    _, shown = on_a_terminal(project, "apply", "--dry-run", "many")
    text = shown.decode()
    assert "… and 30 more: mulligan diff --stat many\r\n" in text
    assert text.count("added ") == 20
    assert len(data_of(project, "apply", "--dry-run", "many")["changes"]) == 50
    _, shown = on_a_terminal(project, "rollback", "--dry-run", "many@1")
    assert "… and 30 more: mulligan diff --stat many --from many@1\r\n" in shown.decode()
    _, shown = on_a_terminal(project, "diff", "many", environ={"PAGER": "cat"})
    assert "… and 30 more: mulligan diff --stat many\r\n" in shown.decode()
