"""Lines are broken between words, never inside one or inside a command."""

from hypothesis import given
from hypothesis import strategies as st

from mulligan.cli.answers.answer import Span
from mulligan.cli.terminal.folds import columns, folded, folded_spans

TEXTS = st.lists(
    st.sampled_from(["a", "step", "taken", "back", "`mulligan resume tune`", "日本", "é", "  "])
).map(" ".join)


def test_words_go_on_below() -> None:
    assert folded("1 path changed; taken back", 16) == ["1 path changed;", "taken back"]
    assert folded("short", 16) == ["short"]
    assert folded("run on with `mulligan resume tune`", 20) == ["run on with", "`mulligan resume tune`"]
    assert folded("", 5) == [""]


@given(text=TEXTS, room=st.integers(5, 40))
def test_no_word_is_torn_and_none_is_lost(text: str, room: int) -> None:
    lines = folded(text, room)
    assert " ".join(" ".join(lines).split()) == " ".join(text.split())
    assert all(line.count("`") % 2 == 0 for line in lines)
    assert all(columns(line) <= room or " " not in line.strip() or "`" in line for line in lines)


@given(texts=st.lists(TEXTS, max_size=4), room=st.integers(5, 40))
def test_styles_stay_with_their_words(texts: list[str], room: int) -> None:
    spans = [Span(text, str(number)) for number, text in enumerate(texts)]
    lines = folded_spans(spans, room)
    whole = "".join(texts)
    assert ["".join(span.text for span in line).rstrip() for line in lines] == [
        line.rstrip() for line in folded(whole, room)
    ]
    for span in (span for line in lines for span in line):
        assert span.text in texts[int(span.style)]
