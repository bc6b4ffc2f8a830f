"""What someone saves while real files are changed is never lost, at whatever instant and however it is saved.

Saves happen at a seeded sample of all instants here, and at many more with `scripts/test -s saves`.
"""

import itertools
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from mulligan.application.apply.apply_preparation import Application
from mulligan.domain.plans.event import Event, EventType
from mulligan.errors import ApplyConflicted, ChangedMeanwhile, MulliganError, RestoreIncomplete
from tests.faults.projects import project_in
from tests.faults.saves import SAVES, Instants, chosen, holds, in_a_checkpoint, saving
from tests.support.applied import complete, files_in, write
from tests.support.homes import home_of, homes_beside
from tests.support.keeping import keep, put_back

MINE = b"precious work of the user\n"
OLD = {"changed": "old\n", "gone": "old\n", "kept": "old\n", "folder/one": "old\n", "folder/two": "old\n"}
NEW = {"changed": "new\n", "made": "new\n", "kept": "old\n", "born/inside": "new\n"}
# Everything is done to these: replaced, removed, made, left alone, removed with its folder, made with its folder.
TARGETS = ("changed", "gone", "made", "kept", "folder/one", "born/inside")


@dataclass(frozen=True)
class World:
    """A project that is ready for a command that changes real files, and can be made so again."""

    folder: Path
    template: Path
    start: dict[str, bytes]
    end: dict[str, bytes]
    command: Callable[[], object]

    @property
    def real(self) -> Path:
        return self.folder / "site"

    def reset(self) -> None:
        put_back(self.template, self.folder)


def _world(
    folder: Path, start: dict[str, bytes], end: dict[str, bytes], command: Callable[[], object]
) -> World:
    template = folder.with_name("template")
    keep(folder, template)
    return World(folder, template, start, end, command)


def _bytes(files: dict[str, str]) -> dict[str, bytes]:
    return {name: text.encode() for name, text in files.items()}


def _change(folder: Path) -> None:
    shutil.rmtree(folder / "folder")
    write(folder, {"gone": None, "changed": "new\n", "made": "new\n", "born/inside": "new\n"})


def _done(answer: tuple[object, Application]) -> None:
    """A conflict is an answer; here it ends the command as any other refusal does."""
    if answer[1].error is not None:
        raise answer[1].error


def applying(folder: Path) -> World:
    write(folder / "site", OLD)
    site = complete(folder)
    _change(site.sandbox())
    return _world(folder, _bytes(OLD), _bytes(NEW), lambda: _done(project_in(folder).apply("p")))


def unapplying(folder: Path) -> World:
    write(folder / "site", OLD)
    site = complete(folder)
    _change(site.sandbox())
    site.applied()
    return _world(folder, _bytes(NEW), _bytes(OLD), lambda: _done(project_in(folder).unapply("p")))


def going_back(folder: Path) -> World:
    write(folder / "site", NEW)
    complete(folder, config="{sandbox.strategy: in_place}")
    shutil.rmtree(folder / "site")
    write(folder / "site", OLD)
    return _world(folder, _bytes(OLD), _bytes(NEW), lambda: project_in(folder).rollback("p", "first"))


WORLDS = {"apply": applying, "unapply": unapplying, "rollback in place": going_back}


@pytest.fixture(scope="module", params=WORLDS)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("saves") / "project"
    folder.mkdir()
    homes_beside(folder).mkdir(mode=0o700)
    return WORLDS[request.param](folder)


def instants_of(world: World) -> int:
    world.reset()
    instants = Instants(-1, lambda: False)
    assert instants.during(world.command) is None
    assert files_in(world.real) == world.end
    return instants.passed


def check_kept(world: World, kind: str, where: object) -> None:
    """What was saved is in the tree or in a checkpoint."""
    if kind == "delete" or holds(world.real, MINE):
        return
    scratch = world.folder.with_name("scratch")
    assert in_a_checkpoint(project_in(world.folder), "p", MINE, scratch), f"lost: {where}"


def test_a_save_at_any_instant_is_kept_and_all_else_is_all_or_none(
    world: World, record_property: Callable[[str, object], None]
) -> None:
    passed = instants_of(world)
    saved = 0
    for kind, target, number in chosen(itertools.product(SAVES, TARGETS, range(passed))):
        world.reset()
        instants = Instants(number, saving(kind, world.real / target, MINE))
        error = instants.during(world.command)
        where = (kind, target, number, error)
        saved += instants.saved
        if instants.saved:
            check_kept(world, kind, where)
        assert not isinstance(error, RestoreIncomplete), where
        found = {name: data for name, data in files_in(world.real).items() if data != MINE and name != target}
        wanted = world.start if error is not None else world.end
        assert found == {name: data for name, data in wanted.items() if name != target}, where
        if error is not None:
            assert isinstance(error, (ChangedMeanwhile, ApplyConflicted)), where
            with suppress(MulliganError):  # it may conflict with what was saved
                world.command()
            check_kept(world, kind, (*where, "again"))
        assert not list(home_of(world.folder).glob("store/asides/*")), where
    assert saved, "nobody saved anything"
    record_property("saves survived", saved)


def test_a_save_right_before_a_kill_is_kept(
    world: World, record_property: Callable[[str, object], None]
) -> None:
    passed = instants_of(world)
    killed = 0
    trials = itertools.product(
        ("edit in place", "save by rename", "new file in the folder"), TARGETS, range(passed), range(1, 5)
    )
    for kind, target, number, later in chosen(trials, share=3):
        world.reset()
        if not _killed(world, saving(kind, world.real / target, MINE), number, later):
            continue
        killed += 1
        for _ in range(2):  # the first may only take back what was cut off
            with suppress(MulliganError):
                world.command()
        where = (kind, target, number, later)
        if (world.folder / "saved").exists():
            check_kept(world, kind, where)
        assert not list(home_of(world.folder).glob("store/asides/*")), where
    assert killed, "nobody was killed"
    record_property("saves survived", killed)


class _Killing(Instants):
    """Instants of which one a little after the save is the last."""

    def __init__(self, number: int, save: Callable[[], bool], later: int) -> None:
        super().__init__(number, save)
        self._last = number + later

    def _pass(self) -> None:
        if self.passed == self._last:
            os._exit(9)
        super()._pass()


def _killed(world: World, save: Callable[[], bool], number: int, later: int) -> bool:
    """Run the command in a process that saves at one instant and is killed a few later; False: it ended before."""

    def save_and_tell() -> bool:
        if saved := save():
            (world.folder / "saved").touch()
        return saved

    pid = os.fork()
    if pid == 0:
        with suppress(BaseException):
            _Killing(number, save_and_tell, later).during(world.command)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status) == 9


def test_a_refusal_before_the_first_change_leaves_what_the_user_did_by_hand(tmp_path: Path) -> None:
    """Files that someone copied from the sandbox are the user's, although the plan would have made the same."""
    (tmp_path / "project").mkdir()
    world = applying(tmp_path / "project")

    def copy_by_hand(event: Event) -> None:
        if event.type is EventType.CHECKPOINT and event.data["checkpoint_type"] == "pre_apply":
            write(world.real, {"changed": "new\n", "made": "new\n", "kept": MINE})

    with pytest.raises(ChangedMeanwhile):
        project_in(world.folder, copy_by_hand).apply("p")
    assert files_in(world.real)["changed"] == b"new\n"
    assert files_in(world.real)["made"] == b"new\n"
    assert files_in(world.real)["kept"] == MINE
    assert project_in(world.folder).status("p").state == "complete"
