"""What may be a name, and what a mistyped word probably meant."""

import time

import pytest

from mulligan.domain.text.names import (
    label_problem,
    name_problem,
    nearest_word,
    plan_name_problem,
    resource_name_problem,
)


@pytest.mark.parametrize("name", ["bump", "choose parser", "étape 1", "準備", "a" * 200, "a/b", "👩‍💻"])
def test_any_line_of_text_can_be_a_name(name: str) -> None:
    assert name_problem(name) is None
    assert plan_name_problem(name) is None
    assert label_problem(name) is None


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "is empty"),
        ("  ", "is empty"),
        ("a" * 201, "is longer than 200 characters"),
        ("a\nb", "holds the character U+000A, which cannot be seen"),
        ("a\x1b[31m", "holds the character U+001B, which cannot be seen"),
        ("a\u202eb", "holds the character U+202E, which cannot be seen"),
        (" a", "begins or ends with a space"),
    ],
)
def test_what_cannot_be_seen_or_told_apart_cannot_be_a_name(name: str, problem: str) -> None:
    assert name_problem(name) == problem
    assert label_problem(name) == problem
    assert resource_name_problem(name) == problem.replace("200 characters", "200 bytes")


def test_words_that_commands_understand_otherwise_are_taken() -> None:
    assert plan_name_problem("latest") == "means another plan each time"
    assert plan_name_problem("first") is None
    assert label_problem("latest") == "means another checkpoint each time"
    assert label_problem("first") == "means another checkpoint each time"


@pytest.mark.parametrize("name", ["a/b", "..", ".git", "é" * 101])
def test_a_resource_must_be_able_to_name_a_folder(name: str) -> None:
    assert resource_name_problem(name) is not None


def test_a_resource_can_have_a_name_with_spaces() -> None:
    assert resource_name_problem("my app") is None


def test_the_nearest_word_is_found_whatever_its_case() -> None:
    assert nearest_word("SHEL", ["sql", "shell"]) == "shell"
    assert nearest_word("write-file", ["write_file", "shell"]) == "write_file"
    assert nearest_word("zzz", ["write_file", "shell"]) is None


def test_nonsense_does_not_take_long() -> None:
    start = time.process_time()
    nearest_word("ab" * 500_000, ["ab" * 50 + str(i) for i in range(100_000)])
    assert time.process_time() - start < 30
