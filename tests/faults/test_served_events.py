"""Hooks whose server is killed in the middle of an event; the session `served` of nox does it at every passing."""

import pytest

from tests.faults.served import struck


@pytest.mark.parametrize("fault", ["before:group.record:2:SIGKILL", "after:plan.claim:4:SIGKILL"])
def test_an_event_that_was_cut_off_in_the_server_is_recorded_once(fault: str) -> None:
    struck(fault)
