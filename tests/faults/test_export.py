"""`checkpoint restore --to` that is cut off, or meets someone else at the same place."""

from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from mulligan.adapters.db.database_file import open_sqlite
from mulligan.api.project import Project
from mulligan.errors import SnapshotDamaged, TargetExists
from mulligan.rows.database import Database
from mulligan.rows.transaction import Transaction
from tests.faults.projects import Watching, file_of, nothing, project_in, services_in
from tests.support.homes import home_of

PLAN = "name: small\nsteps:\n  - {name: one, tool: write_file, args: {path: a, content: '1'}}\n"


class MadeMeanwhile(Database):
    """A database during whose use someone else makes a folder."""

    folder: Path | None = None

    @contextmanager
    def reading(self) -> Generator[Transaction]:
        """As ever, and the folder is there."""
        if self.folder is not None:
            self.folder.mkdir(exist_ok=True)
            (self.folder / "precious").touch()
        with super().reading() as db:
            yield db


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    (made / "plan.yaml").write_text(PLAN)
    project_in(made).execute(made / "plan.yaml")
    return made


def test_a_folder_that_someone_makes_in_that_moment_is_left_alone(folder: Path, tmp_path: Path) -> None:
    services = services_in(folder)
    services.adapters.database = database = MadeMeanwhile(partial(open_sqlite, file_of(services.adapters)))
    project = Project(services=services, observer=Watching(nothing))
    target = tmp_path / "target"
    found = services.checkpoint_queries.find(str(project.checkpoints.list("small")[0].checkpoint_id))
    database.folder = target
    with pytest.raises(TargetExists):
        services.library.export(found, target, Watching(nothing))
    assert [path.name for path in target.iterdir()] == ["precious"]


def test_a_damaged_checkpoint_leaves_no_folder(folder: Path, tmp_path: Path) -> None:
    for pack in (home_of(folder) / "store" / "packs").iterdir():
        data = bytearray(pack.read_bytes())
        data[40:200] = bytes(160)
        pack.write_bytes(data)
    with pytest.raises(SnapshotDamaged):
        project_in(folder).checkpoints.restore("first", tmp_path / "target")
    assert not (tmp_path / "target").exists()
