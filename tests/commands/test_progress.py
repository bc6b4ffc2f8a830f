"""Whatever may take long tells how far it is; where nobody looks nothing is shown of that."""

from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import pytest

from mulligan.api.project import Project
from mulligan.cli.main import run
from mulligan.ports import Unobserved
from mulligan.wiring.home_wiring import make
from mulligan.wiring.services import Services
from mulligan.wiring.surroundings import look_around
from tests.support.git_checkouts import plain

PLAN = """
name: tour
steps:
  - {name: many, tool: shell, args: {command: "for i in $(seq 60); do echo $i > file$i; done; cp large large2"}}
"""


class Listening(Unobserved):
    """Keeps what is told."""

    def __init__(self) -> None:
        self.told: dict[str, list[tuple[int, int | None]]] = {}

    def progress(self, what: str, done: int, total: int | None) -> None:
        self.told.setdefault(what, []).append((done, total))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tour.yaml").write_text(PLAN)
    for number in range(120):
        (tmp_path / f"old{number}").write_text(str(number))
    (tmp_path / "large").write_bytes(bytes(range(256)) * (9 << 12))
    return tmp_path


def test_every_long_operation_tells_how_far_it_is(folder: Path) -> None:
    listening = Listening()

    def told_by(act: Callable[[Project], object]) -> set[str]:
        listening.told.clear()
        with chdir(folder):
            around = look_around({})
            project = Project(
                services=Services(place=make(around, ".")[0], around=around, stop=None), observer=listening
            )
            act(project)
            project.close()
        for counts in listening.told.values():
            assert all(total is None or 0 <= done <= total for done, total in counts)
        return set(listening.told)

    made = told_by(lambda p: p.execute(Path("tour.yaml")))
    assert made >= {"files counted", "files read", "sandboxes made", "files restored"}
    assert made >= {
        "bytes of large read",
        "bytes of large restored",
        "sandboxes captured",
        "checkpoints made",
    }
    size = 9 << 20
    assert listening.told["bytes of large read"][-1] == (size, size)
    assert told_by(lambda p: p.rollback("tour", "first")) >= {"resources restored", "folders cleared"}
    told_by(lambda p: p.resume("tour"))
    assert "objects verified" in told_by(lambda p: p.checkpoints.verify(None))
    assert "files restored" in told_by(lambda p: p.checkpoints.restore("latest", folder / "look"))
    assert told_by(lambda p: p.doctor()) >= {"parts looked at", "objects verified"}
    assert told_by(lambda p: p.gc()) >= {"objects marked", "packs swept"}
    applied = told_by(lambda p: p.apply("tour"))
    assert applied >= {"resources merged", "resources prepared", "resources restored", "sandboxes removed"}


def test_a_git_checkout_tells_of_its_git_directory(tmp_path: Path) -> None:
    listening = Listening()
    with chdir(plain(tmp_path)):
        around = look_around({})
        project = Project(
            services=Services(place=make(around, ".")[0], around=around, stop=None), observer=listening
        )
        project.run_command(["true"])
        project.close()
    assert [done for done, _ in listening.told["parts of the git directory made"]] == [0, 1, 2, 3]


def test_where_nobody_looks_nothing_is_counted(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with chdir(folder):
        assert run(["plan", "execute", "tour.yaml"]) == 0
    assert "files read" not in (shown := capfd.readouterr().err)
    assert "\x1b" not in shown
