"""Edits of JSON text: what is asked for changes, and every other byte stays."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mulligan.domain.text.json_edit import (
    JsonTextInvalid,
    json_value,
    with_element,
    with_member,
    without,
    without_empty,
)

SETTINGS = """\
// mine
{
    "model": "x", // the fast one
    "hooks": {
        "Stop": [
            {"hooks": []} /* of the team */
        ],
    }, // end
}
"""


def test_an_element_joins_what_is_there():
    assert (
        with_element(SETTINGS, ["hooks", "Stop"], {"a": 1})
        == """\
// mine
{
    "model": "x", // the fast one
    "hooks": {
        "Stop": [
            {"hooks": []}, /* of the team */
            {
                "a": 1
            }
        ],
    }, // end
}
"""
    )


def test_what_is_missing_on_the_way_is_made():
    assert (
        with_element(SETTINGS, ["hooks", "Start"], 5)
        == """\
// mine
{
    "model": "x", // the fast one
    "hooks": {
        "Stop": [
            {"hooks": []} /* of the team */
        ],
        "Start": [
            5
        ]
    }, // end
}
"""
    )
    assert with_element('{\n\t"a": 1\n}', ["b", "c"], 2) == (
        '{\n\t"a": 1,\n\t"b": {\n\t\t"c": [\n\t\t\t2\n\t\t]\n\t}\n}'
    )


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("", '{\n  "a": [\n    1\n  ]\n}\n'),
        ("\n", '\n{\n  "a": [\n    1\n  ]\n}\n'),
        ("{}", '{\n  "a": [\n    1\n  ]\n}'),
        ("{}\n", '{\n  "a": [\n    1\n  ]\n}\n'),
        ("{\r\n}\r\n", '{\r\n  "a": [\r\n    1\r\n  ]\r\n}\r\n'),
        ('{"b":2}', '{"b":2, "a": [1]}'),
        ('{"a":[]}', '{"a":[1]}'),
        ('{"a":[0]}\n', '{"a":[0, 1]}\n'),
        ("\ufeff{}", '\ufeff{\n  "a": [\n    1\n  ]\n}'),
        ("{ // none\n}", '{ // none\n  "a": [\n    1\n  ]\n}'),
        ('{"a": [0], "a": []}', '{"a": [0], "a": [1]}'),
    ],
)
def test_any_layout_is_kept(text, changed):
    assert with_element(text, ["a"], 1) == changed


def test_a_member_is_added_once():
    once = with_member('{"hooks": {}}', ["version"], 1)
    assert once == '{"hooks": {}, "version": 1}'
    assert with_member(once, ["version"], 2) == once


def test_unwanted_elements_go_and_comments_stay():
    text = '{\n  "a": [\n    1,\n    // two\n    2, // two\n    3\n  ]\n}\n'
    assert without(text, ["a"], 1) == ('{\n  "a": [\n    1,\n    // two // two\n    3\n  ]\n}\n')
    assert without(text, ["a"], 2) == ('{\n  "a": [\n    1,\n    // two\n    2 // two\n  ]\n}\n')
    assert without(text, ["a"], 0) == ('{\n  "a": [\n    // two\n    2, // two\n    3\n  ]\n}\n')


def test_an_element_of_an_element_can_go():
    text = '{"a": [{"b": [1, 2]}]}'
    assert without(text, ["a", 0, "b"], 1) == '{"a": [{"b": [1]}]}'


def test_an_empty_list_can_go_with_its_name():
    text = '{\n  "a": [\n    1\n  ],\n  "b": 2\n}\n'
    emptied = without(text, ["a"], 0)
    assert emptied == '{\n  "a": [],\n  "b": 2\n}\n'
    assert without_empty(emptied, ["a"]) == '{\n  "b": 2\n}\n'
    assert without_empty(text, ["a"]) == text
    assert without_empty(text, ["c"]) == text
    assert without('{"a": [ /* kept */ 1 ]}', ["a"], 0) == '{"a": [ /* kept */ ]}'


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{", 1),
        ("{\n  oops: 1}", 2),
        ('{"a" 1}', 1),
        ('{"a": [1 2]}', 1),
        ("{}\n{}", 2),
        ('{"a": 1..2}', 1),
        ("{" + '"a":{' * 100_000, 1),
        ("[1, tru]", 1),
    ],
)
def test_what_is_not_json_is_refused_with_its_line(text, line):
    with pytest.raises(JsonTextInvalid) as refused:
        json_value(text)
    assert refused.value.line == line
    assert refused.value.reason


@pytest.mark.parametrize("text", ["[]", '{"a": 1}', '{"a": {"b": {}}}'])
def test_what_has_another_shape_is_refused(text):
    with pytest.raises(JsonTextInvalid, match="is not"):
        with_element(text, ["a", "b"], 1)


WORDS = st.text(alphabet='ab"\\/*\n é', max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=10,
)


@given(
    st.dictionaries(st.sampled_from(["hooks", "x", "y"]), VALUES, max_size=3),
    st.sampled_from([None, 1, 2, 4, "\t"]),
    st.booleans(),
)
def test_an_edit_means_what_it_says_and_can_be_taken_back(settings, indent, crlf):
    text = json.dumps(settings, indent=indent, ensure_ascii=False)
    text = text.replace("\n", "\r\n") if crlf else text
    marked = {"mark": "é"}
    try:
        changed = with_element(text, ["hooks", "Stop"], marked)
    except JsonTextInvalid:
        hooks = settings.get("hooks", {})
        assert not isinstance(hooks, dict) or not isinstance(hooks.get("Stop", []), list)
        return
    hooks = settings.get("hooks", {})
    expected = settings | {"hooks": hooks | {"Stop": [*hooks.get("Stop", []), marked]}}
    assert json.loads(changed) == expected == json_value(changed)
    back = without(changed, ["hooks", "Stop"], len(hooks.get("Stop", [])))
    back = back if "Stop" in hooks else without_empty(back, ["hooks", "Stop"])
    back = back if "hooks" in settings else without_empty(back, ["hooks"])
    assert json_value(back) == settings
    if settings.get("hooks", {"": 0}) and hooks.get("Stop", [0]):
        assert back == text
