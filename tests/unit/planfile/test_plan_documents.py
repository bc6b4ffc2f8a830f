"""YAML that is no plan file: refused at its place, within bounds, whichever loader reads it."""

from collections.abc import Callable

import pytest
import yaml

from mulligan.errors import PlanFileInvalid
from mulligan.planfile.yaml_document import (
    FASTEST_LOADER,
    Entries,
    Items,
    Node,
    Scalar,
    YamlLoader,
    read_document,
)
from tests.support.planfiles import place, read, refused

Reading = Callable[[str | bytes], Node]


@pytest.fixture(params=[yaml.CSafeLoader, yaml.SafeLoader], ids=["c", "python"])
def document(request: pytest.FixtureRequest) -> Reading:
    loader: YamlLoader = request.param

    def reading(text: str | bytes) -> Node:
        return read_document(text.encode() if isinstance(text, str) else text, "plan.yaml", loader)

    return reading


def fault(document: Reading, text: str | bytes) -> tuple[object, object, object, object]:
    with pytest.raises(PlanFileInvalid) as caught:
        document(text)
    return *place(caught.value), caught.value.facts["reason"]


def test_the_fast_loader_is_used_where_it_is_there() -> None:
    assert FASTEST_LOADER is yaml.CSafeLoader


def test_nodes_know_their_text_and_place(document: Reading) -> None:
    assert document("a: 1\nb:\n  - 'x'\n  - {c: y}\n") == Entries(
        1,
        1,
        (
            (Scalar(1, 1, "a", True), Scalar(1, 4, "1", True)),
            (
                Scalar(2, 1, "b", True),
                Items(
                    3,
                    3,
                    (
                        Scalar(3, 5, "x", False),
                        Entries(4, 5, ((Scalar(4, 6, "c", True), Scalar(4, 9, "y", True)),)),
                    ),
                ),
            ),
        ),
    )


def test_an_alias_repeats_what_its_anchor_holds(document: Reading) -> None:
    node = document("a: &x [1]\nb: *x\nc: *x\n")
    assert isinstance(node, Entries)
    assert len({id(value) for _, value in node.pairs}) == 1


def test_an_anchor_can_be_used_anew(document: Reading) -> None:
    node = document("[&x a, *x, &x b, *x]")
    assert isinstance(node, Items)
    assert [item.text for item in node.nodes if isinstance(item, Scalar)] == ["a", "a", "b", "b"]


@pytest.mark.parametrize(
    ("text", "where", "reason"),
    [
        ("", (1, 1, "document"), "the file is empty"),
        ("# nothing\n", (1, 1, "document"), "the file is empty"),
        ("a: 1\n---\nb: 2\n", (2, 1, "document"), "a second document; one plan a file"),
        ("a: 1\nb: 2\na: 3\n", (3, 1, "document"), "the key 'a' is there twice"),
        ("s:\n- {'1': a, 1: b}\n", (2, 12, "s[0]"), "the key '1' is there twice"),
        (
            "a:\n  <<: {b: 1}\n",
            (2, 3, "a"),
            "merge keys (<<) have no meaning in a plan file; write the keys out",
        ),
        ("? [a]\n: 1\n", (1, 3, "document"), "a key must be a text, not a list or mapping"),
        ("a: &x {b: 1}\n*x : 2\n", (2, 1, "document"), "a key must be a text, not a list or mapping"),
        ("a: [*x]\n", (1, 5, "a[0]"), "the alias 'x' repeats nothing that comes before it"),
        ("a: &x [b, *x]\n", (1, 11, "a[1]"), "the alias 'x' is inside of what it repeats"),
        ("a: &x {b: [*x]}\n", (1, 12, "a.b[0]"), "the alias 'x' is inside of what it repeats"),
        (
            "a: !!python/x y\n",
            (1, 4, "a"),
            "the tag 'tag:yaml.org,2002:python/x' has no meaning in a plan file; quote what is meant as text",
        ),
        (
            "a: !x [1]\n",
            (1, 4, "a"),
            "the tag '!x' has no meaning in a plan file; quote what is meant as text",
        ),
        ("a: \x07b\n", (1, 4, "document"), "the character U+0007 must be written as an escape"),
        ("a: b\r\nc: \0\n", (2, 4, "document"), "the character U+0000 must be written as an escape"),
        (b"a: b\nc: d\xc3\xa9\xff\n", (2, 6, "document"), "not UTF-8 text"),
        (b"\xff\xfea\0", (1, 1, "document"), "not UTF-8 text"),
        (b"\xef\xbb\xbfa: \xff\n", (1, 4, "document"), "not UTF-8 text"),
        (b"#" * (8 * 1024 * 1024 + 1), (1, 1, "document"), "the file is larger than 8192 KiB"),
        ("- " * 40 + "[]", (1, 81, "[0]" * 40), "nested deeper than 40"),
        ("a: " + "[" * 100_000, (1, 43, "a" + "[0]" * 39), "nested deeper than 40"),
        ("a: &x 1\nb: [" + "*x, " * 101 + "]", (2, 405, "b[100]"), "more than 100 aliases"),
    ],
)
def test_a_document_with_a_fault_is_refused_at_its_place(
    document: Reading, text: str | bytes, where: tuple[int, int, str], reason: str
) -> None:
    assert fault(document, text) == (*where, reason)


@pytest.mark.parametrize(("text", "line"), [("a: [\n", 2), ("a: 'b\n", 2), ("a: b: c\n", 1), ("a: @b\n", 1)])
def test_what_is_not_yaml_is_refused_at_its_line(document: Reading, text: str, line: int) -> None:
    found_line, _, _, reason = fault(document, text)
    assert found_line == line
    assert str(reason).startswith("not YAML: ")


def test_values_are_counted(document: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mulligan.planfile.yaml_document.MOST_NODES", 1000)
    items = ",".join("a" for _ in range(1000))
    _, column, path, reason = fault(document, f"[{items}]")
    assert (column, path) == (2000, "[999]")
    assert reason == "more than 1000 values, counted as often as aliases repeat them"


def test_aliases_of_aliases_cannot_grow_without_bound(document: Reading) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    line, _, path, reason = fault(document, "\n".join(lines))
    assert (line, path) == (6, "a5[1]")
    assert "more than 250000 values" in str(reason)


def test_a_long_text_cannot_be_repeated_without_bound(document: Reading) -> None:
    text = f"a: &a {'x' * 1_000_000}\nb: &b [*a, *a, *a, *a, *a]\nc: [*b, *b, *b]\n"
    line, _, path, reason = fault(document, text)
    assert (line, path) == (3, "c[2]")
    assert reason == "more than 16777216 characters, counted as often as aliases repeat them"


def test_forty_levels_and_a_hundred_aliases_are_read(document: Reading) -> None:
    node, depth = document("- " * 39 + "[]"), 0
    while isinstance(node, Items):
        depth += 1
        node = node.nodes[0] if node.nodes else None
    assert (node, depth) == (None, 40)
    read_twice = document("a: &x 1\nb: [" + "*x, " * 100 + "]")
    assert isinstance(read_twice, Entries)
    (_, one), (_, many) = read_twice.pairs
    assert isinstance(many, Items)
    assert many.nodes == (one,) * 100


def test_half_a_character_is_refused(document: Reading) -> None:
    line, _, path, reason = fault(document, 'a: 1\nb: "\\ud800"\n')
    assert (line, path) == (2, "b")
    assert "not YAML" in str(reason) or "half of a surrogate pair" in str(reason)


def test_a_byte_order_mark_is_ignored(document: Reading) -> None:
    assert document(b"\xef\xbb\xbfa: 1\n") == document("a: 1\n")


def test_an_error_inside_odd_keys_has_a_readable_path(document: Reading) -> None:
    assert fault(document, "a b: {'\\n': 1, c: {\"x]\": [*y]}}\n")[2] == "['a b'].c['x]'][0]"
    assert fault(document, f"{'k' * 120}: [*y]\n")[2] == f"['{'k' * 56}...][0]"


@pytest.mark.parametrize("text", ["---\n", "[]", "just text", "42"])
def test_a_document_that_is_no_mapping_is_no_plan(text: str) -> None:
    assert "expected a mapping" in str(refused(text).facts["reason"])


def test_a_plan_may_start_with_a_document_mark_and_end_with_one() -> None:
    assert read("%YAML 1.1\n---\nname: p\nsteps: [{tool: tidy}]\n...\n").name == "p"
