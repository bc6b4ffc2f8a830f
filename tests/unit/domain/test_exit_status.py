"""How commands ended, in words."""

import signal

import pytest

from mulligan.domain.text.exit_status import brief_status, ended, signal_name


@pytest.mark.parametrize(
    ("status", "long", "brief"),
    [
        (0, "exit status 0", "0"),
        (2, "exit status 2", "2"),
        (-9, "SIGKILL", "SIGKILL"),
        (-41, "signal 41", "signal 41"),
    ],
)
def test_a_signal_is_named_and_a_status_is_a_number(status: int, long: str, brief: str) -> None:
    assert (ended(status), brief_status(status)) == (long, brief)


def test_signals_have_the_names_of_this_system() -> None:
    named = [number for number in signal.valid_signals() if number < signal.SIGRTMIN]
    assert {signal_name(number) for number in named} == {signal.Signals(number).name for number in named}
