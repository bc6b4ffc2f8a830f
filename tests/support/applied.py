"""What tests of applying share: a project with a plan that is complete, whose sandboxes are changed by hand."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from mulligan.api.project import Project
from mulligan.application.apply.apply_preparation import Application
from mulligan.application.queries.plan_queries import PlanStatus
from tests.faults.projects import project_in

FOLDER = "site: {type: fs-directory, location: site}"
Files = Mapping[str, bytes | str | None]


@dataclass(frozen=True)
class Applying:
    """A folder `site` and what a plan made of it."""

    folder: Path

    @property
    def project(self) -> Project:
        return project_in(self.folder)

    @property
    def real(self) -> Path:
        return self.folder / "site"

    def sandbox(self, resource: str = "site") -> Path:
        found = [s.path for s in self.project.status("p").sandboxes if s.resource == resource]
        return Path(found[0])

    def apply(self, **wishes: object) -> tuple[PlanStatus, Application]:
        return self.project.apply("p", **wishes)  # pyright: ignore[reportArgumentType] - of any type

    def applied(self, **wishes: object) -> Application:
        """Apply it, and see to it that nothing stood in the way."""
        _, done = self.apply(**wishes)
        assert done.error is None
        return done

    def unapplied(self) -> Application:
        _, done = self.project.unapply("p")
        assert done.error is None
        return done


def complete(folder: Path, *resources: str, config: str = "{}", policy: str = "{}") -> Applying:
    """A plan over these resources that is complete and has changed nothing."""
    inner = "\n  ".join(resources or (FOLDER,))
    (folder / "plan.yaml").write_text(
        f"name: p\ndescription: Change it\nconfig: {config}\nrollback_policy: {policy}\n"
        f"resources:\n  {inner}\nsteps:\n"
        "  - {name: pick, decision: {question: Which?, chosen: this, alternatives: [that]}}\n"
    )
    status = project_in(folder).execute(folder / "plan.yaml")
    assert status.state in ("complete", "applied"), status.error  # in place it ends at once
    return Applying(folder)


def write(folder: Path, files: Files) -> None:
    """Write files, or remove them."""
    for name, content in files.items():
        path = folder / name
        if content is None:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def files_in(folder: Path) -> dict[str, bytes]:
    """All files of a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def make_database(file: Path, *statements: str) -> None:
    """Make a database, or change one."""
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)


def rows_of(file: Path) -> list[object]:
    """What table t holds."""
    with closing(sqlite3.connect(file)) as db:
        return [x for (x,) in db.execute("select x from t")]
