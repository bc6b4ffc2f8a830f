"""Handles of plans, and the words that name what is in them."""

from collections.abc import Iterator
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mulligan.domain.plans import handle
from mulligan.domain.plans.handle import (
    GroupReference,
    HandleSupply,
    free_handle,
    group_reference,
    handles_for,
    member_number,
    numbered_handles,
    plain_word,
)


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("tune", "tune"),
        ("Split names!", "split-names"),
        ("v1.2_final-3", "v1.2_final-3"),
        ("--all", "all"),
        ("été", "t"),
        ("日本", "plan"),
        ("...", "plan"),
        ("a@3", "a-3"),
        ("docs/api", "docs-api"),
        ("x" * 40, "x" * 32),
        ("x" * 31 + "- y", "x" * 31),
    ],
)
def test_a_name_becomes_a_plain_word(name: str, word: str) -> None:
    assert plain_word(name) == word


@pytest.mark.parametrize(
    ("name", "parent", "handles"),
    [
        ("tune", None, ["tune", "tune-2", "tune-3"]),
        ("docs", "tune", ["tune.docs", "tune.docs-2", "tune.docs-3"]),
        ("latest", None, ["latest-2", "latest-3", "latest-4"]),
        ("first", None, ["first-2", "first-3", "first-4"]),
        ("first", "tune", ["tune.first", "tune.first-2", "tune.first-3"]),
        ("01K00000000000000000000001", None, ["01k00000000000000000000001-2"]),
        ("x" * 32, None, ["x" * 32, "x" * 30 + "-2"]),
    ],
)
def test_handles_are_tried_in_order(name: str, parent: str | None, handles: list[str]) -> None:
    assert list(islice(handles_for(name, parent), len(handles))) == handles


def test_the_first_free_one_is_taken() -> None:
    assert free_handle("tune", None, {"tune", "tune-2", "tune-4"}) == "tune-3"


@given(st.lists(st.tuples(st.sampled_from(["a", "A", "a-2", "first", "x" * 40]), st.none() | st.just("p"))))
def test_a_supply_gives_each_plan_the_first_free_one(plans: list[tuple[str, str | None]]) -> None:
    supply, taken = HandleSupply(), set[str]()
    for name, parent in plans:
        expected = free_handle(name, parent, taken)
        assert supply.next_for(name, parent) == expected
        taken.add(expected)


def test_a_supply_tries_no_handle_twice_for_many_plans_of_one_word(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = list[str]()

    def noted(name: str, parent: str | None) -> Iterator[str]:
        for each in handles_for(name, parent):
            tried.append(each)
            yield each

    monkeypatch.setattr(handle, "handles_for", noted)
    supply = HandleSupply()
    given = [supply.next_for(name, None) for name in ("Long run", "long run", "long-run") for _ in range(100)]
    assert len({*given}) == 300
    assert tried == given


@given(st.text(max_size=50), st.none() | st.just("tune"), st.integers(1, 1200))
def test_numbered_handles_for_a_name_are_between_two_bounds(
    name: str, parent: str | None, number: int
) -> None:
    start, end = numbered_handles(name, parent)
    handle = next(islice(handles_for(name, parent), number, None))
    assert start <= handle < end
    assert handle.isascii()
    assert handle == handle.lower()


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("@3", GroupReference("", 3)),
        ("tune@3", GroupReference("tune", 3)),
        ("tune.docs@12", GroupReference("tune.docs", 12)),
        ("@-1", GroupReference("", -1)),
        ("tune@-2", GroupReference("tune", -2)),
        ("@0", None),
        ("@", None),
        ("3", None),
        ("tune@x", None),
        ("a@b@3", None),
        ("@3 ", None),
    ],
)
def test_a_group_goes_by_its_number(word: str, meant: GroupReference | None) -> None:
    assert group_reference(word) == meant


@pytest.mark.parametrize(
    ("word", "kind", "meant"),
    [
        ("tune/d1", "d", ("tune", 1)),
        ("tune.docs/d12", "d", ("tune.docs", 12)),
        ("tune/c1", "c", ("tune", 1)),
        ("tune/c1", "d", None),
        ("/d1", "d", None),
        ("d1", "d", None),
        ("tune/pick", "d", None),
    ],
)
def test_decisions_and_corrections_go_by_their_numbers(
    word: str, kind: str, meant: tuple[str, int] | None
) -> None:
    assert member_number(word, kind) == meant
