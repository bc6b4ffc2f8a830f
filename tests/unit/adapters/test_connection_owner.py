"""The user at the other end of a TCP connection."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from mulligan.adapters.local_server import connection_owner
from mulligan.adapters.local_server.connection_owner import is_of_another_user
from tests.support.ordinary_user import as_ordinary_user
from tests.support.patience import wait_until


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def test_a_connection_of_ones_own_is_known(listening: socket.socket) -> None:
    with socket.create_connection(listening.getsockname()) as client:
        assert not is_of_another_user(client.getsockname(), listening.getsockname())


def test_a_connection_that_its_process_has_closed_is_no_longer_anyones(listening: socket.socket) -> None:
    client = socket.create_connection(listening.getsockname())
    ends = client.getsockname(), listening.getsockname()
    accepted, _ = listening.accept()
    with accepted:
        client.close()
        wait_until(lambda: is_of_another_user(*ends), "the system has taken it over")


def test_root_may_connect_to_anyone(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        mine = socket.create_connection(listening.getsockname())

        def check(_: Path) -> None:
            assert not is_of_another_user(mine.getsockname(), listening.getsockname())

        with mine:
            as_ordinary_user(tmp_path, check)


def test_what_is_not_listed_is_not_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = ("127.0.0.1", 1)
    assert not is_of_another_user(here, here)
    monkeypatch.setattr(connection_owner, "_TABLE", tmp_path / "missing")
    assert not is_of_another_user(here, here)
