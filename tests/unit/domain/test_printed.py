"""What a call printed comes back from its record byte by byte, and an excerpt of it stays readable."""

from hypothesis import given
from hypothesis import strategies as st

from mulligan.domain.views.printed import Printed, omission, printed_in

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(stdout=st.binary(), stderr=st.binary())
def test_any_bytes_come_back(stdout: bytes, stderr: bytes) -> None:
    printed = Printed(stdout=stdout, stderr=stderr, stdout_omitted=3)
    assert printed_in(printed.stored(None), None) == printed


@given(text=TEXT, ending=st.sampled_from(["", "\n", "\r\n"]))
def test_what_is_the_output_of_the_call_is_not_stored_twice(text: str, ending: str) -> None:
    printed = Printed(stdout=(text + ending).encode(), stderr=b"")
    stored = printed.stored(text)
    assert printed_in(stored, text) == printed
    assert stored["printed"]["stdout"] == {"ending": ending}  # pyright: ignore[reportIndexIssue, reportOptionalSubscript, reportCallIssue, reportArgumentType] - it is a mapping


def test_an_output_with_replaced_bytes_is_stored_beside_it() -> None:
    printed = Printed(stdout=b"\xff\n", stderr=b"")
    assert printed_in(printed.stored("\ufffd"), "\ufffd") == printed


def test_a_call_of_a_tool_that_prints_nothing_has_no_record_of_it() -> None:
    assert printed_in({"paths": ["a"]}, "a") is None


@given(text=TEXT, limit=st.integers(8, 40))
def test_an_excerpt_counts_what_it_leaves_out_and_cuts_no_character(text: str, limit: int) -> None:
    data = text.encode()
    printed = Printed(stdout=data, stderr=b"x" * 100, stderr_omitted=1).bounded(limit)
    assert printed.stderr_omitted == 101 - limit // 2 * 2 if limit % 2 == 0 else printed.stderr_omitted > 0
    if len(data) <= limit:
        assert (printed.stdout, printed.stdout_omitted) == (data, 0)
        return
    first, last = printed.stdout.split(omission(printed.stdout_omitted), 1)
    assert data.startswith(first)
    assert data.endswith(last)
    assert len(first) + len(last) + printed.stdout_omitted == len(data)
    assert printed.stdout.decode() == printed.content()["stdout"]


def test_bytes_that_are_no_text_are_spelled_in_documents() -> None:
    assert Printed(stdout=b"a\xff", stderr=b"").content()["stdout"] == "a\\xff"
