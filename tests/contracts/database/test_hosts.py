"""Rows know the machines of a shared project, and which of them has what."""

import pytest
from msgspec.structs import replace

from mulligan.domain.resources.host import Host
from mulligan.domain.resources.resource import ResourceType, Sandbox, Strategy
from mulligan.errors import HostHasHome
from mulligan.rows.database import Database
from mulligan.rows.host_names import note_host
from mulligan.rows.place_codec import Places
from mulligan.rows.sql_connection import SqlConnection
from tests.contracts.database.conftest import PLAN
from tests.unit.examples import a_snapshot

HERE = Host(host="H1", name="build-7", home="/home/of/it", folder="/project")


def test_a_machine_is_noted_once_and_again_where_it_changed(
    connection: SqlConnection, empty: Database
) -> None:
    for host in (HERE, HERE, replace(HERE, name="renamed"), replace(HERE, host="H2")):
        note_host(connection, host, lambda _: False)
    with empty.reading() as db:
        assert [h.host for h in db.hosts.all()] == ["H1", "H2"]
        assert db.hosts.name_of("H1") == "renamed"
        assert db.hosts.name_of("nobody") == "nobody"


def test_a_home_may_move_but_not_be_two(connection: SqlConnection) -> None:
    note_host(connection, HERE, lambda _: False)
    note_host(connection, replace(HERE, home="/moved"), lambda home: home != HERE.home)
    with pytest.raises(HostHasHome):
        note_host(connection, replace(HERE, home="/a/copy"), lambda home: home == "/moved")


def test_a_sandbox_is_on_the_machine_that_recorded_it(connection: SqlConnection, database: Database) -> None:
    sandbox = Sandbox(
        plan_id=PLAN,
        resource="workspace",
        type=ResourceType.FS_DIRECTORY,
        strategy=Strategy.FILESYSTEM_COPY,
        location="/p/w",
        path="/h/sandboxes/w",
        base=a_snapshot("b"),
        excluded=(),
        branch=None,
        git_dir=None,
    )
    here = Database(lambda: connection, Places(home="/h", project="/p", host="H1"))
    with here.writing() as db:
        assert db.sandboxes.add(sandbox).host == "H1"
    elsewhere = Database(lambda: connection, Places(home="/other", project="/q", host="H2"))
    with elsewhere.reading() as db:
        found = db.sandboxes.list(PLAN)[0]
    assert (found.host, found.path, found.location) == ("H1", "/other/sandboxes/w", "/q/w")
