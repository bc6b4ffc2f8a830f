"""What the system refuses leaves every kind of sandbox as an error of ours, with a path."""

import errno
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from mulligan.adapters.sandboxes.folder.folder_copy import DirectorySandboxes
from mulligan.adapters.sandboxes.kind_registry import LocalSandboxKinds
from mulligan.adapters.sandboxes.private_sandbox import Workplace
from mulligan.domain.checkpoints.snapshot import ObjectId, Root, Snapshot, SnapshotId
from mulligan.domain.resources.resource import Resource, ResourceType, Sandbox, Strategy
from mulligan.domain.text.ids import PlanId
from mulligan.errors import SystemFailed
from mulligan.ports import ApplyOrder, SandboxOrder
from tests.support.snapshot_world import Watcher, new_store

PLAN = PlanId("01JZZZZZZZZZZZZZZZZZZZZZZZ")
APP = Resource(
    name="app",
    type=ResourceType.FS_DIRECTORY,
    location="app",
    strategy=None,
    from_revision=None,
    create=False,
)


@pytest.fixture
def kinds(tmp_path: Path) -> LocalSandboxKinds:
    home = tmp_path / ".mulligan"
    place = Workplace(
        store=new_store(home / "store"),
        home=home / "sandboxes",
        project=tmp_path,
        project_home=home,
        user_home=tmp_path / "home",
        pool=lambda: 1,
    )
    kind = DirectorySandboxes(place)
    return LocalSandboxKinds({(ResourceType.FS_DIRECTORY, Strategy.FILESYSTEM_COPY): lambda: kind})


@pytest.fixture
def sandbox(tmp_path: Path, kinds: LocalSandboxKinds) -> Sandbox:
    (tmp_path / "app").mkdir()
    made, _ = kinds.choose(APP, Strategy.AUTO).create(_order(tmp_path), Watcher())
    return made


def _order(folder: Path) -> SandboxOrder:
    return SandboxOrder(
        plan_id=PLAN,
        resource=APP,
        location=folder / "app",
        path=folder / ".mulligan" / "sandboxes" / PLAN / "app",
        excluded=frozenset(),
        include_ignored=True,
    )


def _refuse(monkeypatch: pytest.MonkeyPatch, method: str, *filename: str) -> None:
    def refuse(*_arguments: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), *filename)

    monkeypatch.setattr(DirectorySandboxes, method, refuse)


@pytest.mark.parametrize("names", [(), ("name in an open folder",)])
def test_a_write_that_names_no_file_is_about_the_sandbox(
    kinds: LocalSandboxKinds, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]
) -> None:
    _refuse(monkeypatch, "capture", *names)
    with pytest.raises(SystemFailed) as caught:
        kinds.of(sandbox).capture(sandbox, Watcher())
    assert caught.value.facts == {"path": sandbox.path, "reason": "No space left on device"}


def test_a_write_that_names_a_file_keeps_its_name(
    kinds: LocalSandboxKinds, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    _refuse(monkeypatch, "capture", "/some/file")
    with pytest.raises(SystemFailed) as caught:
        kinds.of(sandbox).capture(sandbox, Watcher())
    assert caught.value.facts["path"] == "/some/file"


def test_a_sandbox_that_cannot_be_made_is_about_its_own_place(
    tmp_path: Path, kinds: LocalSandboxKinds, monkeypatch: pytest.MonkeyPatch
) -> None:
    _refuse(monkeypatch, "create")
    with pytest.raises(SystemFailed) as caught:
        kinds.choose(APP, Strategy.AUTO).create(_order(tmp_path), Watcher())
    assert caught.value.facts["path"] == str(_order(tmp_path).path)


def test_other_calls_name_the_folder_that_they_are_about(
    tmp_path: Path, kinds: LocalSandboxKinds, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    for method in ("export", "compose"):
        _refuse(monkeypatch, method)
    snapshot, kind = Snapshot(()), kinds.of(sandbox)
    with pytest.raises(SystemFailed) as caught:
        kind.export(snapshot, tmp_path / "target", Watcher())
    assert caught.value.facts["path"] == str(tmp_path / "target")
    root = Root(SnapshotId("00"), ObjectId("00"))
    order = ApplyOrder(
        sandbox=sandbox,
        real=replace(sandbox, path=str(tmp_path / "app")),
        base=snapshot,
        theirs=snapshot,
        ours=snapshot,
        files=root,
        changed=(),
        message=None,
        withdraws=None,
        included=frozenset(),
        at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    with pytest.raises(SystemFailed) as caught:
        kind.compose(order)
    assert caught.value.facts["path"] == str(tmp_path / "app")


def test_what_is_not_a_call_stays_as_it_is(kinds: LocalSandboxKinds, sandbox: Sandbox) -> None:
    assert kinds.of(sandbox).type is ResourceType.FS_DIRECTORY
    assert kinds.of(sandbox).strategy is Strategy.FILESYSTEM_COPY
