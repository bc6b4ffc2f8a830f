"""Shadow git: a private git directory beside the tree, as coding agents run it, and tuned by hand."""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.compare.contest import FifteenPaths, Taken
from benchmarks.compare.processes import Budget, run, surroundings

_SETTINGS = {
    "gc.autoDetach": "false",  # its gc belongs to its own time, and its size is measured when that is over
    "user.name": "nobody",
    "user.email": "nobody@localhost",
    "commit.gpgSign": "false",
    "core.autocrlf": "false",
    "advice.addEmbeddedRepo": "false",
}
_TUNING = {
    "feature.manyFiles": "true",  # index version 4, untracked cache
    "core.untrackedCache": "true",
    "core.preloadIndex": "true",
    "index.threads": "true",
    "core.fsmonitor": "false",  # its daemon is another process that agents would have to look after
    "core.looseCompression": "0",
    "core.compression": "0",
    "gc.auto": "0",
    "maintenance.auto": "false",
}


class ShadowGit:
    """Plain git: add, commit."""

    group = "git"

    def __init__(self, *, ignored: bool) -> None:
        self.key = "git" if ignored else "git-unforced"
        self.title = "shadow git, ignored files included" if ignored else "shadow git, ignored files left out"
        add, clean = ("git add -A -f", "-fdx") if ignored else ("git add -A", "-fd")
        self.how = (
            f"private git directory; {add}, git commit --allow-empty; restore: git read-tree -u --reset, git clean"
            f" {clean}; git's own defaults, so loose objects are not fsynced"
        )
        self._add = add.split()
        self._clean = clean

    def install(self, place: Path, budget: Budget) -> str:
        return run(["git", "--version"], budget).output.strip()

    @contextmanager
    def open(self, tree: Path, store: Path, budget: Budget) -> Generator["GitSession"]:
        session = GitSession(tree, store, budget, self._add, self._clean)
        session.start(_SETTINGS)
        yield session


class TunedGit:
    """Git with every setting that helps, and without what a checkpoint does not need of a commit."""

    key = "git-tuned"
    group = "git"
    title = "shadow git tuned by hand, ignored files included"
    how = (
        "as shadow git, with "
        + ", ".join(f"{key}={value}" for key, value in _TUNING.items())
        + "; git add -A -f, write-tree, commit-tree, update-ref instead of commit, which looks at the tree again"
    )

    def install(self, place: Path, budget: Budget) -> str:
        return run(["git", "--version"], budget).output.strip()

    @contextmanager
    def open(self, tree: Path, store: Path, budget: Budget) -> Generator["GitSession"]:
        session = PlumbingSession(tree, store, budget, ["git", "add", "-A", "-f"], "-fdx")
        session.start(_SETTINGS | _TUNING)
        yield session


class GitSession:
    """A private git directory over a tree."""

    own_names = frozenset[str]()

    def __init__(self, tree: Path, store: Path, budget: Budget, add: Sequence[str], clean: str) -> None:
        self._tree = tree
        self._store = store
        self._budget = budget
        self._add = add
        self._clean = clean
        # The user's own settings could change what is measured.
        self._env = {
            **surroundings(),
            "GIT_DIR": str(store / "git"),
            "GIT_WORK_TREE": str(tree),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
        }

    def start(self, settings: dict[str, str]) -> None:
        """Make the git directory."""
        self._git("init", "--quiet")
        with (self._store / "git" / "config").open("a") as config:
            for key, value in settings.items():
                section, _, name = key.partition(".")
                config.write(f"[{section}]\n\t{name} = {value}\n")

    def snapshot(self) -> Taken:
        """Add and commit."""
        seconds = run(self._add, self._budget, cwd=self._tree, env=self._env).seconds
        seconds += self._git("commit", "--quiet", "--allow-empty", "--no-verify", "--message", "checkpoint")[
            0
        ]
        return Taken(seconds, self._git("rev-parse", "HEAD")[1])

    def restore(self, name: str, paths: FifteenPaths | None) -> float:
        """Reset index and tree, then remove what is in neither."""
        return self._git("read-tree", "-u", "--reset", name)[0] + self._git("clean", "-q", self._clean)[0]

    def stored(self) -> Sequence[Path]:
        """The git directory."""
        return [self._store]

    def _git(self, *arguments: str) -> tuple[float, str]:
        done = run(["git", *arguments], self._budget, cwd=self._tree, env=self._env)
        return done.seconds, done.output.strip()


class PlumbingSession(GitSession):
    """The same with the fewest commands that make a commit."""

    def snapshot(self) -> Taken:
        """Add, write the tree, make a commit of it, name it."""
        seconds = run(self._add, self._budget, cwd=self._tree, env=self._env).seconds
        written, tree = self._git("write-tree")
        made, commit = self._git("commit-tree", "-m", "checkpoint", tree)
        named, _ = self._git("update-ref", "refs/heads/checkpoints", commit)
        return Taken(seconds + written + made + named, commit)
