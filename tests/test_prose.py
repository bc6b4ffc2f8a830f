from pathlib import Path

import pytest

from tests import prose


def faults(tmp_path: Path, name: str, content: str) -> list[tuple[int, str]]:
    file = tmp_path / name
    file.write_text(content)
    return [
        (line, fault.split(":")[0]) for text in prose.texts_of(file) for line, fault in prose.faults_in(text)
    ]


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("page.md", "A page\nthat stands here.\n", 2),
        ("module.py", '"""A module."""\n\nTEXT = f"it {1} stands here"\n', 3),
        ("module.py", "x = 1  # as it stands\n", 1),
        ("stub.pyi", "x: int  # as it stands\n", 1),
        ("walk.c", "int stands;\n/* A row\n   stands here. */\n", 3),
        ("plan.yaml", "stands: 1\n# it stands here\n", 2),
    ],
)
def test_a_word_is_found_in_texts_for_people(tmp_path, name, content, line):
    assert faults(tmp_path, name, content) == [(line, "'stands'")]


def test_words_are_found_over_the_end_of_a_line(tmp_path):
    assert faults(tmp_path, "page.md", "It runs by\nitself.\n") == [(1, "'by itself'")]


def test_code_in_pages_and_names_are_not_read(tmp_path):
    assert faults(tmp_path, "page.md", "```sh\nanew\n```\n\n    anew\n\nThe word `anew`.\n") == []
    assert faults(tmp_path, "module.py", "anew = 'anew'\n") == []


@pytest.mark.parametrize("text", ["There is no folder.", "It is no longer there.", "`-` stands for stdin."])
def test_what_is_right_is_left_alone(tmp_path, text):
    assert faults(tmp_path, "page.md", text) == []


def test_a_docstring_begins_with_a_verb_or_a_noun(tmp_path):
    content = '"""Why it fails."""\n\n\ndef f():\n    """How it fails."""\n    return "How it fails"\n'
    assert faults(tmp_path, "module.py", content) == [(1, "begins with 'Why'"), (5, "begins with 'How'")]


def test_every_kind_of_text_is_among_the_files_that_are_read():
    names = {file.relative_to(prose.ROOT).as_posix() for file in prose.files()}
    assert {
        "README.md",
        "docs/glossary.md",
        "pyproject.toml",
        "src/mulligan/cli/main.py",
        "scripts/test",
    } <= names
