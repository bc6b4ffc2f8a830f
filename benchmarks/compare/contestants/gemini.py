"""@google/gemini-cli-core, from npm: the git service behind its checkpoints, in a node process that stays."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.compare.contest import FifteenPaths, Taken
from benchmarks.compare.contestants.packages import node_package
from benchmarks.compare.processes import Budget, Driver, run, surroundings

_PROGRAM = Path(__file__).parent.parent / "drivers" / "gemini.mjs"
_PACKAGE = "@google/gemini-cli-core"


class Gemini:
    """A shadow repository in the user's home."""

    key = "gemini"
    group = "gemini"
    title = _PACKAGE
    how = (
        "npm install into a folder of its own; GitService.createFileSnapshot and restoreProjectFromSnapshot in"
        " a node process that stays, its home in a folder of its own; ignored files are left out"
    )

    def install(self, place: Path, budget: Budget) -> str:
        self._package = node_package(place / "gemini", budget, _PACKAGE) / _PACKAGE
        code = "console.log(require(process.argv[1] + '/package.json').version)"
        return f"{_PACKAGE} {run(['node', '-e', code, str(self._package)], budget).output.strip()}"

    @contextmanager
    def open(self, tree: Path, store: Path, budget: Budget) -> Generator["GeminiSession"]:
        home = store / "home"
        home.mkdir()
        env = {**surroundings(), "HOME": str(home), "GEMINI_CLI_HOME": str(home)}
        command = ["node", str(_PROGRAM), str(self._package), str(tree)]
        with Driver(command, budget, log=store / "log", env=env) as driver:
            driver.ask(verb="start")
            yield GeminiSession(home, driver)


class GeminiSession:
    """Asks the git service."""

    own_names = frozenset[str]()

    def __init__(self, home: Path, driver: Driver) -> None:
        self._home = home
        self._driver = driver

    def snapshot(self) -> Taken:
        """Take a file snapshot."""
        answer = self._driver.ask(verb="snapshot")
        return Taken(answer["seconds"], answer["name"])

    def restore(self, name: str, paths: FifteenPaths | None) -> float:
        """Restore the project."""
        return self._driver.ask(verb="restore", name=name)["seconds"]

    def stored(self) -> Sequence[Path]:
        """Its home."""
        return [self._home]
