"""opencode-ai, from npm: its own command for snapshots, and what its restore runs, for which it has none."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.compare.contest import FifteenPaths, Taken
from benchmarks.compare.contestants.packages import node_package
from benchmarks.compare.processes import Budget, CommandFailed, run, surroundings

_PACKAGE = "opencode-ai"


class Opencode:
    """A shadow git directory in the user's data folder; it wants the tree to be a git checkout."""

    key = "opencode"
    group = "opencode"
    title = _PACKAGE
    how = (
        "npm install into a folder of its own; `opencode debug snapshot track` as a process, its start (over a"
        " second) included, in a git checkout, without which it takes no snapshots; it has no command to restore:"
        " git read-tree, git checkout-index -a -f on its git directory, as its own restore does, and added files"
        " removed by hand; ignored files and files over 2 MB are left out"
    )

    def install(self, place: Path, budget: Budget) -> str:
        modules = node_package(place / "opencode", budget, _PACKAGE)
        found = sorted(modules.glob("opencode-linux-*/bin/opencode"), key=lambda path: len(str(path)))
        if not found:
            raise CommandFailed(f"npm install {_PACKAGE}", "no program for this machine came with it")
        problems: list[str] = []
        for program in found:
            self._program = program
            try:
                return f"{_PACKAGE} {run([str(program), '--version'], budget).output.strip()}"
            except CommandFailed as exc:
                problems.append(str(exc))
        raise CommandFailed(f"{_PACKAGE} --version", "\n".join(problems))

    @contextmanager
    def open(self, tree: Path, store: Path, budget: Budget) -> Generator["OpencodeSession"]:
        session = OpencodeSession(self._program, tree, store, budget)
        session.start()
        yield session


class OpencodeSession:
    """Starts its program for each snapshot."""

    own_names = frozenset({".git"})

    def __init__(self, program: Path, tree: Path, store: Path, budget: Budget) -> None:
        self._program = program
        self._tree = tree
        self._data = store / "data"
        self._budget = budget
        folders = {
            f"XDG_{name}_HOME": str(store / name.lower()) for name in ("DATA", "CONFIG", "STATE", "CACHE")
        }
        self._env = {
            **surroundings(),
            **folders,
            "HOME": str(store / "home"),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
        }

    def start(self) -> None:
        """Make the tree a checkout, and let the program make its folders: neither is measured."""
        git = ["git", "-c", "user.name=nobody", "-c", "user.email=nobody@localhost"]
        if not (self._tree / ".git").exists():
            run([*git, "init", "--quiet"], self._budget, cwd=self._tree)
            run([*git, "commit", "--quiet", "--allow-empty", "-m", "start"], self._budget, cwd=self._tree)
        Path(self._env["HOME"]).mkdir(exist_ok=True)
        run([str(self._program), "debug", "paths"], self._budget, cwd=self._tree, env=self._env)

    def snapshot(self) -> Taken:
        """Track."""
        command = [str(self._program), "debug", "snapshot", "track"]
        done = run(command, self._budget, cwd=self._tree, env=self._env)
        words = done.output.split()
        if not words or len(words[-1]) != 40:
            raise CommandFailed(" ".join(command), done.output or "it took no snapshot")
        return Taken(done.seconds, words[-1])

    def restore(self, name: str, paths: FifteenPaths | None) -> float:
        """Do what its restore does."""
        found = [path.parent for path in self._data.glob("opencode/snapshot/**/HEAD")]
        if len(found) != 1:
            raise CommandFailed(
                "opencode debug snapshot track", f"it has {len(found)} git directories, not one"
            )
        (directory,) = found
        git = ["git", f"--git-dir={directory}", f"--work-tree={self._tree}"]
        seconds = run([*git, "read-tree", name], self._budget, cwd=self._tree, env=self._env).seconds
        seconds += run(
            [*git, "checkout-index", "-a", "-f"], self._budget, cwd=self._tree, env=self._env
        ).seconds
        if paths is not None:
            paths.remove_added()
        return seconds

    def stored(self) -> Sequence[Path]:
        """Its snapshots."""
        return [self._data / "opencode" / "snapshot"]
