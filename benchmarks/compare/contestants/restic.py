"""restic, from the system's packages."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.compare.contest import FifteenPaths, Taken
from benchmarks.compare.contestants.packages import system_program
from benchmarks.compare.processes import Budget, run, surroundings


class Restic:
    """A backup program: encrypted, deduplicated."""

    key = "restic"
    group = "restic"
    title = "restic"
    how = (
        "restic backup as a process; restore: restic restore --include of the twelve paths to write (it cannot"
        " restore only what differs) and added files removed by hand; it encrypts, which cannot be turned off"
    )

    def __init__(self, *, install: bool) -> None:
        self._install = install
        self._restore: tuple[str, ...] = ("restore", "--quiet")

    def install(self, place: Path, budget: Budget) -> str:
        system_program("restic", "restic", budget, install=self._install)
        if "--sparse" in run(["restic", "restore", "--help"], budget).output:  # since 0.15
            self._restore = ("restore", "--quiet", "--sparse")
        return run(["restic", "version"], budget).output.strip()

    @contextmanager
    def open(self, tree: Path, store: Path, budget: Budget) -> Generator["ResticSession"]:
        session = ResticSession(tree, store, budget, self._restore)
        session.start()
        yield session


class ResticSession:
    """A repository for one tree."""

    own_names = frozenset[str]()

    def __init__(self, tree: Path, store: Path, budget: Budget, restore: Sequence[str]) -> None:
        self._restore = restore
        self._tree = tree
        self._store = store
        self._budget = budget
        self._env = {
            **surroundings(),
            "RESTIC_REPOSITORY": str(store / "repository"),
            "RESTIC_PASSWORD": "comparison",
            "RESTIC_CACHE_DIR": str(store / "cache"),
        }

    def start(self) -> None:
        """Make the repository."""
        self._restic("init", "--quiet")

    def snapshot(self) -> Taken:
        """Back up."""
        return Taken(self._restic("backup", "--quiet", "."), "latest")

    def restore(self, name: str, paths: FifteenPaths | None) -> float:
        """Restore what has to be written, right into the tree."""
        written = paths.brought_back if paths is not None else []
        wanted = [word for path in written for word in ("--include", f"/{path}")]
        seconds = self._restic(*self._restore, name, "--target", str(self._tree), *wanted)
        if paths is not None:
            paths.remove_added()
        return seconds

    def check(self) -> float:
        """Read and prove all data."""
        return self._restic("check", "--read-data", "--quiet")

    def stored(self) -> Sequence[Path]:
        """The repository, without the cache."""
        return [self._store / "repository"]

    def _restic(self, *arguments: str) -> float:
        return run(["restic", *arguments], self._budget, cwd=self._tree, env=self._env).seconds
