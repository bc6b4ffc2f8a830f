"""What someone stages, commits or switches to in a checkout while a plan is applied there, or goes back, stays."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from mulligan.errors import RestoreIncomplete
from tests.faults.projects import project_in
from tests.faults.saves import Instants, chosen
from tests.support.applied import complete, write
from tests.support.git_world import run_git
from tests.support.homes import homes_beside
from tests.support.keeping import keep, put_back

SHARE = 4  # of the trials: each starts git dozens of times


@dataclass(frozen=True)
class World:
    """A project with a checkout, ready for a command, that can be made so again."""

    folder: Path
    template: Path
    command: Callable[[], object]

    @property
    def real(self) -> Path:
        return self.folder / "site"

    def reset(self) -> None:
        put_back(self.template, self.folder)


def _repository(folder: Path) -> None:
    write(folder / "site", {"changed": "old\n", "gone": "old\n", "other": "old\n"})
    run_git(folder / "site", "init", "-q", "-b", "main")
    for key in ("user.name", "user.email"):
        run_git(folder / "site", "config", key, "someone")
    run_git(folder / "site", "add", "-A")
    run_git(folder / "site", "commit", "-q", "-m", "first")


def applying(folder: Path) -> Callable[[], object]:
    _repository(folder)
    site = complete(folder, "site: {type: git-checkout, location: site}")
    write(site.sandbox(), {"changed": "new\n", "gone": None, "made": "new\n"})
    return lambda: project_in(folder).apply("p")


def going_back(folder: Path) -> Callable[[], object]:
    _repository(folder)
    complete(folder, "site: {type: git-checkout, location: site}", config="{sandbox.strategy: in_place}")
    write(folder / "site", {"changed": "new\n", "gone": None, "made": "new\n"})
    run_git(folder / "site", "add", "-A")
    run_git(folder / "site", "commit", "-q", "-m", "second")
    return lambda: project_in(folder).rollback("p", "first")


@pytest.fixture(scope="module", params=[applying, going_back])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("saves") / "project"
    folder.mkdir()
    homes_beside(folder).mkdir(mode=0o700)
    command = request.param(folder)
    template = folder.with_name("template")
    keep(folder, template)
    return World(folder, template, command)


def stage(real: Path) -> None:
    (real / "mine").write_text("precious\n")
    run_git(real, "add", "mine")


def commit(real: Path) -> None:
    (real / "mine").write_text("precious\n")
    run_git(real, "add", "mine")
    run_git(real, "commit", "-q", "-m", "precious", "--", "mine")


def switch(real: Path) -> None:
    run_git(real, "switch", "-q", "-c", "precious")


def _unless_locked(real: Path, do: Callable[[Path], None]) -> bool:
    if (real / ".git" / "index.lock").exists():
        return False  # git would refuse it
    do(real)
    return True


def _is_staged(real: Path) -> bool:
    return bool(run_git(real, "ls-files", "-s", "mine"))


def _is_committed(real: Path) -> bool:
    return "precious" in run_git(real, "log", "--branches", "--format=%s").split("\n")


def _is_switched(real: Path) -> bool:
    return run_git(real, "symbolic-ref", "--short", "HEAD").strip() == "precious"


def _go_forward(world: World) -> None:
    project = project_in(world.folder)
    kept = [c for c in project.checkpoints.list("p", superseded=True) if c.checkpoint_type == "pre_rollback"]
    assert kept, "nothing was kept"
    project.rollback("p", kept[-1].checkpoint_id)


KINDS = {"stage": (stage, _is_staged), "commit": (commit, _is_committed), "switch": (switch, _is_switched)}


def test_what_is_staged_committed_or_switched_to_at_any_instant_stays(world: World) -> None:
    world.reset()
    instants = Instants(-1, lambda: False)
    assert instants.during(world.command) is None
    trials = chosen(itertools.product(KINDS, range(instants.passed)))
    saved = 0
    for kind, number in trials[: max(len(trials) // SHARE, 3)]:
        world.reset()
        do, stays = KINDS[kind]
        instants = Instants(number, partial(_unless_locked, world.real, do))
        error = instants.during(world.command)
        if not instants.saved:
            continue
        saved += 1
        where = (kind, number, error)
        assert not isinstance(error, RestoreIncomplete), where
        if error is None and not stays(world.real):
            _go_forward(world)  # it was saved before the group was taken that keeps what was there
        assert stays(world.real), where
        assert run_git(world.real, "fsck", "--connectivity-only", "--no-dangling") == "", where
    assert saved
