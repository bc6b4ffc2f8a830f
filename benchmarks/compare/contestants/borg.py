"""borg: the system's own, or unpacked from its packages."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.compare.contest import FifteenPaths, Taken
from benchmarks.compare.contestants.packages import Program, system_program
from benchmarks.compare.processes import Budget, run, surroundings

_PACKAGES = ("borgbackup", "python3-msgpack", "python3-packaging", "python3-pkg-resources", "libxxhash0")


class Borg:
    """A backup program: deduplicated, here without encryption."""

    key = "borg"
    group = "borg"
    title = "borg"
    how = (
        "borg create --sparse as a process, repository without encryption; restore: borg extract --sparse of the"
        " twelve paths to write (it cannot restore only what differs) and added files removed by hand"
    )

    def install(self, place: Path, budget: Budget) -> str:
        self._program = system_program(place / "borg", budget, "borg", *_PACKAGES)
        env = {**surroundings(), **self._program.env}
        return run([self._program.path, "--version"], budget, env=env).output.strip()

    @contextmanager
    def open(self, tree: Path, store: Path, budget: Budget) -> Generator["BorgSession"]:
        session = BorgSession(tree, store, budget, self._program)
        session.start()
        yield session


class BorgSession:
    """A repository for one tree."""

    own_names = frozenset[str]()

    def __init__(self, tree: Path, store: Path, budget: Budget, program: Program) -> None:
        self._program = program
        self._tree = tree
        self._store = store
        self._budget = budget
        self._taken = 0
        self._env = {
            **surroundings(),
            **program.env,
            "BORG_REPO": str(store / "repository"),
            "BORG_BASE_DIR": str(store / "base"),
            "BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK": "yes",
        }

    def start(self) -> None:
        """Make the repository."""
        self._borg("init", "--encryption=none")

    def snapshot(self) -> Taken:
        """Make an archive."""
        self._taken += 1
        name = f"archive{self._taken}"
        return Taken(self._borg("create", "--sparse", f"::{name}", "."), name)

    def restore(self, name: str, paths: FifteenPaths | None) -> float:
        """Extract what has to be written, right into the tree."""
        written = paths.brought_back if paths is not None else []
        seconds = self._borg("extract", "--sparse", f"::{name}", *map(str, written))
        if paths is not None:
            paths.remove_added()
        return seconds

    def stored(self) -> Sequence[Path]:
        """The repository, without the cache."""
        return [self._store / "repository"]

    def _borg(self, *arguments: str) -> float:
        return run([self._program.path, *arguments], self._budget, cwd=self._tree, env=self._env).seconds
