"""Changes of a folder that are divided among the calls of agents which were open meanwhile."""

import pytest

from mulligan.domain.agents.attribution import Actor, Span, inside, shares_of, spans_of
from mulligan.domain.checkpoints.snapshot import ObjectId
from mulligan.domain.trees.tree_difference import EntryType, StoredContent, TreeDifference, TreeEntry


def entry(type: EntryType) -> TreeEntry:
    content = StoredContent(ObjectId("x"), 1) if type is EntryType.FILE else None
    return TreeEntry(
        type=type, mode=0o755, content=content, target=b"", shared_with=b"", attributes=(), empty=False
    )


FILE, FOLDER = entry(EntryType.FILE), entry(EntryType.FOLDER)


def actor(name: str, *paths: str, first: int = 1, last: int | None = 5) -> Actor:
    return Actor(name=name, key=name, first=first, last=last, paths=paths)


def shared_between(*actors: Actor) -> Span:
    return Span(first=1, last=5, open=actors)


def test_a_path_that_an_edit_tool_names_is_its_work_and_the_rest_that_of_commands() -> None:
    span = shared_between(actor("edit", "d/a"), actor("command"))
    differences = [TreeDifference("d/a", FILE, FILE), TreeDifference("b", None, FILE)]
    assert shares_of(differences, span, {"edit"}).mine == ("d/a",)
    assert shares_of(differences, span, {"command"}).mine == ("b",)


def test_what_two_commands_may_have_done_is_shared_and_a_folder_is_said_by_what_it_holds() -> None:
    span = shared_between(actor("one"), actor("two"))
    differences = [
        TreeDifference("d", None, FOLDER),
        TreeDifference("d/a", None, FILE),
        TreeDifference("empty", None, FOLDER),
    ]
    shares = shares_of(differences, span, {"one"})
    assert shares.shared == {"d/a": ("one", "two"), "empty": ("one", "two")}
    assert shares.mine == ()


@pytest.mark.parametrize(("old", "new", "mine"), [(None, FILE, ("d/a",)), (FILE, None, ("d", "d/a"))])
def test_a_folder_stays_where_it_holds_the_work_of_others(
    old: TreeEntry | None, new: TreeEntry | None, mine: tuple[str, ...]
) -> None:
    span = shared_between(actor("edit", "d/a"), actor("command"))
    differences = [
        TreeDifference("d", None, FOLDER),
        TreeDifference("d/a", None, FILE),
        TreeDifference("d/theirs", old, new),
    ]
    assert shares_of(differences, span, {"edit"}).mine == mine


def test_times_in_which_a_call_was_open_are_joined_and_undos_are_left_out() -> None:
    calls = [actor("mine", first=1, last=4), actor("later", first=4, last=None)]
    found = spans_of([1, 2, 3, 4, 6], calls, {"mine"}, {})
    assert [(span.first, span.last) for span in found] == [(1, 4)]
    found = spans_of([1, 2, 3, 4, 6], calls, {"mine"}, {2: 3})
    assert [(span.first, span.last) for span in found] == [(1, 2), (3, 4)]
    assert [(span.first, span.last) for span in spans_of([1, 4, 6], calls, {"later"}, {})] == [(4, None)]


def test_paths_of_an_edit_tool_count_where_all_are_in_the_folder() -> None:
    assert inside(["a", "/w/p/b", "../p/c"], "/w/p", "/w/p") == ("a", "b", "c")
    assert inside(["a", "/etc/passwd"], "/w/p", "/w/p") == ()
    assert inside(["../q/a"], "/w/p", "/w/p") == ()
