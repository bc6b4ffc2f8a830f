"""restic: the system's own, or unpacked from its packages."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.compare.contest import FifteenPaths, Taken
from benchmarks.compare.contestants.packages import Program, system_program
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

    def install(self, place: Path, budget: Budget) -> str:
        self._program = system_program(place / "restic", budget, "restic", "restic")
        self._restore: tuple[str, ...] = ("restore", "--quiet")
        if "--sparse" in run([self._program.path, "restore", "--help"], budget).output:  # since 0.15
            self._restore = ("restore", "--quiet", "--sparse")
        return run([self._program.path, "version"], budget).output.strip()

    @contextmanager
    def open(self, tree: Path, store: Path, budget: Budget) -> Generator["ResticSession"]:
        session = ResticSession(tree, store, budget, self._program, self._restore)
        session.start()
        yield session


class ResticSession:
    """A repository for one tree."""

    own_names = frozenset[str]()

    def __init__(
        self, tree: Path, store: Path, budget: Budget, program: Program, restore: Sequence[str]
    ) -> None:
        self._program = program
        self._restore = restore
        self._tree = tree
        self._store = store
        self._budget = budget
        self._env = {
            **surroundings(),
            **program.env,
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
        return run([self._program.path, *arguments], self._budget, cwd=self._tree, env=self._env).seconds
