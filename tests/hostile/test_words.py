"""Ids, labels and names that mean harm: refused or shown harmless to people, and exact in documents."""

import os
from pathlib import Path

import pytest

from tests.commands.program import ask, data_of
from tests.hostile.program import refused, say

ESCAPE, TURNED = "\x1b[31mred\x1b]0;title\x07", "gp\u202eexe.txt"
MARKUP = "[bold red]x[/] :smile: [link=file:///etc/passwd]y[/link]"
LATIN = os.fsdecode(b"latin-\xe9")
NAMES = (
    *(ESCAPE, TURNED, MARKUP.replace("/", "|"), LATIN, "two\nlines", "tab\there", "-rf", "\u200bzero"),
    "'; DROP TABLE plans; --",
)
PLAN = f"""\
name: "{MARKUP}"
config: {{sandbox.at: own-path}}
steps:
  - {{name: make, tool: shell, args: {{command: 'cp -r ../../../../made/. .'}}}}
  - {{name: loud, tool: shell, args: {{command: "printf '\\\\033[31mred'; printf '\\\\033[31mred' >&2; exit 1"}}}}
"""
IDS = (
    *("", " ", "\0", "..", "../..", "/", "*", "%", "%s", "{0}", "-", "01", "a" * 100_000, "latest\n", "\U0001f600"),
    *("'; DROP TABLE plans; --", '" OR 1=1 --', ESCAPE, TURNED, LATIN, "\ud800", "1e400", "9" * 5000),
)  # fmt: skip
COMMANDS = (
    ("plan", "status"),
    ("plan", "log"),
    ("plan", "resume"),
    ("plan", "cancel"),
    ("plan", "execute"),
    ("plan", "rollback", "--yes", "latest"),
    ("checkpoint", "show"),
    ("checkpoint", "verify"),
    ("checkpoint", "delete"),
    ("checkpoint", "diff", "first"),
    ("checkpoint", "create", "--label", "x"),
    ("config", "get"),
    ("tool", "show"),
    ("undo", "--yes"),
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "made").mkdir()
    for name in NAMES:
        (folder / "made" / name).write_text(name, errors="surrogateescape")
    (folder / "plan.yaml").write_text(PLAN.replace("../../../../made", str(folder / "made")))
    assert say(folder, "plan", "execute", "plan.yaml").code == 1
    return folder


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_ids_that_name_nothing(project: Path, words: tuple[str, ...]) -> None:
    for number, name in enumerate(IDS):
        if number % 3 and len(words) > 2:  # a sample is enough where the same code looks the word up
            continue
        refused(project, (*words, "--", name), 1, 2, 3)
    assert len(say(project, "plan", "list").document["data"]["plans"]) == 1


def test_words_of_a_diff_that_name_nothing(project: Path) -> None:
    for name in IDS:
        refused(project, ("plan", "diff", name), 1, 2, 3)
        said = say(project, "plan", "diff", "--", name)  # a path
        known = name in ("*", "'; DROP TABLE plans; --", ESCAPE, TURNED, LATIN)
        assert said.code == 2 or (said.code == 0 and bool(said.document["data"]["files"]) == known), name


@pytest.mark.parametrize(
    "label", [ESCAPE, TURNED, "a\nb", "a\0b", "", "first", "latest", "x" * 300, "\ud800"]
)
def test_labels_that_cannot_be_seen_are_refused(project: Path, label: str) -> None:
    refused(project, ("checkpoint", "create", "latest", "--label", label), 2)


def test_a_label_that_looks_like_a_command_to_the_screen_is_shown_as_it_is(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")  # so that no line is broken
    assert say(project, "checkpoint", "create", "latest", "--label", MARKUP).code == 0
    for format in ("rich", "plain"):
        assert MARKUP.encode() in say(project, "checkpoint", "show", MARKUP, format=format).stdout
    listed = say(project, "checkpoint", "list").document["data"]["checkpoints"]
    assert listed[-1]["label"] == MARKUP


@pytest.mark.parametrize("format", ["rich", "plain"])
@pytest.mark.parametrize(
    "words",
    [
        ("plan", "status"),
        ("plan", "log"),
        ("plan", "tree"),
        ("plan", "rollback", "--dry-run", "latest", "first"),
    ],
    ids=" ".join,
)
def test_names_cannot_speak_to_the_screen(project: Path, words: tuple[str, ...], format: str) -> None:
    said = say(project, *words, format=format)
    shown = said.stdout.decode("utf-8", "replace") + said.stderr
    assert not any(c in shown for c in ("\x1b", "\x07", "\u202e", "\u200b", "\t")), shown
    assert all(line.isprintable() for line in shown.splitlines())


def test_names_are_exact_in_documents(project: Path) -> None:
    answer = say(project, "plan", "rollback", "--dry-run", "latest", "first").document
    files = {change["file"] for change in answer["data"]["changes_reverted"]}
    assert files >= {name for name in NAMES if name != LATIN} | {"latin-\\xe9"}


def test_numbers_that_no_database_holds_are_as_good_as_others(project: Path) -> None:
    number = "9" * 25
    for words in (("log",), ("plan", "list"), ("checkpoint", "list", "latest"), ("plan", "log", "latest")):
        assert data_of(project, *words, "--limit", number) == data_of(project, *words), words
    for words in (("undo", "--yes"), ("log",), ("undo", "--yes", "--only")):
        assert ask(project, *words, number)["error"]["kind"] != "internal_error", words
