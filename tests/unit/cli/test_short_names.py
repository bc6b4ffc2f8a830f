"""In texts for people words take the place of ids."""

from collections.abc import Collection

from mulligan.cli.answers.answer import Document, Drawing, Line, Patch, Row, Span, Table
from mulligan.cli.short_names import ShortNames
from mulligan.errors import Advice, NextStep

PLAN, CHECKPOINT, OTHER = (
    "01M7GNMRCBKY01718P1K49EC6Q",
    "01M7GNMRDTGNEW3FK9X193SP70",
    "01M7GNMRDTGNEW3FK9X193SP7Z",
)
KNOWN = {PLAN: "tune", CHECKPOINT: "tune@3"}


class Lookup:
    """A database of words that counts the questions."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def __call__(self, ids: Collection[str]) -> dict[str, str]:
        self.asked.append(sorted(ids))
        return {id: KNOWN[id] for id in ids if id in KNOWN}


def names(*, show_ids: bool = False) -> tuple[ShortNames, Lookup]:
    lookup = Lookup()
    return ShortNames(lookup, show_ids=show_ids), lookup


def test_ids_become_words_and_unknown_ones_stay() -> None:
    short, lookup = names()
    assert short.text(f"plan {PLAN} at {CHECKPOINT}, not {OTHER}") == f"plan tune at tune@3, not {OTHER}"
    assert len(lookup.asked) == 1
    assert short.text("nothing here") == "nothing here"
    assert len(lookup.asked) == 1


def test_a_path_stays_what_it_is() -> None:
    path = f"/p/.mulligan/sandboxes/{PLAN}/workspace"
    assert names()[0].text(path) == path
    assert names()[0].text(f"refs/mulligan/{PLAN}") == f"refs/mulligan/{PLAN}"


def test_ids_are_added_but_never_to_a_command() -> None:
    short, _ = names(show_ids=True)
    assert (
        short.text(f"plan {PLAN}: `mulligan resume {PLAN}`") == f"plan tune ({PLAN}): `mulligan resume tune`"
    )
    assert short.text(f"… and 3 more: mulligan diff {PLAN}") == "… and 3 more: mulligan diff tune"
    advice = Advice(f"of {PLAN}: ", NextStep("resume", plan=PLAN))
    assert short.text(advice) == f"of tune ({PLAN}): `mulligan resume tune`"


def test_a_checkpoint_names_its_plan() -> None:
    step = NextStep("rollback", plan=PLAN, checkpoint=CHECKPOINT)
    assert names()[0].text(Advice(step)) == "`mulligan rollback tune@3`"
    step = NextStep("rollback", plan=PLAN, checkpoint=...)
    assert names()[0].text(Advice(step)) == "`mulligan rollback tune CHECKPOINT`"


def test_every_block_is_without_ids_but_contents_are_not_touched() -> None:
    short, lookup = names()
    contents = PLAN.encode()
    blocks = short.blocks(
        [
            Line(f"{PLAN}: complete", title=True),
            Table(("PLAN",), ((PLAN,), (CHECKPOINT,))),
            Drawing((Row(lead=(), words=(Span(f"at {CHECKPOINT}", "bold"),), rest=""),)),
            Patch(contents, (Line(f"of {PLAN}"),)),
            Document(contents),
        ]
    )
    assert blocks == [
        Line("tune: complete", title=True),
        Table(("PLAN",), (("tune",), ("tune@3",))),
        Drawing((Row(lead=(), words=(Span("at tune@3", "bold"),), rest=""),)),
        Patch(contents, (Line("of tune"),)),
        Document(contents),
    ]
    assert lookup.asked == [[PLAN, CHECKPOINT]]


def test_what_is_known_is_not_asked_for() -> None:
    short, lookup = names()
    short.know({PLAN: "tune", CHECKPOINT: "tune@3"})
    assert short.text(f"{PLAN} {CHECKPOINT}") == "tune tune@3"
    assert lookup.asked == []
